from pplx_gateway.answer import (
    Annotation,
    Batch,
    Citations,
    Finished,
    Images,
    ReasoningDelta,
    RelatedQuestions,
    SearchStep,
    Sources,
    TextDelta,
    ToolCall,
    Usage,
    Warned,
)
from pplx_gateway.catalogue import Catalogue
from pplx_gateway.protocols.openai.chat_reply import ChatReply
from pplx_gateway.protocols.openai.reply import Head, Told, answered_by, fresh_id
from tests.openai import reading
from tests.openai.fakes import LEIE, SCHELDT, USAGE

HEAD = Head("chatcmpl-1", 1_767_225_600, "sonar")
END = Finished(reason="stop", served_model="perplexity/sonar", usage=USAGE)


def body(*batches: Batch, told: Told = Told("api")) -> reading.Json:
    reply = ChatReply(told)
    for batch in batches:
        reply.feed(batch)
    assert reply.finished
    return reading.reply(reply.body(HEAD, reply.finished))


def test_a_reply_has_every_field_of_the_reference() -> None:
    found = body([Sources((LEIE, SCHELDT)), TextDelta("The Leie[1] meets ")], [TextDelta("the Scheldt[2]."), END])
    assert (found["id"], found["object"], found["created"], found["model"]) == (
        "chatcmpl-1",
        "chat.completion",
        1_767_225_600,
        "sonar",
    )
    assert found["system_fingerprint"] is None
    (choice,) = found["choices"]
    assert (choice["index"], choice["finish_reason"], choice["logprobs"]) == (0, "stop", None)
    assert choice["message"] == {
        "role": "assistant",
        "content": "The Leie[1] meets the Scheldt[2].",
        "refusal": None,
        "annotations": [],
    }
    assert found["usage"]["prompt_tokens"] + found["usage"]["completion_tokens"] == found["usage"]["total_tokens"] == 29
    assert found["citations"] == [LEIE.url, SCHELDT.url]
    assert [result["title"] for result in found["search_results"]] == ["Leie", "Scheldt"]


def test_content_is_null_only_beside_function_calls() -> None:
    call = ToolCall(call_id="call_1", name="f", arguments="{}")
    message = body([call, Finished(reason="tool_calls")])["choices"][0]["message"]
    assert message["content"] is None
    assert message["tool_calls"] == [
        {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
    ]
    assert (
        body([TextDelta("Wait."), call, Finished(reason="tool_calls")])["choices"][0]["message"]["content"] == "Wait."
    )


def test_annotations_cover_their_marks() -> None:
    marks = Citations((Annotation(start=8, end=11, source=LEIE),))
    message = body([TextDelta("The Leie[1]."), marks, END])["choices"][0]["message"]
    citation = message["annotations"][0]["url_citation"]
    assert message["content"][citation["start_index"] : citation["end_index"]] == "[1]"


def test_reasoning_is_told_in_the_order_in_which_it_came() -> None:
    step = SearchStep(kind="search", queries=("rivers",))
    batch: Batch = [ReasoningDelta("Hm."), step, ReasoningDelta("Ah."), Sources((LEIE,)), TextDelta("Yes."), END]
    shown = body(batch, told=Told("session", show_steps=True))["choices"][0]["message"]
    hidden = body(batch)["choices"][0]["message"]
    assert shown["reasoning_content"] == ("Hm.\nSearching: rivers\nAh.\nFound: Leie (https://a.example/leie)\n")
    assert hidden["reasoning_content"] == "Hm.Ah."


def test_without_reasoning_the_key_is_absent() -> None:
    assert "reasoning_content" not in body([TextDelta("a"), END])["choices"][0]["message"]


def test_extras_without_news_are_absent() -> None:
    found = body([TextDelta("a"), END])
    assert not {"citations", "search_results", "images", "related_questions"} & set(found)
    assert found["pplx"] == {"upstream": "api", "served_model": "perplexity/sonar"}


def test_extras_and_warnings_are_told() -> None:
    batch: Batch = [RelatedQuestions(("Why?",)), Images(()), Warned("Careful."), TextDelta("a"), END]
    found = body(batch, told=Told("api", warnings=("First.",)))
    assert found["related_questions"] == ["Why?"]
    assert "images" not in found
    assert found["pplx"]["warnings"] == ["First.", "Careful."]


def test_usage_without_a_count_is_null() -> None:
    assert body([TextDelta("a"), Finished(reason="stop")])["usage"] is None


def test_reasoning_and_cached_tokens_stand_in_the_details() -> None:
    usage = Usage(input_tokens=10, output_tokens=7, cached_tokens=4, cache_write_tokens=2, reasoning_tokens=3)
    found = body([TextDelta("a"), Finished(reason="length", usage=usage)])
    assert found["choices"][0]["finish_reason"] == "length"
    assert found["usage"]["prompt_tokens_details"] == {"cached_tokens": 4, "cache_write_tokens": 2}
    assert found["usage"]["completion_tokens_details"] == {"reasoning_tokens": 3}
    assert found["usage"]["reasoning_tokens"] == 3


# who answered

CATALOGUE = Catalogue.built_in()


def served(upstream: str, model_id: str, name: str | None) -> str:
    model = CATALOGUE.find(upstream, model_id)
    assert model
    return answered_by(Finished(reason="stop", served_model=name), model, CATALOGUE)


def test_what_answered_is_told_by_our_id_where_it_is_the_one_that_was_asked() -> None:
    assert served("api", "sonar", "perplexity/sonar") == "sonar"
    assert served("session", "gpt", "gpt56_terra") == "gpt"
    assert served("session", "gpt", "gpt56_terra_thinking") == "gpt"
    assert served("api", "sonar", None) == "sonar"


def test_another_model_of_ours_is_told_by_its_id() -> None:
    assert served("session", "gpt", "claude50sonnet") == "sonnet"


def test_a_model_that_nobody_knows_is_told_by_the_upstreams_word() -> None:
    assert served("session", "gpt", "turbo") == "turbo"
    assert served("api", "sonar-pro", "openai/gpt-5.6") == "openai/gpt-5.6"


def test_ids_are_fresh() -> None:
    assert fresh_id() != fresh_id()
    assert fresh_id().startswith("chatcmpl-")
