from collections.abc import Callable, Mapping

import uvloop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], object]]:
    """The loop that the gateway runs on."""
    return {"uvloop": uvloop.new_event_loop}
