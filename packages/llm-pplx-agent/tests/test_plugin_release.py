import ast
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "llm_pplx_agent.py"


def test_the_module_says_that_there_is_no_plugin_yet() -> None:
    done = subprocess.run([sys.executable, FILE], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "not part of this release" in done.stderr


def test_the_module_is_python_3_10() -> None:
    ast.parse(FILE.read_text(encoding="utf-8"), feature_version=(3, 10))
