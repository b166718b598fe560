"""Marked secrets go through every face, in success and in failure; then everything is searched for them that a person,
a log or a thief of a file could read."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2

from pplx_gateway.settings import Secret
from tests.abuse.routes import Routes
from tests.cases.scripts import Json
from tests.drills.faces import FACES, Face
from tests.mcp_gateway.calling import modern
from tests.rig import AGENT, ASK_PATH, Rig, bearer, running

OWNER = "gk-MARKED-OWNER-93d1"
API = "pplx-MARKED-API-27aa"
ADDED = "pplx-MARKED-ADDED-5c0e"
COOKIE = "emulator-max-MARKED-COOKIE-81f4"
PASTED = "emulator-max-MARKED-PASTED-6b77"
TOPIC = "MARKED-TOPIC-4e4e"
GUESSED = "gk-MARKED-GUESSED-1b1b"
PROMPT = "MARKED-PROMPT-7a2c which two rivers meet in Ghent?"
KEPT = "MARKED-KEPT-0d5e which two rivers meet in Ghent?"
MARK = b"MARKED-"
IN_CLEAR = (PASTED, ADDED, KEPT)
"""What SECURITY.md says is kept in the store as it is: the cookie, keys given at /admin/keys, kept responses."""

FAULTS = (
    "",
    "upstream_401",
    "upstream_402",
    "upstream_500",
    "upstream_html",
    "midstream_drop",
    "midstream_error",
    "empty",
)
ECHOES = (
    '{{"error":{{"message":"bad credential {0} for {1}","code":400}}}}',
    "<html><title>{0} {1}</title></html>",
)


async def test_no_secret_is_found_where_it_may_not_be(tmp_path: Path) -> None:
    routes = Routes()
    settings: dict[str, Any] = {
        "api_key": Secret(OWNER),
        "perplexity_api_key": Secret(API),
        "cookie": Secret(COOKIE),
        "ntfy_topic": Secret(TOPIC),
        "around": routes.around,
        "factor": 20.0,
    }
    async with running(tmp_path, **settings) as rig:
        guest = await given(rig)
        told = [reply.text for reply in await asyncio.gather(*asking(rig, guest))]
        told += [reply.text for reply in await echoed(rig)]
        told += [reply.text for reply in await mistaken(rig)]
        shown = [reply.text for reply in await everything_shown(rig, routes)]
        log = rig.log.getvalue()
    for secret in (OWNER, API, ADDED, COOKIE, PASTED, TOPIC, GUESSED, guest):
        for text in (*told, *shown, log):
            assert secret not in text, f"{secret} in {text[max(0, text.find(secret) - 200) :][:400]}"
    assert PROMPT not in log
    assert KEPT not in log
    for text in shown:
        assert PROMPT not in text
    search(tmp_path, guest)


def search(folder: Path, guest: str) -> None:
    """Every file of the data folder."""
    files = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    held = b"".join(files.values())
    for secret in (OWNER, API, TOPIC, GUESSED, PROMPT, guest):
        assert secret.encode() not in held, (
            f"{secret} lies in {[str(f) for f, d in files.items() if secret.encode() in d]}"
        )
    assert all(secret.encode() in held for secret in IN_CLEAR), "else the search would find nothing at all"


async def given(rig: Rig) -> str:
    """The owner's doings; gives a guest's key."""
    owner = bearer(OWNER)
    for path, body in (
        ("/admin/keys", {"name": "second", "value": ADDED, "weight": 0.001}),
        ("/admin/refresh-cookie", {"session_token": PASTED}),
        ("/v1/responses", {"model": "api/sonar", "input": KEPT}),
    ):
        reply = await rig.client.post(rig.url + path, json=body, headers=owner)
        assert reply.status_code in (200, 201), reply.text
        assert not any(secret in reply.text for secret in (ADDED, PASTED, OWNER))
    made = await rig.client.post(f"{rig.url}/admin/caller-keys", json={"name": "guest"}, headers=owner)
    secret: str = made.json()["secret"]
    return secret


def asking(rig: Rig, guest: str) -> list["asyncio.Task[httpx2.Response]"]:
    """Every face, by the owner and a guest, over both upstreams, with every fault; nothing is to be kept."""
    found = []
    for face in FACES:
        if face.background or face.name == "mcp":
            continue  # which keep what they are asked
        for model in ("api/sonar", "session/sonar"):
            for number, fault in enumerate(FAULTS):
                question = f"fault:{fault} {PROMPT}" if fault else PROMPT
                found.append(
                    asyncio.create_task(ask(rig, face, face.body(model, question), (OWNER, guest)[number % 2]))
                )
    return found


async def ask(rig: Rig, face: Face, body: Json, key: str) -> httpx2.Response:
    kept = "input" in body
    return await rig.client.post(
        rig.url + face.path, json={**body, **({"store": False} if kept else {})}, headers=bearer(key)
    )


async def echoed(rig: Rig) -> list[httpx2.Response]:
    """Upstreams that repeat what they were sent."""
    found = []
    for path, model, secret in ((AGENT, "api/sonar", API), (ASK_PATH, "session/sonar", PASTED)):
        for status in (400, 401, 403, 429, 500, 200):
            for page in (echo.format(secret, PROMPT) for echo in ECHOES):
                kind = "application/json" if page.startswith("{") else "text/html"
                answer = {"status": status, "headers": {"content-type": kind}, "steps": [{"bytes": page}], "repeat": 3}
                await rig.script(path, answer)
                body = {"model": model, "messages": [{"role": "user", "content": PROMPT}]}
                reply = await rig.client.post(f"{rig.url}/v1/chat/completions", json=body, headers=bearer(OWNER))
                assert reply.status_code >= 400, reply.text
                found.append(reply)
                await rig.client.delete(f"{rig.emulator_url}/_emulator/script")
    return found


async def mistaken(rig: Rig) -> list[httpx2.Response]:
    """Keys in the wrong places, and requests that fail in every layer."""
    body, headers = modern("tools/list")
    return [
        await rig.client.get(f"{rig.url}/v1/models", headers=bearer(GUESSED)),
        await rig.client.get(f"{rig.url}/v1/models?api_key={OWNER}"),
        await rig.client.post(f"{rig.url}/{GUESSED}/mcp", json=body, headers=headers),
        await rig.client.post(f"{rig.url}/{OWNER}/mcp", json=body, headers=headers),
        await rig.client.post(f"{rig.url}/{OWNER}/mcp/x", json=body, headers=headers),
        await rig.client.get(f"{rig.url}/%2f{GUESSED}/sse/"),
        await rig.client.post(f"{rig.url}/v1/chat/completions", content=b"{", headers=bearer(OWNER)),
        await rig.client.post(
            f"{rig.url}/admin/keys", json={"name": "x", "value": f"{ADDED} x"}, headers=bearer(OWNER)
        ),
        await rig.client.post(f"{rig.url}/admin/refresh-cookie", json={"session_token": 5}, headers=bearer(OWNER)),
        await rig.client.post(f"{rig.url}/admin/refresh-cookie", content=f"x={COOKIE};", headers=bearer(OWNER)),
    ]


async def everything_shown(rig: Rig, routes: Routes) -> list[httpx2.Response]:
    """Every page, table, report and number that there is, as its owner sees it."""
    paths = [call.path for call in routes.calls() if call.method == "GET" and "/x" not in call.path]
    return [
        await rig.client.get(rig.url + path, headers=bearer(OWNER))
        for path in paths
        if not path.endswith("/sse") and path not in ("/v1/responses", "/mcp")
    ]
