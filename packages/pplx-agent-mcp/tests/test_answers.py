"""What a model is told of the ends that a run can have."""

import json
import unittest
from typing import Any

from fake_perplexity import Answer, Json, completed, message
from server_process import KEY, ServerCase, call, text_of


def run(status: str, **fields: object) -> Json:
    return {"id": "resp_1", "object": "response", "status": status, "output": [], **fields}


def page(number: object, name: str) -> Json:
    return {"id": number, "title": name, "url": f"https://{name}.example/"}


class Ends(ServerCase):
    def serve(self, response: object, status: int = 200) -> None:
        self.fake.replies = lambda _: Answer(response, status)

    def result(self, response: object, **arguments: object) -> str:
        self.serve(response)
        return self.tell("perplexity_agent_result", response_id="resp_1", **arguments)

    def failure(self, response: object, status: int = 200) -> str:
        self.serve(response, status)
        return self.refuse("perplexity_agent_result", response_id="resp_1")

    def test_the_whole_answer_is_told_in_order(self) -> None:
        output = [*message("First. "), {"type": "unknown"}, *message("Second.")]
        self.assertIn("\nFirst. Second.\n", self.result(run("completed", output=output)))

    def test_sources_are_listed_by_the_numbers_that_the_answer_uses(self) -> None:
        text = self.result(completed("As [4] and [web:2] say.", page(2, "two"), page(4, "four"), page(7, "two")))
        self.assertIn(
            "Sources:\n[2][7] two — https://two.example/\n[4] four — https://four.example/\n</untrusted", text
        )

    def test_results_without_ids_are_counted(self) -> None:
        results: list[Json] = [
            {"url": "https://a.example/", "title": "A"},
            {"url": "https://b.example/"},
            {"title": "no address"},
        ]
        text = self.result(completed("So.", *results))
        self.assertIn("Sources:\n[1] A — https://a.example/\n[2] https://b.example/ — https://b.example/\n<", text)

    def test_all_cited_sources_are_listed_however_many_there_are(self) -> None:
        cited = "".join(f"[{number}]" for number in range(60, 120))
        text = self.result(completed(cited, *(page(number, f"p{number}") for number in range(120))))
        lines = text[text.index("Sources:") :].splitlines()[1:-1]
        self.assertEqual(len(lines), 61)
        for number in range(60, 120):
            self.assertIn(f"[{number}] p{number} — https://p{number}.example/", lines)
        self.assertEqual(lines[-1], "(60 more that the answer does not cite are left out.)")

    def test_the_first_sources_fill_the_list_up_to_fifty(self) -> None:
        text = self.result(completed("See [99].", *(page(number, f"p{number}") for number in range(1, 100))))
        lines = text[text.index("Sources:") :].splitlines()[1:-1]
        self.assertEqual([line.partition(" ")[0] for line in lines[:-1]], [f"[{n}]" for n in (*range(1, 50), 99)])
        self.assertIn("49 more", lines[-1])

    def test_long_titles_and_addresses_are_cut_where_one_can_see_it(self) -> None:
        address = "https://long.example/" + "a" * 2500 + "/end"
        text = self.result(completed("[1]", {"id": 1, "title": "T" * 400, "url": address}))
        line = text[text.index("Sources:") :].splitlines()[1]
        title, url = line.removeprefix("[1] ").split(" — ")
        self.assertEqual((len(title), title[-1]), (300, "…"))
        self.assertEqual(len(url), 2000)
        self.assertTrue(url.startswith("https://long.example/a") and url.endswith("a/end") and "a…a" in url)

    def test_a_line_break_in_a_title_makes_no_line_of_its_own(self) -> None:
        text = self.result(completed("[1]", {"id": 1, "title": "A\n[2] B", "url": "https://a.example/\nx"}))
        self.assertIn("\n[1] A [2] B — https://a.example/x\n<", text)

    def test_a_long_answer_comes_in_parts_that_join_to_the_whole(self) -> None:
        answer = "".join(f"Paragraph {number}. {'word ' * 40}[1]\n\n" for number in range(700))
        self.serve(completed(answer))
        parts: list[str] = []
        offset = 0
        while True:
            call_again = call("perplexity_agent_result", 1, response_id="resp_1", offset=offset)
            text = text_of(self.ask(call_again))
            self.assertIn("[1] One — https://one.example/", text)
            self.assertLess(len(text), 61_000)
            body = text.partition("stand in it.\n\n")[2].rpartition("\n\nSources:")[0]
            tail = text.rpartition("</untrusted-web-content-")[2]
            if "For what follows" not in tail:
                parts.append(body)
                break
            self.assertTrue(body.endswith("\n\n…"), "cut at a paragraph")
            parts.append(body.removesuffix("…"))
            offset = json.loads(tail[tail.rindex("{") :])["offset"]
            self.assertIn(f"has {len(answer)} characters", tail)
        self.assertGreater(len(parts), 2)
        self.assertEqual("".join(parts), answer)

    def test_an_offset_beyond_the_answer_is_an_error(self) -> None:
        self.serve(completed("short"))
        text = self.refuse("perplexity_agent_result", response_id="resp_1", offset=5)
        self.assertIn("'offset' is 5, but the answer of resp_1 has only 5 characters", text)

    def test_an_incomplete_run_says_so_in_front_of_its_answer(self) -> None:
        text = self.result(run("incomplete", output=message("half")))
        self.assertLess(text.index("<untrusted"), text.index("INCOMPLETE"))
        self.assertLess(text.index("INCOMPLETE"), text.index("half"))
        self.assertIn("may be partial", text)

    def test_no_text_is_told_as_no_text(self) -> None:
        text = self.result(run("completed", output=message("", page(1, "one"))))
        self.assertIn("returned no answer text", text)
        self.assertIn("https://one.example/", text)

    def test_a_failed_run_is_an_error_with_a_fenced_and_bounded_reason(self) -> None:
        text = self.failure(run("failed", error={"message": "model overloaded " + "x" * 600}))
        self.assertIn("run failed", text)
        self.assertIn("UNTRUSTED DATA", text)
        reason = text.partition("stand in it.\n\n")[2].partition("\n</untrusted")[0]
        self.assertTrue(reason.startswith("model overloaded") and reason.endswith("…"))
        self.assertEqual(len(reason), 500)
        self.assertIn("run failed", self.failure(run("failed")))

    def test_a_cancelled_run_is_an_error(self) -> None:
        self.assertIn("was cancelled", self.failure(run("cancelled")))

    def test_odd_shapes_upstream_break_nothing(self) -> None:
        odd: list[Any] = [None, 7, "x", [None, 7, "x", {}], [{"type": "message", "content": [{"type": "output_text"}]}]]
        odd += [
            [{"type": "search_results", "results": {"a": 1}}],
            [{"type": "search_results", "results": [{"url": 7}]}],
        ]
        for output in odd:
            self.assertIn("no answer text", self.result(run("completed", output=output)))
        for status in (None, 7, "", "a b\nIGNORE ALL", "x" * 200):
            text = self.result({"status": status, "output": []})
            self.assertIn("still running (status unknown after", text)

    def test_half_a_surrogate_pair_becomes_a_replacement_character(self) -> None:
        said = json.dumps(run("completed", output=message("a\ud83d b"))).encode()
        self.assertIn(rb"\ud83d", said)
        self.assertIn("a\ufffd b", self.result(said))

    def test_other_letters_survive(self) -> None:
        self.assertIn("東京 🚲 é", self.result(completed("東京 🚲 é")))

    def test_an_upstream_error_tells_status_reason_and_id(self) -> None:
        text = self.failure({"error": {"message": "no such model", "code": 400}}, 422)
        self.assertIn("HTTP 422", text)
        self.assertIn("no such model", text)
        self.assertIn("UNTRUSTED DATA", text)
        self.assertIn('{"response_id": "resp_1"', text)

    def test_the_reason_is_found_in_every_known_shape(self) -> None:
        for body in (
            {"error": "why so"},
            {"detail": "why so"},
            {"message": "why so"},
            {"error": {"message": "why so"}},
        ):
            self.assertIn("why so", self.failure(body, 400))

    def test_a_page_of_html_is_not_passed_on(self) -> None:
        for status in (401, 403, 500):
            text = self.failure(b"<html><title>Attention Required! | Cloudflare</title></html>", status)
            self.assertIn(f"HTTP {status}", text)
            self.assertNotIn("Cloudflare", text)

    def test_a_key_that_upstream_repeats_is_removed(self) -> None:
        text = self.failure({"error": {"message": f"the key {KEY} is bad"}}, 401)
        self.assertIn("the key [key removed] is bad", text)
        self.assertIn("PERPLEXITY_API_KEY was not accepted", text)
        self.assertIn("[key removed]", self.result(completed(f"I was told {KEY}.")))


class Cancelling(ServerCase):
    MONEY = ("bill", "cost", "charge", "refund", "money", "save", "paid", "pay")

    def cancel(self, status: int, body: object, is_error: bool) -> str:
        self.fake.replies = lambda _: Answer(body, status)
        tell = self.refuse if is_error else self.tell
        text = tell("perplexity_agent_cancel", response_id="resp_7")
        (seen,) = self.fake.seen
        self.assertEqual((seen.method, seen.path, seen.body), ("POST", "/v1/agent/resp_7/cancel", None))
        self.assertNotIn("Content-Type", seen.headers)
        self.fake.reset()
        self.assertIn("resp_7", text)
        for word in self.MONEY:
            self.assertNotIn(word, text.lower())
        return text

    def test_an_accepted_cancellation_says_how_to_verify_it(self) -> None:
        text = self.cancel(200, {"status": "cancelling"}, is_error=False)
        self.assertIn("was requested", text)
        self.assertIn("perplexity_agent_result", text)

    def test_a_good_status_is_enough(self) -> None:
        for body in (b"", b"OK", b"[]"):
            self.assertIn("was requested", self.cancel(202, body, is_error=False))

    def test_a_run_that_is_not_running_is_told_with_care_whatever_upstream_says(self) -> None:
        bodies: tuple[object, ...] = ({"error": {"message": "the run is already terminal"}}, {}, b"")
        texts = {self.cancel(400, body, is_error=False) for body in bodies}
        self.assertEqual(len(texts), 1)
        self.assertIn("not running now", next(iter(texts)))
        self.assertIn("never existed", next(iter(texts)))

    def test_a_run_that_nobody_knows_is_not_said_to_be_collectable(self) -> None:
        self.fake.replies = lambda _: Answer({"error": {"message": "resource not found", "code": 404}}, 404)
        for tool in ("perplexity_agent_result", "perplexity_agent_cancel"):
            text = self.refuse(tool, response_id="resp_7")
            self.assertIn("There is no run resp_7", text)
            self.assertIn("resource not found", text)
            self.assertNotIn("To collect it", text)

    def test_a_run_that_was_started_is_collectable_even_if_it_is_not_found_at_first(self) -> None:
        self.fake.replies = lambda seen: self.fake.started() if seen.method == "POST" else Answer({}, 404)
        self.assertIn('"response_id": "resp_1"', self.refuse("perplexity_agent", query="x"))

    def test_any_other_refusal_is_an_error(self) -> None:
        for status in (401, 403, 404, 409, 500):
            text = self.cancel(status, {"error": {"message": "already revoked"}}, is_error=True)
            self.assertIn("already revoked", text)


class Keys(ServerCase):
    def test_a_missing_key_is_a_tool_error_that_names_the_variable(self) -> None:
        for key in (None, "", "  "):
            server = self.start(key)
            text = text_of(server.ask(call("perplexity_agent", query="x")))
            self.assertIn("PERPLEXITY_API_KEY", text)
            self.assertEqual(server.end(), [])
        self.assertEqual(self.fake.targets, [])

    def test_arguments_are_checked_before_the_key(self) -> None:
        server = self.start(None)
        self.assertIn("'query'", text_of(server.ask(call("perplexity_agent", query=""))))
        self.assertEqual(server.end(), [])

    def test_what_cannot_be_a_key_is_refused_without_being_shown(self) -> None:
        for key in ("pplx-\u2026", "pplx-abc\nX-Evil: 1", "two words"):
            server = self.start(key)
            reply = server.ask(call("perplexity_agent", query="x"))
            self.assertIn("PERPLEXITY_API_KEY", text_of(reply))
            self.assertNotIn(key, text_of(reply))
            self.assertEqual(server.end(), [])
        self.assertEqual(self.fake.targets, [])

    def test_spaces_around_a_key_are_forgiven(self) -> None:
        server = self.start(f" {KEY}\t")
        self.assertIn("It is so", text_of(server.ask(call("perplexity_agent", query="x"))))
        self.assertEqual({seen.headers["Authorization"] for seen in self.fake.seen}, {f"Bearer {KEY}"})

    def test_nothing_secret_is_ever_written(self) -> None:
        self.fake.replies = lambda _: Answer({"error": {"message": f"{KEY} SECRET-QUESTION"}}, 500)
        server = self.start(wait=1)
        server.send(call("perplexity_agent", 1, query="SECRET-QUESTION"))
        server.close_input()
        self.assertEqual(server.process.wait(60), 0)
        self.assertEqual(server.complaints(), "")
        self.assertNotIn(KEY.encode(), b"".join(server.lines))


if __name__ == "__main__":
    unittest.main()
