"""What answers to Sonar's names, which no upstream knows any more, and whom a name leads to on Perplexity's own paths.

The built-in table is `data/sonar.json`; PPLX_SONAR_MODELS puts other models of the catalogue into it. On these paths
the api answers where it has a key, else the session; `api/NAME` and `session/NAME` choose.
"""

import re
from collections.abc import Iterable, Mapping
from importlib.resources import files

import msgspec

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.gateway import Gateway
from pplx_gateway.permits import permitted_order
from pplx_gateway.routing import Route
from pplx_gateway.settings import SettingsError

Table = Mapping[str, Mapping[str, str]]
"""A Sonar name to the id of a model, by upstream."""

UPSTREAMS = ("api", "session")
"""In the order in which they are asked here."""
VARIABLE = "PPLX_SONAR_MODELS"
_ENTRY = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)=(?P<upstream>api|session)/(?P<model>[A-Za-z0-9][\w./:@-]*)")


def built_in() -> Table:
    data = files("pplx_gateway").joinpath("data/sonar.json").read_bytes()
    return msgspec.json.decode(data, type=dict[str, dict[str, str]])


def table(entries: Iterable[str] = ()) -> Table:
    """The built-in table with the owner's entries, such as `sonar-pro=api/medium`. Raises SettingsError."""
    found = {name: dict(row) for name, row in built_in().items()}
    for entry in entries:
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise SettingsError(f"{VARIABLE}: '{entry}' is not of the form NAME=api/MODEL or NAME=session/MODEL.")
        found.setdefault(match["name"], {})[match["upstream"]] = match["model"]
    return found


class SonarModels:
    def __init__(self, gateway: Gateway) -> None:
        """Raises SettingsError."""
        self._gateway = gateway
        self._table = table(gateway.settings.sonar_models)

    @property
    def names(self) -> Iterable[str]:
        """Those of the table."""
        return self._table

    @property
    def upstreams(self) -> list[str]:
        """Those that can answer now, as far as the caller's key goes."""
        return [upstream for upstream in permitted_order(UPSTREAMS) if upstream in self._gateway.order]

    def resolve(self, model_id: str | None, *, asked: str | None = None) -> Route:
        """`asked`: what the caller named, where that is no model. Raises InvalidRequest (no model is named: no default
        applies here), ModelNotFound, ModelNotAllowed, UpstreamAuth."""
        if model_id is None:
            raise InvalidRequest("Missing required parameter: 'model'.", param="model")
        upstreams, name = self._chosen(model_id)
        for upstream in upstreams:
            target = self._table.get(name, {}).get(upstream, name)
            if self._gateway.catalogue.find(upstream, target):
                return self._gateway.resolve_as(asked or model_id, f"{upstream}/{target}")
        return self._gateway.resolve(model_id) if asked is None else self._gateway.resolve_as(asked, model_id)

    def _chosen(self, model_id: str) -> tuple[list[str], str]:
        """Which upstreams may answer, and the model's name without a prefix of ours."""
        prefix, _, name = model_id.partition("/")
        ready = self.upstreams
        if name and prefix in UPSTREAMS:
            return [upstream for upstream in ready if upstream == prefix], name
        exact = "api" in ready and self._gateway.catalogue.fixed("api", model_id)
        if prefix == "perplexity" and name in self._table and not exact:
            return ready, name
        return ready, model_id
