from pathlib import Path

import pytest

from pplx_gateway.containers import container_hints
from pplx_gateway.settings import Settings


@pytest.fixture
def inside(tmp_path: Path) -> tuple[Path, ...]:
    mark = tmp_path / ".dockerenv"
    mark.touch()
    return (tmp_path / ".containerenv", mark)


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:7890", "http://u:hidden@localhost:1", "socks5h://[::1]:9"])
@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "HTTP_PROXY"])
def test_a_proxy_on_loopback_is_told_inside_a_container(variable: str, proxy: str, inside: tuple[Path, ...]) -> None:
    (hint,) = container_hints(Settings(), {variable: proxy}, inside)
    assert hint.startswith(f"{variable} names ")
    assert "host.docker.internal" in hint
    assert "hidden" not in hint


def test_a_proxy_elsewhere_and_no_proxy_are_not_told(inside: tuple[Path, ...]) -> None:
    assert container_hints(Settings(), {"HTTPS_PROXY": "http://host.docker.internal:7890"}, inside) == []
    assert container_hints(Settings(flaresolverr_url="http://flaresolverr:8191"), {}, inside) == []


def test_each_variable_is_told_once(inside: tuple[Path, ...]) -> None:
    given = {"HTTPS_PROXY": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1"}
    settings = Settings(flaresolverr_url="http://localhost:8191")
    hints = container_hints(settings, given, inside)
    assert [hint.split()[0] for hint in hints] == ["HTTPS_PROXY", "HTTP_PROXY", "FLARESOLVERR_URL"]


def test_outside_a_container_loopback_is_as_good_as_any(tmp_path: Path) -> None:
    settings = Settings(flaresolverr_url="http://localhost:8191")
    assert container_hints(settings, {"HTTPS_PROXY": "http://127.0.0.1:1"}, (tmp_path / "none",)) == []
