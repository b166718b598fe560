"""What a run of discovery has found, for the owner's alert and for the log."""

from pplx_gateway.discovering import Report


def alert_of(report: Report) -> str:
    """Empty where nothing has changed."""
    lines = [f"{name}: {change.old} is gone, {change.new} takes its place." for name, change in report.upgraded.items()]
    lines += [f"{name}: new, asks {upstream_id}." for name, upstream_id in report.added.items()]
    lost = [name for name in report.dead if name not in report.upgraded]
    if lines and lost:
        lines.append(f"Without a living successor: {', '.join(lost)}.")
    return "\n".join(lines)


def told(report: Report) -> dict[str, object]:
    return {
        "probes": report.probes,
        "searches": report.searches,
        "alive": len(report.alive),
        "dead": report.dead,
        "upgraded": sorted(report.upgraded),
        "added": sorted(report.added),
        "stopped": report.stopped,
    }
