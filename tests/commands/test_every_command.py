"""Every command in a pipe and on a terminal; and what each of the smaller ones does."""

import asyncio
import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from pplx_gateway.commands.exits import ABOUT, Exit
from pplx_gateway.commands.parser import COMMANDS, build_parser, subparsers
from tests.commands.shell import PROGRAM, QUESTION, Variables, at, environ, own, piped, piped_anew, terminal
from tests.rig import ASK_PATH, COOKIE, KEY, running

# Each with what both forms of its output hold.
PEOPLES = {
    "ask": ([QUESTION], "Leie"),
    "research": (["-m", "gpt", QUESTION], "Scheldt"),
    "search": (["tides", "-n", "2"], "Tides: in practice"),
    "models": (["gpt"], "session"),
    "usage": (["--days", "3"], "dollars"),
    "jobs": ([], ""),
    "keys": (["add", "FORM"], "pplxgw-"),
    "doctor": (["--offline"], "data folder"),
    "setup": (["cursor"], "mcpServers"),
    "explain": (["-m", "gpt", QUESTION], "perplexity_ask"),
    "config": (["LANGUAGE"], "PPLX_LANGUAGE"),
    "completion": (["bash"], "_pplx_gateway"),
}
SERVERS = {"serve", "mcp", "demo", "emulator"}  # test_commands.py, mcp_gateway
ELSEWHERE = {"chat", "login"}


def test_no_command_is_forgotten() -> None:
    assert set(COMMANDS) == set(PEOPLES) | SERVERS | ELSEWHERE
    assert set(ABOUT) == set(Exit)


async def test_every_command_is_plain_in_a_pipe_and_fits_a_terminal(tmp_path: Path) -> None:
    async with running(tmp_path / "rig") as rig:
        plenty = {**at(rig), **_credentials(rig.emulator_url), "PPLX_PROXY_PORT": "0"}
        limit = asyncio.Semaphore(3)

        async def in_a_pipe(name: str) -> None:
            arguments, wanted = PEOPLES[name]
            async with limit:
                done = await piped_anew(name, *_named("piped", arguments), folder=tmp_path, **plenty)
            assert (done.code, wanted in done.out) == (0, True), (name, done)
            assert "\x1b" not in done.out + done.err, name

        async def on_a_terminal(name: str) -> None:
            arguments, wanted = PEOPLES[name]
            shown = _named("shown", arguments)
            async with limit, terminal(name, *shown, folder=tmp_path, columns=60, **plenty) as screen:
                assert await screen.end() == 0, (name, screen.text)
            assert wanted in screen.text, (name, screen.text)
            assert "\t" not in screen.text or name == "completion", name

        async with asyncio.TaskGroup() as runs:
            for name in PEOPLES:
                runs.create_task(in_a_pipe(name))
                runs.create_task(on_a_terminal(name))


async def test_what_serves_starts_on_a_terminal_too_and_ends_at_ctrl_c(tmp_path: Path) -> None:
    async def on_a_terminal(name: str) -> None:
        async with terminal(name, "--port", "0", folder=tmp_path, columns=60, **own("http://127.0.0.1:9")) as screen:
            await screen.see("listening on http://127.0.0.1:")
            screen.type("\x03")
            assert await screen.end() == 0, (name, screen.text)

    async with asyncio.TaskGroup() as runs:
        for name in SERVERS - {"mcp"}:  # it speaks to a program
            runs.create_task(on_a_terminal(name))


def _named(form: str, arguments: list[str]) -> list[str]:
    """Two keys may not have one name."""
    return [form if argument == "FORM" else argument for argument in arguments]


def _credentials(url: str) -> Variables:
    return {name: value for name, value in own(url).items() if name not in ("PPLX_GATEWAY_URL", "PPLX_GATEWAY_KEY")}


def test_help_takes_little_more_than_python_itself(tmp_path: Path) -> None:
    def cpu_seconds(*command: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, env=environ(tmp_path), cwd=tmp_path, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    helped = min(cpu_seconds(*PROGRAM, "ask", "--help") for _ in range(3))
    assert helped - min(cpu_seconds(sys.executable, "-c", "pass") for _ in range(3)) < 0.1
    heavy = "import sys; import pplx_gateway.commands; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", heavy], check=True, capture_output=True, text=True).stdout.split()
    assert not {"rich", "asyncio", "msgspec", "uvicorn", "curl_cffi"} & set(loaded)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_option(shell: str, tmp_path: Path) -> None:
    made = subprocess.run(
        [*PROGRAM, "completion", shell], env=environ(tmp_path), check=True, capture_output=True, text=True
    ).stdout
    for name, parser in subparsers(build_parser()).items():
        assert re.search(rf"\b{name}\b", made)
        for action in parser._actions:
            for option in action.option_strings:
                assert (option if shell != "fish" else option.lstrip("-")) in made
    if shell == "bash":
        script = (
            f"{made}\nCOMP_WORDS=(pplx-gateway ask --effort h); COMP_CWORD=3; _pplx_gateway; echo ${{COMPREPLY[@]}}"
        )
        done = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
        assert done.stdout.strip() == "high"


async def test_keys_are_made_shown_once_used_and_taken_back(tmp_path: Path) -> None:
    async with running(tmp_path / "rig") as rig:
        made = await piped("keys", "add", "Ada", "--per-day", "1", "--model", "gpt", folder=tmp_path, **at(rig))
        secret: Variables = {"PPLX_GATEWAY_URL": rig.url, "PPLX_GATEWAY_KEY": made.out.strip()}
        allowed = await piped("ask", "-m", "gpt", QUESTION, folder=tmp_path, **secret)
        limited, ruling, usage = await asyncio.gather(
            piped("ask", "-m", "gpt", QUESTION, folder=tmp_path, **secret),
            piped("keys", folder=tmp_path, **secret),
            piped("usage", folder=tmp_path, **secret),
        )
        changed = await piped(
            "keys", "set", "Ada", "--name", "Eve", "--per-day", "none", "--dollars-per-day", "2.5", "--upstream",
            "session", folder=tmp_path, **at(rig),
        )  # fmt: skip
        more, listed, useless, zero, help_text = await asyncio.gather(
            piped("ask", "-m", "gpt", QUESTION, folder=tmp_path, **secret),
            piped("keys", "--json", folder=tmp_path, **at(rig)),
            piped("keys", "set", "Eve", folder=tmp_path, **at(rig)),
            piped("keys", "add", "Bob", "--per-minute", "0", folder=tmp_path, **at(rig)),
            piped("keys", "revoke", "--help", folder=tmp_path),
        )
        revoked = await piped("keys", "revoke", "Eve", folder=tmp_path, **at(rig))
        refused, again = await asyncio.gather(
            piped("models", folder=tmp_path, **secret), piped("keys", "revoke", "Eve", folder=tmp_path, **at(rig))
        )
    assert (allowed.code, limited.code, ruling.code) == (0, 4, 3), (allowed, limited, ruling)
    assert "Spent today" in usage.out
    assert made.out.strip() not in listed.out
    assert (revoked.code, refused.code, again.code) == (0, 3, 7)
    assert (changed.code, more.code) == (0, 0), (changed, more)
    assert "$2.5/day; only gpt; only session" in changed.out
    (key,) = json.loads(listed.out)
    assert (key["name"], key["requests_per_day"], key["upstreams"]) == ("Eve", None, ["session"])
    assert (useless.code, "nothing to change" in useless.err) == (2, True)
    assert (zero.code, "keys revoke" in zero.err) == (2, True)
    assert "for good" in help_text.out


async def test_what_the_plan_answers_has_no_price_and_is_not_said_to_cost_nothing(tmp_path: Path) -> None:
    async with running(tmp_path / "rig") as rig:
        await piped("ask", "-m", "gpt", QUESTION, folder=tmp_path, **at(rig))
        of_plan = await piped("usage", "--json", folder=tmp_path, **at(rig))
        await piped("ask", "-m", "api/sonar", QUESTION, folder=tmp_path, **at(rig))
        await piped("ask", "-m", "api/sonar-pro", "fault:upstream_html", folder=tmp_path, **at(rig))
        as_json, shown = await asyncio.gather(
            piped("usage", "--json", folder=tmp_path, **at(rig)), piped("usage", folder=tmp_path, **at(rig))
        )
        (kept,) = (await rig.get("/admin/requests?model=sonar")).json["data"]
    assert json.loads(of_plan.out)["usage"]["total"]["cost"] is None
    usage = json.loads(as_json.out)["usage"]
    costs = {row["by"]["model"]: row["sums"]["cost"] for row in usage["rows"]}
    assert costs == {"gpt": None, "sonar": kept["cost"], "sonar-pro": None}
    assert kept["cost"] > 0
    assert usage["total"]["cost"] == kept["cost"]
    told = {row[0]: row[-1] for line in shown.out.splitlines() if len(row := line.split("\t")) > 1}
    assert (told["gpt"], told["sonar-pro"], told["all"]) == ("no price", "not known", str(kept["cost"]))
    assert "what the plan answers, its fee pays" in shown.out


async def test_a_key_for_mcps_address_is_made_and_told_apart(tmp_path: Path) -> None:
    async with running(tmp_path / "rig") as rig:
        made = await piped("keys", "add", "Claude", "--use", "mcp-path", folder=tmp_path, **at(rig))
        secret: Variables = {"PPLX_GATEWAY_URL": rig.url, "PPLX_GATEWAY_KEY": made.out.strip()}
        listed, refused = await asyncio.gather(
            piped("keys", folder=tmp_path, **at(rig)), piped("ask", QUESTION, folder=tmp_path, **secret)
        )
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
        address = f"{rig.url}/{made.out.strip()}/mcp"
        opened = await rig.client.post(address, json=body, headers={"accept": "application/json, text/event-stream"})
    assert opened.status_code == 200
    assert re.search(r"Claude\tactive\tmcp-path\t", listed.out)
    assert refused.code == 3
    assert "MCP's addresses alone" in refused.err
    assert made.out.strip() not in refused.err + listed.out


INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


async def test_login_takes_a_cookie_that_is_good_however_it_comes(tmp_path: Path) -> None:
    long = "emulator-pro-" + "x" * 5000
    async with running(tmp_path / "rig") as rig:
        dead, export = await asyncio.gather(
            piped("login", folder=tmp_path, stdin=b"emulator-max-expired-0123456789", **at(rig)),
            piped(
                "login", folder=tmp_path, stdin=f"__Secure-next-auth.session-token={COOKIE}; a=b".encode(), **at(rig)
            ),
        )
        async with terminal("login", folder=tmp_path, **at(rig)) as screen:
            await screen.see("press Enter: ")
            screen.type(f"{long}y\x7f\r")
            assert await screen.end() == 0
        async with terminal("login", folder=tmp_path, **at(rig)) as left:
            await left.see("press Enter: ")
            left.type("\x03")
            assert await left.end() == 130
        nothing = await piped("login", folder=tmp_path, **at(rig))
        kept = await piped("login", folder=tmp_path, stdin=long.encode(), **own(rig.emulator_url))
        unset = own(rig.emulator_url, PPLX_COOKIE="")
        asked = await piped("ask", "-m", "gpt", QUESTION, folder=tmp_path, **unset)
        cookies = [dict(request["headers"]).get("cookie", "") for request in await rig.requests(ASK_PATH)]
    assert (dead.code, export.code, nothing.code, kept.code, asked.code) == (3, 0, 2, 0, 0), (dead, kept, asked)
    assert "plan: max" in export.out
    assert "plan: pro" in screen.text
    assert "xxxx" not in screen.text
    assert COOKIE not in export.out + export.err
    assert "xxxx" in cookies[-1]


async def test_config_tells_where_each_value_comes_from_and_no_secret(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PPLX_LANGUAGE=de-DE\nPERPLEXITY_API_KEY_FILE=key.txt\nDEFAULT_MODEL=gpt\n")
    (tmp_path / "key.txt").write_text("pplx-sesame-0123")
    shown, wrong, unknown = await asyncio.gather(
        piped("config", "--json", folder=tmp_path, PPLX_COOKIE="open-sesame-0123456789", PPLX_STORE_DAYS="3"),
        piped("config", "--changed", folder=tmp_path, PPLX_STORE_DAYS="many", PPLX_COOKIE="open-sesame-0123456789"),
        piped("config", "stor_day", folder=tmp_path),
    )
    found = {row["setting"]: (row["value"], row["from"]) for row in json.loads(shown.out)["settings"]}
    assert found["PPLX_LANGUAGE"] == ("de-DE", ".env")
    assert found["PPLX_STORE_DAYS"] == ("3", "environment")
    assert found["PPLX_COOKIE"] == ("set, not shown", "environment")
    assert found["PERPLEXITY_API_KEY"] == ("set, not shown", "file named by PERPLEXITY_API_KEY_FILE")
    assert found["DEFAULT_MODEL"] == ("gpt", ".env (the default, too)")
    assert found["PPLX_NOTICES"] == ("1", "default")
    assert "sesame" not in shown.out + shown.err + wrong.out + wrong.err
    assert (wrong.code, "PPLX_STORE_DAYS" in wrong.err, "PPLX_STORE_DAYS\tmany" in wrong.out) == (2, True, True)
    assert "PPLX_LANGUAGE\tde-DE\t.env" in wrong.out
    assert (unknown.code, unknown.out) == (7, "")
    assert "'stor_day'" in unknown.err
    assert "PPLX_STORE_DAYS" in unknown.err


async def test_explain_shows_what_would_go_out_and_sends_nothing(tmp_path: Path) -> None:
    request = {"model": "gpt", "metadata": {"a": "b"}, "messages": [{"role": "user", "content": QUESTION}]}
    (tmp_path / "request.json").write_text(json.dumps(request))
    refused = {**request, "temperature": 0.2}
    elsewhere = own("http://127.0.0.1:9", PPLX_COOKIE="real-cookie-0123456789", ACCOUNT_TYPE="max")
    session, paid, error, research = await asyncio.gather(
        piped("explain", "--json", "--request", "request.json", folder=tmp_path, **elsewhere),
        piped("explain", "--json", "-m", "api/sonar", QUESTION, folder=tmp_path, **elsewhere),
        piped("explain", "--request", "-", folder=tmp_path, stdin=json.dumps(refused).encode(), **elsewhere),
        piped("explain", "-m", "deep-research", QUESTION, folder=tmp_path, **elsewhere),
    )
    told = json.loads(session.out)
    assert (told["upstream"], told["price"], told["dropped"]) == ("session", "one Pro search of the plan", ["metadata"])
    (sent,) = told["requests"]
    assert sent["url"].startswith("http://127.0.0.1:9/rest/")
    assert sent["body"]["query_str"] == QUESTION
    assert "real-cookie" not in session.out
    assert json.loads(paid.out)["requests"][0]["url"] == "http://127.0.0.1:9/v1/agent"
    assert json.loads(paid.out)["price"].startswith("paid by use: $")
    assert (error.code, "temperature" in error.err) == (2, True)
    assert "one research of the plan" in research.out
    assert not (tmp_path / "data").exists()


async def test_explain_tells_of_the_gateway_that_runs_where_there_is_one(tmp_path: Path) -> None:
    request = {"model": "gpt", "temperature": 0.2, "messages": [{"role": "user", "content": QUESTION}]}
    asked = ("explain", "--json", "--request", "-")
    async with running(tmp_path / "rig", unsupported="drop", order=("session",)) as rig:
        made = (await rig.post({"name": "ada"}, path="/admin/caller-keys")).json["secret"]
        caller = {"PPLX_GATEWAY_URL": rig.url, "PPLX_GATEWAY_KEY": made}
        await rig.post({"models": {"mine": ["copilot", "claude51opus"], "sonnet": None}}, path="/admin/update-models")
        added, hidden, removed = await asyncio.gather(
            piped("explain", "--json", "-m", "mine", "-t", QUESTION, folder=tmp_path, **at(rig)),
            piped("explain", "-m", "mine", QUESTION, folder=tmp_path, **caller),
            piped("explain", "-m", "sonnet", QUESTION, folder=tmp_path, **at(rig)),
        )
        owner, other, alone = await asyncio.gather(
            piped(*asked, folder=tmp_path, stdin=json.dumps(request).encode(), **at(rig)),
            piped(*asked, folder=tmp_path, stdin=json.dumps(request).encode(), PPLX_UNSUPPORTED="drop", **caller),
            piped(*asked, "--in-process", folder=tmp_path, stdin=json.dumps(request).encode(), **at(rig)),
        )
        spent = await rig.requests(ASK_PATH)
    assert spent == []
    for done in (owner, other):
        told = json.loads(done.out)
        assert (told["upstream"], told["dropped"]) == ("session", ["temperature"]), done
    assert json.loads(owner.out)["requests"][0]["url"].startswith(f"{rig.emulator_url}/rest/")
    (sent,) = json.loads(added.out)["requests"]
    assert sent["body"]["params"]["model_preference"] == "claude51opusthinking"
    assert (hidden.code, "Only the owner" in hidden.err, removed.code) == (3, True, 7), (hidden, removed)
    assert "Only the owner" in json.loads(other.out)["warnings"][-1]
    assert (alone.code, "pplx-gateway login" in alone.err) == (3, True)


async def test_without_any_credential_it_is_said_what_is_missing(tmp_path: Path) -> None:
    async with running(tmp_path / "rig", order=()) as rig:
        own_models, there, report, keyless = await asyncio.gather(
            piped("models", folder=tmp_path),
            piped("models", folder=tmp_path, **at(rig)),
            piped("doctor", "--offline", "--json", folder=tmp_path, PPLX_PROXY_PORT="0"),
            piped("doctor", "--offline", folder=tmp_path, PPLX_PROXY_PORT="0", PERPLEXITY_API_KEY="pplx-0123456789"),
        )
    for done, cure in ((own_models, "PERPLEXITY_API_KEY"), (there, "pplx-gateway login --url")):
        assert (done.code, done.out, cure in done.err) == (3, "", True), done
    (finding,) = [found for found in json.loads(report.out)["findings"] if found["check"] == "credentials"]
    assert (report.code, finding["cause"], "pplx-gateway login" in finding["cure"]) == (1, "no_credential", True)
    assert (keyless.code, "credentials: there is an API key" in keyless.out) == (0, True)


async def test_search_without_a_key_for_it_says_what_is_missing(tmp_path: Path) -> None:
    async with running(tmp_path / "rig", order=("session",)) as rig:
        done = await piped("search", "tides", folder=tmp_path, **at(rig))
        whole = await piped("search", "tides", "-n", "0", folder=tmp_path, **at(rig))
    assert (done.code, "PERPLEXITY_API_KEY" in done.err) == (3, True)
    assert (whole.code, "from 1 to 20" in whole.err) == (2, True)


async def test_another_folder_brings_its_own_env_file(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / ".env").write_text("PPLX_LANGUAGE=nl-BE\n")
    found, missing = await asyncio.gather(
        piped("-C", "there", "config", "LANGUAGE", folder=tmp_path),
        piped("-C", "nowhere", "config", folder=tmp_path),
    )
    assert "nl-BE" in found.out
    assert (missing.code, "nowhere" in missing.err) == (2, True)
    assert KEY not in found.out


DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
EXAMPLES = re.findall(r"<!-- cli -->\n```bash\n(.*?)^```$", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)


async def test_the_examples_of_the_document_run(tmp_path: Path) -> None:
    assert len(EXAMPLES) == 2
    (tmp_path / "pplx-gateway").write_text(f'#!/bin/sh\nexec {sys.executable} -c "{PROGRAM[2]}" "$@"\n')
    (tmp_path / "pplx-gateway").chmod(0o755)
    async with running(tmp_path / "rig") as rig:
        variables = {**at(rig), **_credentials(rig.emulator_url)}
        path = f"{tmp_path}:{environ(tmp_path)['PATH']}"
        for example in EXAMPLES:
            process = await asyncio.create_subprocess_exec(
                "bash", "-euo", "pipefail", "-c", example, env=environ(tmp_path, PATH=path, **variables), cwd=tmp_path,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            out, err = await asyncio.wait_for(process.communicate(), 60)
            assert (process.returncode, bool(out.strip())) == (0, True), err.decode()
