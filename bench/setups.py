"""What is measured: the fake upstream alone, nginx or the gateway before it, and a plain ASGI server as yardstick. The
gateway's peers are in peers.py."""

import os
import shutil
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import trustme

from bench.processes import Program

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "bench" / "build"
# The upstream and the load share a core, what is measured has the other one.
LOAD_CORE, MEASURED_CORE = (0, 1) if len(os.sched_getaffinity(0)) > 1 else (None, None)


Side = Literal["api", "session"]
SIDES: tuple[Side, ...] = ("api", "session")
MODELS: Mapping[Side, str] = {"api": "api/fast", "session": "session/auto"}


class Stats(msgspec.Struct):
    """How the upstream sees its questions. Times in nanoseconds of CLOCK_MONOTONIC."""

    open: int
    most_open: int
    questions: int
    answered: int
    abandoned: int
    last_closed_ns: int
    now_ns: int


class Upstream(NamedTuple):
    program: Program
    port: int

    def stats(self) -> Stats:
        return msgspec.json.decode(_get(self.port, "/stats"), type=Stats)


class Setup(NamedTuple):
    """Something that answers on `port`; `start_ms` is the time from its start to its first answer.

    `model` by side: what to ask for in chat completions; None = it passes on the upstream's own words. `slow` = it
    falls behind at rates that the others hold, so it is spared what would take minutes."""

    name: str
    program: Program
    port: int
    start_ms: float
    sides: tuple[Side, ...] = SIDES
    model: Mapping[Side, str] | None = None
    slow: bool = False


def nginx_path() -> str | None:
    """Debian's nginx: installed, or unpacked by scripts/bench-tools."""
    unpacked = BUILD / "nginx/usr/sbin/nginx"
    return str(unpacked) if unpacked.exists() else shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextmanager
def upstream(folder: Path) -> Iterator[Upstream]:
    with Program([BUILD / "upstream", "0"], core=LOAD_CORE, log=folder / "upstream.log") as program:
        program.wait_until(lambda: program.said().startswith("listening on"))
        yield Upstream(program, int(program.said().strip().rpartition(":")[2]))


@contextmanager
def nginx(folder: Path, upstream_port: int, *, tls: bool = False) -> Iterator[Setup]:
    """A reverse proxy that does not buffer; with `tls` it speaks HTTP/2 by ALPN, as the real upstreams' edges do."""
    path = nginx_path()
    if path is None:
        raise FileNotFoundError("nginx: scripts/bench-tools provides it")
    name = "nginx-tls" if tls else "nginx"
    home = folder / name
    home.mkdir()
    port = free_port()
    listen = f"127.0.0.1:{port} ssl http2" if tls else f"127.0.0.1:{port} backlog=4096"
    certificate = _certificate(folder, home) if tls else ""
    text = _NGINX.format(home=home, listen=listen, certificate=certificate, upstream=upstream_port)
    (home / "nginx.conf").write_text(text, encoding="utf-8")
    command: list[str | Path] = [path, "-p", home, "-c", home / "nginx.conf", "-e", home / "error.log"]
    with Program(command, core=LOAD_CORE if tls else MEASURED_CORE, log=folder / f"{name}.log") as program:
        answers = _accepts if tls else _answers_stats
        yield Setup(name, program, port, program.wait_until(lambda: answers(port)))


@contextmanager
def gateway(
    folder: Path, upstream_url: str, *, name: str = "gateway", ca: Path | None = None, workers: int = 1
) -> Iterator[Setup]:
    """`pplx-gateway serve` at its defaults, with both upstreams at `upstream_url`. Several workers share the core."""
    port = free_port()
    home = folder / name
    home.mkdir()
    env = clean_environment() | {
        "PERPLEXITY_API_KEY": "pplx-bench",
        "PPLX_COOKIE": "bench-session-cookie",
        "PPLX_API_URL": upstream_url,
        "PPLX_SESSION_URL": upstream_url,
        "PPLX_UPSTREAMS": "session,api",
        "PPLX_PROXY_PORT": str(port),
        "PPLX_DATA_DIR": str(home / "data"),
        "LOG_LEVEL": "WARNING",
    }
    if ca is not None:
        env |= {variable: str(ca) for variable in ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE")}
    command: list[str | Path] = [Path(sys.executable).parent / "pplx-gateway", "serve", "--workers", str(workers)]
    with Program(command, core=MEASURED_CORE, log=folder / f"{name}.log", env=env, cwd=home) as program:
        start_ms = program.wait_until(lambda: answers_200(port, "/health"))
        yield Setup(name, program, port, start_ms, model=MODELS)


@contextmanager
def yardstick(folder: Path) -> Iterator[Setup]:
    """uvicorn around a plain ASGI callable with one fixed answer: what the server alone costs on this machine, now."""
    port = free_port()
    server = ["--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning"]
    command = [sys.executable, "-m", "uvicorn", "bench.static_answer:app", "--port", str(port), *server]
    env = clean_environment() | {"PYTHONPATH": str(ROOT)}
    with Program(command, core=MEASURED_CORE, log=folder / "yardstick.log", env=env) as program:
        yield Setup("yardstick", program, port, program.wait_until(lambda: answers_200(port, "/")), model=MODELS)


def clean_environment() -> dict[str, str]:
    """The environment without the owner's own settings and without proxies: nothing here may reach a real upstream."""
    foreign = ("PPLX_", "PERPLEXITY_", "NTFY_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "LOG_LEVEL", "DEFAULT_MODEL")
    return {name: value for name, value in os.environ.items() if not name.upper().startswith(foreign)}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers_200(port: int, path: str) -> bool:
    try:
        _get(port, path)
    except OSError:
        return False
    return True


def post(port: int, path: str, body: Mapping[str, object], seconds: float = 30) -> bytes:
    """One request, as a caller without any library would send it. Raises OSError on any status but 200."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", msgspec.json.encode(body), {"content-type": "application/json"}
    )
    with _opener.open(request, timeout=seconds) as reply:
        data: bytes = reply.read()
        return data


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _get(port: int, path: str) -> bytes:
    with _opener.open(f"http://127.0.0.1:{port}{path}", timeout=5) as reply:
        data: bytes = reply.read()
        return data


def _answers_stats(port: int) -> bool:
    return answers_200(port, "/stats")


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _certificate(folder: Path, home: Path) -> str:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    issued.private_key_and_cert_chain_pem.write_to_path(home / "server.pem")
    return f"ssl_certificate {home}/server.pem; ssl_certificate_key {home}/server.pem;"


_NGINX = """
daemon off;
master_process off;
pid {home}/nginx.pid;
worker_rlimit_nofile 16384;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/fastcgi;
  uwsgi_temp_path {home}/uwsgi; scgi_temp_path {home}/scgi;
  keepalive_requests 10000000;
  upstream fake {{ server 127.0.0.1:{upstream}; keepalive 1024; keepalive_requests 10000000; }}
  server {{
    listen {listen};
    {certificate}
    location / {{
      proxy_pass http://fake;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 3600s;
    }}
  }}
}}
"""
