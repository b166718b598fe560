"""Putting a file into Perplexity's storage (docs/wire-session.md 5, steps 2 and 3).

Storage is another host, named by the upstream's answer. So only known hosts are sent anything, nothing of the session
goes along, and no redirect is followed. The form is put together by hand: its fields must keep their order, and the
file must be the last.
"""

import re
import secrets

from pplx_gateway.environment import LOOPBACK
from pplx_gateway.errors import UpstreamError
from pplx_gateway.transport.exchange import Incoming, Outgoing, Timeouts
from pplx_gateway.upstreams.session.frames import parse
from pplx_gateway.upstreams.session.options import SessionOptions
from pplx_gateway.upstreams.session.parcels import Parcel
from pplx_gateway.upstreams.session.slots import Slot
from pplx_gateway.upstreams.session.storage_hosts import stands_at

HOSTS = ("amazonaws.com", "api.cloudinary.com")
POLICY_SECONDS = 300.0  # a slot lives about so long, so a longer upload would be refused anyway
_GOOD = (200, 201, 204)
_SIGNATURE = re.compile(r"/s--[^/]+--/v\d+/")
_ESCAPES = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})  # as browsers write names


def form_post(slot: Slot, parcel: Parcel, options: SessionOptions) -> Outgoing:
    """Raises UpstreamError for a host that is not storage's, InvalidRequest."""
    if not allowed(slot.bucket, options):
        raise UpstreamError("Perplexity named an unknown host as its storage, so nothing was sent there.")
    boundary = f"----WebKitFormBoundary{secrets.token_hex(12)}"
    return Outgoing(
        method="POST",
        url=slot.bucket,
        headers={
            "accept": "*/*",
            "content-type": f"multipart/form-data; boundary={boundary}",
            "sec-fetch-dest": "empty",
            "sec-fetch-mode": "cors",
            "sec-fetch-site": "cross-site",
        },
        body=_form(slot, parcel, boundary),
        timeouts=Timeouts(first_byte=POLICY_SECONDS, total=POLICY_SECONDS),
    )


def address_of(slot: Slot, parcel: Parcel, reply: Incoming) -> str:
    """What the question names. The older image host tells it in its reply, and its signature does not belong there.
    Raises UpstreamError where the file was not taken."""
    if reply.status not in _GOOD:
        raise UpstreamError(
            f"Perplexity's storage did not take '{parcel.name}' (HTTP {reply.status}).", upstream_status=reply.status
        )
    told = parse(reply.body) if reply.body.lstrip().startswith(b"{") else None
    if not isinstance(told, dict):
        return slot.address
    if any(isinstance(state, dict) and state.get("status") == "rejected" for state in _list(told.get("moderation"))):
        raise UpstreamError(f"Perplexity's storage rejected '{parcel.name}'.")
    found = [told.get("secure_url"), *(made.get("secure_url") for made in _list(told.get("eager")))]
    url = next((url for url in found if isinstance(url, str) and url), None)
    return slot.address if url is None else _SIGNATURE.sub("/", url)


def allowed(url: str, options: SessionOptions) -> bool:
    """https at a storage host; or the session's own origin, where that is on loopback."""
    if options.host in LOOPBACK and url.startswith(f"{options.origin}/"):
        return True
    return stands_at(url, HOSTS)


def _form(slot: Slot, parcel: Parcel, boundary: str) -> bytes:
    fields = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name.translate(_ESCAPES)}"\r\n\r\n{value}\r\n'
        for name, value in slot.fields.items()
    )
    name = parcel.name.translate(_ESCAPES)
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: {parcel.kind}\r\n\r\n"
    )
    return b"".join(((fields + head).encode(), parcel.content(), f"\r\n--{boundary}--\r\n".encode()))


def _list(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
