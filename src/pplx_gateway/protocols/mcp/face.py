"""What MCP shows of the gateway, whatever transport asks for it."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from pplx_agent_mcp import INTERNAL_ERROR, METHOD_NOT_FOUND, Fields, RpcError, Tool, ToolResult

from pplx_gateway.caller_keys import current_key
from pplx_gateway.errors import GatewayError, NotFound, StoreUnavailable
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.mcp import lookup, prompts, rendering
from pplx_gateway.protocols.mcp.models import model_list
from pplx_gateway.protocols.mcp.resources import Resources
from pplx_gateway.protocols.mcp.runs import Asker, LeftUnderWay, Runs
from pplx_gateway.protocols.mcp.tools import ALWAYS_ALLOWED, CANCEL, MODELS, RESULT, TOOLS, WEB_SEARCH
from pplx_gateway.protocols.openai.call import defect
from pplx_gateway.protocols.openai.responses.background import Background


class Face(Protocol):
    """Tools, and methods beside them. What both give are results as they go over the wire."""

    @property
    def tools(self) -> Sequence[Tool]: ...

    async def call(self, name: str, arguments: Fields, asker: Asker) -> Fields:
        """`arguments` are checked. Raises RpcError."""
        ...

    async def perform(self, method: str, params: Fields, asker: Asker) -> Fields:
        """One of METHODS. Raises RpcError."""
        ...


class GatewayFace:
    """This is the protocol's border: nothing but RpcError leaves it."""

    tools = TOOLS

    def __init__(self, gateway: Gateway, background: Background) -> None:
        self._gateway = gateway
        self._runs = Runs(gateway, background)
        self._resources = Resources(gateway)

    async def call(self, name: str, arguments: Fields, asker: Asker) -> Fields:
        current_key.set(asker.key)
        try:
            tell = self._result if name in ALWAYS_ALLOWED else self._counted
            result = await tell(name, arguments, asker)
        except LeftUnderWay as left:
            result = rendering.failed(left.error, left.response_id)
        except NotFound as error:  # of this id there is nothing to be collected
            result = rendering.failed(error)
        except GatewayError as error:
            result = rendering.failed(error, arguments.get("response_id", ""))
        except Exception as error:  # noqa: BLE001 - the border
            result = rendering.failed(defect(error), arguments.get("response_id", ""))
        return result.frame()

    async def perform(self, method: str, params: Fields, asker: Asker) -> Fields:
        current_key.set(asker.key)
        try:
            return await self._performed(method, params, asker)
        except GatewayError as error:
            raise RpcError(INTERNAL_ERROR, f"{error.message} ({error.code})") from None
        except RpcError:
            raise
        except Exception as error:  # noqa: BLE001 - the border
            raise RpcError(INTERNAL_ERROR, defect(error).message) from None

    async def _counted(self, name: str, arguments: Fields, asker: Asker) -> ToolResult:
        """A call against the limits of its caller's key. It does not count if it is refused before anything is asked.
        Raises also InsufficientQuota, RateLimited, StoreUnavailable."""
        limits = self._gateway.caller_limits
        if limits is None or asker.key is None:
            return await self._result(name, arguments, asker)
        admission = await limits.admit(asker.key)
        try:
            return await self._result(name, arguments, asker)
        except GatewayError as error:
            if 400 <= error.status < 500 and error.upstream_status is None:
                with suppress(StoreUnavailable):
                    await limits.forget(admission)
            raise

    async def _result(self, name: str, arguments: Fields, asker: Asker) -> ToolResult:
        runs = self._runs
        if name == MODELS:
            return model_list(self._gateway)
        if name == WEB_SEARCH:
            return await lookup.pages(arguments, self._gateway, asker.caller)
        if name == RESULT:
            found = await runs.find(arguments["response_id"], asker.caller)
            state = await runs.follow(found, arguments["wait_seconds"], asker.report)
            return rendering.told(state, arguments["offset"])
        if name == CANCEL:
            found = await runs.find(arguments["response_id"], asker.caller)
            return rendering.cancelled(await runs.cancel(found))
        return rendering.told(await runs.ask(name, arguments, asker, wait=arguments.get("wait", True)))

    async def _performed(self, method: str, params: Fields, asker: Asker) -> Fields:
        match method:
            case "resources/list":
                return self._resources.listed()
            case "resources/templates/list":
                return {"resourceTemplates": []}
            case "resources/read":
                return await self._resources.read(params, asker)
            case "prompts/list":
                return prompts.listed()
            case "prompts/get":
                return prompts.filled(params)
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
