"""Unexpected exceptions for the log: where they came from, without their words, which may hold a prompt or a secret."""

import traceback
from pathlib import PurePath

_DEEPEST = 12


def trace(error: BaseException) -> str:
    """`KeyError at chat.py:88 answer < border.py:12 call`, the innermost place first."""
    frames = traceback.extract_tb(error.__traceback__)[-_DEEPEST:]
    places = " < ".join(f"{PurePath(f.filename).name}:{f.lineno} {f.name}" for f in reversed(frames))
    cause = error.__cause__ or error.__context__
    behind = f"; behind it {trace(cause)}" if cause else ""
    return f"{type(error).__name__} at {places}{behind}"
