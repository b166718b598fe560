"""Skills: bundles in revisions, which runs can use."""

import msgspec

from pplx_gateway.gateway import Gateway
from pplx_gateway.operations import Native, Skills, Slice
from pplx_gateway.permits import permit
from pplx_gateway.protocols.kept.things import Part, Shown, Source, Things, UpstreamPage, read


class _Named(msgspec.Struct):
    skill_id: str


class _Listed(msgspec.Struct):
    skills: list[msgspec.Raw] = []
    next_page_token: str | None = None


async def add(gateway: Gateway, caller: str, content: bytes, filename: str, key_name: str | None) -> Native:
    """Raises ModelNotAllowed for a key that may not, GatewayError."""
    permit("skills", "api")
    native = await gateway.operations.skills.add(content, filename, key_name)
    await Things(gateway, caller).made("skill", native)
    return native


async def listed(gateway: Gateway, caller: str, part: Part) -> Shown:
    """Raises InvalidRequest, GatewayError."""
    return await Things(gateway, caller).listed(_source(gateway.operations.skills), part)


def _source(skills: Skills) -> Source:
    async def page(part: Slice, key_name: str) -> UpstreamPage:
        listed = read((await skills.skills(part, key_name)).body, _Listed)
        bodies = {read(raw, _Named).skill_id: raw for raw in listed.skills}
        return UpstreamPage(bodies, listed.next_page_token or None)

    return Source("skill", page, skills.skill)
