"""What OpenAI has and Perplexity has not: one error for all of it, that says what there is instead."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from starlette.routing import BaseRoute, Route

from pplx_gateway.errors import UnsupportedOperation
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.call import Border
from pplx_gateway.protocols.operation import Operation, refusing


class Lacking(NamedTuple):
    """`paths` below `/v1`, with all that lies under them. `instead` is a sentence, "" where there is nothing."""

    what: str
    paths: tuple[str, ...]
    instead: str = ""


LACKING = (
    Lacking("Text completions", ("completions", "edits", "engines"), "Use /v1/chat/completions or /v1/responses."),
    Lacking("Images", ("images",), "Answers may hold images that were found: 'return_images' on chat completions."),
    Lacking("Audio", ("audio",)),
    Lacking("Videos", ("videos",)),
    Lacking("Moderations", ("moderations",), "A decider rates texts: /v1/decisions."),
    Lacking("Fine-tuning", ("fine_tuning", "fine-tunes")),
    Lacking("Assistants", ("assistants",), "Use /v1/responses."),
    Lacking("Threads", ("threads",), "Use /v1/responses with 'previous_response_id'."),
    Lacking("Conversations", ("conversations",), "Use /v1/responses with 'previous_response_id'."),
    Lacking("Compaction of responses", ("responses/compact",), "Long conversations: send fewer turns as 'input'."),
    Lacking("Realtime sessions", ("realtime", "live"), "Use /v1/responses with 'stream'."),
    Lacking("Vector stores", ("vector_stores",), "Files can be named in a question: /v1/files, then 'input_file'."),
    Lacking("Uploads in parts", ("uploads",), "Use /v1/files."),
    Lacking("Containers", ("containers",)),
    Lacking("Evals", ("evals",)),
    Lacking("OpenAI's skills", ("skills",), "Perplexity's own skills are at /perplexity/v1/skills."),
    Lacking("ChatKit", ("chatkit",)),
    Lacking("Checks of where content comes from", ("content_provenance_checks",)),
    Lacking("OpenAI's administration", ("organization", "projects"), "Use /admin."),
)


def routes(gateway: Gateway) -> list[BaseRoute]:
    return list(_routes(gateway))


def refusal(lacking: Lacking) -> UnsupportedOperation:
    return UnsupportedOperation(f"{lacking.what}: Perplexity has nothing of the kind. {lacking.instead}".rstrip())


def _routes(gateway: Gateway) -> Iterator[BaseRoute]:
    for lacking in LACKING:
        border = Border(gateway, partial(Operation, refusing(refusal(lacking))))
        for path in lacking.paths:
            yield Route(f"/v1/{path}", border, include_in_schema=False)
            yield Route(f"/v1/{path}/{{rest:path}}", border, include_in_schema=False)
