"""What the rooms that do the work tell to whoever looks on."""

from typing import Protocol

from pplx_gateway.store.ledger import Entry


class Watch(Protocol):
    """Called on the requests' way: an implementation takes note, and works later."""

    def ended(self, entry: Entry) -> None:
        """A request is over, and all that worked for it."""

    def unlisted(self, path: str, status: int) -> None:
        """One that the ledger does not list is over."""

    def failed_over(self, source: str, target: str, code: str) -> None:
        """Another upstream is asked, because of an error of that code."""


class Nobody:
    """Looks away."""

    def ended(self, entry: Entry) -> None: ...

    def unlisted(self, path: str, status: int) -> None: ...

    def failed_over(self, source: str, target: str, code: str) -> None: ...
