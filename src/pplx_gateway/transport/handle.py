"""One of curl's easy handles, and what is set on it: requests that follow each other differ in little, and each option
costs as much as a chunk of an answer."""

from collections.abc import Callable

from curl_cffi import Curl, CurlOpt

from pplx_gateway.transport.exchange import Outgoing
from pplx_gateway.transport.lines import header_lines
from pplx_gateway.transport.upload import Upload

Told = Callable[[bytes], int]


def _nobody(data: bytes) -> int:
    return len(data)


class Handle:
    """`upload` is what curl reads the request's body from. To be closed by hand: it and curl hold each other."""

    __slots__ = ("_connect_ms", "_headers", "_on_body", "_on_header", "_uploads", "_url", "curl", "upload")

    def __init__(self, curl: Curl, *, uploads: bool) -> None:
        self.curl = curl
        self.upload = Upload(curl)
        self._uploads = uploads
        self._url = ""
        self._connect_ms = 0
        self._headers: tuple[tuple[str, str], ...] | None = None
        self.rest()

    def load(self, outgoing: Outgoing, connect_ms: int) -> None:
        """Sets what the request has of its own. Raises InternalError, CurlError."""
        headers = tuple(outgoing.headers.items())
        if headers != self._headers:
            self._headers = None
            self.curl.clean_handles_and_buffers()  # without it these headers would be added to the last request's
            self._listen()
            self.curl.setopt(CurlOpt.HTTPHEADER, header_lines(outgoing.headers))
            self._headers = headers
        if outgoing.url != self._url:
            self.curl.setopt(CurlOpt.URL, outgoing.url)
            self._url = outgoing.url
        if connect_ms != self._connect_ms:
            self.curl.setopt(CurlOpt.CONNECTTIMEOUT_MS, connect_ms)
            self._connect_ms = connect_ms
        if outgoing.body:
            self.curl.setopt(CurlOpt.POSTFIELDSIZE_LARGE, len(outgoing.body))
            self.upload.load(outgoing.body)

    def tell(self, on_header: Told, on_body: Told) -> None:
        """Whom to tell of the answer, until `rest`."""
        self._on_header = on_header
        self._on_body = on_body

    def rest(self) -> None:
        """No transfer is under way, and nothing of the last one stays here."""
        self._on_header = self._on_body = _nobody
        self.upload.load(b"")

    def close(self) -> None:
        self.rest()
        self.curl.close()

    def _listen(self) -> None:
        self.curl.setopt(CurlOpt.HEADERFUNCTION, self._header)
        self.curl.setopt(CurlOpt.WRITEFUNCTION, self._body)
        if self._uploads:
            self.curl.setopt(CurlOpt.READDATA, self.upload)

    def _header(self, line: bytes) -> int:
        return self._on_header(line)

    def _body(self, data: bytes) -> int:
        return self._on_body(data)
