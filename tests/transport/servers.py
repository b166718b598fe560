"""Servers on loopback that misbehave to order: raw HTTP/1.1, HTTP/2 over TLS, and a proxy.

A server calls its handler once for each connection (HTTP/1.1) or stream (HTTP/2). The handler is the script: it reads,
sends bytes, waits for events and ends the connection in the way the test is about. A handler that fails makes the
server's `async with` fail.
"""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import trustme

PATIENCE_S = 5.0
"""How long a test waits for an event that has to come. Generous, so that a busy machine fails no test."""


class Authority:
    """A certificate authority for one test run. `ca_file` is what SSL_CERT_FILE names."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._ca = trustme.CA()
        self.ca_file = folder / f"{name}.pem"
        self._ca.cert_pem.write_to_path(str(self.ca_file))

    def context(self, *names: str, alpn: tuple[str, ...] = ("http/1.1",)) -> ssl.SSLContext:
        """A server's TLS context whose certificate is for `names` (127.0.0.1 and localhost if none is given)."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(*(names or ("127.0.0.1", "localhost"))).configure_cert(context)
        context.set_alpn_protocols(list(alpn))
        return context


class Received(NamedTuple):
    """One request as it came. `lines` are the header lines without the request line, in order, undecoded case."""

    request_line: str
    lines: tuple[str, ...]
    body: bytes

    def all(self, name: str) -> list[str]:
        """Every value of the header `name` (any case)."""
        pairs = (line.partition(":") for line in self.lines)
        return [value.strip() for key, _, value in pairs if key.lower() == name.lower()]

    def get(self, name: str) -> str | None:
        return next(iter(self.all(name)), None)


class Connection:
    """The server's end of one HTTP/1.1 connection. `number` counts from 0; `sent` is bytes that the kernel took."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        self.reader = reader
        self.writer = writer
        self.number = number
        self.sent = 0
        self.gone = asyncio.Event()
        writer.transport.set_write_buffer_limits(high=1, low=0)

    async def receive(self) -> Received | None:
        """The next request with its body; None if the client closed instead."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        request_line, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        received = Received(request_line, tuple(lines), b"")
        length = int(received.get("content-length") or 0)
        return received._replace(body=await self.reader.readexactly(length))

    async def send(self, data: bytes) -> None:
        """Returns when the kernel has taken all of it."""
        self.writer.write(data)
        await self.writer.drain()
        self.sent += len(data)

    async def until_gone(self) -> None:
        """Returns when the client has closed its side, cleanly or not. Sets `gone`."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65536):
                pass
        self.gone.set()

    async def end(self) -> None:
        """A clean end: over TLS with a close notification."""
        self.writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await self.writer.wait_closed()

    def cut(self) -> None:
        """Closes the TCP connection with FIN, and over TLS without a close notification."""
        self.writer.transport.abort()

    def reset(self) -> None:
        """Closes the TCP connection with RST."""
        linger = struct.pack("ii", 1, 0)
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.writer.transport.abort()


class _Server:
    """What both kinds share: a listening socket, tasks, and failing where a handler failed."""

    def __init__(self, tls: ssl.SSLContext | None, host: str) -> None:
        self._tls = tls
        self._host = host
        self._tasks: list[asyncio.Task[None]] = []
        self._writers: list[asyncio.StreamWriter] = []
        self.connections = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://{self._host}:{self.port}"

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        self._tasks.append(asyncio.get_running_loop().create_task(self._run(reader, writer)))

    async def _run(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._connected(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass  # the client went away: what that means is for the test to say
        finally:
            writer.transport.abort()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        endings = await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:  # of a task, too, that was cancelled before it began
            writer.transport.abort()
        await asyncio.sleep(0)  # the transports close in the loop's next turn
        for ending in endings:
            if isinstance(ending, Exception):
                raise ending


class RawServer(_Server):
    """HTTP/1.1 (or anything) as bytes, in clear or over TLS. `received` holds what `Connection.receive` returned."""

    def __init__(
        self,
        handler: Callable[[Connection], Awaitable[None]],
        *,
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        super().__init__(tls, host)
        self._handler = handler

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._handler(Connection(reader, writer, self.connections - 1))


def replying(*replies: bytes, seen: list[Received] | None = None) -> Callable[[Connection], Awaitable[None]]:
    """A handler that answers each request, on whichever connection, with the next of `replies` (the last one for ever),
    keeps the connection open, and appends each request to `seen`."""
    order: Iterator[bytes] = iter(replies)
    last = b""

    async def handle(connection: Connection) -> None:
        nonlocal last
        while received := await connection.receive():
            if seen is not None:
                seen.append(received)
            last = next(order, last)
            await connection.send(last)

    return handle


def ok(body: bytes, *lines: str) -> bytes:
    """A whole HTTP/1.1 answer with a Content-Length."""
    head = "".join(f"{line}\r\n" for line in ("HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *lines))
    return head.encode("latin-1") + b"\r\n" + body


def chunk(data: bytes) -> bytes:
    """One chunk of the chunked transfer coding."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


class Stream:
    """The server's end of one HTTP/2 stream. `gone` is set when the client resets it or the connection breaks."""

    def __init__(self, connection: "H2Connection", number: int, headers: list[tuple[str, str]]) -> None:
        self.connection = connection
        self.number = number
        self.headers = headers
        self.body = bytearray()
        self.complete = asyncio.Event()
        self.gone = asyncio.Event()
        self.sent = 0

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]

    async def respond(self, status: int, *headers: tuple[str, str], end: bool = False) -> None:
        self.connection.state.send_headers(self.number, [(":status", str(status)), *headers], end_stream=end)
        await self.connection.flush()

    async def send(self, data: bytes, *, end: bool = False) -> None:
        """Honours the client's flow control: returns when all of it has left."""
        state = self.connection.state
        view = memoryview(data)
        while view:
            room = min(state.local_flow_control_window(self.number), state.max_outbound_frame_size, len(view))
            if room <= 0:
                await self.connection.window_opened()
                continue
            state.send_data(self.number, bytes(view[:room]))
            self.sent += room
            view = view[room:]
            await self.connection.flush()
        if end:
            await self.end()

    async def end(self) -> None:
        self.connection.state.end_stream(self.number)
        await self.connection.flush()

    async def reset(self, code: h2.errors.ErrorCodes = h2.errors.ErrorCodes.INTERNAL_ERROR) -> None:
        self.connection.state.reset_stream(self.number, code)
        await self.connection.flush()


class H2Connection:
    """One HTTP/2 connection: reads frames and gives each request to the handler as a task."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        handler: Callable[[Stream], Awaitable[None]],
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.state = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8", validate_inbound_headers=False)
        )
        self.streams: dict[int, Stream] = {}
        self.first_bytes = b""
        self._handler = handler
        self._window = asyncio.Event()
        writer.transport.set_write_buffer_limits(high=1, low=0)

    async def flush(self) -> None:
        self.writer.write(self.state.data_to_send())
        await self.writer.drain()

    async def window_opened(self) -> None:
        self._window.clear()
        await self._window.wait()

    async def go_away(self, last_stream: int) -> None:
        self.state.close_connection(h2.errors.ErrorCodes.INTERNAL_ERROR, last_stream_id=last_stream)
        await self.flush()

    def cut(self) -> None:
        self.writer.transport.abort()

    async def run(self) -> None:
        self.state.initiate_connection()
        await self.flush()
        try:
            async with asyncio.TaskGroup() as group:
                await self._read(group)
        except* h2.exceptions.ProtocolError:
            pass  # a handler answered a stream that the client had closed
        except* ConnectionError:
            pass

    async def _read(self, group: asyncio.TaskGroup) -> None:
        tasks = []
        with contextlib.suppress(ConnectionError):
            while data := await self.reader.read(65536):
                self.first_bytes = self.first_bytes or data
                for event in self.state.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        stream = self._opened(event)
                        tasks.append(group.create_task(_run_stream(self._handler(stream))))
                    else:
                        self._happened(event)
                await self.flush()
        for stream in self.streams.values():
            stream.gone.set()
        for task in tasks:
            task.cancel()

    def _opened(self, event: h2.events.RequestReceived) -> Stream:
        assert event.stream_id is not None
        assert event.headers is not None
        headers = [(str(name), str(value)) for name, value in event.headers]
        stream = self.streams[event.stream_id] = Stream(self, event.stream_id, headers)
        return stream

    def _happened(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.DataReceived():
                self.streams[event.stream_id].body += event.data or b""
                self.state.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id)
            case h2.events.StreamEnded():
                self.streams[event.stream_id or 0].complete.set()
            case h2.events.StreamReset():
                self.streams[event.stream_id].gone.set()
                self._window.set()
            case h2.events.WindowUpdated():
                self._window.set()
            case _:
                pass


async def _run_stream(awaitable: Awaitable[None]) -> None:
    with contextlib.suppress(h2.exceptions.StreamClosedError):  # the client has reset the stream
        await awaitable


class H2Server(_Server):
    """HTTP/2 over TLS. `opened` holds every stream of every connection, in the order of arrival."""

    def __init__(
        self, handler: Callable[[Stream], Awaitable[None]], *, tls: ssl.SSLContext, host: str = "127.0.0.1"
    ) -> None:
        super().__init__(tls, host)
        self._handler = handler
        self.opened: list[Stream] = []

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def handle(stream: Stream) -> None:
            self.opened.append(stream)
            await self._handler(stream)

        await H2Connection(reader, writer, handle).run()


class Proxy(RawServer):
    """An HTTP proxy. It takes CONNECT (a tunnel) and absolute addresses (answered by itself with 200 "proxied").

    `credentials` is the base64 text that it asks for, or None. `reaches` sends every tunnel to one port of loopback, so
    that tests can use names that do not exist.
    """

    def __init__(
        self, *, credentials: str | None = None, reaches: int | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(self._serve, tls=tls)
        self.seen: list[Received] = []
        self._credentials = credentials
        self._reaches = reaches

    async def _serve(self, connection: Connection) -> None:
        while received := await connection.receive():
            self.seen.append(received)
            method, target, _ = received.request_line.split(" ")
            if self._credentials and received.get("proxy-authorization") != f"Basic {self._credentials}":
                await connection.send(b"HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n")
            elif method == "CONNECT":
                await connection.send(b"HTTP/1.1 200 Connection established\r\nX-From-Proxy: yes\r\n\r\n")
                await relay(connection.reader, connection.writer, self._reaches or int(target.rpartition(":")[2]))
                return
            else:
                await connection.send(ok(b"proxied"))


class Socks(_Server):
    """A SOCKS5 proxy without credentials. `asked` holds the hosts, and every connection goes to the port `reaches`."""

    def __init__(self, reaches: int) -> None:
        super().__init__(None, "127.0.0.1")
        self.asked: list[str] = []
        self._reaches = reaches

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        *_, kind = await reader.readexactly(4)
        length = 4 if kind == 1 else (await reader.readexactly(1))[0]
        host = await reader.readexactly(length)
        await reader.readexactly(2)
        self.asked.append(host.decode() if kind == 3 else ".".join(map(str, host)))
        writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        await relay(reader, writer, self._reaches)


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    """Carries bytes to a port of loopback and back, until both sides have ended."""
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        await asyncio.gather(_pipe(reader, far_writer), _pipe(far_reader, writer))
    finally:
        far_writer.transport.abort()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
    else:
        writer.close()


async def soon(event: asyncio.Event | Awaitable[Any]) -> Any:
    """Waits for something that has to happen; fails after PATIENCE_S."""
    return await asyncio.wait_for(event.wait() if isinstance(event, asyncio.Event) else event, PATIENCE_S)


@contextlib.asynccontextmanager
async def closed_port() -> AsyncIterator[int]:
    """A port of loopback at which nobody listens."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
