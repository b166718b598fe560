"""What the page reads beside its questions: the login, the quota, the settings, the models."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pplx_gateway.emulator.session.account import TIERS, Account
from pplx_gateway.emulator.session.cookies import Credential, deletion, renewal
from pplx_gateway.emulator.session.faults import refusal
from pplx_gateway.emulator.session.frames import Json
from pplx_gateway.emulator.session.state import State
from pplx_gateway.emulator.session.table import Row, member_of

SESSION_SECONDS = 30 * 24 * 3600.0
_COUNTERS = ("pro", "research", "labs")


class Reading:
    def __init__(self, state: State) -> None:
        self._state = state

    def table(self) -> list[Row]:
        return [
            Row("GET", "/api/auth/session", self.session),
            Row("GET", "/rest/rate-limit/all", self.quota),
            Row("GET", "/rest/rate-limit/status", self.quota_status),
            Row("GET", "/rest/user/settings", self.settings),
            Row("GET", "/rest/models/config", self.models),
        ]

    async def session(self, request: Request) -> Response:
        """A user, or `{}`: never 401 (docs/wire-session.md 3)."""
        account, credential = self._state.account(request), self._state.credential(request)
        if account is None or account.expired or self._state.lies(account):
            gone = account is not None and account.expired and "rotate" in account.words
            return with_cookies(JSONResponse({}), deletion(credential) if gone else [])
        cookies = renewed(self._state, credential, account) if "rotate" in account.words else []
        return with_cookies(JSONResponse(self._user(account)), cookies)

    def _user(self, account: Account) -> Json:
        user: Json = {
            "id": account.user_id,
            "email": f"{account.tier}@mail.example",
            "name": f"Emulated {account.tier.capitalize()}",
            "image": None,
            "username": f"emulated-{account.tier}",
            **subscription(account),
        }
        expires = self._state.timestamp(SESSION_SECONDS)
        return {"user": user, "expires": expires, "preventUsernameRedirect": False}

    async def quota(self, request: Request) -> Response:
        """Only what is left; nothing of totals or times (docs/wire-session.md 4)."""
        left = self._left(request)
        counters: Json = {f"remaining_{name}": None if left is None else left[name] for name in _COUNTERS}
        member = self._state.member(request)
        agentic = 0 if left is None or member is None or member.tier != "max" else 10
        return JSONResponse(
            {
                **counters,
                "remaining_agentic_research": agentic,
                "model_specific_limits": {},
                "sources": {"source_to_limit": {"scholar": {"monthly_limit": None, "remaining": None}}},
                "free_queries": {"available": True, "remaining_detail": _detail(member, 3 if member else None)},
            }
        )

    async def quota_status(self, request: Request) -> Response:
        left, member = self._left(request), self._state.member(request)
        named = {"pro": "pro_search", "research": "research", "labs": "labs"}
        unsure = member is not None and "unknown" in member.words
        modes = {
            named[kind]: {
                "available": left is not None and (unsure or left[kind] > 0),
                "remaining_detail": _detail(member, None if left is None else left[kind]),
            }
            for kind in _COUNTERS
        }
        none = {"available": False, "remaining_detail": {"kind": "not_provided", "remaining": None}}
        return JSONResponse({"free_queries": True, "modes": {**modes, "agentic_research": none}, "sources": {}})

    def _left(self, request: Request) -> dict[str, int] | None:
        """The counters as they are shown; None where nobody is logged in."""
        account = self._state.member(request)
        if account is None:
            return None
        return dict.fromkeys(account.left, 0) if "unknown" in account.words else account.left

    async def settings(self, request: Request) -> Response:
        account = member_of(request, self._state)
        paid = account.tier != "free"
        return JSONResponse(
            {
                **subscription(account),
                "stripe_status": "active" if paid else "none",
                "query_count": 120,
                "query_count_copilot": 40,
                "query_count_mobile": 0,
                "default_model": "turbo",
                "default_image_generation_model": "default",
                "time_zone": "Etc/UTC",
                "pages_limit": 100 if paid else 5,
                "upload_limit": account.left["pro"] if paid else 3,
                "create_limit": 50,
                "max_files_per_user": 500,
                "max_files_per_repository": 50,
                "gpt4_limit": account.left["pro"],
                "is_verified": True,
                "disable_training": True,
                "connector_limits": {
                    "max_file_size_mb": 50,
                    "daily_attachment_limit": 500 if paid else 3,
                    "weekly_attachment_limit": None,
                    "global_file_count": 0,
                },
                "connectors": {},
            }
        )

    async def models(self, request: Request) -> Response:
        """Needs no login. Any schema but v1 is refused."""
        if request.query_params.get("config_schema") != "v1":
            return refusal(400, "BAD_REQUEST", "Unknown config_schema").response()
        return JSONResponse(self._state.models.document)


def subscription(account: Account) -> dict[str, str]:
    """The tier as three fields tell it (docs/wire-session.md 3)."""
    if account.tier == TIERS[0]:
        fields = ("none", "none", "none", "free")
    else:
        fields = ("active", "stripe", account.tier, "paid")
    names = ("subscription_status", "subscription_source", "subscription_tier", "payment_tier")
    return dict(zip(names, fields, strict=True))


def renewed(state: State, credential: Credential, account: Account) -> list[str]:
    """The Set-Cookie values of a rotation."""
    words, whole = account.words, not credential.in_pieces
    in_pieces = whole if "toggle" in words else ("chunked" in words or not whole)
    token = account.next_token(credential.token or account.key, pieces=in_pieces)
    return renewal(credential, token, in_pieces=in_pieces, expires=state.cookie_date(SESSION_SECONDS))


def with_cookies(response: Response, cookies: list[str]) -> Response:
    for cookie in cookies:
        response.headers.append("set-cookie", cookie)
    return response


def _detail(account: Account | None, remaining: int | None) -> Json:
    if account is None or remaining is None or "unknown" in account.words:
        return {"kind": "not_provided", "remaining": 0}
    return {"kind": "exact", "remaining": remaining}
