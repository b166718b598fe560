"""What the session half remembers between requests."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Generic, TypeVar

import msgspec
from starlette.requests import Request

from pplx_gateway.emulator.session.account import Account, Accounts
from pplx_gateway.emulator.session.catalogue import Models
from pplx_gateway.emulator.session.cookies import Credential, credential
from pplx_gateway.emulator.session.entry import Entry
from pplx_gateway.emulator.session.forms import DEFAULT_FORM
from pplx_gateway.emulator.stage import Stage

T = TypeVar("T")
KEPT = 2000
LIE_SECONDS = 300.0  # so long a fault can still spoil the session check


class Kept(Generic[T]):
    """The last KEPT things by id, so that a long load test does not fill the memory."""

    def __init__(self) -> None:
        self._things: OrderedDict[str, T] = OrderedDict()

    def put(self, key: str, thing: T) -> None:
        self._things[key] = thing
        if len(self._things) > KEPT:
            self._things.popitem(last=False)

    def get(self, key: str | None) -> T | None:
        return None if key is None else self._things.get(key)

    def drop(self, key: str) -> None:
        self._things.pop(key, None)

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._things.values()))

    def __len__(self) -> int:
        return len(self._things)


class Upload(msgspec.Struct, kw_only=True):
    """A slot. `expires` is of the clock's monotonic seconds; `arrived` = the form was posted; `processed` = the
    document service has read the file."""

    file_uuid: str
    owner: str
    filename: str
    content_type: str
    size: int
    key: str
    url: str
    expires: float
    fields: dict[str, str]
    arrived: bool = False
    processed: bool = False

    @property
    def attachment(self) -> str:
        """The address that an ask names once the form was posted. The older image host's reply names another."""
        return f"{self.url}?secure" if "api_key" in self.fields else self.url

    @property
    def is_image(self) -> bool:
        return self.content_type.startswith("image/")


class Settings(msgspec.Struct, kw_only=True):
    """What `POST /_emulator/session` may change. `form`: of answers whose question names none. `research_seconds`: how
    long deep research is silent in all; `ask_back_seconds`: how long it waits for an answer to its questions."""

    form: str = DEFAULT_FORM
    research_seconds: float = 90.0
    ask_back_seconds: float = 60.0


class State:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.accounts = Accounts()
        self.models = Models.built_in()
        self.settings = Settings()
        self.entries: Kept[Entry] = Kept()
        self.uploads: Kept[Upload] = Kept()
        self.assets: Kept[bytes] = Kept()
        self.deleted: Kept[str] = Kept()  # the owner of each turn that is gone
        self.stops: dict[str, asyncio.Event] = {}

    def credential(self, request: Request) -> Credential:
        return credential(request.cookies)

    def account(self, request: Request) -> Account | None:
        """Whose request it is; None = nobody's, because no token came. An expired account is given all the same."""
        return self.accounts.of(self.credential(request).token)

    def member(self, request: Request) -> Account | None:
        """The account that is really logged in."""
        account = self.account(request)
        return None if account is None or account.expired else account

    def spoil(self, account: Account) -> None:
        account.lie_until = self.stage.clock.monotonic() + LIE_SECONDS

    def lies(self, account: Account) -> bool:
        return account.lies(self.stage.clock.monotonic())

    def thread(self, context_uuid: str) -> list[Entry]:
        """The turns of a thread, oldest first."""
        return [entry for entry in self.entries if entry.context_uuid == context_uuid]

    def earlier(self, entry: Entry | None) -> tuple[str, ...]:
        """The questions up to and with `entry`, oldest first."""
        questions: list[str] = []
        while entry is not None:
            questions.append(entry.question)
            entry = self.entries.get(entry.previous)
        return tuple(reversed(questions))

    def timestamp(self, later_seconds: float = 0.0) -> str:
        """Now, or so many seconds later, as ISO 8601 in UTC with milliseconds."""
        moment = datetime.fromtimestamp(self.stage.clock.now() + later_seconds, UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def cookie_date(self, later_seconds: float) -> str:
        """So many seconds from now, as cookies tell dates."""
        return formatdate(self.stage.clock.now() + later_seconds, usegmt=True)

    def view(self) -> object:
        """For `GET /_emulator/state`: no token in it."""
        return {
            "accounts": [
                {"user_id": account.user_id, "tier": account.tier, "left": account.left, "rotations": account.rotations}
                for account in self.accounts
            ],
            "entries": len(self.entries),
            "running": len(self.stops),
            "uploads": len(self.uploads),
            "settings": msgspec.to_builtins(self.settings),
            "dead_models": sorted(self.models.dead),
            "added_models": self.models.added,
        }
