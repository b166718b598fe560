"""`doctor` names the right cause for each thing that can be wrong, with its cure, and shows no secret."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncGenerator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trustme

from pplx_gateway.clock import Clock
from pplx_gateway.diagnosis.finding import bad, pasteable
from pplx_gateway.emulator.server import EmulatorServer
from tests.commands.shell import Done, Variables, at, own, piped, terminal
from tests.rig import running

SESSION = "/api/auth/session"


@contextlib.asynccontextmanager
async def emulated(**scripts: Any) -> AsyncGenerator[str, None]:
    """An emulator's address. `scripts`: by path, what it answers there for ever."""
    async with EmulatorServer(Clock(), pace_seconds=0.0) as emulator, httpx2.AsyncClient(trust_env=False) as client:
        for path, answer in scripts.items():
            body = {"path": path, "answers": [answer] * 9}
            assert (await client.post(f"{emulator.url}/_emulator/script", json=body)).status_code == 200
        yield emulator.url


async def causes(folder: Path, **variables: Any) -> dict[str, str]:
    """What is bad, by check; no secret of ours is told on the way."""
    done = await piped("doctor", "--json", folder=folder, PPLX_PROXY_PORT="0", **variables)
    found = _report(done, variables)
    assert found["healthy"] == (done.code == 0)
    for finding in found["findings"]:
        assert (finding["cause"] is not None) == (finding["state"] == "bad")
        assert finding["cure"] or finding["state"] != "bad"
    return {finding["check"]: finding["cause"] for finding in found["findings"] if finding["cause"]}


def _report(done: Done, variables: Variables) -> Any:
    assert done.code in (0, 1), done
    for name in ("PPLX_COOKIE", "PERPLEXITY_API_KEY", "PPLX_GATEWAY_KEY"):
        assert (variables.get(name) or "nothing") not in done.out + done.err
    return json.loads(done.out)


def answer(body: object, **more: Any) -> dict[str, Any]:
    content = json.dumps(body)
    return {"headers": {"content-type": "application/json", **more}, "steps": [{"bytes": content}]}


async def test_where_all_is_well_it_says_so(tmp_path: Path) -> None:
    async with emulated() as url:
        assert await causes(tmp_path, **own(url)) == {}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"PPLX_COOKIE": "emulator-max-blocked"}, {"session": "edge_block"}),
        ({"PPLX_COOKIE": "emulator-max-expired"}, {"session": "logged_out"}),
        ({"PPLX_COOKIE": "emulator-max-spent"}, {"plan": "plan_limit"}),
        ({"PERPLEXITY_API_KEY": "pplx-bad-0123456789"}, {"api key": "wrong_key"}),
        ({"PERPLEXITY_API_KEY": "pplx-broke-0123456789"}, {"api key": "no_balance"}),
        ({"PPLX_UPSTREAMS": "nobody"}, {"settings": "settings"}),
        ({"PPLX_DATA_DIR": "/proc/none"}, {"data folder": "data_folder"}),
        ({"SSL_CERT_FILE": "/nowhere.pem"}, {"network": "certificate"}),
        ({"HTTPS_PROXY": "teapot://x"}, {"network": "proxy"}),
    ],
)
async def test_each_cause_is_named(given: Variables, wanted: dict[str, str], tmp_path: Path) -> None:
    async with emulated() as url:
        assert await causes(tmp_path, **(own(url) | given)) == wanted


async def test_an_edge_that_blocks_everybody_and_a_site_of_another_form(tmp_path: Path) -> None:
    page = {"status": 403, "headers": {"cf-mitigated": "challenge", "content-type": "text/html"}, "steps": []}
    async with emulated(**{SESSION: page}) as blocked, emulated(**{SESSION: answer([1])}) as strange:
        edge, form = await asyncio.gather(
            causes(tmp_path, **own(blocked)), causes(tmp_path, **own(strange, PPLX_DATA_DIR=str(tmp_path / "b")))
        )
    assert edge == {"edge": "edge_block", "session": "edge_block"}
    assert form == {"edge": "schema_change", "session": "schema_change"}


async def test_a_quota_page_and_an_answer_of_another_form(tmp_path: Path) -> None:
    async with emulated(**{"/rest/rate-limit/all": answer({"limits": {}})}) as url:
        assert await causes(tmp_path, **own(url)) == {"plan": "schema_change"}
    stream = {"headers": {"content-type": "text/event-stream"}, "steps": [{"bytes": 'data: {"shape": "new"}\n\n'}]}
    async with emulated(**{"/rest/sse/perplexity_ask": stream}) as url:
        done = await piped("doctor", "--json", "--ask", folder=tmp_path, PPLX_PROXY_PORT="0", **own(url))
    bad_ones = [finding for finding in json.loads(done.out)["findings"] if finding["state"] == "bad"]
    assert [(finding["check"], finding["cause"]) for finding in bad_ones] == [("question", "schema_change")]


async def test_a_clock_that_is_wrong(tmp_path: Path) -> None:
    late = answer({}, date=formatdate(0, usegmt=True))
    async with emulated(**{SESSION: late}) as url:
        assert (await causes(tmp_path, **own(url)))["clock"] == "clock"


async def test_a_proxy_that_is_dead_and_an_authority_that_is_unknown(tmp_path: Path) -> None:
    remote = own("https://perplexity.invalid")
    proxied = await causes(tmp_path, **remote, HTTPS_PROXY="http://user:secret-word@127.0.0.1:9")
    assert proxied == {"site": "proxy", "api": "proxy"}
    async with _tls() as url:
        signed = await causes(tmp_path, **own(url))
    assert signed == {"site": "certificate", "api": "certificate"}


@contextlib.asynccontextmanager
async def _tls() -> AsyncGenerator[str, None]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("localhost", "127.0.0.1").configure_cert(context)
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def test_a_port_that_is_taken_by_another_program_or_by_a_gateway(tmp_path: Path) -> None:
    async with running(tmp_path / "rig") as rig:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        port = str(server.sockets[0].getsockname()[1])
        other, gateway = await asyncio.gather(
            piped("doctor", "--offline", "--json", folder=tmp_path, PPLX_PROXY_PORT=port),
            piped("doctor", "--offline", "--json", folder=tmp_path, PPLX_PROXY_PORT=rig.url.rpartition(":")[2]),
        )
        server.close()
    (finding,) = [each for each in json.loads(other.out)["findings"] if each["check"] == "port"]
    assert (finding["state"], finding["cause"]) == ("bad", "port_taken")
    (finding,) = [each for each in json.loads(gateway.out)["findings"] if each["check"] == "port"]
    assert (finding["state"], "a gateway runs" in finding["what"]) == ("ok", True)


async def test_a_gateway_that_runs_is_looked_at_by_its_own_settings_and_not_by_those_of_the_folder(
    tmp_path: Path,
) -> None:
    nowhere = own("http://127.0.0.1:9", PPLX_UPSTREAMS="api")
    async with (
        running(tmp_path / "rig") as rig,
        running(tmp_path / "bare", cookie=None, perplexity_api_key=None) as bare,
    ):
        made = (await bare.post({"name": "ada"}, path="/admin/caller-keys")).json["secret"]
        right, wrong, none, empty, callers, asked = await asyncio.gather(
            causes(tmp_path, **(nowhere | at(rig))),
            causes(tmp_path, **(nowhere | at(rig) | {"PPLX_GATEWAY_KEY": "wrong-key-0123"})),
            causes(tmp_path, **(nowhere | {"PPLX_GATEWAY_URL": "http://127.0.0.1:9"})),
            causes(tmp_path, **(nowhere | at(bare))),
            causes(tmp_path, **(nowhere | at(bare) | {"PPLX_GATEWAY_KEY": made})),
            piped("doctor", "--ask", folder=tmp_path, **(nowhere | at(rig))),
        )
    assert right == {}
    assert wrong == {"gateway": "wrong_key"}
    assert none == {"api": "network", "gateway": "no_gateway"}
    assert empty == {"gateway's credentials": "no_credential"}
    assert callers == {"gateway's models": "no_credential"}
    assert "gateway's session: signed in; plan: max" in asked.out
    assert "question: gpt answered" in asked.out


async def test_a_host_that_nothing_is_asked_of_is_noted_and_harms_nobody(tmp_path: Path) -> None:
    async with emulated() as url:
        given = own(url, PPLX_COOKIE="", PPLX_SESSION_URL="http://127.0.0.1:9")
        assert await causes(tmp_path, **given) == {}
        told = await piped("doctor", folder=tmp_path, PPLX_PROXY_PORT="0", **given)
    assert "note    site: " in told.out
    assert "Nothing is asked there" in told.out


async def test_on_a_terminal_it_fits_the_window(tmp_path: Path) -> None:
    async with (
        emulated() as url,
        terminal("doctor", folder=tmp_path, columns=40, **own(url, PPLX_COOKIE="emulator-max-expired")) as screen,
    ):
        assert await screen.end() == 1
    assert "✗ session" in screen.text
    assert "pplx-gateway login" in " ".join(screen.text.split())
    assert max(len(line.rstrip("\r").rstrip()) for line in screen.text.split("\n")) <= 40


def test_a_finding_is_cleaned_of_secrets_and_of_the_home() -> None:
    dirty = bad("x", "failure", f"{Path.home()}/a holds sesame-123", "give sesame-123 again")
    assert pasteable(dirty, ["sesame-123"]) == bad("x", "failure", "~/a holds ***", "give *** again")
