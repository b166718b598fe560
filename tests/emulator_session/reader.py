"""A reader of answers that owes nothing to the emulator: it follows docs/wire-session.md 2.4 to 2.6 and 2.9 alone."""

import copy
import json
from typing import Any

Frame = dict[str, Any]


def events(body: bytes) -> list[tuple[str, str]]:
    """Name and data of every event. Strict: CRLF only, one data line, a blank line after each."""
    assert b"\n" not in body.replace(b"\r\n", b""), "every line ends with CRLF"
    found = []
    for block in body.decode().split("\r\n\r\n")[:-1]:
        if block.startswith(":"):
            continue
        name, data = block.split("\r\n")
        assert name.startswith("event: ")
        assert data.startswith("data: ")
        found.append((name.removeprefix("event: "), data.removeprefix("data: ")))
    assert body.endswith(b"\r\n\r\n")
    return found


def frames_of(body: bytes) -> list[Frame]:
    """The frames of a whole stream, without its end, which must be there."""
    found = events(body)
    assert found[-1] == ("end_of_stream", "{}")
    assert {name for name, _ in found[:-1]} <= {"message"}
    return [json.loads(data) for _, data in found[:-1]]


def patch(document: Any, patches: list[dict[str, Any]]) -> Any:
    """RFC 6902, as far as `add` and `replace` go. Raises KeyError or IndexError where a path leads nowhere."""
    document = copy.deepcopy(document)
    for operation in patches:
        *way, last = operation["path"].split("/")[1:] or [""]
        if operation["path"] == "":
            document = copy.deepcopy(operation["value"])
            continue
        place = document
        for key in way:
            place = place[int(key) if isinstance(place, list) else key]
        if isinstance(place, list):
            index = len(place) if last == "-" else int(last)
            if operation["op"] == "add":
                assert index <= len(place), operation
                place.insert(index, operation["value"])
            else:
                place[index] = operation["value"]
        else:
            assert operation["op"] == "add" or last in place, operation
            place[last] = operation["value"]
    return document


class Reader:
    """Merges frames. `texts` holds the text after each frame that brought some."""

    def __init__(self) -> None:
        self.merged: Frame = {}
        self.documents: dict[tuple[str, str], Any] = {}
        self.chunks: dict[str, list[str]] = {}
        self.steps: dict[str, Any] = {}
        self.texts: list[str] = []

    def read(self, frames: list[Frame]) -> "Reader":
        for frame in frames:
            self.merged |= {key: value for key, value in frame.items() if value is not None and key != "blocks"}
            for block in frame.get("blocks") or []:
                self._block(block)
            text = self.text
            if text and (not self.texts or self.texts[-1] != text):
                self.texts.append(text)
        return self

    def _block(self, block: dict[str, Any]) -> None:
        usage = block["intended_usage"]
        (field,) = set(block) - {"intended_usage"}
        payload = block[field]
        if field == "diff_block":
            field = payload["field"]
            payload = patch(self.documents.get((usage, field)), payload["patches"])
            self.chunks[usage] = payload["chunks"] if field == "markdown_block" else []
        elif field == "markdown_block":
            self._take_chunks(usage, payload)
        self.documents[usage, field] = payload
        for step in payload.get("steps", []) if usage == "pro_search_steps" else []:
            self.steps[step["uuid"]] = step

    def _take_chunks(self, usage: str, payload: dict[str, Any]) -> None:
        held = self.chunks.get(usage, [])
        start = payload.get("chunk_starting_offset")
        if start is None:
            snapshot = "".join(payload["chunks"]).startswith("".join(held))
            start = 0 if snapshot else len(held)
        assert start <= len(held), "a chunk went missing"
        self.chunks[usage] = held[:start] + payload["chunks"]

    def document(self, usage: str, field: str) -> Any:
        return self.documents[usage, field]

    @property
    def text(self) -> str:
        for usage in ("ask_text", "ask_text_0_markdown"):
            if (usage, "markdown_block") in self.documents:
                answer = self.documents[usage, "markdown_block"].get("answer")
                return str(answer) if answer is not None else "".join(self.chunks[usage])
        if ("workflow_root", "workflow_block") in self.documents:
            return "".join(self.workflow_texts("answer"))
        return legacy_text(self.merged["text"]) if "text" in self.merged else ""

    def workflow_texts(self, variant: str) -> list[str]:
        """The texts of that variant; items without one count as answers."""
        texts = []
        for step in self.documents["workflow_root", "workflow_block"]["steps"]:
            for item in step["items"]:
                held = item["payload"].get("text_payload")
                if held is not None and held.get("variant", "answer") == variant:
                    texts.append(max(held["text"], "".join(held["chunks"]), key=len))
        return texts

    @property
    def urls(self) -> list[str]:
        """The pages in the order that marks count."""
        if ("web_results", "web_result_block") in self.documents:
            results = self.documents["web_results", "web_result_block"]["web_results"]
        else:
            steps = self.documents["workflow_root", "workflow_block"]["steps"]
            payloads = [item["payload"] for step in steps for item in step["items"]]
            results = [page for payload in payloads for page in payload.get("sources_payload", {}).get("sources", [])]
        return [result["url"] for result in results]


def legacy_text(text: str) -> str:
    """The answer in a `text` field, through as many layers of JSON as there are; "" while no final step is there."""
    try:
        found: Any = json.loads(text)
    except ValueError:
        return text
    if isinstance(found, list):
        answers = [step["content"]["answer"] for step in found if step["step_type"] == "FINAL"]
        return "" if not answers else _legacy_answer(answers[0])
    return _legacy_answer(found["answer"])


def _legacy_answer(answer: Any) -> str:
    return legacy_text(answer) if isinstance(answer, str) else str(answer["answer"])
