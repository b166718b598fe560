"""What a response that was made before says of how it was made."""

import msgspec

from pplx_gateway.protocols.openai.chat_objects import Extension
from pplx_gateway.protocols.openai.reply import Told


class _Shown(msgspec.Struct):
    pplx: Extension | msgspec.UnsetType = msgspec.UNSET


def told_of(shown: bytes) -> Told:
    """`shown` is the response object. While it is under way nobody knows who answers. What was left of the plan then
    is not told again."""
    found = msgspec.json.decode(shown, type=_Shown).pplx
    if isinstance(found, msgspec.UnsetType):
        return Told("")
    return Told(found.upstream, dropped=found.dropped, warnings=found.warnings, failover=found.failover)
