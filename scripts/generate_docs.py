"""Fills the generated sections of the documents, and `.env.example`, from the code; `--check` only compares.

A section stands between `<!-- NAME:start -->` and `<!-- NAME:end -->`.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from pplx_gateway.catalogue import Catalogue, Model
from pplx_gateway.environment import env_example, settings_table_markdown
from pplx_gateway.errors import GatewayError, InternalError
from pplx_gateway.protocols.openai import fields as chat_fields
from pplx_gateway.upstreams.api.support import support as api_support
from pplx_gateway.upstreams.session.support import support_of as session_support

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
    """Field by upstream; on the api a model and a level differ."""
    catalogue = Catalogue.built_in()
    examples = {
        "session": (session_support, "session", "gpt"),
        "api, a model": (api_support, "api", "sonar"),
        "api, a level": (api_support, "api", "fast"),
    }
    supports = {
        title: support(model)
        for title, (support, upstream, name) in examples.items()
        if (model := catalogue.find(upstream, name))
    }
    return chat_fields.markdown(supports)


def errors() -> str:
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
    "errors": errors,
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
