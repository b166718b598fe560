"""The OpenAI SDK as strict as it can be made: nothing that its own types do not say gets past it.

`_strict_response_validation` makes the SDK check what it otherwise believes; `checked` does it again without the
conversions that pydantic allows itself there (a number for a string, a string for a number).
"""

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import pydantic
from openai import AsyncOpenAI, DefaultAsyncHttpx2Client, DefaultHttpx2Client, OpenAI
from openai.types import Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ParsedChatCompletion

from tests.rig import KEY

Value = TypeVar("Value", bound=pydantic.BaseModel)


def checked(value: Value) -> Value:
    """`value`, held against its own type once more, strictly. Raises pydantic.ValidationError."""
    pydantic.TypeAdapter(type(value)).validate_python(
        value.model_dump(exclude_unset=True, warnings="error"), strict=True
    )
    return value


def async_client(url: str, *, key: str = KEY, retries: int = 0) -> AsyncOpenAI:
    return AsyncOpenAI(
        base_url=f"{url}/v1",
        api_key=key,
        max_retries=retries,
        http_client=DefaultAsyncHttpx2Client(trust_env=False),
        _strict_response_validation=True,
    )


def thread_client(url: str, *, key: str = KEY, retries: int = 0) -> OpenAI:
    return OpenAI(
        base_url=f"{url}/v1",
        api_key=key,
        max_retries=retries,
        http_client=DefaultHttpx2Client(trust_env=False),
        _strict_response_validation=True,
    )


class Helped(NamedTuple):
    """What `.stream()` gave: the kinds of its events in order, their text, and what they came to in the end."""

    kinds: list[str]
    text: str
    final: ParsedChatCompletion[Any]


class Sdk(Protocol):
    """Both clients behind one face. Bodies are keyword arguments; every object comes back `checked`."""

    def __init__(self, url: str, *, key: str = KEY, retries: int = 0) -> None: ...

    async def close(self) -> None: ...

    async def plain(self, **body: Any) -> ChatCompletion: ...

    async def streamed(self, **body: Any) -> list[ChatCompletionChunk]: ...

    def reading(self, **body: Any) -> AsyncGenerator[ChatCompletionChunk, None]:
        """Chunks as they come; closing it leaves the stream."""
        ...

    async def helped(self, **body: Any) -> Helped: ...

    async def models(self) -> list[Model]: ...

    async def model(self, name: str) -> Model: ...


class AsyncSdk:
    def __init__(self, url: str, *, key: str = KEY, retries: int = 0) -> None:
        self._client = async_client(url, key=key, retries=retries)

    async def close(self) -> None:
        await self._client.close()

    async def plain(self, **body: Any) -> ChatCompletion:
        reply: ChatCompletion = await self._client.chat.completions.create(**body)
        return checked(reply)

    async def streamed(self, **body: Any) -> list[ChatCompletionChunk]:
        return [chunk async for chunk in self.reading(**body)]

    async def reading(self, **body: Any) -> AsyncGenerator[ChatCompletionChunk, None]:
        async with await self._client.chat.completions.create(**body, stream=True) as stream:
            async for chunk in stream:
                yield checked(chunk)

    async def helped(self, **body: Any) -> Helped:
        async with self._client.chat.completions.stream(**body) as stream:
            events = [event async for event in stream]
            return _helped(events, await stream.get_final_completion())

    async def models(self) -> list[Model]:
        return [checked(model) async for model in self._client.models.list()]

    async def model(self, name: str) -> Model:
        return checked(await self._client.models.retrieve(name))


class ThreadSdk:
    """The client that blocks, in threads."""

    def __init__(self, url: str, *, key: str = KEY, retries: int = 0) -> None:
        self._client = thread_client(url, key=key, retries=retries)

    async def close(self) -> None:
        await asyncio.to_thread(self._client.close)

    async def plain(self, **body: Any) -> ChatCompletion:
        def ask() -> ChatCompletion:
            reply: ChatCompletion = self._client.chat.completions.create(**body)
            return checked(reply)

        return await asyncio.to_thread(ask)

    async def streamed(self, **body: Any) -> list[ChatCompletionChunk]:
        return await asyncio.to_thread(lambda: list(self._chunks(body)))

    async def reading(self, **body: Any) -> AsyncGenerator[ChatCompletionChunk, None]:
        chunks = self._chunks(body)
        try:
            while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
                yield chunk
        finally:
            await asyncio.to_thread(chunks.close)

    def _chunks(self, body: dict[str, Any]) -> Generator[ChatCompletionChunk, None, None]:
        with self._client.chat.completions.create(**body, stream=True) as stream:
            for chunk in stream:
                yield checked(chunk)

    async def helped(self, **body: Any) -> Helped:
        def read() -> Helped:
            with self._client.chat.completions.stream(**body) as stream:
                return _helped(list(stream), stream.get_final_completion())

        return await asyncio.to_thread(read)

    async def models(self) -> list[Model]:
        return await asyncio.to_thread(lambda: [checked(model) for model in self._client.models.list()])

    async def model(self, name: str) -> Model:
        return checked(await asyncio.to_thread(self._client.models.retrieve, name))


def _helped(events: Sequence[Any], final: ParsedChatCompletion[Any]) -> Helped:
    text = "".join(event.delta for event in events if event.type == "content.delta")
    return Helped([event.type for event in events], text, checked(final))
