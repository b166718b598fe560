"""Documents must have been read by the site before a question can name them (docs/wire-session.md 5, step 4).

A question that names a document which was not read is answered without it, and without a word about that. So every
document must be told of as read, or nothing is asked.
"""

from collections.abc import Mapping

import msgspec

from pplx_gateway.errors import UpstreamError
from pplx_gateway.sse import EventReader
from pplx_gateway.upstreams.session.failures import AttachmentRefused
from pplx_gateway.upstreams.session.frames import parse

SUBSCRIBE_PATH = "/rest/sse/attachment_processing/subscribe"
WAIT_SECONDS = 45.0


class Reading:
    """Send `request`, and feed it the stream that comes. `names` are the documents' names by their ids; `done` once all
    of them were read."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.request = msgspec.json.encode({"file_uuids": list(names)})
        self._waiting = dict(names)
        self._events = EventReader()

    @property
    def done(self) -> bool:
        return not self._waiting

    def feed(self, data: bytes) -> None:
        """Raises AttachmentRefused for a document that is of no use."""
        for event in self._events.feed(data):
            self._take(event.data)

    def close(self) -> None:
        """The end of the stream. Raises AttachmentRefused, and UpstreamError if a document was not told of."""
        for event in self._events.close():
            self._take(event.data)
        if not self.done:
            raise UpstreamError(f"Perplexity did not say that it has read {self.missing}, so nothing was asked.")

    @property
    def missing(self) -> str:
        """The documents that are not told of yet."""
        return ", ".join(f"'{name}'" for name in self._waiting.values())

    def _take(self, data: bytes) -> None:
        told = parse(data)
        if not isinstance(told, dict) or (name := self._waiting.get(str(told.get("file_uuid")))) is None:
            return
        if told.get("token_limit_exceeded"):
            raise AttachmentRefused(f"'{name}' is too long for Perplexity, so nothing was asked.")
        if told.get("success") is not True:
            raise AttachmentRefused(f"Perplexity could not read '{name}', so nothing was asked.")
        del self._waiting[str(told["file_uuid"])]
