"""What docs/operation.md and docs/moving.md name must be there."""

import re
from pathlib import Path

import pytest

from pplx_gateway.environment import settings_table
from pplx_gateway.protocols.perplexity.sonar.routes import SONAR_PATHS
from pplx_gateway.serving import GRACE_SECONDS, STOP_SECONDS
from pplx_gateway.web.paths import normal
from tests.deploy.files import ROOT, compose, dockerfile
from tests.rig import running

PAGES = ("operation.md", "moving.md")
SETTINGS = {row.env.name: row for row in settings_table()}
# Variables that others read: Compose, the shell, systemd, scripts of ours.
OTHERS = {"PPLX_PUBLISH_ADDRESS", "COMPOSE", "HTTPS_PROXY", "NAME", "CUSTOM_PROMPTS"}


def text(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_every_variable_exists(page: str) -> None:
    named = set(re.findall(r"\b[A-Z]+_[A-Z_]+\b", text(page)))
    assert {name.removesuffix("_FILE") for name in named} - OTHERS <= set(SETTINGS)
    files = {name.removesuffix("_FILE") for name in named if name.endswith("_FILE")} - OTHERS
    assert all(SETTINGS[name].secret for name in files)


async def test_every_path_that_is_called_the_same_exists(tmp_path: Path) -> None:
    (rows,) = re.findall(r"## From pplx-proxy\n(.*?)\n## ", text("moving.md"), flags=re.DOTALL)
    paths = re.findall(r"`(/[a-z][\w/-]+)`", "".join(row for row in rows.splitlines() if row.endswith("| the same |")))
    assert len(paths) > 5
    async with running(tmp_path) as rig:
        for path in paths:
            for status in {(await rig.get(path)).status, (await rig.post({}, path=path)).status}:
                assert status != 404, path


@pytest.mark.parametrize("page", PAGES)
def test_every_file_of_ours_exists(page: str) -> None:
    for name in re.findall(r"\b(?:scripts|deploy)/[\w./-]*\w", text(page)):
        assert (ROOT / name).exists() or name.startswith("deploy/secrets"), name


def test_the_numbers_are_those_of_the_program() -> None:
    page = text("operation.md")
    assert (GRACE_SECONDS, STOP_SECONDS) == (5.0, 9.0)
    assert "have five seconds to finish" in page
    assert "after nine seconds at most" in page
    uid = dockerfile().one("USER").rest.split(":")[0]
    assert f"runs as user {uid}" in page
    assert f"chown {uid}" in page
    assert f"{compose()['name']}_data" in page


def test_old_base_addresses_lead_to_a_chat() -> None:
    assert normal("/v1/v1/chat/completions") == normal("/v1/chat/completions") == "/v1/chat/completions"
    assert normal("/chat/completions") in SONAR_PATHS  # in Perplexity's words, which OpenAI's clients read too


def test_the_readme_leads_to_both() -> None:
    readme = Path(ROOT / "README.md").read_text(encoding="utf-8")
    for page in PAGES:
        assert f"(docs/{page})" in readme
