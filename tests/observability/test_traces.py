"""Traces, at a collector that is one: what they tell, what they never tell, and that nobody pays who wants none."""

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pplx_gateway.environment import check
from pplx_gateway.observing.otel import CLOSE_SECONDS, traces_address
from pplx_gateway.settings import Settings, SettingsError
from tests.ledger.asking import QUESTION, ask
from tests.observability.collector import Told, collecting
from tests.rig import API_KEY, COOKIE, KEY, bearer, running
from tests.test_commands import refusal

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def one(found: list[Told], name: str) -> Told:
    (told,) = [told for told in found if told.span.name == name]
    return told


async def test_each_request_and_each_call_upstream_is_a_span(tmp_path: Path) -> None:
    async with collecting() as collector:
        async with running(tmp_path, otlp_endpoint=collector.url) as rig:
            traced = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
            session = await rig.stream(ask("gpt"), headers=traced)
            api = await rig.chat(ask(), headers={"traceparent": "00-no-such-01"})
            failed = await rig.chat(
                ask("gpt", messages=[{"role": "user", "content": "fault:upstream_500 of somewhere"}])
            )
            await rig.client.get(f"{rig.url}/metrics", headers=bearer(KEY))
            await rig.get("/health")
            lines = [json.loads(line) for line in rig.log.getvalue().splitlines()]
            prompts = rig.prompts
        requests, calls = collector.requests(), collector.calls()

        first = next(told for told in requests if told.ids[0] == TRACE)
        assert first.ids[2] == PARENT, "the caller's trace goes on"
        assert first.span.name == "POST openai chat/completions"
        assert first.attributes["pplx.request_id"] == session.headers["x-request-id"]
        assert first.attributes["http.response.status_code"] == 200
        assert first.attributes["gen_ai.response.model"] == "gpt"
        assert first.attributes["pplx.upstream"] == "session"
        assert first.attributes["gen_ai.usage.output_tokens"]
        assert not first.failed
        asked = [told for told in calls if told.ids[0] == TRACE]
        assert {told.ids[2] for told in asked} == {first.ids[1]}, "what the request asks upstream is below it"
        assert one(asked, "POST session").attributes["http.response.status_code"] == 200

        of_id = {told.attributes["pplx.request_id"]: told for told in requests}
        other = of_id[api.headers["x-request-id"]]
        assert other.ids[0] not in ("", TRACE)
        assert other.ids[2] == "", "a header that nobody can read begins a new trace"
        assert [told.span.name for told in calls if told.ids[0] == other.ids[0]] == ["POST api"]
        bad = of_id[failed.headers["x-request-id"]]
        assert bad.failed
        assert bad.attributes["error.type"] == "upstream_error"
        assert {"GET gateway admin", "GET gateway page"} <= {told.span.name for told in requests}

        assert requests[0].resource["service.name"] == "pplx-gateway"
        assert requests[0].resource["service.version"]
        (line,) = [
            line for line in lines if line.get("request_id") == session.headers["x-request-id"] and "path" in line
        ]
        assert line["trace_id"] == TRACE
        for secret in (KEY, API_KEY, COOKIE, QUESTION, *prompts, "Ghent", "authorization"):
            assert secret.encode() not in collector.raw


async def test_neither_an_address_nor_a_made_up_name_stands_in_a_span(tmp_path: Path) -> None:
    async with collecting() as collector:
        async with running(tmp_path, order=("api",), otlp_endpoint=f"{collector.url}/v1/traces") as rig:
            await rig.client.get(f"{rig.url}/{KEY}/private")
            await rig.client.get(f"{rig.url}/v1/files/file-private?key={KEY}", headers=bearer(KEY))
            await rig.client.request("PROPFIND", f"{rig.url}/private/path", headers=bearer(KEY))
            await rig.post(ask("api/private/model-name"))
        assert len(collector.requests()) == 4
        for secret in (KEY, "private", "PROPFIND"):
            assert secret.encode() not in collector.raw


async def test_the_standard_variables_work_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=mine")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "answers")
        async with running(tmp_path, order=("api",)) as rig:
            await rig.get("/v1/models")
        assert collector.requests()[0].resource["service.name"] == "answers"
        assert collector.headers[0]["x-tenant"] == "mine"
        collector.spans.clear()
        monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
        async with running(tmp_path, order=("api",)) as rig:
            await rig.get("/v1/models")
        assert collector.spans == []


async def test_a_collector_that_does_not_answer_holds_nobody_up(tmp_path: Path) -> None:
    async with collecting() as collector:
        collector.hold = asyncio.Event()
        async with running(tmp_path, order=("api",), otlp_endpoint=collector.url) as rig:
            assert (await rig.get("/v1/models")).status == 200
            began = time.monotonic()
        assert time.monotonic() - began < CLOSE_SECONDS + 8
        collector.hold.set()


def test_nobody_pays_for_what_nobody_wants() -> None:
    """Neither library is loaded by a gateway that serves and is neither scraped nor traced."""
    program = (
        "import sys, pplx_gateway.asgi, pplx_gateway.commands.serve\n"
        "heavy = ('prometheus_client', 'opentelemetry.sdk', 'opentelemetry.exporter')\n"
        "print([name for name in sys.modules if name.startswith(heavy)])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


async def test_traces_without_their_library_are_refused_with_the_way_out(tmp_path: Path) -> None:
    """As on a machine where the extra is not installed."""
    folder = tmp_path / "opentelemetry" / "sdk"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise ModuleNotFoundError('x', name='opentelemetry.sdk')")
    told = await refusal(
        "serve",
        "--port",
        "0",
        folder=tmp_path,
        PPLX_OTLP_ENDPOINT="http://127.0.0.1:4318",
        PYTHONPATH=str(tmp_path),
        PERPLEXITY_API_KEY="pplx-test",
    )
    assert "pip install 'pplx-gateway[otel]'" in told
    assert "PPLX_OTLP_ENDPOINT" in told


@pytest.mark.parametrize(
    "value", ["127.0.0.1:4318", "ftp://a", "http://", "http://user:secret@host:4318", "http://[::1"]
)
def test_an_address_that_cannot_be_used_is_refused(value: str) -> None:
    with pytest.raises(SettingsError, match="PPLX_OTLP_ENDPOINT") as raised:
        check(Settings(otlp_endpoint=value))
    assert "secret" not in str(raised.value)


def test_traces_have_their_place_below_a_collectors_address() -> None:
    for given in ("http://c:4318", "http://c:4318/", "http://c:4318/v1/traces", "http://c:4318/v1/traces/"):
        assert traces_address(given) == "http://c:4318/v1/traces"
