"""What stands beside the gateway: LiteLLM's proxy for the official API's work, and for the session's a proxy as it is
usually written (usual_proxy.py). scripts/bench-peers installs what they need, apart from the project."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.processes import Program
from bench.setups import MEASURED_CORE, ROOT, Setup, answers_200, clean_environment, free_port

BIN = ROOT / "build" / "bench-peers" / "bin"  # not below bench/, whose Python files are all read by checks
START_SECONDS = 180.0

_LITELLM = """
model_list:
  - model_name: bench
    litellm_params:
      model: openai/bench
      api_base: {upstream}/v1
      api_key: bench
litellm_settings:
  telemetry: false
"""


def installed() -> bool:
    return (BIN / "litellm").exists()


@contextmanager
def litellm(folder: Path, upstream_url: str) -> Iterator[Setup]:
    """One worker without a database, a key or callbacks, logging errors only. It asks for chat completions."""
    port = free_port()
    home = folder / "litellm"
    home.mkdir()
    (home / "config.yaml").write_text(_LITELLM.format(upstream=upstream_url), encoding="utf-8")
    env = _environment() | {
        "HOME": str(home),
        "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",  # as open as the gateway beside it
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it fetches prices from the network
        "LITELLM_LOG": "ERROR",
        "LITELLM_MODE": "PRODUCTION",
    }
    command: list[str | Path] = [BIN / "litellm", "--config", home / "config.yaml", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--telemetry", "False"]
    with Program(command, core=MEASURED_CORE, log=folder / "litellm.log", env=env, cwd=home) as program:
        start_ms = program.wait_until(lambda: answers_200(port, "/health/liveliness"), START_SECONDS)
        yield Setup("LiteLLM", program, port, start_ms, ("api",), {"api": "bench"}, slow=True)


@contextmanager
def usual_proxy(folder: Path, upstream_url: str) -> Iterator[Setup]:
    port = free_port()
    command: list[str | Path] = [BIN / "uvicorn", "bench.usual_proxy:app", "--port", str(port)]
    command += ["--no-access-log", "--log-level", "warning"]
    env = _environment() | {"PYTHONPATH": str(ROOT), "UPSTREAM_URL": upstream_url}
    with Program(command, core=MEASURED_CORE, log=folder / "usual-proxy.log", env=env) as program:
        start_ms = program.wait_until(lambda: answers_200(port, "/health"), START_SECONDS)
        yield Setup("usual proxy", program, port, start_ms, ("session",), {"session": "bench"})


def _environment() -> dict[str, str]:
    return {name: value for name, value in clean_environment().items() if not name.startswith("PYTHON")}
