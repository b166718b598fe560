"""compose.yaml and its overlay for secrets from files."""

import re
from pathlib import Path

from dotenv import dotenv_values

from pplx_gateway.environment import load, settings_table
from pplx_gateway.serving import STOP_SECONDS
from tests.deploy.files import DEPLOY, ROOT, compose, dockerfile

SETTINGS = {row.env.name: row for row in settings_table()}
# Not ours, but Compose's own.
PUBLISH = "PPLX_PUBLISH_ADDRESS"


def seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def test_the_gateway_is_built_here_and_keeps_its_data_in_a_volume() -> None:
    found = compose()
    gateway = found["services"]["gateway"]
    context = (DEPLOY / gateway["build"]["context"]).resolve()
    assert context == ROOT
    assert (context / gateway["build"]["dockerfile"]).is_file()
    assert gateway["volumes"] == ["data:/data"]
    assert "data" in found["volumes"]
    assert gateway["environment"]["PPLX_DATA_DIR"] == dockerfile().environment["PPLX_DATA_DIR"] == "/data"


def test_the_gateway_is_reached_on_loopback_unless_another_address_is_named() -> None:
    gateway = compose()["services"]["gateway"]
    (port,) = gateway["ports"]
    assert port == f"${{{PUBLISH}:-127.0.0.1}}:${{PPLX_PROXY_PORT:-8892}}:8892"
    assert gateway["environment"]["PPLX_PROXY_HOST"] == "0.0.0.0"
    assert gateway["environment"]["PPLX_PROXY_PORT"] == "8892", "what .env says is the published port"
    assert dockerfile().one("EXPOSE").rest == "8892"


def test_what_env_says_of_the_machine_does_not_reach_the_container() -> None:
    """Variables of `environment` win over those of `env_file`."""
    gateway = compose()["services"]["gateway"]
    assert (DEPLOY / gateway["env_file"]).resolve() == ROOT / ".env"
    assert {"PPLX_DATA_DIR", "PPLX_PROXY_HOST", "PPLX_PROXY_PORT"} <= set(gateway["environment"])


def test_every_variable_is_one_that_the_gateway_reads() -> None:
    for name in ("compose.yaml", "compose.secrets.yaml"):
        gateway = compose(name)["services"]["gateway"]
        assert {variable.removesuffix("_FILE") for variable in gateway["environment"]} <= set(SETTINGS)
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"\$\{(\w+)", text)) <= {*SETTINGS, PUBLISH}
    assert PUBLISH not in SETTINGS


def test_no_secret_stands_in_the_files() -> None:
    secrets = {name for name, row in SETTINGS.items() if row.secret}
    for name in ("compose.yaml", "compose.secrets.yaml"):
        for service in compose(name)["services"].values():
            assert not secrets & set(service.get("environment", {}))


def test_the_gateway_has_no_rights_beyond_its_own() -> None:
    gateway = compose()["services"]["gateway"]
    assert gateway["cap_drop"] == ["ALL"]
    assert gateway["read_only"] is True
    assert "no-new-privileges:true" in gateway["security_opt"]
    assert not {"privileged", "network_mode", "pid", "user", "entrypoint", "command", "init"} & set(gateway)


def test_a_stop_waits_longer_than_the_gateway_takes() -> None:
    assert seconds(compose()["services"]["gateway"]["stop_grace_period"]) > STOP_SECONDS + 1


def test_flaresolverr_is_pinned_quiet_and_reached_by_the_gateway_alone() -> None:
    found = compose()
    solver = found["services"]["flaresolverr"]
    assert re.fullmatch(r"[\w/]+:v\d+\.\d+\.\d+", solver["image"])
    assert solver["environment"]["LOG_LEVEL"] == "warning"
    assert not {"ports", "network_mode"} & set(solver)
    assert found["services"]["gateway"]["environment"]["FLARESOLVERR_URL"] == (
        "${FLARESOLVERR_URL-http://flaresolverr:8191}"
    ), "with `-` and not `:-`, so that a blank value turns it off"


def test_logs_do_not_grow_without_end() -> None:
    for service in compose()["services"].values():
        assert {"max-size", "max-file"} <= set(service["logging"]["options"])


def test_secrets_from_files_are_mounted_where_the_gateway_looks() -> None:
    found = compose("compose.secrets.yaml")
    gateway = found["services"]["gateway"]
    assert set(gateway["environment"].values()) == {f"/run/secrets/{name}" for name in gateway["secrets"]}
    assert set(gateway["secrets"]) == set(found["secrets"])
    for variable in gateway["environment"]:
        assert SETTINGS[variable.removesuffix("_FILE")].secret
    folders = {Path(secret["file"]).parent for secret in found["secrets"].values()}
    assert folders == {Path("secrets")}
    assert "/deploy/secrets/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_a_dollar_in_single_quotes_means_itself(tmp_path: Path) -> None:
    """docs/operation.md says so; Compose and systemd take single quotes literally, and so must we."""
    file = tmp_path / ".env"
    file.write_text("PPLX_COOKIE='a$b$$c${d}'\n", encoding="utf-8")
    assert dotenv_values(file, interpolate=False)["PPLX_COOKIE"] == "a$b$$c${d}"


def test_blanks_around_the_path_of_a_secret_are_trimmed(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(" gk-1 \n", encoding="utf-8")
    key = load({"PPLX_PROXY_API_KEY": " ", "PPLX_PROXY_API_KEY_FILE": f" {tmp_path / 'key'} "}, None).settings.api_key
    assert key is not None
    assert key.reveal() == "gk-1"
    assert load({"PPLX_PROXY_API_KEY_FILE": "  "}, None).settings.api_key is None
