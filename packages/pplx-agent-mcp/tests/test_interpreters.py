"""Every version of Python here that the server supports runs the suite; older ones are told what they lack."""

import glob
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from server_process import FILE

FOLDER = Path(__file__).resolve().parent
MODULES = ("test_vectors", "test_answers", "test_network", "test_release", "test_library")
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
OURS = "{}.{}".format(*sys.version_info)
PLACES = ("~/.pyenv/versions/{}.*/bin/python", "~/.local/share/uv/python/cpython-{}.*/bin/python3")
"""Where tools that install interpreters put them, besides what is on the PATH."""


def find(version: str) -> str | None:
    """An interpreter of a version such as 3.12 that starts."""
    named = shutil.which(f"python{version}")
    found = [path for place in PLACES for path in sorted(glob.glob(os.path.expanduser(place.format(version))))]
    for path in [*([named] if named else []), *found]:
        asked = subprocess.run([path, "-c", "import ssl"], capture_output=True, timeout=60, check=False)
        if asked.returncode == 0:
            return path
    return None


class Supported(unittest.TestCase):
    """The interpreters run side by side: much of the suite's time is waiting."""

    runs: dict[str, "subprocess.Popen[str]"]

    @classmethod
    def setUpClass(cls) -> None:
        others = [version for version in VERSIONS if version != OURS]
        found = {version: python for version in others if (python := find(version))}
        cls.runs = {version: cls._begin(python) for version, python in found.items()}

    @classmethod
    def _begin(cls, python: str) -> "subprocess.Popen[str]":
        command = [python, "-m", "unittest", *MODULES]
        run = subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        cls.addClassCleanup(run.communicate)
        cls.addClassCleanup(run.kill)
        return run

    def run_suite(self, version: str) -> None:
        if version == OURS:
            self.skipTest("this is the interpreter that runs the suite anyway")
        if version not in self.runs:
            self.skipTest(f"Python {version} is not installed here")
        run = self.runs[version]
        complaints = run.communicate(timeout=600)[1]
        self.assertEqual(run.returncode, 0, complaints)
        self.assertNotIn("skipped", complaints)

    def test_python_3_10_runs_the_suite(self) -> None:
        self.run_suite("3.10")

    def test_python_3_11_runs_the_suite(self) -> None:
        self.run_suite("3.11")

    def test_python_3_12_runs_the_suite(self) -> None:
        self.run_suite("3.12")

    def test_python_3_13_runs_the_suite(self) -> None:
        self.run_suite("3.13")

    def test_python_3_14_runs_the_suite(self) -> None:
        self.run_suite("3.14")


class TooOld(unittest.TestCase):
    def refuse(self, version: str) -> None:
        python = find(version)
        if python is None:
            self.skipTest(f"Python {version} is not installed here")
        done = subprocess.run([python, FILE], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        expected = f"pplx-agent-mcp needs Python 3.10 or newer; this is {version}.\n"
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", expected))

    def test_python_3_9_is_refused(self) -> None:
        self.refuse("3.9")

    def test_python_3_8_is_refused(self) -> None:
        self.refuse("3.8")

    def test_python_3_7_is_refused(self) -> None:
        self.refuse("3.7")


if __name__ == "__main__":
    unittest.main()
