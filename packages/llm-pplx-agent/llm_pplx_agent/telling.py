"""From the pieces of a run to what llm shows and keeps.

All reasoning makes one part and all text another, in the order of their first piece, and each call a part of its own.
On the text it is noted where in it the answer stands, so that a conversation that goes on repeats the answer alone.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import llm
from llm.parts import StreamEvent
from pplx_agent_mcp import MAX_ERROR, Fields, Run, clean, clip, read_run, source_list, spotlight

from llm_pplx_agent.asking import MODEL_ID, to_collect
from llm_pplx_agent.gathering import Piece, Text, Thought
from llm_pplx_agent.notices import say
from llm_pplx_agent.options import AgentOptions
from llm_pplx_agent.reading import ThinkSplitter

_FENCED = re.compile(r"\s*```(?:json)?[ \t]*\n(.*?)\n?```\s*", re.DOTALL)


class Teller:
    """Tells one answer. `response` gets usage, cost, calls and the raw response; raises llm.ModelError for whatever is
    no whole answer.

    An answer that has to be fenced or has to be JSON is told at its end, in one piece.
    """

    def __init__(self, prompt: llm.Prompt, response: Any, options: AgentOptions, names: dict[str, str]) -> None:
        self._json = bool(prompt.schema)
        self._fence = bool(options.spotlight)
        self._cite = options.include_citations is not False
        self._response = response
        self._names = names
        self._splitter = ThinkSplitter()
        self._answer: list[str] = []
        self._places: dict[str, int] = {}

    def tell(self, pieces: Iterable[Piece]) -> Iterator[StreamEvent]:
        """Raises what `pieces` raises, too."""
        for piece in pieces:
            if isinstance(piece, Thought):
                yield self._event("reasoning", f"{piece.text}\n")
            elif isinstance(piece, Text):
                yield from self._split(*self._splitter.feed(piece.text))
            else:
                yield from self._split(*self._splitter.close())
                yield from self._end(piece.response)

    def _event(self, kind: str, chunk: str, noted: Fields | None = None) -> StreamEvent:
        place = self._places.setdefault(kind, len(self._places))
        return StreamEvent(kind, chunk, part_index=place, provider_metadata={MODEL_ID: noted} if noted else None)

    def _split(self, thought: str, text: str) -> Iterator[StreamEvent]:
        if thought.strip():
            yield self._event("reasoning", f"{thought.strip()}\n")
        if text:
            self._answer.append(text)
            if not (self._json or self._fence):
                yield self._event("text", text)

    def _end(self, response: Fields) -> Iterator[StreamEvent]:
        run = read_run(response)
        calls = [item for item in response.get("output") or [] if _is_call(item)]
        answer = "".join(self._answer)
        self._check(run, response, answer, calls)
        self._keep(response)
        if answer.strip():
            yield from self._text(answer, run, response, calls)
        for call in calls:
            yield from self._call(call)

    def _check(self, run: Run, response: Fields, answer: str, calls: list[Fields]) -> None:
        if run.status in ("failed", "cancelled"):
            reason = clip(clean(run.error), MAX_ERROR)
            verb = "failed" if run.status == "failed" else "was cancelled"
            raise llm.ModelError(f"The run{_named(response)} {verb}{f': {reason}' if reason else '.'}")
        if not answer.strip() and not calls:
            reason = f" ({_reason(response)})" if run.status == "incomplete" else ""
            raise llm.ModelError(f"The run{_named(response)} ended as {run.status} without an answer{reason}.")
        if run.status == "incomplete" and self._json:
            raise llm.ModelError(f"The JSON is incomplete ({_reason(response)}).{_as_text(response)}")

    def _keep(self, response: Fields) -> None:
        usage = response.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        counts = {name: value for name, value in usage.items() if _is_count(value) and name.endswith("_tokens")}
        details = {name: value for name, value in usage.items() if value and name not in counts}
        self._response.set_usage(
            input=counts.get("input_tokens"), output=counts.get("output_tokens"), details=details or None
        )
        self._response.response_json = response
        if isinstance(response.get("model"), str):
            self._response.set_resolved_model(response["model"])

    def _text(self, answer: str, run: Run, response: Fields, calls: list[Fields]) -> Iterator[StreamEvent]:
        """The end of the text, or all of it, with the notes that the next turn needs."""
        start, tail = 0, ""
        if self._json:
            told = answer = _json_of(answer, response)
        else:
            tail = self._tail(run, response, calls)
            told = tail
        if self._fence:
            told = spotlight(answer + tail)
            start = told.index("\n\n") + 2  # behind the notice
        noted: Fields = {"answer": [start, start + len(answer)]}
        if run.status == "completed" and not calls and isinstance(response.get("id"), str):
            noted["response_id"] = response["id"]  # others cannot be continued
        yield self._event("text", told, noted)

    def _tail(self, run: Run, response: Fields, calls: list[Fields]) -> str:
        tail = ""
        if run.status == "incomplete":
            say(f"the answer is INCOMPLETE ({_reason(response)})")
            tail = f"\n\n(This answer is INCOMPLETE: {_reason(response)}.)"
        if self._cite and run.sources and not calls:
            tail += f"\n\nSources:\n{source_list(run)}"
        return tail

    def _call(self, call: Fields) -> Iterator[StreamEvent]:
        sent, call_id, arguments = str(call.get("name")), str(call.get("call_id")), call.get("arguments")
        name = self._names.get(sent, sent)
        try:
            found = json.loads(arguments) if isinstance(arguments, str) and arguments.strip() else arguments or {}
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise llm.ModelError(f"The call of '{name}' came with arguments that are no JSON object.")
        self._response.add_tool_call(llm.ToolCall(name=name, arguments=found, tool_call_id=call_id))
        place = self._places.setdefault(f"call {call_id}", len(self._places))
        signature = call.get("thought_signature")
        noted = {MODEL_ID: {"thought_signature": signature}} if isinstance(signature, str) else None
        yield StreamEvent("tool_call_name", name, place, call_id, provider_metadata=noted)
        yield StreamEvent("tool_call_args", json.dumps(found), place, call_id)


def _json_of(answer: str, response: Fields) -> str:
    """The JSON that a schema asked for, out of a code fence if it came in one."""
    fenced = _FENCED.fullmatch(answer)
    text = fenced.group(1) if fenced else answer
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        raise llm.ModelError(f"The answer is not the JSON that the schema asks for.{_as_text(response)}") from None
    return text


def _named(response: Fields) -> str:
    return f" {response['id']}" if response.get("id") else ""


def _as_text(response: Fields) -> str:
    return f" To see it as text: {to_collect(response['id'])}" if response.get("id") else ""


def _is_call(item: object) -> bool:
    return isinstance(item, dict) and item.get("type") == "function_call"


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _reason(response: Fields) -> str:
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return clip(clean(reason), 100) if isinstance(reason, str) and reason else "no reason given"
