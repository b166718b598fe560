"""How large an image is, from its first bytes: what a decider pays by, and stalls on."""

import base64
import binascii
import re

from pplx_gateway.picture_size import picture_size

TILE_PIXELS = 32
_DATA_URL = re.compile(r"data:image/(?:png|jpe?g|webp);base64,", re.IGNORECASE)


class NoPicture(ValueError):
    """Not one of the three formats, or cut before its size is told."""


def unpack(url: str) -> bytes:
    """The bytes of a data URL. Raises NoPicture."""
    head = _DATA_URL.match(url)
    if head is None:
        raise NoPicture("image_url must be a data URL of a PNG, JPEG or WebP image")
    try:
        return base64.b64decode(url[head.end() :], validate=True)
    except (binascii.Error, ValueError):
        raise NoPicture("image_url is not valid base64") from None


def tiles(image: bytes) -> int:
    """How many squares of 32 pixels cover it. Raises NoPicture."""
    width, height = size(image)
    return -(-width // TILE_PIXELS) * -(-height // TILE_PIXELS)


def size(image: bytes) -> tuple[int, int]:
    """Width and height in pixels. Raises NoPicture."""
    found = picture_size(image)
    if found is None:
        raise NoPicture("the image could not be decoded")
    return found
