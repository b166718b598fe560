"""Files that a run makes in its sandbox and shares (docs/wire-agent.md 2.6, 2.8).

A run that has the sandbox, or a skill, makes one file where its question asks for one ("save", "file", "csv" and the
like). It is derived from the run, so nothing has to be kept.
"""

import re
from typing import Any, NamedTuple

from pplx_gateway.emulator import pages
from pplx_gateway.emulator.agent.run import Run

_ASKING = re.compile(r"\b(?:file|save|export|download|csv|report|document|spreadsheet)\b", re.IGNORECASE)
_TABLES = re.compile(r"\b(?:csv|spreadsheet|table)\b", re.IGNORECASE)


class SharedFile(NamedTuple):
    id: str
    filename: str
    content: bytes


def shared_files(run: Run) -> list[SharedFile]:
    """What `run` shares; none unless it can, was asked to, and got so far."""
    question = run.plan.controls.question
    able = "sandbox" in run.plan.tools or run.plan.skills
    if not able or run.plan.calls or not _ASKING.search(question):
        return []
    topic = run.plan.composed.topic
    if _TABLES.search(question):
        rows = "\n".join(f"{page.title},{page.url},{page.date or ''}" for page in run.plan.composed.sources)
        return [_file(run, f"{pages.slug(topic)}.csv", f"title,url,date\n{rows}\n")]
    return [_file(run, f"{pages.slug(topic)}.md", f"# {topic}\n\n{run.plan.composed.text()}\n")]


def _file(run: Run, filename: str, text: str) -> SharedFile:
    return SharedFile(f"file_{run.uuid.replace('-', '')}", filename, text.encode())


def share_items(run: Run) -> list[dict[str, Any]]:
    """The output items by which a run tells of them."""
    return [
        {
            "type": "share_file",
            "call_id": f"call_{run.uuid.replace('-', '')[:24]}",
            "file_id": file.id,
            "filename": file.filename,
            "size_bytes": len(file.content),
            "url": f"https://files.example/{file.id}/{file.filename}",
        }
        for file in shared_files(run)
    ]


def announced(run: Run) -> list[SharedFile]:
    """Those that the run has told of already."""
    told = {item["file_id"] for item in run.output if item["type"] == "share_file"}
    return [file for file in shared_files(run) if file.id in told]
