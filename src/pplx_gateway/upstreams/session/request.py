"""The body of a question to `/rest/sse/perplexity_ask` (docs/wire-session.md 1.3 to 1.6)."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import msgspec

from pplx_gateway.answer import Warned
from pplx_gateway.catalogue import Model, SessionRoute
from pplx_gateway.errors import ConversationTooLong, InvalidRequest
from pplx_gateway.question import TURNS, Location, Message, Question, Search
from pplx_gateway.upstreams.session.formats import TRIED, format_instruction
from pplx_gateway.upstreams.session.functions.bridge import Bridge, bridge_of
from pplx_gateway.upstreams.session.functions.history import entry
from pplx_gateway.upstreams.session.functions.instruction import recalling
from pplx_gateway.upstreams.session.functions.offer import names_of
from pplx_gateway.upstreams.session.lobehub import reduce
from pplx_gateway.upstreams.session.options import SessionOptions
from pplx_gateway.upstreams.session.prompts import Prompt, PromptFiles
from pplx_gateway.upstreams.session.prompts import prompt as select
from pplx_gateway.upstreams.session.threads import Handle
from pplx_gateway.upstreams.session.transcript import Attachment, Transcript, Turn, transcript

ASK_PATH = "/rest/sse/perplexity_ask"
QUERY_LIMIT_CHARACTERS = 96_000
MOST_ATTACHMENTS = 30

_SOURCES = {"web": ("web",), "academic": ("scholar",), "social": ("social",), "finance": ("edgar", "finance")}
# Clients disagree about the case: the two maintained ones send capitals, `hour` is only known in small letters.
_RECENCY = {"hour": "hour", "day": "DAY", "week": "WEEK", "month": "MONTH", "year": "YEAR"}


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One request to be sent; `id` names it. `unsent` must be uploaded before, and their addresses put to
    `attachments`, where those of the thread so far are already. `bridge` reads the answer where functions are offered;
    `guarded`: functions are spoken of, but none may be called."""

    id: str
    preference: str
    query: str
    params: dict[str, Any]
    attachments: tuple[str, ...] = ()
    unsent: tuple[Attachment, ...] = ()
    followup: bool = False
    warnings: tuple[Warned, ...] = ()
    bridge: Bridge | None = None
    guarded: bool = False

    @property
    def query_characters(self) -> int:
        """The length of what is really sent."""
        return len(self.query)

    @property
    def body(self) -> bytes:
        return msgspec.json.encode({"query_str": self.query, "params": self.params | {"attachments": self.attachments}})

    def __repr__(self) -> str:
        return f"Ask(preference={self.preference!r}, query_characters={self.query_characters})"


def compose(
    question: Question,
    model: Model,
    options: SessionOptions,
    *,
    new_uuid: Callable[[], UUID],
    handle: Handle | None,
    prompts: PromptFiles | None = None,
) -> Ask:
    """The request for `question`; with a `handle` only its last turn is sent. Raises InvalidRequest."""
    prompts = prompts or PromptFiles()
    lobe = reduce(question)
    question = lobe.question if lobe else question
    told = transcript(question)
    _check_attachments(told)
    bridge = bridge_of(question)
    prompt = _lobe_prompt(lobe.left_out, prompts) if lobe else _prompt(told, options, prompts)
    prompt = Prompt((*prompt.instructions, *_own(question, told, bridge)), prompt.warning)
    query, warnings = _query(question, told, prompt, handle)
    _check_length(query)
    location, unplaced = _coordinates(question.search.location)
    identity = str(new_uuid())
    preference = preference_of(question, route_of(model))
    asked = {"model_preference": preference, "frontend_uuid": identity, "client_coordinates": location}
    return Ask(
        id=identity,
        preference=preference,
        query=query,
        params=_params(question, model, options) | asked | _place(handle, new_uuid),
        attachments=handle.attachments if handle else (),
        unsent=told.turns[-1].attachments if handle else told.attachments,
        followup=handle is not None,
        warnings=(*warnings, *unplaced, *((TRIED,) if question.format else ())),
        bridge=bridge,
        guarded=bridge is None and question.format is None and (bool(question.functions) or _after_calls(told)),
    )


def _check_attachments(told: Transcript) -> None:
    if len(told.attachments) > MOST_ATTACHMENTS:
        raise InvalidRequest(
            f"The conversation has {len(told.attachments)} attachments; Perplexity takes at most {MOST_ATTACHMENTS}.",
            param=TURNS,
        )


def _check_length(query: str) -> None:
    if len(query) > QUERY_LIMIT_CHARACTERS:
        raise ConversationTooLong(
            f"The conversation has {len(query)} characters as sent; Perplexity takes at most {QUERY_LIMIT_CHARACTERS}.",
            param=TURNS,
        )


def _params(question: Question, model: Model, options: SessionOptions) -> dict[str, Any]:
    """All but what names this one request, its model and its place."""
    return {
        "version": options.api_version,
        "source": "default",
        "mode": route_of(model).mode,
        **_search(question.search),
        "language": question.search.language or options.language,
        "timezone": "Etc/UTC",
        "is_incognito": options.incognito,
        "prompt_source": "user",
        "use_schematized_api": True,
        "send_back_text_in_streaming_api": False,
        "supported_block_use_cases": _use_cases(question, model),
        "is_related_query": False,
        "is_sponsored": False,
        "is_nav_suggestions_disabled": False,
        "mentions": [],
    }


def route_of(model: Model) -> SessionRoute:
    if model.session is None:
        raise ValueError(f"{model.id} is not a model of the session")
    return model.session


def preference_of(question: Question, route: SessionRoute) -> str:
    return route.thinking_id if question.thinking and route.thinking_id else route.upstream_id


def _prompt(told: Transcript, options: SessionOptions, prompts: PromptFiles) -> Prompt:
    return select(told.instructions, options.system_prompts, prompts.whitelist())


def _lobe_prompt(left_out: int, prompts: PromptFiles) -> Prompt:
    custom = prompts.custom()
    instead = "CUSTOM_PROMPTS went in their place" if custom else "CUSTOM_PROMPTS could stand in for them"
    warning = f"{left_out} prompt messages of LobeHub were left out; {instead}."
    return Prompt((custom,) if custom else (), warning if left_out else None)


def _own(question: Question, told: Transcript, bridge: Bridge | None) -> tuple[str, ...]:
    """The gateway's own instructions, which no whitelist looks at."""
    if bridge is not None:
        return (bridge.instruction,)
    recalled = recalling() if _after_calls(told) else None
    return tuple(filter(None, (recalled, format_instruction(question.format))))


def _after_calls(told: Transcript) -> bool:
    return any(turn.called for turn in told.turns)


def _query(
    question: Question, told: Transcript, prompt: Prompt, handle: Handle | None
) -> tuple[str, tuple[Warned, ...]]:
    """The text, and sentences about what was left out. A lone question goes as it is, all else in an envelope."""
    turns = told.turns
    if handle is not None:
        return turns[-1].text, ()
    kept, warning = prompt
    warnings = (*((Warned(warning, "system"),) if warning else ()), *_superseded(question, turns))
    if len(turns) == 1 and not kept:
        return turns[0].text, warnings
    return _envelope(question, kept, turns), warnings


def _superseded(question: Question, turns: Sequence[Turn]) -> tuple[Warned, ...]:
    spoken = sum(isinstance(t, Message) and t.role == "assistant" and bool(t.text.strip()) for t in question.turns)
    lost = spoken - sum(turn.role == "assistant" for turn in turns)
    sentence = f"Of several assistant messages in a row only the last reaches Perplexity: {lost} left out."
    return (Warned(sentence, "assistant"),) if lost else ()


def _envelope(question: Question, instructions: Sequence[str], turns: Sequence[Turn]) -> str:
    names = names_of(question)
    history = [
        entry(turn.called, names) if turn.called else {"role": turn.role, "content": turn.text} for turn in turns[:-1]
    ]
    whole = {"instructions": list(instructions), "history": history, "query": turns[-1].text}
    return msgspec.json.encode(whole).decode()


def _search(search: Search) -> dict[str, Any]:
    """Leaving the focus out would mean "writing", so it is always said. Search off is not strict (1.3)."""
    if search.enabled is False:
        return {"search_focus": "writing", "sources": [], "search_recency_filter": None, "skip_search_enabled": True}
    sources = [name for source in search.sources or ("web",) for name in _SOURCES[source]]
    recency = _RECENCY[search.recency] if search.recency else None
    return {
        "search_focus": "internet",
        "sources": list(dict.fromkeys(sources)),
        "search_recency_filter": recency,
        "skip_search_enabled": False,
    }


def _place(handle: Handle | None, new_uuid: Callable[[], UUID]) -> dict[str, Any]:
    """A new thread, or the turn to follow. The page names a context only for new threads."""
    if handle is None:
        return {
            "frontend_context_uuid": str(new_uuid()),
            "last_backend_uuid": None,
            "read_write_token": None,
            "query_source": "home",
        }
    return {
        "last_backend_uuid": handle.backend_uuid,
        "read_write_token": handle.read_write_token,
        "query_source": "followup",
        "followup_source": "link",
    }


def _use_cases(question: Question, model: Model) -> list[str]:
    """Few, so that the site sends few; every kind is understood anyway (1.5)."""
    cases = ["answer_modes", "preserve_latex"]
    if question.search.images:
        cases.append("media_items")
    if question.search.related_questions:
        cases.append("pending_followups")
    if model.research:
        cases.append("unified_assets")
    return cases


def _coordinates(location: Location | None) -> tuple[dict[str, Any] | None, tuple[Warned, ...]]:
    if location is None:
        return None, ()
    if location.latitude is None or location.longitude is None:
        sentence = "The location was left out: the session takes a place only by latitude and longitude."
        return None, (Warned(sentence, "location"),)
    name = ", ".join(part for part in (location.city, location.region, location.country) if part)
    return {"location_lat": location.latitude, "location_lng": location.longitude, "name": name}, ()
