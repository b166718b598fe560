"""An error in the words of a response that failed.

OpenAI's clients know a closed list of codes there, so the gateway's own code stands in `type` and in the message.
"""

import msgspec

from pplx_gateway.errors import GatewayError, LimitError, RequestError
from pplx_gateway.protocols.openai.responses.objects import ResponseFailure
from pplx_gateway.question import TURNS

_CODES = frozenset(
    {
        "server_error",
        "rate_limit_exceeded",
        "invalid_prompt",
        "invalid_image",
        "invalid_image_format",
        "invalid_base64_image",
        "invalid_image_url",
        "image_too_large",
        "image_too_small",
        "image_parse_error",
        "image_file_too_large",
        "unsupported_image_media_type",
        "empty_image_file",
        "failed_to_download_image",
        "image_file_not_found",
    }
)


def failure(error: GatewayError) -> ResponseFailure:
    code = _code(error)
    return ResponseFailure(
        code=code,
        message=error.message if code == error.code else f"{error.code}: {error.message}",
        type=error.code,
        param=("input" if error.param == TURNS else error.param) or msgspec.UNSET,
    )


def _code(error: GatewayError) -> str:
    if error.code in _CODES:
        return error.code
    match error:
        case RequestError():
            return "invalid_prompt"
        case LimitError():
            return "rate_limit_exceeded"
        case _:
            return "server_error"
