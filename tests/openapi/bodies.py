"""What is right for each operation: bodies that are answered, and things that are there to be named."""

from collections.abc import Iterator
from typing import Any

from pplx_gateway.protocols.perplexity.skills import EXPECTED
from tests.agent_face.calling import QUESTION
from tests.emulator_api.making import jsonl, line, skill
from tests.files.samples import PNG
from tests.rig import COOKIE, KEY, Rig, bearer

Json = dict[str, Any]

_TURNS = [{"role": "user", "content": QUESTION}]
BODIES: dict[str, Json] = {
    "createChatCompletion": {"model": "sonar", "messages": _TURNS},
    "createResponse": {"model": "sonar", "input": QUESTION},
    "countInputTokens": {"model": "sonar", "input": QUESTION},
    "createMessage": {"model": "sonar", "max_tokens": 1000, "messages": _TURNS},
    "countMessageTokens": {"model": "sonar", "messages": _TURNS},
    "createAgentResponse": {"model": "perplexity/sonar", "input": QUESTION},
    "createSonar": {"model": "sonar", "messages": _TURNS},
    "createAsyncSonar": {"model": "sonar", "messages": _TURNS},
    "search": {"query": QUESTION},
    "createEmbedding": {"model": "pplx-embed-v1-4b", "input": "a river"},
    "nativeEmbeddings": {"model": "pplx-embed-v1-4b", "input": "a river"},
    "contextualizedEmbeddings": {"model": "pplx-embed-context-v1-4b", "input": [["a river"]]},
    "createDecision": {
        "model": "pplx-decider-v1-27b",
        "input": "It rains.",
        "questions": [{"type": "predicate", "instructions": "Is it wet?"}],
    },
    "nativeDecisions": {
        "model": "pplx-decider-v1-27b",
        "state": "It rains.",
        "questions": {"wet": {"type": "noul", "instructions": "Is it wet?"}},
    },
    "createBatch": {"endpoint": "/v1/responses", "completion_window": "24h"},
    "nativeCreateBatch": {"endpoint": "/v1/responses"},
    "openBrowser": {},
    "addKey": {"name": "second", "value": "pplx-another"},
    "editKey": {"weight": 2},
    "makeCallerKey": {"name": "phone"},
    "changeCallerKey": {"name": "tablet"},
    "updateModels": {"models": {"mine": ["copilot", "pplx_pro"]}},
    "refreshCookie": {"session_token": COOKIE},
    "createFile": {"purpose": "user_data", "file": PNG},
    "uploadBatchFile": {"purpose": "batch", "file": jsonl(line("a"))},
    "createSkill": {"file": skill()},
    "updateSkill": {"file": skill()},
}
"""By the ids of operations. A batch's file is among the things."""

FILE = "input_file_id"
_BOTH = ("createChatCompletion", "createResponse", "createMessage")
"""What both upstreams answer."""
PLAIN = 1
"""The turn of a body that is asked of the session where that can be, and answered whole."""
_STREAMED = (*_BOTH, "createAgentResponse", "createSonar")


class Things:
    """One of each kind of what has an id, made by the caller who asks for it."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._ids: list[tuple[str, str]] = []
        self._revision = ""

    async def make(self) -> None:
        file = await self._posted("/perplexity/v1/files", files=_form(jsonl(line("a"))), data={"purpose": "batch"})
        batch = await self._posted("/v1/batches", json={**BODIES["createBatch"], FILE: file["id"]})
        own = await self._posted("/v1/files", files=_form(b"a"), data={"purpose": "user_data"})
        run = await self._posted("/v1/agent", json=BODIES["createAgentResponse"])
        kept = await self._posted("/v1/responses", json={**BODIES["createResponse"], "background": True})
        later = await self._posted("/v1/async/sonar", json=BODIES["createAsyncSonar"])
        bundle = await self._posted("/perplexity/v1/skills", files=_form(skill()))
        browser = await self._posted("/perplexity/v1/browser/sessions", json={})
        key = await self._posted("/admin/caller-keys", json=BODIES["makeCallerKey"])
        await self._posted("/admin/keys", json={"name": "spare", "value": "pplx-spare"})
        self._revision = bundle["revision"]
        self._ids = [
            (FILE, file["id"]),
            ("/perplexity/files/", file["id"]),
            ("/files/", own["id"]),
            ("/batches/", batch["id"]),
            ("/perplexity/responses/", run["id"]),
            ("/agent/", run["id"]),
            ("/responses/", kept["id"]),
            ("/async/", later["id"]),
            ("/skills/", bundle["skill_id"]),
            ("/browser/", browser["session_id"]),
            ("/caller-keys/", key["key"]["id"]),
            ("/keys/", "spare"),
            ("/models/", "perplexity/sonar"),
        ]

    def named(self, name: str, path: str, drawn: object) -> object:
        """What the parameter is about, if it is a thing; else what was drawn."""
        if name == EXPECTED:
            return self._revision
        return self._at(path) if name in ("id", "name") else drawn

    def body(self, operation: str, turn: int) -> Json | None:
        """One that is right, or None where there is none. Every third of what can be streamed is."""
        found = BODIES.get(operation)
        if found is None:
            return None
        file = {FILE: self._at(FILE)} if operation in ("createBatch", "nativeCreateBatch") else {}
        stream = {"stream": True} if operation in _STREAMED and turn % 3 == 0 else {}
        model = {"model": "sonar-pro"} if operation in _BOTH and turn % 2 == 0 else {}
        return {**found, **file, **stream, **model}

    def other_turns(self, operation: str) -> Iterator[int]:
        """Those by which each combination of upstream and stream comes once."""
        seen = [self.body(operation, PLAIN)]
        for turn in (3, 4, 6):
            body = self.body(operation, turn)
            if body not in seen:
                seen.append(body)
                yield turn

    def _at(self, place: str) -> str:
        bare = place.replace("/v1/", "/")
        return next(thing for part, thing in self._ids if part in bare)

    async def _posted(self, path: str, **content: Any) -> Json:
        reply = await self._rig.client.post(self._rig.url + path, headers=bearer(KEY), **content)
        assert reply.status_code < 300, reply.text
        found: Json = reply.json()
        return found


def _form(content: bytes) -> dict[str, tuple[str, bytes]]:
    return {"file": ("in.txt", content)}
