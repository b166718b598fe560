"""A person's question: words of the command line, what is piped in, files, and options, as a request of Responses."""

import argparse
import os
import select
import stat
import sys
from pathlib import Path

from pplx_gateway import media
from pplx_gateway.commands.door import Json
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.commands.screen import tell

QUIET_SECONDS = 2.0
"""After this time of silence a pipe that stays open is told of: whoever started the program may not know of it."""


def question_of(words: list[str], what: str = "question") -> str:
    """Raises CommandFailed where there is none."""
    said = " ".join(word for word in words if word != "-").strip()
    piped = _piped("-" in words)
    text = "\n\n".join(part for part in (said, piped) if part)
    if not text:
        raise CommandFailed(
            f"There is no {what}.",
            Exit.USAGE,
            cure=f'Write it behind the command in quotes, or pipe it in: "... {what}"',
        )
    return text


def _piped(wanted: bool) -> str:
    """What a pipe or a file brings on stdin. Something else that is no terminal (a socket, a device) is only read where
    it is asked for, since it may never end."""
    mode = os.fstat(0).st_mode
    if not wanted and not stat.S_ISFIFO(mode) and not stat.S_ISREG(mode):
        return ""
    if stat.S_ISFIFO(mode) and not select.select([0], [], [], QUIET_SECONDS)[0]:
        tell("Waiting for stdin to end. Without anything to add: pplx-gateway ... </dev/null")
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise CommandFailed("What is piped in is not UTF-8 text.", Exit.USAGE, cure="Send a file by --file.") from None


def request_of(options: argparse.Namespace, turns: list[Json]) -> Json:
    """A body of `POST /v1/responses` that is streamed and not kept."""
    return {
        "input": turns,
        "stream": True,
        "store": False,
        "tools": [{"type": "web_search"}],  # makes the search's steps visible
        **choices(options),
    }


def choices(options: argparse.Namespace) -> Json:
    """What the options say beside the question."""
    given: Json = {
        "model": options.model,
        "instructions": getattr(options, "system", None),
        "citation_marks": "strip" if options.no_sources else "keep",
        "search_recency_filter": getattr(options, "recency", None),
        "search_domain_filter": getattr(options, "domain", None),
    }
    if sources := [kind for kinds in getattr(options, "sources", None) or () for kind in kinds]:
        given["sources"] = list(dict.fromkeys(sources))
    effort = getattr(options, "effort", None) or ("medium" if getattr(options, "thinking", False) else None)
    if effort:
        given["reasoning"] = {"effort": effort, "summary": "auto"}
    return {name: value for name, value in given.items() if value is not None}


def turn_of(text: str, files: list[str]) -> Json:
    """A user's turn. Raises CommandFailed for a file that cannot be read."""
    if not files:
        return {"role": "user", "content": text}
    return {"role": "user", "content": [*map(_part, files), {"type": "input_text", "text": text}]}


def _part(path: str) -> Json:
    try:
        content = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror}.", Exit.USAGE) from None
    name = Path(path).name
    kind = _kind(content, name)
    data = media.data_url(kind, content)
    if media.is_image(kind):
        return {"type": "input_image", "image_url": data}
    return {"type": "input_file", "filename": name, "file_data": data}


def _kind(content: bytes, name: str) -> str:
    head = content[: media.HEAD_BYTES]
    found = media.by_head(head)
    if found is not None and media.is_image(found):
        return found
    return media.by_name(name) or found or (media.PLAIN_TEXT if media.reads_as_text(head) else media.ANY_BYTES)
