"""Options, given and saved."""

import llm
import pytest
from llm_pplx_agent.options import AgentOptions
from plugin_rig import Rig, events
from pydantic import ValidationError


async def test_a_saved_option_that_is_no_more_warns_and_the_prompt_still_runs(rig: Rig) -> None:
    saved = await rig.llm("models", "options", "set", "pplx-agent", "return_images", "true")
    assert saved.code == 0
    await rig.script(events())
    done = await rig.ask("Which rivers?")
    assert done.err.count("the option 'return_images' is ignored") == 1


async def test_a_saved_option_is_not_hidden_by_another_that_is_given(rig: Rig) -> None:
    await rig.llm("models", "options", "set", "perplexity-agent", "preset", "high")
    await rig.script(events())
    await rig.ask("-o", "recency", "week", "Which rivers?")
    (body,) = await rig.bodies()
    assert body["effort"] == "high"
    assert body["tools"][0]["filters"] == {"search_recency_filter": "week"}


async def test_what_is_wrong_is_named_before_anything_is_asked(rig: Rig) -> None:
    for option, value, told in (
        ("domains", "nasa.gov,-reddit.com", "cannot do both"),
        ("timeout", "1801", "less than or equal to 1800"),
        ("presett", "low", "Extra inputs are not permitted"),
    ):
        message = await rig.refused("-o", option, value, "Which rivers?")
        assert told in message
        assert option in message
    assert await rig.requests() == []


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"effort": "xhigh"}, {"preset": "xhigh"}),
        ({"effort": "low", "preset": "low"}, {"preset": "low"}),
        (
            {"search_recency_filter": "day", "search_domain_filter": "a.example"},
            {"recency": "day", "domains": ["a.example"]},
        ),
        ({"preset": "low@2026-10-16.0"}, {"preset": "low@2026-10-16.0"}),
        ({"domains": " HTTPS://Bücher.example/ , a.example,"}, {"domains": ["xn--bcher-kva.example", "a.example"]}),
        ({"domains": ["-a.example"]}, {"domains": ["-a.example"]}),
        ({"domains": ""}, {}),
        ({"domains": ","}, {}),
        ({"spotlight": "1", "include_citations": "0"}, {"spotlight": True, "include_citations": False}),
        ({"timeout": "1800"}, {"timeout": 1800}),
        ({"stream": True, "top_k": 4}, {}),
    ],
)
def test_options_are_brought_to_one_form_which_is_taken_again(
    given: dict[str, object], found: dict[str, object]
) -> None:
    checked = AgentOptions.model_validate(given)
    assert {name: value for name, value in checked if value is not None} == found
    assert AgentOptions.model_validate(dict(checked)) == checked


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"recency": "decade"}, "'recency' must be one of: hour, day, week, month, year"),
        ({"preset": " "}, "'preset' must not be empty"),
        ({"preset": 7}, "'preset' must be a string"),
        ({"domains": [f"d{number}.example" for number in range(21)]}, "at most 20 entries, not 21"),
        ({"domains": "a b"}, "no domain"),
        ({"domains": 5}, "must be a list of strings"),
        ({"effort": "low", "preset": "high"}, "another name for 'preset'"),
        ({"timeout": 0}, "greater than or equal to 1"),
        ({"response_id": "../x"}, "must be an id"),
        ({"search_after_date_filter": "03/01/2026"}, "Extra inputs"),
    ],
)
def test_wrong_options_are_refused(given: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        AgentOptions.model_validate(given)


def test_both_models_are_registered_with_these_options() -> None:
    for model in (llm.get_model("pplx-agent"), llm.get_async_model("perplexity-agent")):
        assert issubclass(model.Options, AgentOptions)
        assert (model.needs_key, model.key_env_var) == ("perplexity", "PERPLEXITY_API_KEY")
