"""`pplx-gateway usage`: what is left of the plan, and what was used and paid."""

import argparse
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from pplx_gateway.commands import running
from pplx_gateway.commands.door import Door, Json, chosen, fetch, open_door
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.commands.screen import document, line, table

_NUMBERS = ("requests", "errors", "searches", "Pro searches", "tokens", "US dollars")

_NO_PRICE = "no price"


def run(options: argparse.Namespace) -> Exit:
    """Raises CommandFailed."""
    return running.run(_usage(options))


async def _usage(options: argparse.Namespace) -> Exit:
    since = (datetime.now(UTC) - timedelta(days=options.days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    async with open_door(chosen(options.url, options.in_process)) as door:
        health = (await fetch(door, "GET", "/health")).json
        query = f"from={since}&group_by={quote(options.by)}"
        report = _priced(await _report(door, query), await _report(door, f"{query}&upstream=api"))
    if options.json:
        document({"health": health, "usage": report})
        return Exit.OK
    _show_plan(health)
    _show_budget(report.get("budget"))
    _show_rows(report, options.days)
    return Exit.OK


async def _report(door: Door, query: str) -> Json:
    """Everybody's for the owner; for a caller its own."""
    try:
        return (await fetch(door, "GET", f"/admin/usage?{query}")).json
    except CommandFailed as failure:
        if failure.code is not Exit.CREDENTIAL:
            raise
    return (await fetch(door, "GET", f"/v1/usage?{query}")).json


def _priced(report: Json, paid: Json) -> Json:
    """Sums with a cost of null where there is no price, which is not a price of nothing: what the plan answered, and
    what nobody has told the cost of. `paid`: the sums of what went to the paid api alone."""
    of_api = {tuple(row["by"].items()): row["sums"] for row in paid["rows"]}
    rows = [{**row, "sums": _with_price(row["sums"], of_api.get(tuple(row["by"].items())))} for row in report["rows"]]
    return {**report, "total": _with_price(report["total"], paid["total"]), "rows": rows}


def _with_price(sums: Json, paid: Json | None) -> Json:
    if paid is not None and paid["requests"] > paid["unknown_costs"]:
        return sums
    return {**sums, "cost": None, "cost_given": None, "cost_computed": None}


def _show_plan(health: Json) -> None:
    session = health.get("session")
    if session:
        plan = session.get("account_type") or "not known"
        line(f"Session: {session['state']}; plan: {plan}", "bold")
        line(f"  Pro searches left: {_known(health.get('remaining_pro'))}")
        line(f"  Research left: {_known(health.get('remaining_research'))}")
    elif "session" in health:
        line("Session: none is set up (pplx-gateway login)", "bold")


def _show_budget(budget: Json | None) -> None:
    if budget:
        for name, spent, most in (
            ("today", budget["spent_today"], budget["cost_per_day"]),
            ("this month", budget["spent_this_month"], budget["cost_per_month"]),
        ):
            line(f"Spent {name}: ${spent}" + ("" if most is None else f" of ${most}"))


def _show_rows(report: Json, days: int) -> None:
    line(f"\nThe last {days} days, by {', '.join(report['group_by']) or 'nothing'}:")
    by = report["group_by"]
    rows = [[*(_name(row, name) for name in by), *_sums(row["sums"])] for row in report["rows"]]
    total = [*["all" if not place else "" for place, _ in enumerate(by)], *_sums(report["total"])]
    table((*by, *_NUMBERS), [*rows, total], right=_NUMBERS)
    if any(_NO_PRICE in row for row in rows):
        line(f"{_NO_PRICE}: nothing of it was paid by use; what the plan answers, its fee pays.")
    if unknown := report["total"]["unknown_costs"]:
        line(f"Of {unknown} paid requests nobody has told what they cost.")


def _name(row: Json, name: str) -> str:
    shown = row["by"].get(name)
    return str(row.get("caller_name") or shown or "-") if name == "caller" else str(shown or "-")


def _sums(sums: Json) -> list[object]:
    tokens = sums["input_tokens"] + sums["output_tokens"]
    told = [sums[name] for name in ("requests", "errors", "searches", "pro_searches")]
    return [*told, tokens, _cost(sums)]


def _cost(sums: Json) -> object:
    if sums["cost"] is not None:
        return sums["cost"]
    return _known(None) if sums["unknown_costs"] else _NO_PRICE


def _known(value: object) -> str:
    return "not known" if value is None else str(value)
