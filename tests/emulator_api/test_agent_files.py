"""Files that runs share."""

from tests.emulator.caller import Caller


def test_a_run_shares_a_file_when_it_is_asked_and_can(caller: Caller) -> None:
    run = caller.answer("Write a report about tides", model="perplexity/sonar", tools=[{"type": "sandbox"}])
    (item,) = [item for item in run["output"] if item["type"] == "share_file"]
    (listed,) = caller.send("GET", f"/v1/agent/{run['id']}/files").json["data"]
    assert listed.keys() == {"id", "object", "filename", "bytes", "created_at"}
    assert (listed["id"], listed["filename"], listed["bytes"]) == (
        item["file_id"],
        item["filename"],
        item["size_bytes"],
    )
    content = caller.send("GET", f"/v1/responses/{run['id']}/files/{listed['id']}/content")
    assert len(content.body) == listed["bytes"]
    assert content.headers["content-type"] == "application/octet-stream"
    assert caller.send("GET", f"/v1/agent/{run['id']}/files/file_other/content").status == 404
    other = caller.with_key("pplx-other")
    assert other.send("GET", f"/v1/agent/{run['id']}/files/{listed['id']}/content").status == 404


def test_a_run_without_the_means_shares_nothing(caller: Caller) -> None:
    run = caller.answer("Write a report about tides")
    assert caller.send("GET", f"/v1/agent/{run['id']}/files").json == {"object": "list", "data": []}


def test_the_file_is_announced_in_the_stream(caller: Caller) -> None:
    events = caller.stream("Save it as a csv file", model="perplexity/sonar", tools=[{"type": "sandbox"}])
    done = [event["item"]["type"] for event in events if event["type"] == "response.output_item.done"]
    assert done.index("share_file") < done.index("message")
