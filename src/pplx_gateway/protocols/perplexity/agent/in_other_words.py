"""An Agent request in the words of a request for a response, for upstreams that know questions only."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from pplx_gateway.capabilities import Policy, refusal
from pplx_gateway.errors import RequestError, UnsupportedParameter
from pplx_gateway.protocols.openai.responses.request import (
    ChoiceOfTool,
    JsonObject,
    ReasoningWish,
    ResponsesRequest,
    SchemaFormat,
    TextOptions,
)
from pplx_gateway.protocols.openai.search_fields import UserLocation, WebSearchOptions
from pplx_gateway.protocols.perplexity.agent.items import InputItem
from pplx_gateway.protocols.perplexity.agent.request import (
    AgentRequest,
    FetchUrl,
    FinanceSearch,
    Function,
    ImageSearch,
    Tool,
    ToolChoice,
    WebSearch,
)

_HINTS = ("max_steps", "step_budget_reminder")
"""Left out and told: the answer means the same without them."""
_REFUSED = ("profile", "skills")


class Worded(NamedTuple):
    """`written` holds, by the path of a field of `request`, the path that the caller wrote instead. `dropped` are
    fields that are left out."""

    request: ResponsesRequest
    written: Mapping[str, str]
    dropped: tuple[str, ...]

    @contextmanager
    def errors_as_written(self) -> Iterator[None]:
        try:
            yield
        except RequestError as error:
            for path, written in self.written.items():
                if error.param is not None and (
                    error.param == path or error.param.startswith((f"{path}.", f"{path}["))
                ):
                    param = written + error.param[len(path) :]
                    error.message = error.message.replace(f"'{error.param}'", f"'{param}'")
                    error.param = param
                    break
            raise

    def names(self, fields: tuple[str, ...]) -> tuple[str, ...]:
        """Names of fields as they were written."""
        return tuple(self.written.get(name, name) for name in fields)


def in_other_words(request: AgentRequest, items: str | list[InputItem], policy: Policy, upstream: str) -> Worded:
    """Raises UnsupportedParameter for what the upstream has not, unless the policy drops."""
    tools = _Tools(policy, upstream)
    for place, tool in enumerate(request.tools or ()):
        tools.add(tool, f"tools[{place}]")
    dropped = [name for name in _HINTS if getattr(request, name) is not None]
    for name in _REFUSED:
        if getattr(request, name):
            tools.refuse(name)
    worded = ResponsesRequest(
        input=items if isinstance(items, str) else [msgspec.to_builtins(item) for item in items],
        instructions=request.instructions,
        previous_response_id=request.previous_response_id,
        background=request.background,
        stream=request.stream,
        store=request.store,
        reasoning=_reasoning(request),
        text=_text(request, tools.written),
        tools=tools.functions or None,
        tool_choice=_choice(request.tool_choice, bool(tools.functions)),
        parallel_tool_calls=request.parallel_tool_calls,
        max_tool_calls=request.max_tool_calls or None,
        max_output_tokens=request.max_output_tokens,
        temperature=request.temperature,
        top_p=request.top_p,
        metadata=request.metadata,
        service_tier=request.service_tier,
        prompt_cache_key=request.prompt_cache_key,
        truncation=request.truncation,
        language_preference=request.language_preference,
        disable_search=True if request.max_tool_calls == 0 else None,
        **tools.search,
    )
    if request.max_tool_calls == 0:
        tools.written["disable_search"] = "max_tool_calls"
    return Worded(worded, tools.written, (*dropped, *tools.dropped))


class _Tools:
    """`functions` as both write them; `search` are the fields that others become, `written` where these stood."""

    def __init__(self, policy: Policy, upstream: str) -> None:
        self.functions: list[JsonObject] = []
        self.search: dict[str, Any] = {}
        self.written: dict[str, str] = {}
        self.dropped: list[str] = []
        self._policy = policy
        self._upstream = upstream

    def add(self, tool: Tool, at: str) -> None:
        match tool:
            case Function():
                self.written[f"tools[{len(self.functions)}]"] = at
                self.functions.append(msgspec.to_builtins(tool))
            case WebSearch():
                self._web_search(tool, at)
            case ImageSearch():
                self._image_search(tool, at)
            case FinanceSearch():
                self._set("sources", ["web", "finance"], at)
            case FetchUrl():  # pages are read in any case, and nobody can say how many
                self.dropped += [f"{at}.{name}" for name in ("max_urls", "total_budget_tokens") if getattr(tool, name)]
            case _:
                self.refuse(at)

    def refuse(self, at: str) -> None:
        if self._policy == "reject":
            raise UnsupportedParameter(refusal(at, self._upstream), param=at)
        self.dropped.append(at)

    def _web_search(self, tool: WebSearch, at: str) -> None:
        filters = msgspec.to_builtins(tool.filters) if tool.filters else {}
        for name, value in filters.items():
            self._set(name, value, f"{at}.filters.{name}")
        if tool.max_results is not None:
            self._set("num_search_results", tool.max_results, f"{at}.max_results")
        for name in ("max_tokens", "max_tokens_per_page", "search_type"):
            self.dropped += [f"{at}.{name}"] if getattr(tool, name) is not None else []
        place = tool.user_location
        if tool.search_context_size or place:
            options = WebSearchOptions(
                search_context_size=tool.search_context_size,
                user_location=UserLocation(**msgspec.to_builtins(place)) if place else None,
            )
            self._set("web_search_options", options, at)
            self.written["web_search_options.search_context_size"] = f"{at}.search_context_size"
            self.written["web_search_options.user_location"] = f"{at}.user_location"

    def _image_search(self, tool: ImageSearch, at: str) -> None:
        self._set("return_images", True, at)
        if tool.filters and tool.filters.domain_filter:
            self._set("image_domain_filter", tool.filters.domain_filter, f"{at}.filters.domain_filter")
        if tool.filters and tool.filters.format_filter:
            self._set("image_format_filter", list(tool.filters.format_filter), f"{at}.filters.format_filter")
        self.dropped += [f"{at}.max_results"] if tool.max_results is not None else []

    def _set(self, name: str, value: object, at: str) -> None:
        self.search[name] = value
        self.written[name] = at


def _reasoning(request: AgentRequest) -> ReasoningWish | None:
    return None if request.reasoning is None else ReasoningWish(effort=request.reasoning.effort)


def _text(request: AgentRequest, written: dict[str, str]) -> TextOptions | None:
    if request.response_format is None:
        return None
    form = request.response_format.json_schema
    written["text.format"] = "response_format.json_schema"
    return TextOptions(
        format=SchemaFormat(name=form.name, schema=form.schema, strict=form.strict, description=form.description)
    )


def _choice(choice: str | ToolChoice | None, functions: bool) -> str | ChoiceOfTool | None:
    """A tool that searches needs not be chosen: where search is on, it is used."""
    if isinstance(choice, ToolChoice) and choice.name is not None:
        return ChoiceOfTool(type="function", name=choice.name)
    demanded = choice == "required" or (isinstance(choice, ToolChoice) and choice.type == "required")
    if demanded:
        return "required" if functions else None
    return choice if isinstance(choice, str) and functions else None
