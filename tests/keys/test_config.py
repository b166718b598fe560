from pathlib import Path
from typing import Any

import pytest

from pplx_gateway.settings import Secret, SettingsError
from pplx_gateway.transport import Network
from pplx_gateway.upstreams.api import ApiOptions
from pplx_gateway.upstreams.api.keys.config import Config, read_config
from pplx_gateway.upstreams.api.keys.form import environment
from tests.keys.files import entry, put, write

ENVIRON = {"GOOD": "pplx-good-SECRET", "BLANK": " ", "TWO": "pplx two SECRET", "FROM_FILE": ""}


def read(path: Path, **environ: str) -> Config:
    config = read_config(path, environment({**ENVIRON, **environ}))
    assert config is not None
    return config


def refused(path: Path) -> str:
    with pytest.raises(SettingsError) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "SECRET" not in message
    assert "\n" not in message
    return message.removeprefix(str(path))


def test_the_form_of_other_gateways_is_read(tmp_path: Path) -> None:
    text = """{"$schema": "x", "client": {"a": 1}, "providers": {"openai": {"keys": [1]}, "perplexity": {"keys": [
      {"name": "perplexity-key-1", "value": "env.GOOD", "models": ["*"], "weight": 1.0}
    ]}}}"""
    config = read(put(tmp_path, text, 0o644))
    (key,) = config.keys
    assert (key.name, key.models, key.weight, key.reveal()) == ("perplexity-key-1", ("*",), 1.0, "pplx-good-SECRET")
    assert key.label == "GOOD"
    assert config.notes == (f"{tmp_path}/config.json: not used here: client, providers.openai.",)


def test_no_file_is_no_error_and_an_empty_one_names_no_keys(tmp_path: Path) -> None:
    assert read_config(tmp_path / "config.json", environment(ENVIRON)) is None
    for text in ("{}", '{"providers": {}}', '{"providers": {"perplexity": {}}}', '\ufeff{"providers": {}}'):
        assert read(put(tmp_path, text)).keys == ()


def test_a_variable_that_is_not_set_disables_its_key_with_one_line(tmp_path: Path) -> None:
    path = write(tmp_path, entry("a", "env.GOOD"), entry("b", "env.NOT_THERE"), entry("c", "env.BLANK"))
    config = read(path)
    assert [key.usable for key in config.keys] == [True, False, False]
    assert [note.removeprefix(str(path)) for note in config.notes] == [
        ": the key 'b' is disabled: NOT_THERE is not set.",
        ": the key 'c' is disabled: BLANK is not set.",
    ]


def test_a_variable_may_come_from_a_file_or_from_the_settings(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("pplx-file-SECRET\n")
    path = write(tmp_path, entry("a", "env.FROM_FILE"), entry("b", "env.OURS"))
    lookup = environment({"FROM_FILE_FILE": str(secret)}, {"OURS": Secret("pplx-ours-SECRET")})
    config = read_config(path, lookup)
    assert config is not None
    assert [key.reveal() for key in config.keys] == ["pplx-file-SECRET", "pplx-ours-SECRET"]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_literal_value_in_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    message = refused(write(tmp_path, entry("a", "env.GOOD"), entry("b"), mode=mode))
    assert "providers.perplexity.keys[1].value" in message
    assert "chmod 600" in message
    assert read(write(tmp_path, entry("a"), mode=0o600)).keys
    assert read(write(tmp_path, entry("a", "env.GOOD"), mode=mode)).keys


@pytest.mark.parametrize("network", [{"proxy_url": "http://me:SECRET@p.example"}, {"extra_headers": {"x-a": "SECRET"}}])
def test_so_is_a_password_or_a_header(tmp_path: Path, network: dict[str, Any]) -> None:
    assert "network_config" in refused(write(tmp_path, entry("a", "env.GOOD"), mode=0o644, network=network))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not valid JSON"),
        ("[]", "wrong"),
        (b"\xff{}", "UTF-8"),
        ('{"providers": []}', "'providers'"),
        ('{"providers": {"perplexity": {"key": []}}}', "'providers.perplexity.key'"),
        ('{"providers": {"perplexity": {"keys": {}}}}', "'providers.perplexity.keys'"),
    ],
)
def test_what_is_no_such_file_says_where(tmp_path: Path, text: str | bytes, words: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert words in refused(path)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ({"value": "env.GOOD"}, "'providers.perplexity.keys[1].name'"),
        (entry("b", heft=2), "heft'"),
        (entry("b", weight="2"), "'providers.perplexity.keys[1].weight'"),
        (entry("b", weight=-1), "providers.perplexity.keys[1].weight must be from 0"),
        (entry("b", weight=1e9), "keys[1].weight must be"),
        (entry("b", models=[]), 'keys[1].models must name models, or be ["*"]'),
        (entry("b", models=[" "]), "keys[1].models"),
        (entry("b", models="*"), "'providers.perplexity.keys[1].models'"),
        (entry("a"), "keys[1].name is 'a', as that of a key before it"),
        (entry("n" * 65), "keys[1].name must have 1 to 64"),
        ({"name": "", "value": "env.GOOD"}, "keys[1].name"),
        (entry("a\nb"), "keys[1].name"),
        (entry("b", "env."), "keys[1].value must be a key, or env.NAME"),
        (entry("b", "env.A-B"), "keys[1].value must be"),
        (entry("b", " "), "keys[1].value"),
        (entry("b", "pplx two SECRET"), "keys[1].value holds characters"),
        (entry("b", "env.TWO"), "TWO holds some"),
    ],
)
def test_a_wrong_key_is_named_with_its_field(tmp_path: Path, key: dict[str, Any], words: str) -> None:
    assert words in refused(write(tmp_path, entry("a"), key))


@pytest.mark.parametrize(
    ("network", "words"),
    [
        ({"max_retries": 11}, "max_retries must be from 0 to 10"),
        ({"max_retries": 1.5}, "max_retries"),
        ({"default_request_timeout_in_seconds": 0}, "default_request_timeout_in_seconds must be above 0"),
        ({"retry_backoff_initial": 500, "retry_backoff_max": 100}, "retry_backoff_max must be at least"),
        ({"extra_headers": {"Authorization": "x"}}, "extra_headers may not hold 'Authorization'"),
        ({"extra_headers": {"x-a": "b\nc"}}, "extra_headers may not hold 'x-a'"),
        ({"base_url": "https://x.example"}, "network_config.base_url'"),
    ],
)
def test_a_wrong_network_setting_is_named(tmp_path: Path, network: dict[str, Any], words: str) -> None:
    assert words in refused(write(tmp_path, entry("a"), network=network))


def test_network_settings_take_the_place_of_defaults_and_yield_to_the_environment(tmp_path: Path) -> None:
    given = {
        "default_request_timeout_in_seconds": 30,
        "stream_idle_timeout_in_seconds": 40,
        "max_retries": 1,
        "retry_backoff_initial": 200,
        "retry_backoff_max": 3000,
    }
    network = read(write(tmp_path, entry("a"), network=given)).network
    standard = ApiOptions(first_byte_seconds=120, idle_seconds=120)
    chosen = ApiOptions(first_byte_seconds=120, idle_seconds=77)
    options = network.applied(chosen, standard)
    assert (options.first_byte_seconds, options.idle_seconds) == (30, 77)
    assert (options.attempts, options.backoff_seconds, options.longest_backoff_seconds) == (2, 0.2, 3)


def test_a_proxy_is_used_for_the_api_and_may_be_a_variable(tmp_path: Path) -> None:
    path = write(tmp_path, entry("a"), network={"proxy_url": "env.PROXY"})
    network = read(path).network
    found = network.network(Network(), {"PROXY": "http://me:pw@proxy.example:3128"})
    route = found.route("https://api.example")
    assert route.proxy
    assert (route.proxy.url, route.proxy.username) == ("http://proxy.example:3128", "me")
    with pytest.raises(SettingsError, match=r"env\.PROXY, which is not set"):
        network.network(Network(), {})
    with pytest.raises(SettingsError, match="not a proxy's address"):
        network.network(Network(), {"PROXY": "ftp://SECRET"})
