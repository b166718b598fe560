"""Short ways to questions and to the bodies that they become."""

from typing import Any

from pplx_gateway.catalogue import Catalogue, Model
from pplx_gateway.question import Message, Question, Role, TextPart, Turn
from pplx_gateway.upstreams.api.request import AgentRequest, build
from tests.api import strict

CATALOGUE = Catalogue.built_in()


def model(model_id: str) -> Model:
    found = CATALOGUE.find("api", model_id)
    assert found is not None
    return found


def said(role: Role, *texts: str) -> Message:
    return Message(role, tuple(TextPart(text) for text in texts))


def question(*turns: Turn, model: str = "sonar", **more: Any) -> Question:
    return Question(model=model, turns=turns or (said("user", "Which two rivers meet in Ghent?"),), **more)


def request_of(asked: Question) -> AgentRequest:
    """What is asked upstream; every body passes the strict API."""
    request = build(asked, model(asked.model), lambda _: None)
    strict.check(request.body)
    return request


def body_of(asked: Question) -> dict[str, Any]:
    return request_of(asked).body
