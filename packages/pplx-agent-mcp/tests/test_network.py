"""The way to Perplexity: what is asked again and what never, proxies, certificates."""

import unittest

from fake_perplexity import Answer, Fake, Replies, completed
from server_process import ServerCase, call, text_of

PROXY_PASSWORD = "PROXY-PASSWORD"  # noqa: S105 - of no proxy


def in_turn(*answers: Answer) -> Replies:
    """The answers one after the other; the last one stays."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


class Submitting(ServerCase):
    def submit(self, answer: Answer, ambiguous: bool) -> str:
        self.fake.reset()
        self.fake.replies = lambda _: answer
        text = self.refuse("perplexity_agent", query="x")
        self.assertEqual(len(self.fake.seen), 1, "a submission that may have arrived is never sent again")
        self.assertEqual("may have started the run" in text, ambiguous, text)
        return text

    def test_a_submission_that_may_have_been_carried_out_is_not_repeated(self) -> None:
        for status in (500, 502, 503, 504):
            self.assertIn(f"HTTP {status}", self.submit(Answer({}, status), ambiguous=True))
        self.assertIn("Perplexity could not be asked", self.submit(Answer(hang_up=True), ambiguous=True))

    def test_a_refused_submission_is_told_as_refused(self) -> None:
        for status in (400, 401, 402, 403, 404, 413, 422):
            self.assertIn(f"HTTP {status}", self.submit(Answer({}, status), ambiguous=False))

    def test_a_reply_that_is_no_reply_is_named(self) -> None:
        for body in (
            b"",
            b"<html>",
            b"[1]",
            b'{"id": "resp_1"',
            b"\xff",
            b"[" * 100_000,
            b'{"n":' + b"9" * 5000 + b"}",
        ):
            self.assertIn("is not the JSON object", self.submit(Answer(body), ambiguous=True))
        self.assertIn("is not the JSON object", self.submit(Answer({"id": "resp_1" * 20}, cut=True), ambiguous=True))

    def test_an_id_that_cannot_be_used_is_named(self) -> None:
        for identifier in (None, 7, "", "../x", "x" * 129):
            self.assertIn("no usable id", self.submit(Answer({"id": identifier, "status": "queued"}), ambiguous=True))

    def test_a_throttled_submission_is_repeated(self) -> None:
        self.fake.replies = in_turn(Answer({}, 429), Answer({"id": "resp_1", "status": "queued"}))
        self.assertIn("resp_1", self.tell("perplexity_agent", query="x", wait=False))
        self.assertEqual(len(self.fake.seen), 2)

    def test_a_throttled_submission_is_not_repeated_before_its_time(self) -> None:
        self.fake.replies = lambda _: Answer({}, 429, {"Retry-After": "600"})
        text = self.refuse("perplexity_agent", query="x")
        self.assertIn("HTTP 429", text)
        self.assertIn("deadline exceeded", text)
        self.assertEqual(len(self.fake.seen), 1)

    def test_a_submission_that_never_left_is_repeated(self) -> None:
        self.fake.refusals = [502]
        self.assertIn("resp_1", self.tell("perplexity_agent", query="x", wait=False))
        self.assertEqual((len(self.fake.targets), len(self.fake.seen)), (2, 1))


class Reading(ServerCase):
    def test_a_failed_look_is_repeated(self) -> None:
        bad = [Answer({}, 503), Answer(hang_up=True), Answer(b"<html>"), Answer(completed(), cut=True)]
        turns = {f"/v1/agent/r{at}": in_turn(answer, Answer(completed())) for at, answer in enumerate(bad)}
        self.fake.replies = lambda seen: turns[seen.path](seen)
        calls = [call("perplexity_agent_result", at, response_id=f"r{at}", wait_seconds=55) for at in range(4)]
        for reply in self.talk(*calls):
            self.assertIn("It is so", text_of(reply))
        self.assertEqual(sorted(seen.path for seen in self.fake.seen), sorted([*turns, *turns]))

    def test_three_failed_looks_are_enough(self) -> None:
        self.fake.replies = lambda _: Answer({}, 502)
        text = self.refuse("perplexity_agent_result", response_id="resp_1", wait_seconds=30)
        self.assertIn("HTTP 502. (after 3 attempts)", text)
        self.assertIn("resp_1", text)
        self.assertEqual(len(self.fake.seen), 3)

    def test_a_reply_without_end_is_given_up(self) -> None:
        self.fake.replies = lambda _: Answer(b" " * (32 * 1024 * 1024 + 1))
        text = self.refuse("perplexity_agent_result", response_id="resp_1", wait_seconds=30)
        self.assertIn("larger than", text)
        self.assertEqual(len(self.fake.seen), 1)


class Ways(ServerCase):
    def failure(self, **environment: str) -> str:
        (reply,) = self.talk(call("perplexity_agent", query="x"), PERPLEXITY_AGENT_WAIT_SECONDS="1", **environment)
        self.assertIs(reply["result"]["isError"], True)
        self.assertNotIn("may have started", text_of(reply))
        self.assertNotIn(PROXY_PASSWORD, text_of(reply))
        return text_of(reply)

    def test_a_proxy_that_wants_a_password_is_told_clearly(self) -> None:
        self.fake.refusals = [407] * 3
        proxy = f"http://me:{PROXY_PASSWORD}@127.0.0.1:{self.fake.port}"
        self.assertIn("password (HTTP 407)", self.failure(HTTPS_PROXY=proxy))

    def test_a_proxys_password_is_sent_to_the_proxy_alone(self) -> None:
        proxy = f"http://me:{PROXY_PASSWORD}@127.0.0.1:{self.fake.port}"
        (reply,) = self.talk(call("perplexity_agent", query="x", wait=False), HTTPS_PROXY=proxy)
        self.assertIn("resp_1", text_of(reply))
        self.assertTrue(self.fake.proxy_authorization[0])
        self.assertNotIn("Proxy-Authorization", self.fake.seen[0].headers)

    def test_an_address_that_is_none_is_named(self) -> None:
        for proxy in ("http://127.0.0.1:port", "http://"):
            self.assertRegex(self.failure(HTTPS_PROXY=proxy), "HTTPS_PROXY is not an address|could not be asked")

    def test_a_proxy_that_is_not_there_is_a_refused_connection(self) -> None:
        gone = Fake()
        port = gone.port
        gone.close()
        self.assertIn("refused (ConnectionRefusedError)", self.failure(HTTPS_PROXY=f"http://127.0.0.1:{port}"))

    def test_a_missing_ca_file_is_named(self) -> None:
        self.assertIn("SSL_CERT_FILE names a file that is not there", self.failure(SSL_CERT_FILE="/no/such/file"))
        self.assertEqual(self.fake.targets, [])

    def test_an_untrusted_certificate_ends_it(self) -> None:
        other = Fake()
        self.addCleanup(other.close)
        text = self.failure(SSL_CERT_FILE=str(other.ca))
        self.assertIn("SSLCertVerificationError", text)
        self.assertIn("SSL_CERT_FILE", text)
        self.assertEqual(self.fake.seen, [], "nothing is sent to a host that is not the right one")

    def test_no_variable_leads_to_another_host(self) -> None:
        names = ("PERPLEXITY_BASE_URL", "PERPLEXITY_API_BASE", "PERPLEXITY_API_URL", "PERPLEXITY_HOST")
        environment = dict.fromkeys(names, "https://evil.example")
        (reply,) = self.talk(call("perplexity_agent", query="x", wait=False), **environment)
        self.assertIn("resp_1", text_of(reply))
        self.assertEqual(self.fake.targets, ["api.perplexity.ai:443"])

    def test_a_hostile_reply_header_breaks_nothing(self) -> None:
        self.fake.replies = lambda _: Answer({}, 429, {"Retry-After": "nan"})
        self.assertIn("HTTP 429", self.failure())


if __name__ == "__main__":
    unittest.main()
