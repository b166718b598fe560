import msgspec
import pytest

from pplx_gateway.catalogue import Catalogue
from pplx_gateway.errors import GatewayError, InvalidRequest, ModelNotAllowed, ModelNotFound, UpstreamAuth
from pplx_gateway.routing import Router


def router(*order: str, tier: str = "pro", spending: bool = False, default_model: str = "gpt") -> Router:
    return Router(Catalogue.built_in(), order, tier=tier, spending=spending, default_model=default_model)


def targets(chosen: Router, model_id: str | None) -> list[str]:
    return [f"{model.upstream}/{model.id}" for model in chosen.resolve(model_id).targets]


@pytest.mark.parametrize(
    ("order", "model_id", "expected"),
    [
        (("session", "api"), "sonar", ["session/sonar"]),
        (("api", "session"), "sonar", ["session/sonar"]),
        (("session", "api"), "api/sonar", ["api/sonar"]),
        (("session", "api"), "session/gpt", ["session/gpt"]),
        (("session", "api"), "sonar-pro", ["api/sonar-pro"]),
        (("session", "api"), "perplexity/sonar-pro", ["api/sonar-pro"]),
        (("session", "api"), "perplexity/sonar", ["api/perplexity/sonar"]),
        (("session", "api"), "perplexity/glm-5.3", ["api/perplexity/glm-5.3"]),
        (("session", "api"), "openai/gpt-6-luna", ["api/openai/gpt-6-luna"]),
        (("session", "api"), "low@2026-10-16.0", ["api/low@2026-10-16.0"]),
        (("session", "api"), None, ["session/gpt"]),
        (("api",), None, ["api/sonar"]),
        (("api",), "sonar", ["api/sonar"]),
        (("session",), "auto", ["session/auto"]),
    ],
)
def test_a_model_id_leads_to_its_targets(order: tuple[str, ...], model_id: str | None, expected: list[str]) -> None:
    assert targets(router(*order), model_id) == expected


def test_with_leave_to_spend_the_owners_order_rules() -> None:
    assert targets(router("session", "api", spending=True), "sonar") == ["session/sonar", "api/sonar"]
    assert targets(router("api", "session", spending=True), "sonar") == ["api/sonar", "session/sonar"]


@pytest.mark.parametrize("model_id", ["llama-3.1-sonar-small-128k-online", "sonar-reasoning", "r1-1776"])
def test_a_retired_model_is_called_retired_and_a_living_one_is_named(model_id: str) -> None:
    with pytest.raises(ModelNotFound, match=r"retired.*sonar"):
        router("session", "api").resolve(model_id)


@pytest.mark.parametrize(
    "model_id", ["gpt-4o", "session/nothing", "api/", "/", "session/api/sonar", "x" * 10_000, "haiku"]
)
def test_an_unknown_model_is_not_found(model_id: str) -> None:
    with pytest.raises(ModelNotFound) as caught:
        router("session", "api").resolve(model_id)
    assert len(caught.value.message) < 400


def test_a_model_of_an_upstream_that_is_not_set_up_names_the_setting() -> None:
    with pytest.raises(ModelNotFound, match="PERPLEXITY_API_KEY"):
        router("session").resolve("sonar-pro")
    with pytest.raises(ModelNotFound, match="PPLX_COOKIE"):
        router("api").resolve("gpt")


def test_a_tier_that_is_too_low_is_named() -> None:
    with pytest.raises(ModelNotAllowed, match="max"):
        router("session").resolve("opus")
    with pytest.raises(ModelNotAllowed, match="pro"):
        router("session", tier="free").resolve("gpt")
    assert targets(router("session", tier="max"), "opus") == ["session/opus"]


def test_a_free_account_is_offered_automatic_choice_alone() -> None:
    assert {model.id for model in router("session", tier="free").models()} == {"auto", "helper"}


def test_no_upstream_says_what_to_set() -> None:
    with pytest.raises(UpstreamAuth, match="PPLX_COOKIE or PERPLEXITY_API_KEY"):
        router().resolve("sonar")


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        router("session").resolve(" ")


@pytest.mark.parametrize("order", [("session", "api"), ("session",), ("api",)])
def test_the_list_holds_exactly_what_is_accepted(order: tuple[str, ...]) -> None:
    chosen = router(*order)
    listed = {model.id for model in chosen.models()}
    accepted = set()
    for model in Catalogue.built_in():
        try:
            chosen.resolve(model.id)
        except GatewayError:
            continue
        accepted.add(model.id)
    assert listed == accepted
    assert len(chosen.models()) == len(listed)


def test_a_route_follows_the_catalogue_as_it_is_renewed() -> None:
    catalogue = Catalogue.built_in()
    chosen = Router(catalogue, ("session",), tier="pro", spending=False, default_model="gpt")
    found = chosen.resolve("auto").targets[0]
    renamed = msgspec.structs.replace(found, name="Another name")
    catalogue.renew([renamed])
    assert chosen.resolve("auto").targets == (renamed,)
    catalogue.renew([])
    with pytest.raises(ModelNotFound):
        chosen.resolve("auto")
