from pathlib import Path

import pytest

from pplx_gateway.errors import InternalError
from pplx_gateway.transport import Network, is_loopback
from tests.transport.servers import Authority

PROXY = "http://proxy.test:3128"


def proxied(url: str, **environ: str) -> bool:
    return Network.from_environ(environ).route(url).proxy is not None


@pytest.mark.parametrize(
    ("variable", "url", "expected"),
    [
        ("HTTPS_PROXY", "https://upstream.test/", True),
        ("https_proxy", "https://upstream.test/", True),
        ("HTTPS_PROXY", "http://upstream.test/", False),
        ("HTTP_PROXY", "http://upstream.test/", True),
        ("HTTP_PROXY", "https://upstream.test/", False),
        ("ALL_PROXY", "https://upstream.test/", True),
        ("all_proxy", "http://upstream.test/", True),
    ],
)
def test_each_variable_rules_its_scheme(variable: str, url: str, expected: bool) -> None:
    assert proxied(url, **{variable: PROXY}) is expected


def test_small_letters_win_and_blanks_count_as_unset() -> None:
    network = Network.from_environ({"https_proxy": "small.test:1", "HTTPS_PROXY": "big.test:2"})
    assert network.https_proxy is not None
    assert (network.https_proxy.url, network.https_proxy.variable) == ("http://small.test:1", "https_proxy")
    network = Network.from_environ({"https_proxy": " ", "HTTPS_PROXY": "big.test:2"})
    assert network.https_proxy is not None
    assert network.https_proxy.variable == "HTTPS_PROXY"


def test_a_scheme_of_its_own_beats_all_proxy() -> None:
    network = Network.from_environ({"ALL_PROXY": "http://all.test:1", "HTTPS_PROXY": "http://own.test:2"})
    assert network.https_proxy is not None
    assert network.https_proxy.url == "http://own.test:2"


def test_http_proxy_in_capitals_is_ignored_under_cgi() -> None:
    environ = {"HTTP_PROXY": PROXY, "REQUEST_METHOD": "GET"}
    assert Network.from_environ(environ).http_proxy is None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "localhost", "LOCALHOST", "app.localhost", "[::1]"])
def test_loopback_never_takes_a_proxy(host: str) -> None:
    assert not proxied(f"http://{host}:8000/", ALL_PROXY=PROXY)


@pytest.mark.parametrize("host", ["127.0.0.1.test", "localhost.test", "128.0.0.1", "::2", ""])
def test_what_only_looks_like_loopback_is_not(host: str) -> None:
    assert not is_loopback(host)


def test_mapped_loopback_is_loopback() -> None:
    assert is_loopback("::ffff:127.0.0.1")


@pytest.mark.parametrize(
    ("no_proxy", "url", "past"),
    [
        ("*", "https://any.test/", True),
        ("upstream.test", "https://upstream.test/", True),
        ("upstream.test", "https://api.upstream.test/", True),
        ("upstream.test", "https://notupstream.test/", False),
        (".internal", "https://a.internal/", True),
        (".internal", "https://internal/", True),
        (".internal", "https://ainternal/", False),
        ("*.internal", "https://a.internal/", True),
        ("localhost,127.0.0.1,.internal", "https://a.b.internal/", True),
        ("a.test b.test", "https://b.test/", True),
        ("UPSTREAM.test", "https://Upstream.TEST/", True),
        ("upstream.test", "https://upstream.test./", True),
        ("upstream.test:443", "https://upstream.test/", True),
        ("upstream.test:8443", "https://upstream.test/", False),
        ("upstream.test:8443", "https://upstream.test:8443/", True),
        ("10.0.0.0/8", "https://10.1.2.3/", True),
        ("10.0.0.0/8", "https://11.1.2.3/", False),
        ("10.1.2.3", "https://10.1.2.3/", True),
        ("fd00::/8", "https://[fd00::1]/", True),
        ("[fd00::1]:443", "https://[fd00::1]/", True),
        ("10.0.0.0/8", "https://upstream.test/", False),
        (",, . :", "https://upstream.test/", False),
        ("", "https://upstream.test/", False),
    ],
)
def test_no_proxy_lists_what_goes_past(no_proxy: str, url: str, past: bool) -> None:
    assert proxied(url, HTTPS_PROXY=PROXY, NO_PROXY=no_proxy) is not past


def test_credentials_are_decoded_and_never_shown() -> None:
    network = Network.from_environ({"HTTPS_PROXY": "http://us%40er:pa%3Ass@proxy.test:3128"})
    proxy = network.https_proxy
    assert proxy is not None
    assert (proxy.url, proxy.username, proxy.password) == ("http://proxy.test:3128", "us@er", "pa:ss")
    for shown in (repr(proxy), repr(network), str(network), repr(network.route("https://upstream.test/"))):
        assert not any(secret in shown for secret in ("pa:ss", "pa%3Ass", "us@er", "us%40er"))


@pytest.mark.parametrize(
    "value", ["ftp://user:hush@proxy.test:1", "http://user:hush@:1", "http://user:hush@proxy.test:port", "http://[hush"]
)
def test_a_bad_proxy_address_names_the_variable_and_not_the_value(value: str) -> None:
    with pytest.raises(ValueError, match="HTTPS_PROXY") as caught:
        Network.from_environ({"HTTPS_PROXY": value})
    assert "hush" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("scheme", ["http", "https", "socks4", "socks4a", "socks5", "socks5h"])
def test_every_kind_of_proxy_is_taken(scheme: str) -> None:
    network = Network.from_environ({"ALL_PROXY": f"{scheme}://proxy.test:1080"})
    assert network.https_proxy is not None
    assert network.https_proxy.url == f"{scheme}://proxy.test:1080"


def test_a_missing_ca_file_is_an_error_that_names_the_variable(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"SSL_CERT_FILE names .*nowhere\.pem, which cannot be read: No such file"):
        Network.from_environ({"SSL_CERT_FILE": str(tmp_path / "nowhere.pem")})


def test_a_ca_file_without_certificates_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("not a certificate")
    with pytest.raises(ValueError, match="holds no PEM certificate"):
        Network.from_environ({"SSL_CERT_FILE": str(tmp_path / "empty.pem")})
    with pytest.raises(ValueError, match="SSL_CERT_FILE"):
        Network.from_environ({"SSL_CERT_FILE": str(tmp_path)})


def test_a_good_ca_file_is_kept(authority: Authority) -> None:
    assert Network.from_environ({"SSL_CERT_FILE": str(authority.ca_file)}).ca_file == str(authority.ca_file)


@pytest.mark.parametrize(
    "url", ["ftp://upstream.test/", "upstream.test", "https://", "file:///etc/passwd", "http://[::1"]
)
def test_only_web_addresses_have_a_route(url: str) -> None:
    with pytest.raises(InternalError):
        Network().route(url)
