"""Every setting: its name, its type, its default and what it is for. environment.py reads them."""

import os
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec


class SettingsError(ValueError):
    """A setting that cannot be used. The message names the variable and the way out, never a secret's value."""


class Secret:
    """A value that does not print. `reveal` is the only way to it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__


class Env(NamedTuple):
    """Where a setting comes from, and what it is for. `later` = read, but of no effect in this release."""

    name: str
    about: str
    later: bool = False


# A request with its images takes up to half of this.
LEAST_STORE_BYTES = 16 << 20

Upstreams = tuple[Literal["session", "api"], ...]
Words = tuple[str, ...]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    # who may call, and where
    api_key: Annotated[
        Secret | None, Env("PPLX_PROXY_API_KEY", "The owner's key, which callers send as bearer token or `x-api-key`.")
    ] = None
    host: Annotated[str, Env("PPLX_PROXY_HOST", "Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Env("PPLX_PROXY_PORT", "Port to listen on; 0 takes a free one.")] = 8892
    public_url: Annotated[str, Env("PUBLIC_URL", "Address by which callers reach the gateway; its host is let in.")] = (
        "http://localhost:8892"
    )
    allow_open: Annotated[bool, Env("PPLX_ALLOW_OPEN", "Allow an address that others can reach without a key.")] = False
    cors_origins: Annotated[
        Words, Env("PPLX_CORS_ORIGINS", "Origins of browser apps that may call, separated by commas.")
    ] = ()

    # the session upstream
    cookie: Annotated[
        Secret | None, Env("PPLX_COOKIE", "The session cookie of perplexity.ai, in any form it can be copied in.")
    ] = None
    account_type: Annotated[
        Literal["free", "pro", "max"] | None,
        Env(
            "ACCOUNT_TYPE",
            "Your plan; decides which models are offered. Unset: what the site says of the account; pro until it does.",
        ),
    ] = None
    session_url: Annotated[str, Env("PPLX_SESSION_URL", "Where the session upstream is; https or loopback.")] = (
        "https://www.perplexity.ai"
    )
    api_version: Annotated[str, Env("PPLX_API_VERSION", "The web page's version that questions name.")] = "2.18"
    impersonate: Annotated[str, Env("PPLX_IMPERSONATE", "The browser whose TLS shape the session upstream shows.")] = (
        "chrome"
    )
    system_prompts: Annotated[
        Literal["whitelist", "full", "drop"],
        Env(
            "PPLX_SYSTEM_PROMPTS", "What of a system prompt reaches the session's search: allowed lines, all, nothing."
        ),
    ] = "whitelist"
    incognito: Annotated[bool, Env("PPLX_INCOGNITO", "Keep the session's threads out of your Perplexity library.")] = (
        True
    )
    language: Annotated[
        str, Env("PPLX_LANGUAGE", "Language that session questions name when the caller names none.")
    ] = "en-US"

    # the session's life
    keepalive_hours: Annotated[
        float, Env("KEEPALIVE_HOURS", "Hours between checks of the session, which also keep it alive.")
    ] = 6.0
    cookie_max_age_hours: Annotated[
        float, Env("COOKIE_MAX_AGE_HOURS", "Age at which a cookie that the site does not renew is called old.")
    ] = 168.0
    ntfy_topic: Annotated[
        Secret | None, Env("NTFY_TOPIC", "Topic for push alerts; who knows it can read them. Unset: no alerts.")
    ] = None
    ntfy_url: Annotated[str, Env("NTFY_URL", "The ntfy server for push alerts.")] = "https://ntfy.sh"
    ntfy_cooldown_secs: Annotated[float, Env("NTFY_COOLDOWN_SECS", "Least seconds between two alerts of one kind.")] = (
        3600.0
    )
    public_health: Annotated[
        bool, Env("PPLX_PUBLIC_HEALTH", "Show the session's state and the quota at /health to everybody.")
    ] = False

    # the session's quota and models
    flaresolverr_url: Annotated[
        str,
        Env(
            "FLARESOLVERR_URL",
            "Your own FlareSolverr, by which the quota is read where its page is challenged; nothing else goes there.",
        ),
    ] = ""
    probe_interval_hours: Annotated[
        float, Env("PROBE_INTERVAL_HOURS", "Hours between checks whether the models are alive; 0 = on demand only.")
    ] = 24.0
    probes_per_day: Annotated[
        int, Env("PPLX_PROBES_PER_DAY", "Most Pro searches that these checks use up in a day.")
    ] = 12

    # the api upstream
    perplexity_api_key: Annotated[Secret | None, Env("PERPLEXITY_API_KEY", "Your key for api.perplexity.ai.")] = None
    config: Annotated[
        str,
        Env("PPLX_CONFIG", "File with several keys for the api upstream. Unset: `config.json` in the data folder."),
    ] = ""
    api_url: Annotated[str, Env("PPLX_API_URL", "Where the api upstream is; https or loopback.")] = (
        "https://api.perplexity.ai"
    )

    # who answers
    upstreams: Annotated[
        Upstreams, Env("PPLX_UPSTREAMS", "Order in which upstreams are tried for a model that several know.")
    ] = ("session", "api")
    allow_spending: Annotated[
        bool, Env("PPLX_ALLOW_SPENDING", "Let a model that the session knows too be answered by the paid api.")
    ] = False
    default_model: Annotated[str, Env("DEFAULT_MODEL", "Answers where a request names no model.")] = "gpt"

    sonar_models: Annotated[
        Words,
        Env(
            "PPLX_SONAR_MODELS",
            "What answers to Sonar's names on Perplexity's own paths, such as `sonar-pro=api/medium`; see sonar.md.",
        ),
    ] = ()

    anthropic_models: Annotated[
        Words,
        Env(
            "PPLX_ANTHROPIC_MODELS",
            "What answers to Anthropic's names, such as `claude-opus-*=api/medium`; see anthropic.md.",
        ),
    ] = ()

    # the model "router"
    router_simple: Annotated[
        Words,
        Env("PPLX_ROUTER_SIMPLE", "Models for simple questions to the model `router`; the first that can answers."),
    ] = ("auto", "fast")
    router_medium: Annotated[
        Words, Env("PPLX_ROUTER_MEDIUM", "The same for medium ones. `gpt:low` is the model gpt with low effort.")
    ] = ("gpt", "low")
    router_complex: Annotated[Words, Env("PPLX_ROUTER_COMPLEX", "The same for complex ones.")] = ("gpt:high", "medium")
    router_decider: Annotated[
        str, Env("PPLX_ROUTER_DECIDER", "The decider that rates questions to `router`; it is paid by use.")
    ] = "pplx-decider-v1.1-27b"
    router_medium_from: Annotated[
        float, Env("PPLX_ROUTER_MEDIUM_FROM", "The rating, of 0 to 1, from which a question is medium.")
    ] = 0.35
    router_complex_from: Annotated[
        float, Env("PPLX_ROUTER_COMPLEX_FROM", "The rating from which a question is complex.")
    ] = 0.7
    router_timeout_seconds: Annotated[
        float,
        Env("PPLX_ROUTER_TIMEOUT_SECONDS", "Longest wait for the rating; after it a rule of length and words rates."),
    ] = 3.0

    # how answers look
    unsupported: Annotated[
        Literal["reject", "drop"],
        Env("PPLX_UNSUPPORTED", "What the upstream cannot honour: refuse with a 400, or drop and name it in a header."),
    ] = "reject"
    citation_marks: Annotated[
        Literal["strip", "keep", "link"] | None,
        Env("PPLX_CITATION_MARKS", "What becomes of marks such as [1]. Unset: strip on the session, keep on the api."),
    ] = None
    source_list: Annotated[
        Literal["off", "append"], Env("PPLX_SOURCE_LIST", "Append the list of sources to the answer's text.")
    ] = "off"
    notices: Annotated[
        bool, Env("PPLX_NOTICES", "Append notices to the session's text: searches left, another model that answered.")
    ] = True
    stream_usage: Annotated[
        Literal["estimate", "refuse"],
        Env("PPLX_STREAM_USAGE", "Usage in session streams: estimated and marked so, or refused."),
    ] = "estimate"

    chat_tools: Annotated[
        Literal["bridge", "refuse"],
        Env("PPLX_CHAT_TOOLS", "Function tools of chat completions on the session: bridged by prompt, or refused."),
    ] = "bridge"

    # limits and patience; seconds
    max_body_bytes: Annotated[int, Env("PPLX_MAX_BODY_BYTES", "Largest request body, in bytes.")] = 32 << 20
    max_file_bytes: Annotated[int, Env("PPLX_MAX_FILE_BYTES", "Largest uploaded file, in bytes.")] = 20 << 20
    file_storage_bytes: Annotated[
        int, Env("PPLX_FILE_STORAGE_BYTES", "Room for all uploaded files together, in bytes.")
    ] = 200 << 20
    store_days: Annotated[
        int,
        Env("PPLX_STORE_DAYS", "Days that responses are kept; 0 = none is kept, so none can run in the background."),
    ] = 30
    store_bytes: Annotated[
        int, Env("PPLX_STORE_BYTES", "Room for all kept responses, in bytes; the oldest go first. At least 16 MiB.")
    ] = 1 << 30
    ledger_days: Annotated[
        int,
        Env("PPLX_LEDGER_DAYS", "Days that the ledger of requests is kept; 0 = only what each caller has spent."),
    ] = 90
    max_connections: Annotated[
        int, Env("PPLX_MAX_CONNECTIONS", "Most questions under way at once on each upstream; more wait.")
    ] = 1000
    body_timeout_seconds: Annotated[
        float, Env("PPLX_BODY_TIMEOUT_SECONDS", "Longest wait for the next part of a request's body.")
    ] = 30.0
    keep_alive_seconds: Annotated[
        float, Env("PPLX_KEEP_ALIVE_SECONDS", "Longest silence of a stream before a comment is sent.")
    ] = 15.0
    connect_timeout_seconds: Annotated[
        float, Env("PPLX_CONNECT_TIMEOUT_SECONDS", "Longest wait for a connection to the upstream.")
    ] = 10.0
    first_byte_timeout_seconds: Annotated[
        float, Env("PPLX_FIRST_BYTE_TIMEOUT_SECONDS", "Longest wait for the upstream's first byte.")
    ] = 120.0
    idle_timeout_seconds: Annotated[float, Env("PPLX_IDLE_TIMEOUT_SECONDS", "Longest silence of the upstream.")] = 120.0
    research_timeout_seconds: Annotated[
        float, Env("PPLX_RESEARCH_TIMEOUT_SECONDS", "The same two for research models.")
    ] = 900.0
    total_timeout_seconds: Annotated[
        float, Env("PPLX_TOTAL_TIMEOUT_SECONDS", "Longest time for a whole answer; 0 = no limit.")
    ] = 3600.0

    # the rest
    data_dir: Annotated[
        Path | None, Env("PPLX_DATA_DIR", "Folder for the gateway's own data. Unset: the user's data folder.")
    ] = None
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR"], Env("LOG_LEVEL", "How much is logged on stderr.")
    ] = "INFO"
    log_format: Annotated[
        Literal["json", "text"],
        Env("LOG_FORMAT", "A JSON object on each line, for programs; or plain lines, for people."),
    ] = "json"
    otlp_endpoint: Annotated[
        str,
        Env("PPLX_OTLP_ENDPOINT", "Where traces are sent over OTLP/HTTP; see metrics.md. Unset: there are no traces."),
    ] = ""
    clock_factor: Annotated[
        float, Env("PPLX_CLOCK_FACTOR", "Speeds up waiting, for tests; only with upstreams on loopback.")
    ] = 1.0

    # read so that an existing .env moves over; of no effect yet
    user_agent: Annotated[str, Env("USER_AGENT", "Accepted and ignored: the TLS shape brings its own.", later=True)] = (
        ""
    )

    @property
    def folder(self) -> Path:
        """The data folder: `data_dir`, else the user's own, else one in the working directory."""
        if self.data_dir:
            return self.data_dir
        base = os.environ.get("XDG_DATA_HOME") or (
            f"{os.environ['HOME']}/.local/share" if "HOME" in os.environ else "."
        )
        return Path(base) / "pplx-gateway"
