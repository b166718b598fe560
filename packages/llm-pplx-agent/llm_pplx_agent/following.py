"""One run: asked for once, and followed to its end however often the connection breaks.

Every run goes to the background, so it outlives its connection. What is read again is read by GET, which costs nothing;
the POST that starts a run is repeated only where it was refused or never left (docs/wire-agent.md 2.8, 11).
"""

import http.client
from collections.abc import Callable, Iterator
from typing import TypeVar

from pplx_agent_mcp import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    MAX_BODY,
    PAUSE_GROWTH,
    Client,
    Fields,
    Patience,
    Run,
    UpstreamError,
    network_error,
    read_run,
)

from llm_pplx_agent.asking import Asked
from llm_pplx_agent.gathering import WAITS_FOR_CALLS, Gathering, Piece
from llm_pplx_agent.reading import EventReader

_PIECE = 64 * 1024

T = TypeVar("T")


class TimeIsUp(Exception):
    """The run goes on at Perplexity, but its time here is over."""


class Follower:
    """Follows one run; `say` gets lines of progress. All methods block. They raise UpstreamError, TimeIsUp and
    Cancelled."""

    def __init__(self, client: Client, patience: Patience, say: Callable[[str], None]) -> None:
        self._client = client
        self._patience = patience
        self._say = say
        self._gathering = Gathering(self._say_counts)

    @property
    def response_id(self) -> str:
        """The run's, as soon as it is known; empty before."""
        return self._gathering.response_id

    def stream(self, asked: Asked) -> Iterator[Piece]:
        """Asks, and gives the answer as it comes."""
        with self._first(asked, self._open_stream) as reply:
            if _is_stream(reply):
                yield from self._read(reply)
            else:
                yield from self._begin(self._object_of(reply))
        if not self._has_ended() and not self.response_id:
            raise UpstreamError("The connection ended before Perplexity named the run.", ambiguous=True)
        yield from self._resume()
        yield from self._look()

    def poll(self, asked: Asked) -> Iterator[Piece]:
        """Asks, and gives the answer once it is whole."""
        yield from self._begin(self._first(asked, lambda body: self._client.submit(body, self._patience)))
        yield from self._look()

    def collect(self, response_id: str) -> Iterator[Piece]:
        """The answer of a run that was asked for before."""
        self._gathering.begin({"id": response_id})
        yield from self._look()

    # asking

    def _first(self, asked: Asked, submit: Callable[[Fields], T]) -> T:
        """An earlier run that cannot be continued is refused with no word on why, so then all is said once more."""
        try:
            return submit(asked.body)
        except UpstreamError as error:
            if asked.whole is None or error.status not in (400, 404):
                raise
        self._say("the earlier run may be gone; asking with the whole conversation instead")
        return submit(asked.whole)

    def _open_stream(self, body: Fields) -> http.client.HTTPResponse:
        return self._client.open("POST", "/v1/agent", {**body, "stream": True}, self._patience)

    def _begin(self, response: Fields) -> Iterator[Piece]:
        """What the first reply says where it is no stream: in most cases no more than the run's id."""
        if self._gathering.begin(response):
            self._say(f"run {self.response_id} has started")
        yield from self._see(response)

    def _object_of(self, reply: http.client.HTTPResponse) -> Fields:
        """Raises UpstreamError."""
        try:
            found = self._client.decode(reply.read(MAX_BODY))
        except (OSError, http.client.HTTPException) as error:
            raise network_error(error) from None
        if found is None:
            raise UpstreamError("Perplexity's reply is neither a stream nor a JSON object.", ambiguous=True)
        return found

    # reading a stream

    def _resume(self) -> Iterator[Piece]:
        """Goes on with a broken stream as long as that brings news; what is left then is to look at the run."""
        before = None
        while not self._has_ended() and self._gathering.resumable and self._gathering.cursor != before:
            self._check_time()
            before = self._gathering.cursor
            reply = self._open_again(before)
            if reply is None:
                return
            with reply:
                yield from self._read(reply)

    def _open_again(self, cursor: int) -> http.client.HTTPResponse | None:
        """The stream from where it broke; None if there is none to be had."""
        after = f"&starting_after={cursor}" if cursor >= 0 else ""
        try:
            reply = self._client.open("GET", f"/v1/agent/{self.response_id}?stream=true{after}", None, self._patience)
        except UpstreamError:
            return None  # looking at the run will tell the reason, if there is one
        if _is_stream(reply):
            return reply
        reply.close()
        return None

    def _read(self, reply: http.client.HTTPResponse) -> Iterator[Piece]:
        """Until the run's end or the connection's."""
        reader, read = EventReader(), 0
        content = b"-"
        while content and not self._has_ended():
            try:
                content = reply.read1(_PIECE)
            except (OSError, http.client.HTTPException, ValueError):
                return
            read += len(content)
            if read > MAX_BODY:
                raise UpstreamError(f"Perplexity's stream is larger than {MAX_BODY} bytes.")
            for event in reader.feed(content):
                yield from self._take(event)
            self._check_time()
        if self._gathering.response is not None:
            yield from self._finish(self._gathering.response)

    def _take(self, event: Fields) -> Iterator[Piece]:
        named = self.response_id
        yield from self._gathering.take(event)
        if not named and self.response_id:
            self._say(f"run {self.response_id} has started")

    # looking at a run

    def _look(self) -> Iterator[Piece]:
        """Asks for the run again and again until it has ended."""
        pause = FIRST_PAUSE
        while not self._has_ended():
            response = self._client.read(self.response_id, self._patience)
            yield from self._see(response)
            if self._has_ended():
                return
            self._say(read_run(response).progress(self._patience.elapsed))
            self._check_time()
            self._patience.pause(min(pause, max(0.0, self._patience.left)))
            pause = min(pause * PAUSE_GROWTH, LONGEST_PAUSE)

    def _see(self, response: Fields) -> Iterator[Piece]:
        run = read_run(response)
        if run.ended or run.status == WAITS_FOR_CALLS:
            self._gathering.response = response
            yield from self._finish(response)

    def _finish(self, response: Fields) -> Iterator[Piece]:
        """A terminal event may come without the output; the run itself has it, and what it has cost."""
        good = response.get("status") not in ("failed", "cancelled")
        if good and not isinstance(response.get("output"), list) and self.response_id:
            try:
                response = {**response, **self._client.read(self.response_id, self._patience)}
            except UpstreamError as error:
                self._say(f"what the run has cost could not be read: {error.summary}")
        yield from self._gathering.finish(response)

    def _has_ended(self) -> bool:
        return self._gathering.response is not None

    def _check_time(self) -> None:
        self._patience.pause(0)  # raises if nobody waits any more
        if not self._has_ended() and self._patience.left <= 0:
            raise TimeIsUp

    def _say_counts(self, found: int, fetched: int) -> None:
        self._say(Run("in_progress", found=found, fetched=fetched).progress(self._patience.elapsed))


def _is_stream(reply: http.client.HTTPResponse) -> bool:
    return (reply.headers.get("Content-Type") or "").lower().startswith("text/event-stream")
