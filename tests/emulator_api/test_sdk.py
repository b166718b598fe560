"""Perplexity's own SDK against the emulator: every resource that it has, and every method of each."""

import json
from collections.abc import Callable, Iterator

import httpx
import perplexity
import pytest
from perplexity import AsyncPerplexity, Perplexity
from perplexity.generated import api

from tests.emulator.caller import GHENT, KEY, Caller
from tests.emulator_api.making import jsonl, line, skill

Use = Callable[[Perplexity, Caller], None]
_USES: dict[str, Use] = {}


def uses(*methods: str) -> Callable[[Use], Use]:
    """Notes which of the SDK's methods a function calls."""

    def note(use: Use) -> Use:
        _USES.update(dict.fromkeys(methods, use))
        return use

    return note


@pytest.fixture
def client(caller: Caller) -> Iterator[Perplexity]:
    with Perplexity(api_key=KEY, base_url=caller.url, max_retries=0) as client:
        yield client


@uses("responses.create", "responses.retrieve")
def ask_and_read(client: Perplexity, caller: Caller) -> None:
    answer = client.responses.create(input=GHENT, effort="low")
    assert "Leie" in answer.output_text
    assert answer.usage is not None
    assert answer.usage.cost is not None
    assert answer.usage.cost.total_cost > 0
    events = list(client.responses.create(input=GHENT, effort="low", stream=True))
    assert (events[0].type, events[-1].type) == ("response.created", "response.completed")
    assert client.responses.retrieve(answer.id).status == "completed"
    replayed = list(client.responses.retrieve(answer.id, stream=True, starting_after=2))
    assert replayed[0].sequence_number == 3


@uses("responses.cancel")
def cancel(client: Perplexity, caller: Caller) -> None:
    run = client.responses.create(input="slow: Which pages tell of bridges?", effort="low", background=True)
    caller.wait_for_run(run.id, "in_progress")
    assert client.responses.cancel(run.id).status == "cancelling"
    caller.wait_for_run(run.id, "cancelled")


@uses("responses.files.list", "responses.files.content")
def shared_files(client: Perplexity, caller: Caller) -> None:
    run = client.responses.create(input="Save the rivers of Ghent as a csv file", effort="high")
    (shared,) = client.responses.files.list(run.id).data
    content = client.responses.files.content(shared.id, response_id=run.id).read()
    assert len(content) == shared.bytes
    assert content.startswith(b"title,url,date\n")


@uses("search.create")
def search(client: Perplexity, caller: Caller) -> None:
    found = client.search.create(query=["tides", "bridges"], max_results=4, display_server_time=True)
    assert len(found.results) == 4
    assert found.server_time


@uses("embeddings.create")
def embeddings(client: Perplexity, caller: Caller) -> None:
    made = client.embeddings.create(model="pplx-embed-v1-4b", input=["a river", "a bridge"], dimensions=128)
    assert made.data is not None
    assert [entry.index for entry in made.data] == [0, 1]
    assert made.usage is not None


@uses("contextualized_embeddings.create")
def contextualized_embeddings(client: Perplexity, caller: Caller) -> None:
    documents = [["a river", "its bridge"], ["a tide"]]
    made = client.contextualized_embeddings.create(model="pplx-embed-context-v1-0.6b", input=documents)
    assert made.data is not None
    assert [len(document.data or []) for document in made.data] == [2, 1]


@uses("decisions.create")
def decisions(client: Perplexity, caller: Caller) -> None:
    team = {"type": "choice", "criteria": {"billing": "invoices, VAT", "support": None}}
    made = client.decisions.create(
        model="pplx-decider-v1.1-27b",
        state={"ticket": "The billing department sent an invoice with the wrong VAT"},
        questions={"team": team},
    )
    answer = made.answers["team"]
    assert isinstance(answer, api.DecisionChoiceAnswerOutput)
    assert answer.choice == "billing"


@uses("models.list")
def models(client: Perplexity, caller: Caller) -> None:
    listed = client.models.list()
    assert "perplexity/sonar" in [model.id for model in listed.data]


@uses("files.create", "files.list", "files.retrieve", "files.content", "files.delete")
def files(client: Perplexity, caller: Caller) -> None:
    made = client.files.create(file=("in.jsonl", jsonl(line("a"))), purpose="batch")
    assert client.files.list(purpose="batch", limit=1, order="desc").data[0].id == made.id
    assert client.files.retrieve(made.id).filename == "in.jsonl"
    assert json.loads(client.files.content(made.id).read())["custom_id"] == "a"
    assert client.files.delete(made.id).deleted


@uses("batches.create", "batches.retrieve", "batches.list", "batches.cancel")
def batches(client: Perplexity, caller: Caller) -> None:
    file = client.files.create(file=("in.jsonl", jsonl(line("a"), line("b"))), purpose="batch")
    batch = client.batches.create(endpoint="/v1/responses", input_file_id=file.id, idempotency_key="one")
    assert client.batches.create(endpoint="/v1/responses", input_file_id=file.id, idempotency_key="one").id == batch.id
    caller.send("GET", f"/_emulator/batches?id={batch.id}&status=completed&timeout=10")
    done = client.batches.retrieve(batch.id)
    assert (done.status, done.request_counts.completed) == ("completed", 2)
    assert done.output_file_id is not None
    results = client.files.content(done.output_file_id).read().splitlines()
    assert [json.loads(result)["custom_id"] for result in results] == ["a", "b"]
    assert batch.id in [each.id for each in client.batches.list(limit=5).data]
    with pytest.raises(perplexity.BadRequestError, match="cannot be cancelled"):
        client.batches.cancel(batch.id)


@uses(
    *("skills.create", "skills.list", "skills.retrieve", "skills.update", "skills.download", "skills.delete"),
    "skills.revisions.list",
)
def skills(client: Perplexity, caller: Caller) -> None:
    made = client.skills.create(file=("skill.zip", skill()))
    assert (made.name, made.revision) == ("tide-tables", made.latest_revision)
    assert made.revision is not None
    newer = client.skills.update(made.skill_id, expected_revision=made.revision, file=("skill.zip", skill("tides")))
    assert client.skills.retrieve(made.skill_id, revision=made.revision).name == "tide-tables"
    assert [each.revision for each in client.skills.revisions.list(made.skill_id).revisions] == [
        newer.revision,
        made.revision,
    ]
    at = client.skills.download(made.skill_id).download_url
    assert httpx.get(at, trust_env=False).content == skill("tides")
    with pytest.raises(perplexity.ConflictError):
        client.skills.delete(made.skill_id, expected_revision=made.revision)
    assert newer.revision is not None
    client.skills.delete(made.skill_id, expected_revision=newer.revision)
    assert made.skill_id not in [each.skill_id for each in client.skills.list(limit=5).skills]


@uses("browser.sessions.create", "browser.sessions.delete")
def browser_sessions(client: Perplexity, caller: Caller) -> None:
    session = client.browser.sessions.create()
    assert session.status == "running"
    assert session.session_id is not None
    client.browser.sessions.delete(session.session_id)
    with pytest.raises(perplexity.NotFoundError):
        client.browser.sessions.delete(session.session_id)


@uses("chat.completions.create")
def retired_chat(client: Perplexity, caller: Caller) -> None:
    with pytest.raises(perplexity.PermissionDeniedError, match="chat_completions_not_available"):
        client.chat.completions.create(model="sonar", messages=[{"role": "user", "content": "hi"}])


@uses("async_.chat.completions.create", "async_.chat.completions.get", "async_.chat.completions.list")
def retired_async_chat(client: Perplexity, caller: Caller) -> None:
    asked = {"model": "sonar-deep-research", "messages": [{"role": "user", "content": "hi"}]}
    calls = client.async_.chat.completions
    for call in (lambda: calls.create(request=asked), lambda: calls.get("any"), calls.list):
        with pytest.raises(perplexity.PermissionDeniedError):
            call()


@pytest.mark.parametrize("use", dict.fromkeys(_USES.values()), ids=lambda use: use.__name__)
def test_the_sdk_is_answered(use: Use, client: Perplexity, caller: Caller) -> None:
    use(client, caller)


def test_every_method_of_the_sdk_is_used_here(client: Perplexity) -> None:
    assert set(_methods(client)) == set(_USES)


def _methods(resource: object, at: str = "") -> Iterator[str]:
    """The paths of all methods that send something."""
    for name in dir(type(resource)):
        if name.startswith(("_", "with_")):
            continue
        member = getattr(resource, name, None)
        kind = type(member).__name__
        if kind.endswith("Resource"):
            yield from _methods(member, f"{at}{name}.")
        elif at and callable(member):
            yield f"{at}{name}"


ERRORS = {
    "upstream_401": perplexity.AuthenticationError,
    "upstream_402": perplexity.APIStatusError,
    "upstream_429": perplexity.RateLimitError,
    "upstream_500": perplexity.InternalServerError,
    "upstream_html": perplexity.InternalServerError,
    "midstream_drop": perplexity.APIConnectionError,
}


@pytest.mark.parametrize("fault", ERRORS)
def test_faults_are_the_sdks_exceptions_wherever_a_text_is_asked(fault: str, client: Perplexity) -> None:
    text = f"fault:{fault} tides"
    calls: list[Callable[[], object]] = [
        lambda: client.responses.create(model="perplexity/sonar", input=text),
        lambda: client.search.create(query=text),
        lambda: client.embeddings.create(model="pplx-embed-v1-0.6b", input=text),
        lambda: client.contextualized_embeddings.create(model="pplx-embed-context-v1-0.6b", input=[[text]]),
        lambda: client.decisions.create(
            model="pplx-decider-v1-27b",
            state=text,
            questions={"a": {"type": "noul", "instructions": "Tides?"}},
        ),
    ]
    for call in calls:
        with pytest.raises(ERRORS[fault]):
            call()


async def test_the_asynchronous_client_is_answered_too(caller: Caller) -> None:
    async with AsyncPerplexity(api_key=KEY, base_url=caller.url, max_retries=0) as client:
        assert "Leie" in (await client.responses.create(input=GHENT, effort="fast")).output_text
        events = [e.type async for e in await client.responses.create(input=GHENT, effort="fast", stream=True)]
        assert events[-1] == "response.completed"
        file = await client.files.create(file=("in.jsonl", jsonl(line("a"))), purpose="batch")
        assert (await (await client.files.content(file.id)).read()) == jsonl(line("a"))
        session = await client.browser.sessions.create()
        await client.browser.sessions.delete(session.session_id or "")
        assert len((await client.search.create(query="tides")).results) == 10
