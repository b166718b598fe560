"""Lets `python3 -m unittest discover` in this folder find the tests, whose folder is no package."""

import unittest
from pathlib import Path


def load_tests(_loader: unittest.TestLoader, _tests: unittest.TestSuite, _pattern: str | None) -> unittest.TestSuite:
    """unittest's hook. Another loader than the one given, since each remembers the folder it began in."""
    return unittest.TestLoader().discover(str(Path(__file__).resolve().parent / "tests"))
