"""What the keys of the API are good for, as a test wants it, and how often each was used.

`POST /_emulator/keys` `{"pplx-a": "dead", "pplx-b": {"state": "throttled", "retry_after": 2}}`; states are `good`,
`dead`, `broke`, `forbidden` and `throttled`. `GET` shows every key that was seen. A key that nobody spoke of is what
its name says (agent/access.py).
"""

from typing import Literal

import msgspec

from pplx_gateway.emulator.forms import BadControl

State = Literal["good", "dead", "broke", "forbidden", "throttled"]


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`retry_after`: seconds of the header that comes with a throttle; None = no such header."""

    state: State
    retry_after: int | None = None


class KeyBook:
    def __init__(self) -> None:
        self._verdicts: dict[str, Verdict] = {}
        self._uses: dict[str, int] = {}

    def set(self, body: bytes) -> None:
        """Raises BadControl."""
        try:
            form = msgspec.json.decode(body, type=dict[str, State | Verdict])
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise BadControl(str(error)) from error
        self._verdicts |= {
            key: verdict if isinstance(verdict, Verdict) else Verdict(verdict) for key, verdict in form.items()
        }

    def use(self, key: str) -> Verdict | None:
        """Counts one request; None = nobody spoke of the key."""
        self._uses[key] = self._uses.get(key, 0) + 1
        return self._verdicts.get(key)

    def view(self) -> dict[str, dict[str, object]]:
        names = {*self._uses, *self._verdicts}
        return {
            key: {
                "state": verdict.state if (verdict := self._verdicts.get(key)) else None,
                "uses": self._uses.get(key, 0),
            }
            for key in sorted(names)
        }
