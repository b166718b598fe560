from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.catalogue import Catalogue
from pplx_gateway.upstreams.api.support import support
from tests.api.asking import model


def test_every_feature_has_a_verdict_for_every_model() -> None:
    for model_id in ("sonar", "sonar-pro", "helper", "openai/gpt-6-sol"):
        assert set(support(model(model_id))) == set(Feature)


def test_only_a_level_cannot_do_without_a_search() -> None:
    assert support(model("sonar"))[Feature.SEARCH_OFF] is Support.HONOURED
    assert support(model("helper"))[Feature.SEARCH_OFF] is Support.HONOURED
    assert support(model("sonar-pro"))[Feature.SEARCH_OFF] is Support.REFUSED


def test_a_model_without_tools_calls_no_functions() -> None:
    assert support(model("helper"))[Feature.FUNCTIONS] is Support.REFUSED
    assert support(model("helper"))[Feature.DOMAINS] is Support.HINT
    assert support(model("sonar"))[Feature.FUNCTIONS] is Support.HONOURED


def test_what_would_change_the_meaning_is_refused_and_what_would_not_is_a_hint() -> None:
    table = support(model("sonar"))
    for feature in (Feature.CHOICES, Feature.PENALTIES, Feature.LOGPROBS, Feature.TOP_K, Feature.REGEX_FORMAT):
        assert table[feature] is Support.REFUSED
    for feature in (Feature.SEED, Feature.RELATED_QUESTIONS, Feature.VERBOSITY, Feature.LANGUAGES):
        assert table[feature] is Support.HINT
    for feature in (Feature.STOP, Feature.JSON_OBJECT):
        assert table[feature] is Support.EMULATED


def test_a_session_model_gets_nothing_here() -> None:
    session = Catalogue.built_in().find("session", "gpt")
    assert session is not None
    assert support(session) == {}
