import pytest

from pplx_gateway.catalogue import built_in_file
from pplx_gateway.families import families, family_of, spelt_thinking


@pytest.mark.parametrize(
    ("upstream_id", "first", "last", "count"),
    [
        ("gpt56_terra", "gpt57_terra", "gpt66_terra", 10),
        ("claude50sonnet", "claude51sonnet", "claude60sonnet", 10),
        ("gemini31pro_high", "gemini32pro_high", "gemini41pro_high", 10),
        ("grok46low", "grok47low", "grok56low", 10),
        ("kimik26instant", "kimik27instant", "kimik36instant", 10),
        ("glm_5_2", "glm_5_3", "glm_6_2", 10),
        ("nv_nemotron_3_ultra", "nv_nemotron_4_ultra", "nv_nemotron_4_ultra", 1),
        ("claude95opus", "claude96opus", "claude99opus", 4),
    ],
)
def test_successors_go_up_to_a_whole_version_more(upstream_id: str, first: str, last: str, count: int) -> None:
    family = family_of(upstream_id)
    assert family is not None
    found = family.successors(upstream_id)
    assert (found[0], found[-1], len(found)) == (first, last, count)


def test_the_spelling_table_agrees_with_the_list_that_a_release_brings() -> None:
    for model in built_in_file().models:
        if model.session and family_of(model.session.upstream_id):
            assert spelt_thinking(model.session.upstream_id) == model.session.thinking_id, model.id


def test_the_titles_agree_with_the_list_that_a_release_brings() -> None:
    for model in built_in_file().models:
        family = family_of(model.session.upstream_id) if model.session else None
        if model.session and family:
            assert family.title(family.version(model.session.upstream_id) or 0) == model.name


def test_the_first_of_each_family_is_of_that_family() -> None:
    for family in families():
        assert family.first is None or family_of(family.first) == family


@pytest.mark.parametrize("upstream_id", ["experimental", "pplx_alpha", "grok420reasoning", "gpt56_terra_thinking", ""])
def test_other_ids_are_of_no_family(upstream_id: str) -> None:
    assert family_of(upstream_id) is None
