"""Sizes of images, from headers written by hand."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.picture_size import picture_size

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 640, 480) + bytes(5)
_COMMENT = b"\xff\xe0\x00\x10" + bytes(14) + b"\xff\xfe\x00\x04hi" + b"\xff\xff\xdb\x00\x03x"
JPEG = b"\xff\xd8" + _COMMENT + b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", 480, 640) + bytes(10)
VP8 = b"RIFF----WEBPVP8 " + bytes(4) + bytes(3) + b"\x9d\x01\x2a" + struct.pack("<HH", 640 | 1 << 14, 480)
VP8L = b"RIFF----WEBPVP8L" + bytes(4) + b"\x2f" + struct.pack("<I", 639 | 479 << 14)
VP8X = b"RIFF----WEBPVP8X" + bytes(8) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")
IMAGES = [PNG, JPEG, VP8, VP8L, VP8X]


@pytest.mark.parametrize("image", IMAGES, ids=["png", "jpeg", "vp8", "vp8l", "vp8x"])
def test_each_form_tells_its_size(image: bytes) -> None:
    assert picture_size(image) == (640, 480)
    assert picture_size(image + b"anything") == (640, 480)


@given(st.sampled_from(IMAGES), st.integers(0, 60))
def test_a_cut_image_tells_its_size_or_none(image: bytes, length: int) -> None:
    assert picture_size(image[:length]) in (None, (640, 480))


@given(st.sampled_from([PNG[:8], JPEG[:2], VP8[:12], VP8L[:16], VP8X[:16], b""]), st.binary(max_size=200))
def test_no_bytes_break_it(head: bytes, rest: bytes) -> None:
    size = picture_size(head + rest)
    assert size is None or min(size) >= 0


@pytest.mark.parametrize("data", [b"", b"GIF89a" + bytes(30), b"\xff\xd8\xff\xd9", b"RIFF----AVI " + bytes(30)])
def test_what_is_none_of_the_three_has_no_size(data: bytes) -> None:
    assert picture_size(data) is None
