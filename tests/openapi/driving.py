"""schemathesis on the running gateway: requests made from the description, answers held against it.

Driven by its Python interface. Its plugin for pytest would be loaded by every run of the tests, and makes tests of its
own kind. Everything is drawn from a fixed seed, so that a run can be repeated.
"""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, Response
from schemathesis.checks import not_a_server_error
from schemathesis.core import NOT_SET
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.openapi.bodies import PLAIN, Things
from tests.rig import KEY, bearer

Json = dict[str, Any]
Operation = APIOperation[Any, Any, Any, Any]
Asked = Case[Any]

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
SECONDS = 60
STREAM = "text/event-stream"
_METHODS = ("get", "head", "post", "put", "patch", "delete")


class Driver:
    """`examples` of each operation and kind of request. `complaints` is what was wrong, once for each operation, kind
    and status; `statuses` what each operation answered."""

    def __init__(self, url: str, document: Json, things: Things, *, examples: int) -> None:
        self._session = requests.Session()
        self._session.trust_env = False
        self._schema = schemathesis.openapi.from_dict(_without_tuples(document))
        self._schema.config.update(base_url=url)
        self._schema.config.max_stream_events = 100_000
        self._examples = examples
        self._things = things
        self.complaints: dict[str, None] = {}
        self.statuses: dict[str, set[int]] = {}

    def drive(self) -> None:
        """Everything that is described; what deletes comes last. Of what has several addresses only the first is asked
        more than what is right."""
        for operation in sorted(self._operations(), key=lambda each: _METHODS.index(each.method)):
            self._ask(self._right(operation, PLAIN), operation)
            if not _is_repeated(operation):
                for turn in self._things.other_turns(_name(operation)):
                    self._ask(self._right(operation, turn), operation)
                self._run(operation, GenerationMode.POSITIVE, self._examples, st.integers(0, 999))
                self._run(operation, GenerationMode.NEGATIVE, self._examples, st.none())

    def _operations(self) -> Iterator[Operation]:
        for each in self._schema.get_all_operations():
            assert isinstance(each, Ok), f"this description cannot be read: {each.err()}"
            yield each.ok()

    def _right(self, operation: Operation, turn: int) -> Asked:
        required = [each for each in operation.iter_parameters() if each.is_required]
        given: dict[str, Json] = {"path": {}, "query": {}}
        for each in required:
            given[each.location.value][each.name] = self._things.named(each.name, operation.path, "none")
        body = self._things.body(_name(operation), turn)
        kind = next(iter(operation.definition.raw.get("requestBody", {}).get("content", [])), None)
        return operation.Case(
            path_parameters=given["path"],
            query=given["query"],
            body=NOT_SET if body is None else body,
            media_type=kind,
        )

    def _run(
        self, operation: Operation, mode: GenerationMode, examples: int, turns: st.SearchStrategy[int | None]
    ) -> None:
        @settings(
            max_examples=examples,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode), turn=turns)
        def each(case: Asked, turn: int | None) -> None:
            if turn is not None:
                self._make_sensible(case, operation, turn)
            self._ask(case, operation)

        with contextlib.suppress(Unsatisfiable):  # where nothing can be wrong
            each()

    def _make_sensible(self, case: Asked, operation: Operation, turn: int) -> None:
        """Mostly a request asks for something that is there, in a body that is right but for some fields."""
        if turn % 4 == 0:
            return
        for names in (case.path_parameters, case.query):
            for name in names or ():
                names[name] = self._things.named(name, operation.path, names[name])
        right = self._things.body(_name(operation), turn)
        if right is not None and isinstance(case.body, dict):
            drawn = sorted(case.body.keys() - right.keys())
            start = turn % (len(drawn) or 1)
            case.body = {**{name: case.body[name] for name in drawn[start : start + turn % 5]}, **right}

    def _ask(self, case: Asked, operation: Operation) -> None:
        reply = case.call(headers=bearer(KEY), session=self._session, timeout=SECONDS)
        self.statuses.setdefault(operation.label, set()).add(reply.status_code)
        try:
            case.validate_response(reply, checks=CHECKS, additional_checks=[events_fit])
        except FailureGroup as failures:
            for failure in failures.exceptions:
                self._complain(case, operation, reply, failure)

    def _complain(self, case: Asked, operation: Operation, reply: Response, failure: BaseException) -> None:
        sent = {"path": case.path_parameters, "query": case.query, "body": repr(case.body)[:600]}
        said = f"{operation.label}: {type(failure).__name__}, {reply.status_code}"
        if not any(line.startswith(said) for line in self.complaints):
            self.complaints[f"{said}: {failure} | sent {sent} | got {reply.text[:600]}"] = None


def _without_tuples(node: Any) -> Any:
    """schemathesis 4.32 rewrites them to a form that its own validator of answers refuses."""
    if isinstance(node, list):
        return [_without_tuples(each) for each in node]
    if not isinstance(node, dict):
        return node
    if "prefixItems" in node:
        node = {**node, "items": {"anyOf": node["prefixItems"]}}
        del node["prefixItems"]
    return {name: _without_tuples(each) for name, each in node.items()}


def events_fit(_: object, reply: Response, case: Asked) -> None:
    """What schemathesis leaves out where a stream may end with [DONE]: the JSON in each event."""
    if STREAM not in reply.headers.get("content-type", [""])[0]:
        return
    document = case.operation.schema.raw_schema
    content = case.operation.definition.raw["responses"]["200"]["content"][STREAM]["schema"]
    data = content["properties"]["data"]
    forms = data.get("anyOf", [data])
    form = {**forms[0]["contentSchema"], "components": document["components"]}
    validator = jsonschema_rs.Draft202012Validator(form)
    told = list(_data(reply.text))
    assert told, "a stream without events"
    if {"const": told[-1]} in forms[1:]:
        told.pop()
    for text in told:
        assert validator.is_valid(json.loads(text)), f"no event of this stream: {text[:600]}"


def _name(operation: Operation) -> str:
    """Of what has several addresses that of the first."""
    name: str = operation.definition.raw["operationId"]
    return name.partition("At")[0] if _is_repeated(operation) else name


def _is_repeated(operation: Operation) -> bool:
    return bool(operation.definition.raw["summary"].startswith("The same as "))


def _data(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if line.startswith("data: "):
            yield line.removeprefix("data: ")
