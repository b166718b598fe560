"""The state that a decider looks at: where images may stand in it, and how large they may be.

Tried by others: an image of more than 2048 tiles is not refused but stalls the model for a minute, and one that stands
anywhere but in a list is read, and billed, as text (docs/wire-agent.md 5).
"""

from collections.abc import Iterator

from pplx_gateway import media
from pplx_gateway.decisions import Described
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.picture_size import picture_size

MOST_IMAGES = 8
MOST_TILES = 2048
TILE_PIXELS = 32
_HEAD_CHARACTERS = 1 << 18  # of base64: more than the comments that may stand before a size


def check_state(state: Described) -> None:
    """Raises InvalidRequest."""
    images = list(_images(state, in_list=False))
    if len(images) > MOST_IMAGES:
        raise InvalidRequest(f"'state' takes at most {MOST_IMAGES} images, not {len(images)}.", param="state")
    for url in images:
        _check_size(url)


def _images(value: object, *, in_list: bool) -> Iterator[str]:
    """The addresses of all image parts. Raises InvalidRequest for one that does not stand in a list."""
    match value:
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            if not in_list:
                raise InvalidRequest("'state' must be a list where it holds an image.", param="state")
            yield url
        case dict():
            for name, part in value.items():
                yield from _images(part, in_list=in_list and name == "content")
        case list():
            for part in value:
                yield from _images(part, in_list=True)
        case _:
            return


def _check_size(url: str) -> None:
    """Only data is looked at. What cannot be read is for the API to refuse."""
    head = media.split_data_url(url)[1][:_HEAD_CHARACTERS]
    size = picture_size(media.unpack(head) or b"")
    if size is None:
        return
    tiles = -(-size[0] // TILE_PIXELS) * -(-size[1] // TILE_PIXELS)
    if tiles > MOST_TILES:
        raise InvalidRequest(
            f"'state' holds an image of {size[0]} x {size[1]} pixels, which is {tiles} tiles of {TILE_PIXELS} x "
            f"{TILE_PIXELS}; the decider takes {MOST_TILES}. Make it smaller.",
            param="state",
        )
