"""What a run is going to do, decided in full before it begins."""

import re
import uuid
from collections.abc import Iterator

import msgspec

from pplx_gateway.emulator import fitting, knowledge
from pplx_gateway.emulator.agent import models
from pplx_gateway.emulator.agent.conversation import Conversation
from pplx_gateway.emulator.agent.request import AgentRequest, Function, ImageSearch, ToolChoice, WebSearch
from pplx_gateway.emulator.dice import Dice
from pplx_gateway.emulator.words import Controls, named_functions, parse_controls

FLOOR_OUTPUT_TOKENS = 16


class Call(msgspec.Struct, frozen=True):
    """A function call to make. `arguments` is what is sent, JSON or not."""

    call_id: str
    name: str
    arguments: str
    signature: str | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`model` serves; `shown_model` is what `model` says while the run is not done (the level's name, where a level
    rules). `tools` are native tools in use by type. `rounds` counts searches; 0 = the model did not search. `limit`
    counts output tokens. `text` is what the message says, whole."""

    controls: Controls
    dice: Dice
    model: str
    shown_model: str
    tools: tuple[str, ...]
    rounds: int
    calls: tuple[Call, ...]
    waits_for_action: bool
    composed: knowledge.Composed
    text: str
    limit: int | None
    effort: str | None
    pictures: bool
    specials: tuple[str, ...]
    skills: tuple[str, ...]

    @property
    def first_id(self) -> int:
        """Result ids run over the whole run; they need not begin at 1."""
        return self.dice.pick("first id", (1, 1, 2, 3, 7))

    @property
    def id_step(self) -> int:
        return self.dice.pick("id step", (1, 1, 2))

    def result_id(self, index: int) -> int:
        return self.first_id + index * self.id_step


def make(request: AgentRequest, conversation: Conversation) -> Plan:
    """The plan for `request`, which rules.py found good."""
    controls = parse_controls(conversation.question)
    dice = Dice(controls.question)
    level = models.find_level(request.level) if request.level else None
    model = _served_model(request, level, controls)
    tools = _tools(request, level)
    calls = () if conversation.results else tuple(_calls(request, controls, dice, model))
    rounds = 0 if calls and not _must_search(request) else _rounds(request, level, tools, controls.question)
    composed = _composed(request, conversation, controls, level, searched=rounds > 0)
    plan = Plan(
        controls=controls,
        dice=dice,
        model=model,
        shown_model=request.level or model,
        tools=tools,
        rounds=rounds,
        calls=calls,
        waits_for_action=dice.chance("requires_action", 50),
        composed=composed,
        text="",
        limit=max(request.body.max_output_tokens, FLOOR_OUTPUT_TOKENS) if request.body.max_output_tokens else None,
        effort=request.body.reasoning.effort if request.body.reasoning else None,
        pictures="image_search" in tools and not calls,
        specials=() if calls else tuple(_specials(request, tools, controls.question)),
        skills=tuple(skill.name if hasattr(skill, "name") else skill.id for skill in request.body.skills or []),
    )
    return msgspec.structs.replace(plan, text=_text(request, conversation, plan))


def _served_model(request: AgentRequest, level: models.Level | None, controls: Controls) -> str:
    asked = request.model or (level.model if level else "openai/gpt-6-luna")
    if controls.fault == "substituted":
        return "openai/gpt-6-luna" if asked != "openai/gpt-6-luna" else "perplexity/glm-5.3-flash"
    return asked


def _tools(request: AgentRequest, level: models.Level | None) -> tuple[str, ...]:
    """Native tools: the request's own, and the level's that it does not list again. `tools: []` removes none."""
    if request.body.tool_choice == "none" or request.body.max_tool_calls == 0:
        return ()
    own = [str(tool.__struct_config__.tag) for tool in request.body.tools or []]
    return tuple(dict.fromkeys((*own, *(level.tools if level else ()))))


def _must_search(request: AgentRequest) -> bool:
    """A search comes first then, even where a function is called after it."""
    choice = request.body.tool_choice
    return isinstance(choice, ToolChoice) and choice.type == "web_search"


def _rounds(request: AgentRequest, level: models.Level | None, tools: tuple[str, ...], question: str) -> int:
    """How often the run searches. A level always does; a bare model only if it has the tool, and feels like it."""
    if "web_search" not in tools:
        return 0
    choice = request.body.tool_choice
    required = choice == "required" or (isinstance(choice, ToolChoice) and choice.type == "required")
    if level is None and not required and not _must_search(request) and "?" not in question:
        return 0
    wanted = level.rounds if level else 1
    return min(wanted, request.body.max_steps or wanted)


# Words by which a question asks for a tool, apart from naming it in tool_choice.
_SPOKEN = {
    "people_search": {"who", "people", "person", "expert", "experts"},
    "finance_search": {"stock", "stocks", "share", "shares", "revenue", "finance", "earnings"},
    "sandbox": {"compute", "calculate", "run", "code", "python", "plot"},
}


def _specials(request: AgentRequest, tools: tuple[str, ...], question: str) -> Iterator[str]:
    """The special tools that the run uses, in the order of the table."""
    choice = request.body.tool_choice
    forced = choice.type if isinstance(choice, ToolChoice) else None
    asked = set(re.findall(r"\w+", question.lower()))
    return (tool for tool, spoken in _SPOKEN.items() if tool in tools and (tool == forced or spoken & asked))


def _calls(request: AgentRequest, controls: Controls, dice: Dice, model: str) -> Iterator[Call]:
    for name, schema in _wanted(request, controls):
        fitted = fitting.fit(schema or {"type": "object"}, controls.question)
        text = msgspec.json.encode(fitted).decode()
        if controls.fault == "tool_bad_json":
            text = text[: max(1, len(text) - 2)] + ","
        elif controls.fault == "tool_bad_arguments":
            text = msgspec.json.encode(fitting.spoil(schema or {}, controls.question)).decode()
        signature = f"c2lnbmF0dXJl{dice.number(name, 1000, 9999)}" if model.startswith("google/") else None
        yield Call(f"call_{uuid.uuid4().hex[:24]}", name, text, signature)


def _wanted(request: AgentRequest, controls: Controls) -> list[tuple[str, object]]:
    """(name, schema) of each function to call."""
    if controls.fault == "tool_unknown_name":
        return [("no_such_function", None)]
    offered = {tool.name: tool for tool in request.functions}
    chosen = [offered[name] for name in _chosen(request, list(offered), controls)]
    if request.body.parallel_tool_calls is False:
        chosen = chosen[:1]
    return [(tool.name, _schema(tool)) for tool in chosen]


def _chosen(request: AgentRequest, offered: list[str], controls: Controls) -> list[str]:
    choice = request.body.tool_choice
    if not offered or choice == "none" or request.body.max_tool_calls == 0 or controls.fault == "empty":
        return []
    if isinstance(choice, ToolChoice) and choice.name:
        return [choice.name]
    must = choice == "required" or (isinstance(choice, ToolChoice) and choice.type == "required")
    must = must or (controls.fault or "").startswith("tool_")
    return list(named_functions(controls.question, offered)) or (offered[:1] if must else [])


def _schema(tool: Function) -> object:
    return tool.parameters


def _composed(
    request: AgentRequest,
    conversation: Conversation,
    controls: Controls,
    level: models.Level | None,
    *,
    searched: bool,
) -> knowledge.Composed:
    web = next((tool for tool in request.body.tools or [] if isinstance(tool, WebSearch)), WebSearch())
    pictures = next((tool for tool in request.body.tools or [] if isinstance(tool, ImageSearch)), ImageSearch())
    formats = (pictures.filters.format_filter if pictures.filters else None) or ()
    count = Dice(controls.question).number("sources", 3, 5)
    question = controls.question
    if controls.unknown_fault:
        question = "Which faults does the emulator know?"
    return knowledge.compose(
        question,
        earlier=tuple(parse_controls(text).question for text in conversation.earlier),
        results=tuple(conversation.results),
        attachments=tuple(conversation.attachments),
        length="long" if level and level.rounds > 1 else "normal",
        source_count=min(count, web.max_results) if web.max_results else count,
        domains=tuple((web.filters.search_domain_filter if web.filters else None) or ()),
        image_formats=tuple(formats),
        marks=searched,
    )


def _text(request: AgentRequest, conversation: Conversation, plan: Plan) -> str:
    if plan.controls.fault == "empty":
        return ""
    if plan.calls:
        # A model may say something before it calls; forced calls come without a word.
        talks = request.body.tool_choice in (None, "auto") and plan.dice.chance("talks", 30)
        return "Let me look that up." if talks else ""
    if request.body.response_format is not None:
        schema = request.body.response_format.json_schema.schema
        return _json(schema, conversation, plan)
    if any("JSON object" in text for text in conversation.system):
        text = _json({"type": "object"}, conversation, plan)
        return f"```json\n{text}\n```" if plan.dice.chance("fenced", 50) else text
    web = "web:" if plan.dice.chance("web marks", 35) else ""
    return plan.composed.text(lambda index: f"[{web}{plan.result_id(index)}]")


def _json(schema: dict[str, object], conversation: Conversation, plan: Plan) -> str:
    answer = plan.composed.text() if conversation.results else plan.composed.topic
    return msgspec.json.encode(fitting.answering(schema, plan.controls.question, answer)).decode()
