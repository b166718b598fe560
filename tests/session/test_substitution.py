"""Who answered, and was it who was asked (docs/wire-session.md 2.8)."""

from typing import Any

import pytest

from pplx_gateway.catalogue import SessionRoute
from pplx_gateway.upstreams.session.substitution import Sign
from tests.session.playing import TERRA, assembler, feed, finished, play
from tests.session.stories import W_BASE, completed, done, markdown, pending

AUTO = SessionRoute(mode="concise", upstream_id="pplx_pro", tier="free")
SONNET = SessionRoute(mode="copilot", upstream_id="claude50sonnet", thinking_id="claude50sonnetthinking")
GROK = SessionRoute(mode="copilot", upstream_id="grok46low", thinking_id="grok46medium")
RESEARCH = SessionRoute(mode="copilot", upstream_id="pplx_alpha")
SONAR = SessionRoute(mode="copilot", upstream_id="experimental")


def verdict(
    route: SessionRoute, preference: str, display: str | None, selected: str | None
) -> tuple[str | None, str | None]:
    last = completed(done(["It is so."]), display_model=display, user_selected_model=selected)
    end = finished(play([last], route=route, preference=preference))
    return end.served_model, end.substituted_by


@pytest.mark.parametrize(
    ("route", "preference", "display", "selected", "expected"),
    [
        (TERRA, "gpt56_terra", "gpt56_terra", "gpt56_terra", ("gpt56_terra", None)),
        (TERRA, "gpt56_terra", "grok45low", "gpt56_terra", ("grok45low", "grok45low")),
        (TERRA, "gpt56_terra", "grok45low", None, ("grok45low", "grok45low")),
        # a thinking variant answered by its base, in each spelling, and the reverse
        (TERRA, "gpt56_terra_thinking", "gpt56_terra", "gpt56_terra_thinking", ("gpt56_terra", None)),
        (SONNET, "claude50sonnetthinking", "claude50sonnet", None, ("claude50sonnet", None)),
        (GROK, "grok46medium", "grok46low", None, ("grok46low", None)),
        (SONNET, "claude50sonnet", "claude50sonnetthinking", None, ("claude50sonnetthinking", None)),
        # the router's name tells nothing about a named model
        (TERRA, "gpt56_terra", "pplx_pro", "pplx_pro", (None, None)),
        (SONAR, "experimental", "pplx_pro", "pplx_pro", (None, None)),
        # an automatic choice may choose
        (AUTO, "pplx_pro", "turbo", "pplx_pro", ("turbo", None)),
        (AUTO, "pplx_pro", "pplx_pro", None, ("pplx_pro", None)),
        (AUTO, "pplx_pro", "gpt56_terra", "pplx_pro", ("gpt56_terra", None)),
        (RESEARCH, "pplx_alpha", "claude50opus", None, ("claude50opus", None)),
        (RESEARCH, "pplx_alpha", "pplx_alpha", None, ("pplx_alpha", None)),
        # turbo for a paid model: a substitution only together with the other sign
        (TERRA, "gpt56_terra", "turbo", "gpt56_terra", ("turbo", "turbo")),
        (TERRA, "gpt56_terra", "turbo", None, (None, None)),
        (TERRA, "gpt56_terra", None, None, (None, None)),
    ],
)
def test_the_verdict_on_the_model(
    route: SessionRoute, preference: str, display: str | None, selected: str | None, expected: tuple[Any, Any]
) -> None:
    assert verdict(route, preference, display, selected) == expected


def test_early_turbo_is_a_placeholder() -> None:
    end = finished(play([pending(markdown(["It "]), display_model="turbo"), completed(done(["It ", "is."]))]))
    assert (end.served_model, end.substituted_by) == ("gpt56_terra", None)


def late(words: str, **last: Any) -> tuple[str | None, str | None]:
    body = "word " * 100
    frames = [
        pending(markdown([body], 0), display_model="gpt56_terra"),
        pending(markdown([words], 1), display_model="helper_x"),
        completed(done([body, words]), display_model="helper_x"),
    ]
    end = finished(play(frames, **last))
    return end.served_model, end.substituted_by


def test_a_late_model_that_wrote_only_the_last_words_is_an_auxiliary() -> None:
    assert late("Ask me more!") == ("gpt56_terra", None)
    assert late("Ask me more!", hold=True) == ("gpt56_terra", None)


def test_a_late_model_that_wrote_more_is_a_substitute() -> None:
    assert late("and it went on for quite a while") == ("helper_x", "helper_x")


@pytest.mark.parametrize(
    ("preference", "frame", "early", "late_"),
    [
        ("gpt56_terra", {"user_selected_model": "turbo"}, "proof", "proof"),
        ("gpt56_terra", {"display_model": "turbo"}, None, "doubt"),
        ("gpt56_terra", {"display_model": "turbo", "user_selected_model": "gpt56_terra"}, None, "hint"),
        ("gpt56_terra", {"display_model": "grok45low"}, None, None),
        ("pplx_pro", {"display_model": "turbo"}, None, None),
        ("pplx_pro", {"display_model": "turbo", "user_selected_model": "pplx_pro"}, None, None),
        ("pplx_pro", {"user_selected_model": "turbo", "display_model": "turbo"}, "doubt", "doubt"),
        ("turbo", {"user_selected_model": "turbo", "display_model": "turbo"}, None, None),
    ],
)
def test_signs_of_a_missing_login(
    preference: str, frame: dict[str, Any], early: Sign | None, late_: Sign | None
) -> None:
    target = assembler(preference=preference)
    feed(target, pending(**frame))
    assert target.sign == early
    feed(target, {"status": "COMPLETED", "final_sse_message": True})
    assert target.sign == late_


def test_the_base_story_tells_nothing_about_the_model() -> None:
    end = finished(play(W_BASE, route=SONAR, preference="experimental"))
    assert (end.served_model, end.substituted_by) == (None, None)
