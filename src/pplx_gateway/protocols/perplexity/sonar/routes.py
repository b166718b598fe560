"""Where Sonar is found, below `/perplexity` and at the root; with or without `/v1`, as its clients disagree."""

from functools import partial

from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.responses.background import Background
from pplx_gateway.protocols.operation import route
from pplx_gateway.protocols.perplexity.sonar.async_sonar import AsyncSonar
from pplx_gateway.protocols.perplexity.sonar.call import Sonar
from pplx_gateway.protocols.perplexity.sonar.models import SonarModels

SONAR_PATHS = (
    "/v1/sonar",
    "/chat/completions",
    "/perplexity/v1/sonar",
    "/perplexity/sonar",
    "/perplexity/chat/completions",
    "/perplexity/v1/chat/completions",
)
ASYNC_PATHS = (
    "/v1/async/sonar",
    "/async/sonar",
    "/async/chat/completions",
    "/v1/async/chat/completions",
    "/perplexity/v1/async/sonar",
    "/perplexity/async/sonar",
    "/perplexity/async/chat/completions",
    "/perplexity/v1/async/chat/completions",
)
_LISTED = ("/v1/async/sonar", "/perplexity/v1/async/sonar")


class SonarRoutes:
    """Raises SettingsError where the owner's table of models cannot be read."""

    def __init__(self, gateway: Gateway, background: Background) -> None:
        models = SonarModels(gateway)
        self._gateway = gateway
        self._later = AsyncSonar(gateway, background, models)
        self._now = Sonar(gateway, models)

    def hot(self) -> dict[str, ASGIApp]:
        """What answers a POST at once, by path."""
        return dict.fromkeys(SONAR_PATHS, self._now)

    def routes(self) -> list[BaseRoute]:
        found = []
        for path in ASYNC_PATHS:
            add = partial(route, self._gateway, listed=path in _LISTED)
            found.append(add(path, {"POST": self._later.submit, "GET": self._later.listed}))
            found.append(add(f"{path}/{{id}}", {"GET": self._later.one}))
        return found
