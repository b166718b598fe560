"""The file as a library: its protocol and its stdio server with other tools, other methods, and other work."""

import json
import sys
import unittest

from fake_perplexity import Json
from server_process import FILE, MODERN, SERVER_INFO, Frame, ServerProcess, call, request, text_of

PROGRAM = f"""\
import sys
sys.path.insert(0, {str(FILE.parent)!r})
from pplx_agent_mcp import (
    ArgumentError, Kernel, Parameter, RpcError, StdioServer, Tool, ToolResult, claim_stdin, claim_stdout
)

def even(arguments):
    if len(arguments["words"] or ()) % 2:
        raise ArgumentError("'words' must come in pairs.")

TOOL = Tool(
    "count", "Count", "Counts words.",
    {{
        "words": Parameter("array", "The words.", required=True, max_items=4),
        "to": Parameter("integer", "A number.", maximum=3),
    }},
    {{"readOnlyHint": True}}, output_schema={{"type": "object"}}, check=even,
)
KERNEL = Kernel(
    {{"name": "other", "title": "Other", "version": "9"}}, [TOOL], methods=("resources/read",),
    capabilities={{"resources": {{}}}},
)

def run(call, work):
    if call.method == "resources/read":
        if call.arguments.get("uri") != "quota://left":
            raise RpcError(-32602, "No such resource.", {{"uri": call.arguments.get("uri")}})
        return {{"contents": [{{"uri": "quota://left", "text": "7"}}], "ttlMs": 0}}
    words = call.arguments["words"]
    if words[0] == "boom":
        raise RuntimeError("SECRET")
    work.report(1.0, "counting")
    return ToolResult(str(len(words)), structured={{"count": len(words), "to": call.arguments["to"]}}).frame()

StdioServer(KERNEL, run, claim_stdin(), claim_stdout()).serve()
"""


class OtherTools(unittest.TestCase):
    def setUp(self) -> None:
        self.server = ServerProcess(command=(sys.executable, "-I", "-S", "-c", PROGRAM))
        self.addCleanup(self.server.dispose)

    def count(self, *words: str, meta: Frame | None = None, **more: object) -> Frame:
        return self.server.ask(call("count", 1, meta, words=list(words), **more))

    def test_its_own_table_is_listed(self) -> None:
        (tool,) = self.server.ask(request("tools/list"))["result"]["tools"]
        self.assertEqual((tool["name"], tool["outputSchema"]), ("count", {"type": "object"}))
        self.assertEqual(tool["inputSchema"]["required"], ["words"])
        initialized = self.server.ask(request("initialize"))["result"]
        self.assertEqual(initialized["capabilities"], {"tools": {}, "resources": {}})
        self.assertEqual(initialized["serverInfo"]["name"], "other")

    def test_results_may_be_structured(self) -> None:
        result = self.count("a", "b", to=9)["result"]
        self.assertEqual(result["structuredContent"], {"count": 2, "to": 3})
        self.assertEqual(result["content"], [{"type": "text", "text": "2"}])

    def test_work_can_tell_of_its_progress(self) -> None:
        note = self.count("a", "b", meta={"progressToken": "p"})
        self.assertEqual(note["params"], {"progressToken": "p", "progress": 1.0, "message": "counting"})
        self.assertEqual(self.server.next()["id"], 1)

    def test_arguments_are_checked_one_by_one_and_together(self) -> None:
        self.assertIn("'words' must come in pairs", text_of(self.count("a")))
        self.assertIn("at most 4", text_of(self.count(*"abcde")))

    def test_other_methods_are_carried_out(self) -> None:
        read = request("resources/read", 1, MODERN, uri="quota://left")
        result: Json = self.server.ask(read)["result"]
        self.assertEqual(result["contents"][0]["text"], "7")
        self.assertEqual((result["ttlMs"], result["cacheScope"], result["resultType"]), (0, "private", "complete"))
        self.assertEqual(result["_meta"][SERVER_INFO]["name"], "other")
        error = self.server.ask(request("resources/read", 2, uri="quota://x"))["error"]
        self.assertEqual((error["code"], error["data"]), (-32602, {"uri": "quota://x"}))
        self.assertEqual(self.server.ask(request("prompts/list"))["error"]["code"], -32601)

    def test_a_fault_in_the_work_is_an_error_without_its_words(self) -> None:
        reply = self.count("boom", "b")
        self.assertIs(reply["result"]["isError"], True)
        self.assertNotIn("SECRET", json.dumps(reply))
        self.assertRegex(self.server.complaint(), r"^pplx-agent-mcp: count failed \(RuntimeError\)\n$")
        self.assertEqual(self.server.end(), [])


if __name__ == "__main__":
    unittest.main()
