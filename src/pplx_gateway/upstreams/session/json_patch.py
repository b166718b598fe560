"""JSON patches (RFC 6902) on plain JSON, as far as the web session uses them: add, replace, remove."""

from typing import Any

from pplx_gateway.upstreams.session.frames import Patch


class BadPatch(ValueError):
    """A patch that does not fit the document. The document may be half changed: it is to be thrown away."""


def apply(document: Any, patch: Patch) -> Any:
    """The document after `patch`; containers are changed in place. Raises BadPatch.

    A missing or null `chunks` list is made, because a chunk can arrive before the list that holds it (2.5 D).
    """
    if patch.path is None or patch.op not in ("add", "replace", "remove"):
        raise BadPatch
    if patch.path == "":
        return None if patch.op == "remove" else patch.value
    keys = keys_of(patch.path)
    parent = document
    for key in keys[:-1]:
        parent = _step(parent, key)
    _change(parent, keys[-1], patch)
    return document


def keys_of(path: str) -> list[str]:
    if not path.startswith("/"):
        raise BadPatch
    keys = path[1:].split("/")
    return [key.replace("~1", "/").replace("~0", "~") for key in keys] if "~" in path else keys


def _step(parent: Any, key: str) -> Any:
    if isinstance(parent, list):
        return parent[_index(key, len(parent) - 1)]
    if not isinstance(parent, dict):
        raise BadPatch
    child = parent.get(key)
    if child is None and key == "chunks":
        child = parent[key] = []
    if child is None:
        raise BadPatch
    return child


def _change(parent: Any, key: str, patch: Patch) -> None:
    if isinstance(parent, list):
        _change_list(parent, key, patch)
    elif not isinstance(parent, dict):
        raise BadPatch
    elif patch.op != "remove":
        parent[key] = patch.value
    elif key in parent:
        del parent[key]
    else:
        raise BadPatch


def _change_list(items: list[Any], key: str, patch: Patch) -> None:
    if patch.op == "add":
        items.insert(len(items) if key == "-" else _index(key, len(items)), patch.value)
        return
    index = _index(key, len(items) - 1)
    if patch.op == "remove":
        del items[index]
    else:
        items[index] = patch.value


def _index(key: str, highest: int) -> int:
    if not (key.isascii() and key.isdigit()) or len(key) > 9 or int(key) > highest:
        raise BadPatch
    return int(key)
