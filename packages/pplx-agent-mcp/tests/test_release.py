"""Runs with nothing installed: `python3 -m unittest discover -s tests` in the package's folder."""

import ast
import subprocess
import sys
import unittest
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "pplx_agent_mcp.py"


class Release(unittest.TestCase):
    def test_the_command_says_that_there_is_no_server_yet(self) -> None:
        done = subprocess.run(
            [sys.executable, "-I", "-S", FILE], capture_output=True, text=True, timeout=60, check=False
        )
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assertIn("not part of this release", done.stderr)

    def test_the_file_is_python_3_10(self) -> None:
        ast.parse(FILE.read_text(encoding="utf-8"), feature_version=(3, 10))

    def test_the_file_imports_the_standard_library_only(self) -> None:
        imported = {
            name.partition(".")[0]
            for node in ast.walk(ast.parse(FILE.read_text(encoding="utf-8")))
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or "."])
        }
        self.assertLessEqual(imported, sys.stdlib_module_names)


if __name__ == "__main__":
    unittest.main()
