"""How large a PNG, JPEG or WebP image is, from its first bytes."""

import struct

# JPEG's frame headers: all of C0 to CF but the tables and the restart interval among them.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def picture_size(image: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None if it is none of the three, or cut before it tells. A few kilobytes of it are
    nearly always enough."""
    try:
        if image.startswith(b"\x89PNG\r\n\x1a\n"):
            width, height = struct.unpack(">II", image[16:24])
        elif image.startswith(b"\xff\xd8"):
            width, height = _jpeg(image)
        elif image[:4] == b"RIFF" and image[8:12] == b"WEBP":
            width, height = _webp(image)
        else:
            return None
    except (struct.error, IndexError):
        return None
    return width, height


def _jpeg(image: bytes) -> tuple[int, int]:
    """From the first frame header; segments before it tell their length."""
    place = 2
    while image[place] == 0xFF:
        if image[place + 1] == 0xFF:  # filling
            place += 1
            continue
        (length,) = struct.unpack(">H", image[place + 2 : place + 4])
        if image[place + 1] in _FRAMES:
            height, width = struct.unpack(">HH", image[place + 5 : place + 9])
            return width, height
        place += 2 + length
    raise IndexError


def _webp(image: bytes) -> tuple[int, int]:
    kind = image[12:16]
    if kind == b"VP8X":
        if len(image) < 30:
            raise IndexError
        return 1 + int.from_bytes(image[24:27], "little"), 1 + int.from_bytes(image[27:30], "little")
    if kind == b"VP8L":
        (bits,) = struct.unpack("<I", image[21:25])
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack("<HH", image[26:30])
    return width & 0x3FFF, height & 0x3FFF
