"""What the image is made of, and how it starts. test_entrypoint.py runs its command."""

import re
import shlex

import pytest

from pplx_gateway.environment import settings_table
from tests.deploy.files import DEPLOY, ROOT, dockerfile


def test_the_program_is_the_first_process() -> None:
    image = dockerfile()
    assert image.one("ENTRYPOINT").command == ["pplx-gateway"]
    assert image.one("CMD").command == ["serve"]
    assert image.one("STOPSIGNAL").rest == "SIGTERM"


def test_it_runs_as_a_user_who_owns_the_data_and_nothing_else() -> None:
    image = dockerfile()
    uid = image.one("USER").rest.split(":")[0]
    (made,) = image.find("RUN")
    assert int(uid) >= 1000
    assert f"--uid {uid} " in made.rest
    assert "install --directory --owner gateway --group gateway --mode 0700 /data" in made.rest
    assert image.one("VOLUME").command == ["/data"]
    assert image.one("WORKDIR").rest == image.environment["PPLX_DATA_DIR"] == "/data"
    names = [instruction.name for instruction in image.stages[-1]]
    assert "RUN" not in names[names.index("USER") :]
    assert all("--chown" not in copy.rest for copy in image.find("COPY")), "the program's files stay root's"


def test_every_stage_stands_on_one_base_named_by_version() -> None:
    bases = {stage[0].rest.partition(" AS ")[0] for stage in dockerfile().stages}
    (base,) = bases
    assert re.fullmatch(r"python:3\.11-slim(-\w+)?", base)
    assert len(dockerfile().stages) == 2


def test_what_is_installed_is_locked_by_hashes() -> None:
    commands = [step.command for step in dockerfile().stages[0] if step.name == "RUN"]
    installs = [command for command in commands if command[0] == "pip" and "install" in command]
    (dependencies,) = [command for command in installs if "requirements.lock" in command]
    assert {"--require-hashes", "--no-deps", "--only-binary"} <= set(dependencies)
    (program,) = [command for command in installs if command[-1] == "."]
    assert {"--no-deps", "--no-build-isolation"} <= set(program), "nothing is fetched besides the lock"
    assert any("compileall" in command for command in commands)


def test_no_secret_is_written_into_the_image() -> None:
    secrets = {row.env.name for row in settings_table() if row.secret}
    for stage in dockerfile().stages:
        for instruction in stage:
            assert instruction.name != "ADD"
            words = set(re.findall(r"\w+", instruction.rest))
            assert not words & secrets or instruction.name not in ("ENV", "ARG", "RUN", "LABEL"), instruction
    assert set(dockerfile().environment) == {"PATH", "PYTHONDONTWRITEBYTECODE", "PPLX_DATA_DIR", "PPLX_PROXY_HOST"}


def test_its_health_is_asked_by_python_alone() -> None:
    options, _, command = dockerfile().one("HEALTHCHECK").rest.partition("CMD ")
    assert command.startswith('["python", "/opt/pplx-gateway/healthcheck.py"]')
    assert {word.partition("=")[0] for word in shlex.split(options)} >= {"--interval", "--timeout", "--start-period"}
    assert "COPY deploy/healthcheck.py /opt/pplx-gateway/healthcheck.py" in (DEPLOY / "Dockerfile").read_text("utf-8")


def test_the_build_sees_no_more_than_it_needs() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    first, *rest = [line for line in lines if line and not line.startswith("#")]
    assert first == "*"
    let_in = {line[1:] for line in rest if line.startswith("!")}
    copied = {
        word
        for stage in dockerfile().stages
        for step in stage
        if step.name == "COPY" and not step.rest.startswith("--from")
        for word in step.rest.split()[:-1]
    }
    assert let_in == copied
    assert all((ROOT / name).exists() for name in let_in)
    assert "**/.env*" in rest


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", "compose.secrets.yaml", "pplx-gateway.service"])
def test_no_file_names_an_address_outside(name: str) -> None:
    text = (DEPLOY / name).read_text(encoding="utf-8")
    assert set(re.findall(r"\w+://[^\s:/}]+", text)) <= {"http://flaresolverr"}
