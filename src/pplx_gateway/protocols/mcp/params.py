"""What is wrong with a request's params, in words: the SDK says no more than that something is.

It checks the params of every method that MCP has, whether there is one here or not.
"""

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pplx_agent_mcp import INVALID_PARAMS, METHOD_NOT_FOUND, clip
from pydantic import ValidationError

_WORDS = {
    "missing": "is required",
    "string_type": "must be a string",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "list_type": "must be a list",
    "bool_type": "must be true or false",
}
_PROGRESS = "progressToken"
"""It may be a string or an integer, and the library finds fault with either, behind its name."""
_MOST_OF_A_NAME = 200


class Precise:
    """A middleware of the SDK's server."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def __call__(self, ctx: ServerRequestContext, call_next: CallNext) -> HandlerResult:
        """Raises MCPError."""
        if ctx.request_id is not None and not self._knows(ctx.method):
            raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)
        try:
            return await call_next(ctx)
        except ValidationError as error:
            if (words := fault_of(error)) is None:
                raise
            raise MCPError(INVALID_PARAMS, words) from None
        except MCPError as error:
            if error.error.data == "":  # the SDK's own way of saying so
                raise MCPError(INVALID_PARAMS, "Nothing but 'initialize' can come first here.") from None
            raise

    def _knows(self, method: str) -> bool:
        return method == "initialize" or self._server.get_request_handler(method) is not None


def fault_of(error: ValidationError) -> str | None:
    """The first fault; None if it is not in the params."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place, words = first["loc"], _WORDS.get(first["type"], "is not as MCP has it")
    if not place or place[0] != "params":
        return None
    if place[-2:-1] == (_PROGRESS,):
        place, words = place[:-1], "must be a string or an integer"
    return f"'{clip('.'.join(map(str, place)), _MOST_OF_A_NAME)}' {words}."
