"""The page of the benchmarks, from made-up figures."""

import msgspec
import pytest

from bench import page
from bench.goals import Results, judge

CPU = "requests c32: CPU us/request"


def seen(gateway: list[float], nginx: list[float], figure: str = CPU) -> Results:
    return {"nginx": {figure: nginx}, "gateway": {figure: gateway}}


def test_a_ratio_is_taken_within_each_round() -> None:
    (verdict,) = [verdict for verdict in judge(seen([200, 900, 300], [10, 30, 20])) if verdict.values]
    assert list(verdict.values) == [20, 30, 15]
    assert verdict.value == 20
    assert (verdict.missed_by(25), verdict.missed_by(10)) == (0.0, 1.0)


def test_what_was_measured_once_stands_for_every_round() -> None:
    (verdict,) = [v for v in judge(seen([200, 300], [10])) if v.values]
    assert list(verdict.values) == [20, 30]


def test_what_was_not_measured_is_no_success() -> None:
    results: Results = {"gateway": {CPU: [200]}}
    shown = page.markdown(results, page.machine(), quick=False)
    assert {verdict.met for verdict in judge(results)} == {None}
    assert "| 3 | CPU per request against nginx | <= 25 x | <= 10 x | - | not measured | not measured |" in shown


@pytest.mark.parametrize(
    ("cpu", "cells"),
    [
        (90.0, "| 9 x | met | met |"),
        (200.0, "| 20 x | met | gap of 100 % |"),
        (300.0, "| 30 x | gap of 20 % | gap of 200 % |"),
    ],
)
def test_goal_and_stretch_are_told_apart(cpu: float, cells: str) -> None:
    shown = page.markdown(seen([cpu], [10]), page.machine(), quick=False)
    assert f"| 3 | CPU per request against nginx | <= 25 x | <= 10 x {cells}" in shown
    assert ("CPU per request against nginx: the API is always asked for a stream" in shown) is ("gap" in cells)


def test_figures_are_shown_with_their_spread_and_kept_whole() -> None:
    results = seen([200, 300, 250], [10, 10, 10])
    shown = page.markdown(results, page.machine(), quick=False)
    assert "| gateway | 250 (200 to 300) |" in shown
    assert "| nginx | 10 |" in shown
    assert msgspec.json.decode(page.json(results, page.machine()))["figures"] == results


def test_a_quick_run_says_so() -> None:
    shown = [page.markdown(seen([200], [10]), page.machine(), quick=quick) for quick in (True, False)]
    assert ["no measurement" in text for text in shown] == [True, False]
