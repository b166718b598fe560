"""A tool's arguments as a request for a response in the background, and what is wrong with them in the tool's words."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from pplx_gateway.caller_keys import current_key
from pplx_gateway.errors import GatewayError, ModelNotFound, RequestError, UpstreamAuth
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.mcp.tools import ASKS, DEFAULT, START, Ask
from pplx_gateway.protocols.openai.responses.fields import SOURCES
from pplx_gateway.routing import Route

Fields = dict[str, object]

# A tool's parameter, and the field of a request that says the same. Errors name the former.
_FIELDS = {
    "sources": "sources",
    "language": "language_preference",
    "recency": "search_recency_filter",
    "domains": "search_domain_filter",
    "after": "search_after_date_filter",
    "before": "search_before_date_filter",
    "country": "country",
    "context_size": "web_search_options.search_context_size",
}
_PARAMETERS = {field: parameter for parameter, field in _FIELDS.items()} | {"input": "query"}
_QUOTED = re.compile(r"'([\w.]+)'")
_DISTINCT = re.compile("|".join(re.escape(field) for field in _PARAMETERS if "_" in field))


def request_body(tool: str, arguments: Mapping[str, object], route: Route, *, background: bool) -> bytes:
    """The body of `POST /v1/responses` that asks the same. Searches and thoughts are asked for because they tell how
    far the answer is; marks are kept because the sources are listed by their numbers."""
    body: Fields = {
        "model": route.requested,
        "input": arguments["query"],
        "background": background,
        "store": background,
        "tools": [{"type": "web_search"}],
        "reasoning": {"summary": "auto"},
        "include": [SOURCES],
        "citation_marks": "keep",
        "source_list": "off",
    }
    effort = ASKS[tool].effort if tool in ASKS else None
    if effort is not None:
        body["reasoning"] = {"summary": "auto", "effort": effort}
    for parameter, field in _FIELDS.items():
        if arguments.get(parameter):
            _put(body, field, arguments[parameter])
    return msgspec.json.encode(body)


def _put(body: Fields, path: str, value: object) -> None:
    name, _, inner = path.partition(".")
    body[name] = {inner: value} if inner else value


def route_of(tool: str, arguments: Mapping[str, object], gateway: Gateway) -> Route:
    """Who answers. Raises ModelNotFound, ModelNotAllowed, UpstreamAuth."""
    if tool == START:
        return gateway.resolve(f"api/{arguments['preset']}")
    model = arguments.get("model", DEFAULT)
    if model != DEFAULT:
        return gateway.resolve(str(model))
    return _default_route(ASKS[tool], gateway)


def _default_route(ask: Ask, gateway: Gateway) -> Route:
    if ask.api is None:
        return gateway.resolve(None)
    missing: GatewayError | None = None
    for model in _defaults(ask, gateway):
        try:
            return gateway.resolve(model)
        except ModelNotFound as error:
            missing = missing or error
    raise missing or UpstreamAuth("No upstream is set up. Set PPLX_COOKIE or PERPLEXITY_API_KEY.")


def _defaults(ask: Ask, gateway: Gateway) -> Iterator[str]:
    """In the order of the upstreams; but the paid one comes after the other unless the owner allows spending."""
    key, settings = current_key.get(), gateway.settings
    for upstream in sorted(settings.upstreams, key=lambda name: name == "api" and not settings.allow_spending):
        if key is not None and not key.allows_upstream(upstream):
            continue
        name = ask.api if upstream == "api" else ask.session or settings.default_model
        yield str(name) if "/" in str(name) else f"{upstream}/{name}"


def renamed(error: GatewayError, tool: str) -> GatewayError:
    """The same error in the words of the tool's parameters."""
    if isinstance(error, RequestError):
        error.message = reworded(error.message, tool)
        error.param = _named(error.param, tool) if error.param else None
    return error


def reworded(sentence: str, tool: str) -> str:
    """With parameters of the tool in the place of a request's fields."""
    sentence = _QUOTED.sub(lambda found: f"'{_named(found[1], tool)}'", sentence)
    return _DISTINCT.sub(lambda found: _named(found[0], tool), sentence)


def _named(field: str, tool: str) -> str:
    return "preset" if field == "model" and tool == START else _PARAMETERS.get(field, field)
