"""What holds of the file as a file: it stands alone, is old Python, does nothing when imported, and is all there is."""

import ast
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from server_process import FILE, SECONDS, ServerProcess

FOLDER = FILE.parent
SOURCE = FILE.read_text(encoding="utf-8")
MOST_LINES = 1500


def alone(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """The outcome of the interpreter without site packages, environment and a familiar folder, at the end of input."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-I", "-S", *arguments]
        return subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False
        )


def version() -> str:
    found = re.search(r'^__version__ = "(.+)"$', SOURCE, re.MULTILINE)
    assert found
    return found[1]


class TheFile(unittest.TestCase):
    def test_it_imports_the_standard_library_only(self) -> None:
        imported = {
            name.partition(".")[0]
            for node in ast.walk(ast.parse(SOURCE))
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or "."])
        }
        self.assertLessEqual(imported, sys.stdlib_module_names)
        self.assertNotIn("importlib", imported)
        self.assertNotIn("__import__", SOURCE)

    def test_it_is_python_3_10(self) -> None:
        ast.parse(SOURCE, feature_version=(3, 10))

    def test_even_python_3_7_can_read_it_and_so_say_that_it_is_too_old(self) -> None:
        tree = ast.parse(SOURCE, feature_version=(3, 7))
        documentation, future, system, guard, *_ = tree.body
        self.assertIsInstance(documentation, ast.Expr)
        self.assertEqual(ast.unparse(future), "from __future__ import annotations")
        self.assertEqual(ast.unparse(system), "import sys")
        self.assertTrue(ast.unparse(guard).startswith("if sys.version_info < (3, 10):"))

    def test_an_interpreter_that_is_too_old_is_told_so_in_one_line(self) -> None:
        pretend = "import sys; sys.version_info = (3, 9, 6); exec(compile(open(sys.argv[1]).read(), 'file', 'exec'))"
        done = alone("-c", pretend, str(FILE))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^pplx-agent-mcp needs Python 3\.10 or newer; this is 3\.9\.\n$")

    def test_it_can_be_read_in_one_sitting(self) -> None:
        self.assertLessEqual(len(SOURCE.splitlines()), MOST_LINES)

    def test_its_metadata_for_script_runners_asks_for_nothing(self) -> None:
        block = re.search(r"^# /// script\n((?:#.*\n)+?)# ///$", SOURCE, re.MULTILINE)
        assert block
        self.assertEqual(block[1], '# requires-python = ">=3.10"\n# dependencies = []\n')

    def test_importing_it_does_nothing(self) -> None:
        program = (
            "import sys, threading; sys.path.insert(0, sys.argv[1]); out = sys.stdout; import pplx_agent_mcp;"
            "assert sys.stdout is out and threading.active_count() == 1; print('still mine')"
        )
        done = alone("-c", program, str(FOLDER))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "still mine\n", ""))

    def test_what_else_prints_cannot_reach_the_protocol(self) -> None:
        program = (
            "import os, sys; sys.path.insert(0, sys.argv[1]); import pplx_agent_mcp as file\n"
            "class Loud(file.Kernel):\n"
            "    def receive(self, line):\n"
            "        print('stray'); os.write(1, b'stray\\n'); os.system('echo stray'); return super().receive(line)\n"
            "file.Kernel = Loud; sys.exit(file.main([]))"
        )
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", program, str(FOLDER)],
            input='{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        self.assertEqual(done.stdout, '{"jsonrpc":"2.0","id":1,"result":{}}\n')
        self.assertEqual(done.stderr.count("stray"), 3)

    def test_a_fault_of_its_own_is_an_internal_error_and_no_end(self) -> None:
        program = (
            "import sys; sys.path.insert(0, sys.argv[1]); import pplx_agent_mcp as file\n"
            "class Broken(file.Kernel):\n"
            "    def receive(self, line):\n"
            "        if b'boom' in line: raise RuntimeError('SECRET')\n"
            "        return super().receive(line)\n"
            "file.Kernel = Broken; sys.exit(file.main([]))"
        )
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", program, str(FOLDER)],
            input='{"boom":1}\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        error, ping = map(json.loads, done.stdout.splitlines())
        self.assertEqual((error["id"], error["error"]["code"]), (None, -32603))
        self.assertEqual(ping["result"], {})
        self.assertNotIn("SECRET", done.stdout + done.stderr)
        self.assertIn("RuntimeError", done.stderr)

    def test_the_command_knows_its_version_and_its_options(self) -> None:
        self.assertEqual(alone(str(FILE), "--version").stdout, f"{version()}\n")
        self.assertIn("PERPLEXITY_API_KEY", alone(str(FILE), "--help").stdout)
        wrong = alone(str(FILE), "--verbose")
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertIn("--verbose", wrong.stderr)

    def test_the_end_of_input_is_the_end(self) -> None:
        done = alone(str(FILE))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_a_signal_ends_it_at_once_and_without_a_trace(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            server = ServerProcess()
            self.addCleanup(server.dispose)
            server.ask({"jsonrpc": "2.0", "id": 1, "method": "ping"})
            server.process.send_signal(number)
            self.assertEqual(server.process.wait(SECONDS), 128 + number)
            self.assertEqual(server.complaints(), "")

    def test_nobody_reading_is_the_end_too(self) -> None:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", FILE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdin
        assert process.stdout
        assert process.stderr
        with process:
            process.stdout.close()
            process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            process.stdin.flush()
            self.assertEqual(process.wait(SECONDS), 0)
            self.assertEqual(process.stderr.read(), b"")


class TheFolder(unittest.TestCase):
    def test_the_registry_entry_is_of_this_version(self) -> None:
        entry = json.loads((FOLDER / "server.json").read_text(encoding="utf-8"))
        (package,) = entry["packages"]
        self.assertEqual({entry["version"], package["version"]}, {version()})
        self.assertEqual((package["identifier"], package["transport"]), ("pplx-agent-mcp", {"type": "stdio"}))
        variables = {variable["name"]: variable for variable in package["environmentVariables"]}
        self.assertEqual(set(variables), {"PERPLEXITY_API_KEY", "PERPLEXITY_AGENT_WAIT_SECONDS"})
        self.assertIs(variables["PERPLEXITY_API_KEY"]["isSecret"], True)
        for name in variables:
            self.assertIn(f'"{name}"', SOURCE)

    def test_the_registry_entry_keeps_to_the_registrys_schema(self) -> None:
        """As far as it is about such an entry: server.schema.json of 2025-12-11."""
        entry = json.loads((FOLDER / "server.json").read_text(encoding="utf-8"))
        self.assertTrue(entry["$schema"].endswith("/schemas/2025-12-11/server.schema.json"))
        self.assertRegex(entry["name"], r"^(?=.{3,200}$)[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$")
        for field in ("title", "description"):
            self.assertLessEqual(1, len(entry[field]))
            self.assertLessEqual(len(entry[field]), 100)
        self.assertRegex(entry["version"], r"^\d+\.\d+\.\d+$")
        (package,) = entry["packages"]
        self.assertEqual(entry["name"].rpartition("/")[2], package["identifier"])
        self.assertIn(f'"title": "{entry["title"]}"', SOURCE)
        for variable in package["environmentVariables"]:
            self.assertLessEqual(set(variable), {"name", "description", "isRequired", "isSecret", "format", "default"})
            self.assertIn(variable.get("format", "string"), ("string", "number", "boolean", "filepath"))
            self.assertIsInstance(variable.get("default", ""), str)

    def test_the_readme_belongs_to_the_registry_entry_and_to_this_version(self) -> None:
        readme = (FOLDER / "README.md").read_text(encoding="utf-8")
        entry = json.loads((FOLDER / "server.json").read_text(encoding="utf-8"))
        self.assertIn(f"mcp-name: {entry['name']}", readme)
        self.assertEqual(set(re.findall(r"pplx-agent-mcp@(\d[\w.]*)", readme)), {version()})
        self.assertIn(f"{len(SOURCE.splitlines()):,} lines", readme)

    def test_the_readmes_self_tests_give_what_it_says(self) -> None:
        readme = (FOLDER / "README.md").read_text(encoding="utf-8")
        tests = re.findall(r"```bash\n(printf .*?\| python3 pplx_agent_mcp\.py)\n```\n\n(\w+) lines", readme, re.DOTALL)
        self.assertEqual(len(tests), 2)
        for command, count in tests:
            done = subprocess.run(
                [shutil.which("bash") or "bash", "-c", command.replace("python3", f"'{sys.executable}'", 1)],
                cwd=FOLDER,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=True,
            )
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual((len(lines), count), (2, "Two"))
            self.assertEqual(len(lines[1]["result"]["tools"]), 3)


if __name__ == "__main__":
    unittest.main()
