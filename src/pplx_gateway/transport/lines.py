"""A request's headers in curl's words."""

import re
from collections.abc import Mapping

from pplx_gateway.errors import InternalError

_LINE_BREAK = re.compile(r"[\r\n\0]")


def header_lines(headers: Mapping[str, str]) -> list[bytes]:
    """curl's form: `name: value`, or `name:` which leaves a header out.

    Expect is always left out (a large body would wait a second for leave), and so is the form type that curl would make
    up. Raises InternalError for a line break in a value.
    """
    lines = [b"expect:"]
    typed = False
    for name, value in headers.items():
        line = f"{name}: {value}" if value else f"{name}:"
        if _LINE_BREAK.search(line):
            raise InternalError("A header for the upstream holds a line break.")
        typed = typed or name.lower() == "content-type"
        lines.append(line.encode())
    if not typed:
        lines.append(b"content-type:")
    return lines
