"""`pplx-gateway jobs`: what runs, or ran, in the background for whoever asks.

The gateway knows them, wherever they were begun; this machine's own list adds those that the gateway does not keep.
"""

import argparse
import time

from pplx_gateway.commands import running
from pplx_gateway.commands.answering import text_of
from pplx_gateway.commands.door import Door, Json, chosen, fetch, open_door
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.commands.job_list import Job, JobList
from pplx_gateway.commands.screen import document, safe, table, tell

_TITLE = 60
MOST = 100


def run(options: argparse.Namespace) -> Exit:
    """Raises CommandFailed."""
    return running.run(_jobs(options))


async def _jobs(options: argparse.Namespace) -> Exit:
    async with open_door(chosen(options.url, options.in_process)) as door:
        return await _ACTS[options.act or "list"](door, options)


async def _list(door: Door, options: argparse.Namespace) -> Exit:
    place = "" if door.own else door.place
    jobs = {job.id: job for job in JobList().at(place)}
    jobs |= {found["id"]: Job(found["id"], place, found["created_at"]) for found in await _known(door)}
    newest = sorted(jobs.values(), key=lambda job: job.began, reverse=True)
    rows = [await _row(door, job) for job in newest[:MOST]]
    if options.json:
        document(rows)
    elif not rows:
        tell("Nothing runs, or ran, in the background.")
    else:
        table(("id", "status", "began", "model", "question"), [list(row.values()) for row in rows])
    return Exit.OK


async def _known(door: Door) -> list[Json]:
    """To the gateway, for this caller."""
    found: list[Json] = (await fetch(door, "GET", f"/v1/responses?limit={MOST}")).json["data"]
    return found


async def _row(door: Door, job: Job) -> Json:
    try:
        found = (await fetch(door, "GET", f"/v1/responses/{job.id}")).json
        asked = (await fetch(door, "GET", f"/v1/responses/{job.id}/input_items?order=desc&limit=1")).json["data"]
    except CommandFailed as failure:
        if failure.code is not Exit.NOT_FOUND:
            raise
        found, asked = {"status": "no longer kept", "model": ""}, []
    began = time.strftime("%Y-%m-%d %H:%M", time.localtime(job.began))
    return {
        "id": job.id,
        "status": found["status"],
        "began": began,
        "model": found["model"],
        "question": _title(asked),
    }


def _title(items: list[Json]) -> str:
    if not items:
        return ""
    content = items[0].get("content")
    parts = [{"text": content}] if isinstance(content, str) else content or []
    text = " ".join(" ".join(str(part.get("text") or "") for part in parts).split())
    return safe(text if len(text) <= _TITLE else f"{text[: _TITLE - 1]}…")


async def _show(door: Door, options: argparse.Namespace) -> Exit:
    found = (await fetch(door, "GET", f"/v1/responses/{options.id}")).json
    if options.json:
        document(found)
        return Exit.OK
    if found["status"] not in ("completed", "incomplete"):
        error = found.get("error") or {}
        why = f": {error['message']}" if error.get("message") else "."
        raise CommandFailed(f"It is {found['status']}{why}", cure=f"pplx-gateway research --resume {options.id}")
    print(text_of(found))
    return Exit.OK


async def _cancel(door: Door, options: argparse.Namespace) -> Exit:
    found = (await fetch(door, "POST", f"/v1/responses/{options.id}/cancel")).json
    if options.json:
        document(found)
    else:
        print(f"{options.id} is {found['status']}.")
    return Exit.OK


async def _forget(door: Door, options: argparse.Namespace) -> Exit:
    gone = (await fetch(door, "DELETE", f"/v1/responses/{options.id}")).json
    JobList().forget(options.id)
    if options.json:
        document(gone)
    else:
        print(f"{options.id} is deleted.")
    return Exit.OK


_ACTS = {"list": _list, "show": _show, "cancel": _cancel, "forget": _forget}
