"""`/v1/skills` of the mirror: bundles in revisions."""

import msgspec

from pplx_gateway.operations import Native, Owned, Slice
from pplx_gateway.protocols.kept import skills
from pplx_gateway.protocols.kept.things import Things
from pplx_gateway.protocols.openai.paging import limit_of
from pplx_gateway.protocols.operation import Operation, Reply, json, told, warned
from pplx_gateway.protocols.perplexity.lists import MOST, USUAL, part

EXPECTED = "expected_revision"


class SkillList(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Skills as the upstream tells of them."""

    skills: list[msgspec.Raw]
    next_page_token: str | None = None


async def create(asked: Operation) -> Reply:
    """Raises GatewayError."""
    form = await asked.form()
    return _reply(await skills.add(asked.gateway, asked.caller, form.content, form.filename, asked.key_name))


async def listed(asked: Operation) -> Reply:
    """Raises GatewayError."""
    shown = await skills.listed(asked.gateway, asked.caller, part(asked, "page_token"))
    bodies = [entry.body for entry in shown.entries]
    following = shown.last_id if shown.has_more else None
    return json(SkillList(skills=bodies, next_page_token=following), warned(shown.warnings))


async def one(asked: Operation) -> Reply:
    """Raises GatewayError."""
    skill = await _find(asked)
    return _reply(await asked.gateway.operations.skills.skill(skill, asked.query.get("revision")))


async def revise(asked: Operation) -> Reply:
    """Raises GatewayError, Conflict among them."""
    expected, skill = asked.parameter(EXPECTED), await _find(asked)
    form = await asked.form()
    return _reply(await asked.gateway.operations.skills.revise(skill, form.content, form.filename, expected))


async def remove(asked: Operation) -> Reply:
    """Raises GatewayError, Conflict among them."""
    expected, skill = asked.parameter(EXPECTED), await _find(asked)
    await asked.gateway.operations.skills.remove(skill, expected)
    await Things(asked.gateway, asked.caller).forget("skill", asked.id)
    return Reply(b"", status=204)


async def download(asked: Operation) -> Reply:
    """Raises GatewayError."""
    skill = await _find(asked)
    return _reply(await asked.gateway.operations.skills.download(skill, asked.query.get("revision")))


async def revisions(asked: Operation) -> Reply:
    """Raises GatewayError."""
    limit = limit_of(asked.query.get("limit"), usual=USUAL, most=MOST)
    wanted = Slice(limit=limit, cursor=asked.query.get("page_token") or None)
    skill = await _find(asked)
    return _reply(await asked.gateway.operations.skills.revisions(skill, wanted))


async def _find(asked: Operation) -> Owned:
    return await Things(asked.gateway, asked.caller).find("skill", asked.id)


def _reply(native: Native) -> Reply:
    return Reply(native.body, told(native.receipt))
