"""`/v1/skills` with its revisions, and `/v1/browser/sessions`."""

import httpx
import pytest

from tests.emulator.caller import Caller, Json
from tests.emulator_api.making import archive, form, skill


def send(caller: Caller, method: str, path: str, content: bytes) -> Json:
    body, headers = form(content, "skill.zip")
    reply = caller.send(method, path, body, headers=headers)
    assert reply.status == 200, reply.body
    return dict(reply.json)


def test_a_skill_tells_what_its_bundle_says(caller: Caller) -> None:
    made = send(caller, "POST", "/v1/skills", skill("tide-tables", "Reads them", folder="inner/"))
    assert made["skill_id"].startswith("skill_")
    assert (made["name"], made["description"]) == ("tide-tables", "Reads them")
    assert made["revision"] == made["latest_revision"]
    assert caller.send("GET", f"/v1/skills/{made['skill_id']}").json == made
    assert caller.with_key("pplx-other").send("GET", f"/v1/skills/{made['skill_id']}").status == 404


def test_an_update_needs_the_latest_revision(caller: Caller) -> None:
    made = send(caller, "POST", "/v1/skills", skill())
    at = f"/v1/skills/{made['skill_id']}"
    newer = send(caller, "PUT", f"{at}?expected_revision={made['revision']}", skill("renamed"))
    assert newer["latest_revision"] != made["revision"]
    body, headers = form(skill(), "skill.zip")
    stale = caller.send("PUT", f"{at}?expected_revision={made['revision']}", body, headers=headers)
    assert (stale.status, stale.error["type"]) == (409, "conflict")
    assert caller.send("PUT", at, body, headers=headers).error["param"] == "expected_revision"
    assert caller.send("DELETE", f"{at}?expected_revision={made['revision']}").status == 409
    assert caller.send("GET", f"{at}?revision=rev_unknown").status == 404
    gone = caller.send("DELETE", f"{at}?expected_revision={newer['revision']}")
    assert (gone.status, gone.body) == (204, b"")
    assert caller.send("GET", at).status == 404


def test_skills_and_revisions_come_in_pages_by_token(caller: Caller) -> None:
    mine = caller.with_key("pplx-skills")
    ids = [send(mine, "POST", "/v1/skills", skill())["skill_id"] for _ in range(3)]
    first = mine.send("GET", "/v1/skills?limit=2").json
    second = mine.send("GET", f"/v1/skills?limit=2&page_token={first['next_page_token']}").json
    assert [each["skill_id"] for each in first["skills"] + second["skills"]] == ids[::-1]
    assert "next_page_token" not in second
    revisions = mine.send("GET", f"/v1/skills/{ids[0]}/revisions").json
    assert [each.keys() for each in revisions["revisions"]] == [{"revision", "name", "created_at"}]
    assert mine.send("GET", "/v1/skills?page_token=mine").error["param"] == "page_token"


def test_a_download_is_signed_and_takes_no_key(caller: Caller) -> None:
    made = send(caller, "POST", "/v1/skills", skill())
    at = caller.send("GET", f"/v1/skills/{made['skill_id']}/download").json["download_url"]
    assert httpx.get(at, trust_env=False).content == skill()
    assert httpx.get(at, trust_env=False, headers={"authorization": "Bearer pplx-test"}).status_code == 403
    assert httpx.get(at.partition("?")[0], trust_env=False).status_code == 403


@pytest.mark.parametrize(
    "content",
    [
        b"no archive",
        archive({"README.md": "hi"}),
        archive({"SKILL.md": "no front matter"}),
        archive({"SKILL.md": "---\nname: Not Good\ndescription: x\n---\n"}),
        archive({"SKILL.md": "---\nname: good\n---\n"}),
        archive({"SKILL.md": "---\nname: good\ndescription: x\n---\n", "../out.txt": "x"}),
    ],
)
def test_bad_bundles_are_refused(caller: Caller, content: bytes) -> None:
    body, headers = form(content, "skill.zip")
    error = caller.send("POST", "/v1/skills", body, headers=headers).error
    assert (error["code"], error["param"]) == (400, "file")


def test_a_browser_session_is_started_and_stopped_by_its_key(caller: Caller) -> None:
    session = caller.send("POST", "/v1/browser/sessions", {}).json
    assert session["status"] == "running"
    at = f"/v1/browser/sessions/{session['session_id']}"
    assert caller.with_key("pplx-other").send("DELETE", at).status == 404
    assert caller.send("DELETE", at).status == 204
    assert caller.send("DELETE", at).status == 404
    assert caller.send("POST", "/v1/browser/sessions", {"proxy": "eu"}).error["param"] == "proxy"
