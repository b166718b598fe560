"""Lines for whoever sits before the terminal: on stderr, so that the answer alone can be piped."""

import functools
import sys


def say(sentence: str) -> None:
    """One line. Never holds a key, a question or an answer."""
    if sys.stderr is not None:  # a program with windows may have none
        sys.stderr.write(f"[pplx-agent] {sentence}\n")
        sys.stderr.flush()


@functools.cache
def say_once(sentence: str) -> None:
    """As `say`, but the same line once only: llm checks the same options several times."""
    say(sentence)
