"""Fills the generated sections of the documents, and `.env.example`, from the code; `--check` only compares.

A section stands between `<!-- NAME:start -->` and `<!-- NAME:end -->`.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pplx_gateway
from pplx_gateway.catalogue import Catalogue, Model
from pplx_gateway.commands.exits import exits_markdown
from pplx_gateway.commands.parser import commands_markdown
from pplx_gateway.environment import env_example, settings_table_markdown
from pplx_gateway.errors import GatewayError, InternalError
from pplx_gateway.observing.metrics import metrics_markdown
from pplx_gateway.protocols.anthropic.fields import MESSAGES_FIELDS, lenient
from pplx_gateway.protocols.anthropic.names import built_in as anthropic_rows
from pplx_gateway.protocols.openai.chat_fields import CHAT_FIELDS
from pplx_gateway.protocols.openai.fields import COMMON, IDLE_SEARCH, SEARCH, Fields, Supports, markdown
from pplx_gateway.protocols.openai.responses.fields import RESPONSES_FIELDS
from pplx_gateway.protocols.perplexity.sonar.fields import OURS, SONAR_FIELDS
from pplx_gateway.protocols.perplexity.sonar.models import UPSTREAMS
from pplx_gateway.protocols.perplexity.sonar.models import built_in as sonar_table
from pplx_gateway.upstreams.api.support import support as api_support
from pplx_gateway.upstreams.session.support import support_of as session_support

_EMULATOR = f"{pplx_gateway.__name__}.emulator"
ROOT = Path(__file__).resolve().parent.parent


def models() -> str:
    lines = ["| id | upstream | what | asks for | plan |", "| --- | --- | --- | --- | --- |"]
    for model in Catalogue.built_in():
        plan = model.session.tier if model.session else "paid by use"
        lines.append(f"| `{model.id}` | {model.upstream} | {model.name} | {_route(model)} | {plan} |")
    return "\n".join(lines) + "\n"


def _route(model: Model) -> str:
    if model.session:
        thinking = model.session.thinking_id
        variant = f", thinking `{thinking}`" if thinking and thinking != model.session.upstream_id else ""
        return f"`{model.session.upstream_id}`{variant}"
    if model.agent and model.agent.model:
        return f"model `{model.agent.model}`"
    return f"level `{model.agent.effort}`" if model.agent else ""


def fields() -> str:
    """What both protocols take."""
    return markdown([(field.name, field.feature) for field in COMMON], _supports())


def chat_fields() -> str:
    return _own(CHAT_FIELDS)


def responses_fields() -> str:
    return _own(RESPONSES_FIELDS)


def sonar_fields() -> str:
    supports = _supports()
    emulated = [f"| `{name}` | {' | '.join(['emulated'] * len(supports))} |" for name in OURS]
    return markdown([(field.name, field.feature) for field in SONAR_FIELDS.fields], supports) + "\n".join(emulated)


def sonar_models() -> str:
    lines = [f"| name | {' | '.join(UPSTREAMS)} |", "| --- |" + " --- |" * len(UPSTREAMS)]
    for name, row in sonar_table().items():
        lines.append(f"| `{name}` | {' | '.join(f'`{row[upstream]}`' for upstream in UPSTREAMS)} |")
    return "\n".join(lines) + "\n"


def _own(table: Fields[Any]) -> str:
    """What one protocol takes alone."""
    own = [(field.name, field.feature) for field in table.fields if field not in COMMON]
    return markdown([*own, *table.elsewhere], _supports())


def _supports() -> Supports:
    """On the api a model and a level differ."""
    catalogue = Catalogue.built_in()
    examples = {
        "session": (session_support, "session", "gpt"),
        "api, a model": (api_support, "api", "sonar"),
        "api, a level": (api_support, "api", "fast"),
    }
    return {
        title: support(model)
        for title, (support, upstream, name) in examples.items()
        if (model := catalogue.find(upstream, name))
    }


def anthropic_fields() -> str:
    """With bounds as that protocol has them: left out and told, never refused."""
    supports = {title: lenient(support) for title, support in _supports().items()}
    own = [(field.name, field.feature) for field in MESSAGES_FIELDS.fields if field not in (*SEARCH, *IDLE_SEARCH)]
    return markdown([*own, *MESSAGES_FIELDS.elsewhere], supports)


def anthropic_models() -> str:
    lines = ["| name | session | api |", "| --- | --- | --- |"]
    for row in anthropic_rows():
        names = ", ".join(f"`{name}`" for name in row.names)
        lines.append(f"| {names} | `{row.session}` | `{row.api}` |")
    return "\n".join(lines) + "\n"


def errors() -> str:
    """All of the tree, also the leaves that stand beside what raises them."""
    for module in walk_packages(pplx_gateway.__path__, f"{pplx_gateway.__name__}."):
        if not module.name.startswith(_EMULATOR):
            import_module(module.name)
    rows: dict[str, tuple[int, str, str, str]] = {}
    for kind in _descendants(GatewayError):
        if "code" not in vars(kind) and kind is not InternalError:
            continue  # a branch of the tree, or of its parent's code
        retry = {True: "true", False: "false", None: "-"}[kind.retry]
        rows.setdefault(kind.code, (kind.status, kind.code, kind.type, retry))
    lines = ["| status | `code` | `type` | `x-should-retry` |", "| --- | --- | --- | --- |"]
    lines += [f"| {status} | `{code}` | `{kind}` | {retry} |" for status, code, kind, retry in sorted(rows.values())]
    return "\n".join(lines) + "\n"


def _descendants(kind: type[GatewayError]) -> Iterator[type[GatewayError]]:
    for child in kind.__subclasses__():
        yield child
        yield from _descendants(child)


SECTIONS: dict[str, Callable[[], str]] = {
    "settings": settings_table_markdown,
    "models": models,
    "fields": fields,
    "chatfields": chat_fields,
    "responsesfields": responses_fields,
    "sonarfields": sonar_fields,
    "sonarmodels": sonar_models,
    "anthropicfields": anthropic_fields,
    "anthropicmodels": anthropic_models,
    "errors": errors,
    "metrics": metrics_markdown,
    "exits": exits_markdown,
    "commands": commands_markdown,
}


def filled(text: str) -> str:
    """The text with each of its sections made anew. Raises KeyError for a section that nobody makes."""

    def replace(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- {name}:start -->\n\n{SECTIONS[name]().strip()}\n\n<!-- {name}:end -->"

    return re.sub(r"<!-- (?P<name>[a-z]+):start -->.*?<!-- (?P=name):end -->", replace, text, flags=re.DOTALL)


def documents() -> Iterator[tuple[Path, str]]:
    """Each file that is generated, wholly or in part, with the text that it should have."""
    yield ROOT / ".env.example", env_example()
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        yield path, filled(path.read_text(encoding="utf-8"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="generate-docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 if a document is out of date")
    check = parser.parse_args().check
    stale = [(path, text) for path, text in documents() if not path.exists() or path.read_text("utf-8") != text]
    for path, text in stale:
        print(f"{path.relative_to(ROOT)} {'is out of date: run scripts/generate-docs' if check else 'written'}")
        if not check:
            path.write_text(text, encoding="utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
