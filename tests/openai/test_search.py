from datetime import date
from typing import Any

import pytest

from pplx_gateway.capabilities import Feature
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.question import Location, Search
from tests.openai.asking import asked, prepared
from tests.openai.test_fields import USED

OF_SEARCH = {
    Feature.SEARCH_OFF,
    Feature.SOURCE_CHOICE,
    Feature.DOMAINS,
    Feature.LANGUAGES,
    Feature.RECENCY,
    Feature.DATES,
    Feature.UPDATED_DATES,
    Feature.CONTEXT_SIZE,
    Feature.MAX_RESULTS,
    Feature.LOCATION,
    Feature.LANGUAGE,
    Feature.IMAGES_OUT,
    Feature.IMAGE_FILTERS,
    Feature.RELATED_QUESTIONS,
}

GHENT = {"country": "BE", "city": "Ghent", "timezone": "Europe/Brussels"}


def search(**fields: Any) -> Search:
    return asked(**fields).search


def refused(**fields: Any) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        asked(**fields)
    return caught.value


def test_nothing_asked_is_nothing_set() -> None:
    assert search() == Search()


@pytest.mark.parametrize("text", ["3/1/2026", "03/01/2026", "2026-03-01", "2026-03-01T00:00:00Z", " 03/01/2026 "])
def test_four_forms_are_one_day(text: str) -> None:
    assert search(search_after_date_filter=text).after == date(2026, 3, 1)


def test_all_four_date_fields_have_their_places() -> None:
    found = search(
        search_after_date_filter="2026-01-01",
        search_before_date_filter="2026-01-02",
        last_updated_after_filter="2026-01-03",
        last_updated_before_filter="2026-01-04",
    )
    days = [found.after, found.before, found.updated_after, found.updated_before]
    assert [day and day.day for day in days] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "text", ["13/02/2026", "02/30/2026", "2026-02-30", "yesterday", "2026", "20260301", "2026-W01-1"]
)
@pytest.mark.parametrize(
    "field",
    [
        "search_after_date_filter",
        "search_before_date_filter",
        "last_updated_after_filter",
        "last_updated_before_filter",
    ],
)
def test_no_date_is_refused_by_name(field: str, text: str) -> None:
    assert refused(**{field: text}).param == field


@pytest.mark.parametrize("text", ["", "  ", None])
def test_an_empty_date_is_absent(text: str | None) -> None:
    assert search(search_after_date_filter=text).after is None


def test_dates_in_the_wrong_order_are_refused() -> None:
    error = refused(search_after_date_filter="2026-02-01", search_before_date_filter="2026-01-01")
    assert error.param == "search_after_date_filter"


def test_recency_with_dates_names_both() -> None:
    error = refused(search_recency_filter="week", search_after_date_filter="03/01/2026")
    assert error.param == "search_recency_filter"
    assert "search_recency_filter" in error.message
    assert "search_after_date_filter" in error.message


def test_recency_goes_with_the_dates_of_last_change() -> None:
    found = search(search_recency_filter="week", last_updated_after_filter="03/01/2026")
    assert (found.recency, found.updated_after) == ("week", date(2026, 3, 1))


def test_a_wrong_recency_is_refused_and_an_empty_one_is_absent() -> None:
    assert refused(search_recency_filter="fortnight").param == "search_recency_filter"
    assert search(search_recency_filter="").recency is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["https://Example.org/", "bücher.example"], ("example.org", "xn--bcher-kva.example")),
        (["example.org", "EXAMPLE.ORG/"], ("example.org",)),
        (["-spam.example"], ("-spam.example",)),
        (["-https://Spam.example/Path/"], ("-spam.example/Path",)),
        ([".gov"], (".gov",)),
        ([" example.org "], ("example.org",)),
        ([], ()),
        (None, ()),
    ],
)
def test_domains_are_normalised(given: object, expected: tuple[str, ...]) -> None:
    assert search(search_domain_filter=given).domains == expected


@pytest.mark.parametrize(
    "given",
    [
        [f"d{n}.example" for n in range(21)],
        ["example.org", "-spam.example"],
        ["not a domain"],
        [""],
        ["-"],
        ["https://"],
        ["a..example"],
        ["xn--\u00fc.example"],
        ["a" * 254 + ".example"],
        ["example.org/\x00"],
        "example.org",
        [5],
    ],
)
def test_impossible_domain_lists_are_refused(given: object) -> None:
    assert (refused(search_domain_filter=given).param or "").startswith("search_domain_filter")


def test_too_many_domains_tell_the_limit() -> None:
    assert "20" in refused(search_domain_filter=[f"d{n}.example" for n in range(21)]).message


def test_web_search_options_in_openais_form() -> None:
    options = {
        "search_context_size": "high",
        "user_location": {"type": "approximate", "approximate": GHENT},
    }
    found = prepared(web_search_options=options)
    assert found.question.search.context_size == "high"
    assert found.question.search.location == Location(country="BE", city="Ghent")
    assert any("timezone" in warning for warning in found.warnings)


def test_web_search_options_flat_and_in_a_list_of_one() -> None:
    place = {"latitude": 40.7, "longitude": -74.0, "city": "New York", "country": "us", "region": "NY"}
    found = search(web_search_options=[{"user_location": place, "image_search_relevance_enhanced": True}])
    assert found.location == Location(country="US", region="NY", city="New York", latitude=40.7, longitude=-74.0)
    assert search(web_search_options=[]).location is None
    assert refused(web_search_options=[{}, {}]).param == "web_search_options"


def test_a_place_may_stand_at_the_top() -> None:
    assert search(country="be", latitude=51.0, longitude=3.7).location == Location(
        country="BE", latitude=51.0, longitude=3.7
    )


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"country": "Belgium"}, "country"),
        ({"latitude": 51.0}, "longitude"),
        ({"longitude": 3.7}, "latitude"),
        ({"latitude": 91, "longitude": 0}, "latitude"),
        ({"web_search_options": {"search_context_size": "huge"}}, "web_search_options.search_context_size"),
        ({"search_mode": "dark"}, "search_mode"),
        ({"sources": ["web", "dark"]}, "sources"),
        ({"sources": "dark"}, "sources"),
        ({"sources": ["social"], "search_mode": "academic"}, "search_mode"),
        ({"num_search_results": 0}, "num_search_results"),
        ({"search_language_filter": ["english"]}, "search_language_filter"),
        ({"search_language_filter": ["en"] * 21}, "search_language_filter"),
        ({"image_format_filter": ["tiff"]}, "image_format_filter"),
        ({"image_domain_filter": ["a b"]}, "image_domain_filter"),
    ],
)
def test_other_wrong_values_are_refused_by_name(fields: dict[str, Any], param: str) -> None:
    assert refused(**fields).param == param


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"search_mode": "web"}, ()),
        ({"search_mode": "academic"}, ("academic",)),
        ({"search_mode": "sec"}, ("finance",)),
        ({"sources": ["web", "scholar", "Social"]}, ("web", "academic", "social")),
        ({"sources": "web, finance"}, ("web", "finance")),
        ({"sources": []}, ()),
    ],
)
def test_sources_by_either_name(fields: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert search(**fields).sources == expected


def test_news_is_the_web_with_a_warning() -> None:
    found = prepared(search_mode="news")
    assert found.question.search.sources == ()
    assert any("news" in warning for warning in found.warnings)


def test_the_other_fields_have_their_places() -> None:
    found = search(
        disable_search=True,
        num_search_results=7,
        language_preference="fr",
        search_language_filter=["EN", "de"],
        return_images=True,
        image_format_filter=["jpg", "PNG"],
        image_domain_filter=["-Spam.example"],
        return_related_questions=True,
    )
    assert found == Search(
        enabled=False,
        max_results=7,
        language="fr",
        languages=("en", "de"),
        images=True,
        image_formats=("jpeg", "png"),
        image_domains=("-spam.example",),
        related_questions=True,
    )


def test_images_may_be_asked_for_in_the_newer_place() -> None:
    assert search(media_response={"overrides": {"return_images": True}}).images


@pytest.mark.parametrize("given", [given for given, _, feature in USED if feature in OF_SEARCH])
def test_no_search_field_is_passed_over(given: dict[str, Any]) -> None:
    assert search(**given) != Search()
