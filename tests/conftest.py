"""What holds for every test."""

import signal
from collections.abc import Generator, Iterator

import pytest
import trustme
from hypothesis import HealthCheck, settings

from pplx_gateway import collector

# On a busy machine a slow example is no defect.
settings.register_profile("untimed", parent=settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Ten thousand tests stay to the end: to look for garbage among them costs each worker a third of its collecting,
    and a twentieth of the rest."""
    with collector.paused():
        collected = yield
    collector.settle()
    return collected


@pytest.fixture(scope="session", autouse=True)
def _one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing here asks beyond loopback, so the system's authorities are not loaded once more for each client and each
    gateway: that was most of what it costs to start one."""
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    path.write_bytes(trustme.CA().cert_pem.bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(path))
        patch.delenv("SSL_CERT_DIR", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def _compiled_once() -> Iterator[None]:
    """The programs that tests start may keep their bytecode, else each compiles the gateway anew: two thirds of what
    such a start costs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> Iterator[None]:
    """A shell that runs the suite in the background has it ignore Ctrl-C, and every program started by it too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
