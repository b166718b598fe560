"""Answers with amounts of money in them: exact decimals, as JSON numbers."""

import msgspec
from starlette.responses import Response

_ENCODER = msgspec.json.Encoder(decimal_format="number")


def decimal_response(value: object, status: int = 200) -> Response:
    """Never kept by anybody on the way."""
    headers = {"cache-control": "no-store"}
    return Response(_ENCODER.encode(value), status, media_type="application/json", headers=headers)
