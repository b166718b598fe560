"""The session upstream with its quota: what has nothing left is not asked, what was answered is counted."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress

import msgspec

from pplx_gateway.answer import Batch, Finished
from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.catalogue import Model
from pplx_gateway.errors import QuotaExhausted
from pplx_gateway.operations import Checker
from pplx_gateway.question import Question
from pplx_gateway.upstreams import Upstream
from pplx_gateway.upstreams.session.counts import Kind
from pplx_gateway.upstreams.session.failures import FreeTierLimited, UploadsExhausted
from pplx_gateway.upstreams.session.quota import UNSURE_SECONDS, Quota, kind_of


class CountedSession:
    name = "session"

    def __init__(self, inner: Upstream, quota: Quota) -> None:
        self._inner = inner
        self._quota = quota

    def support(self, model: Model) -> Mapping[Feature, Support]:
        return self._inner.support(model)

    async def ask(self, question: Question, model: Model, caller: str) -> AsyncGenerator[Batch, None]:
        """As in Upstream; raises QuotaExhausted, before anything is asked where the count is known."""
        self._quota.refuse(model)
        kind, finished = kind_of(model), False
        try:
            async with aclosing(self._inner.ask(question, model, caller)) as batches:
                async for batch in batches:
                    if batch and isinstance(batch[-1], Finished):
                        finished = True
                        yield [*batch[:-1], await self._counted(batch[-1], kind)]
                    else:
                        yield batch
        except (FreeTierLimited, UploadsExhausted):
            raise  # what strangers are told as well, and what is not about searches
        except QuotaExhausted:
            if kind is not None:
                await self._quota.refused(kind)
            raise
        finally:
            if finished:
                self._quota.refresh()
            elif kind is not None:
                self._quota.refresh(UNSURE_SECONDS)

    async def check(self, question: Question, model: Model, caller: str) -> None:
        """See Checker. Where nothing is left another upstream may be asked, which takes what this one does not."""
        with suppress(QuotaExhausted):
            self._quota.refuse(model)
            if isinstance(self._inner, Checker):
                await self._inner.check(question, model, caller)

    async def remember(
        self, question: Question, model: Model, caller: str, text_as_returned: str, continuation: object
    ) -> None:
        await self._inner.remember(question, model, caller, text_as_returned, continuation)

    async def close(self) -> None:
        await self._inner.close()

    async def _counted(self, finished: Finished, kind: Kind | None) -> Finished:
        left = await self._quota.took(kind) if kind is not None else None
        if kind != "pro":
            left = self._quota.left("pro")
        return msgspec.structs.replace(finished, remaining_pro=left, took_pro=kind == "pro")
