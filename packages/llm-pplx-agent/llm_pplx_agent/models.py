"""The model, for callers that block and for callers that await."""

import contextlib
import re
import threading
from collections.abc import AsyncGenerator, Iterator
from typing import Any, cast

import llm
from llm.parts import StreamEvent
from pplx_agent_mcp import KEY_VARIABLE, MAX_ERROR, Client, Patience, UpstreamError, clean, clip

from llm_pplx_agent.asking import IMAGE_TYPES, MODEL_ID, Asked, ask, to_collect
from llm_pplx_agent.following import Follower, TimeIsUp
from llm_pplx_agent.notices import say
from llm_pplx_agent.options import DEFAULT_TIMEOUT, AgentOptions
from llm_pplx_agent.telling import Teller
from llm_pplx_agent.threads import from_thread
from llm_pplx_agent.version import __version__

KEY_NAME = "perplexity"


class _Shared:
    """What llm asks of a model class, for both."""

    model_id = MODEL_ID
    needs_key: str | None = KEY_NAME
    key_env_var: str | None = KEY_VARIABLE
    can_stream = True
    supports_schema = True
    supports_tools = True
    attachment_types: set[str] | frozenset[str] = IMAGE_TYPES

    def __str__(self) -> str:
        return f"Perplexity Agent: {self.model_id}"


class PplxAgent(_Shared, llm.KeyModel):
    class Options(AgentOptions):
        """As llm looks for it."""

    def execute(
        self,
        prompt: llm.Prompt,
        stream: bool,
        response: llm.Response,
        conversation: llm.Conversation | None,  # noqa: ARG002 - the prompt holds all of it
        key: str | None,
    ) -> Iterator[StreamEvent]:
        return answer(prompt, stream, response, key, threading.Event())


class AsyncPplxAgent(_Shared, llm.AsyncKeyModel):
    class Options(AgentOptions):
        """As llm looks for it."""

    async def execute(
        self,
        prompt: llm.Prompt,
        stream: bool,
        response: llm.AsyncResponse,
        conversation: llm.AsyncConversation | None,  # noqa: ARG002 - the prompt holds all of it
        key: str | None,
    ) -> AsyncGenerator[StreamEvent, None]:
        told = from_thread(lambda cancelled: answer(prompt, stream, response, key, cancelled))
        async with contextlib.aclosing(told):
            async for event in told:
                yield event


def answer(
    prompt: llm.Prompt, stream: bool, response: Any, key: str | None, cancelled: threading.Event
) -> Iterator[StreamEvent]:
    """Asks and tells. Blocks; raises llm.ModelError for every failure, and Cancelled once `cancelled` is set."""
    options = cast(AgentOptions, prompt.options)
    timeout = options.timeout or DEFAULT_TIMEOUT
    client = Client(lambda: _checked(key), f"llm-pplx-agent/{__version__}")
    follower = Follower(client, Patience(timeout, cancelled), say)
    try:
        asked = Asked({}, None, {}) if options.response_id else ask(prompt, options)
        teller = Teller(prompt, response, options, asked.names)
        if options.response_id:
            yield from teller.tell(follower.collect(options.response_id))
        else:
            yield from teller.tell(follower.stream(asked) if stream else follower.poll(asked))
    except TimeIsUp:
        raise llm.ModelError(f"No answer within {timeout} seconds.{_way_back(follower.response_id)}") from None
    except UpstreamError as error:
        raise llm.ModelError(_without_key(_told(error, follower.response_id), key)) from None
    except llm.ModelError as error:
        raise llm.ModelError(_without_key(str(error), key)) from None


def _checked(key: str | None) -> str:
    """Raises UpstreamError for what can be no key, before it gets into a header."""
    if not key or not re.fullmatch(r"[!-~]+", key.strip()):
        raise UpstreamError(f"The key holds characters that no key has. Set it again: llm keys set {KEY_NAME}")
    return key.strip()


def _without_key(text: str, key: str | None) -> str:
    """An error may quote what was sent."""
    return text.replace(key.strip(), "[key removed]") if key and key.strip() else text


def _told(error: UpstreamError, response_id: str) -> str:
    text = error.summary
    if error.status in (401, 403):
        text += f" llm takes it from --key, else from `llm keys set {KEY_NAME}`, else from {KEY_VARIABLE}."
    if error.detail:
        text += f" Perplexity says: {clip(clean(error.detail), MAX_ERROR)}"
    if not response_id and error.ambiguous:
        text += " Perplexity may have started the run all the same; it was not asked again, since each run is billed."
    return text + _way_back(response_id)


def _way_back(response_id: str) -> str:
    if not response_id:
        return ""
    return f" The run may still be going on. To collect it: {to_collect(response_id)}"
