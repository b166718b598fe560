"""`config.json` as an owner writes it."""

import json
from pathlib import Path
from typing import Any


def entry(name: str, value: str | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "value": value or f"pplx-{name}-SECRET-KEY", **more}


def write(folder: Path, *keys: dict[str, Any], mode: int = 0o600, network: dict[str, Any] | None = None) -> Path:
    """The file takes its place in one step, as editors do it."""
    provider = {"keys": list(keys), **({"network_config": network} if network else {})}
    return put(folder, json.dumps({"providers": {"perplexity": provider}}), mode)


def put(folder: Path, text: str, mode: int = 0o600) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / "config.json.new"
    new.write_text(text)
    new.chmod(mode)
    return new.replace(folder / "config.json")
