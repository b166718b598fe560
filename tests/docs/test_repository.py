"""What people who clone the repository rely on."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("packages/*/*.md")]
    if not path.is_symlink()
)
SCRIPTS = sorted(path for path in (ROOT / "scripts").iterdir() if path.is_file() and not path.suffix)
LOCKS = ("requirements.lock", "requirements-dev.lock")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def wanted(lock: str) -> list[Requirement]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        lines: list[str] = tomllib.load(file)["project"]["dependencies"]
    for name in ("requirements.in", *(["requirements-dev.in"] if "dev" in lock else [])):
        lines += (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [Requirement(text) for line in lines if (text := line.partition("#")[0].strip())]


def test_generated_documents_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/generate_docs.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_what_is_wanted(lock: str) -> None:
    pins = {canonicalize_name(name): version for name, version in _PIN.findall((ROOT / lock).read_text("utf-8"))}
    for requirement in wanted(lock):
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)]), requirement


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_hashes_and_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    pins = _PIN.findall(text)
    blocks = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)
    assert "://" not in text
    assert len(pins) == sum("--hash=sha256:" in block for block in blocks) > 10


def test_the_locks_agree() -> None:
    run, dev = (dict(_PIN.findall((ROOT / lock).read_text(encoding="utf-8"))) for lock in LOCKS)
    assert run.items() <= dev.items()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_can_be_run(path: Path) -> None:
    assert path.stat().st_mode & 0o111
    assert path.read_text(encoding="utf-8").startswith("#!/usr/bin/env bash\n")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_within_the_repository_lead_somewhere(path: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = target.partition("#")
        if "://" in target:
            continue
        assert (path.parent / file).exists(), target
        if anchor:
            assert anchor in anchors((path.parent / file if file else path).read_text(encoding="utf-8")), target


def anchors(text: str) -> set[str]:
    """The names that headings get: lower case, blanks as hyphens, no other punctuation."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_sections_of_the_wire_that_the_code_cites_exist() -> None:
    cited = {
        (match["document"], match["number"].rstrip("."))
        for folder in ("src", "tests", "bench")
        for path in (ROOT / folder).rglob("*.py")
        for match in _CITATION.finditer(path.read_text(encoding="utf-8"))
    }
    assert {document for document, _ in cited} == {"docs/wire-session.md", "docs/wire-agent.md"}
    missing = {(document, number) for document, number in cited if not has_section(ROOT / document, number)}
    assert not missing


_CITATION = re.compile(r"(?P<document>docs/wire-[a-z]+\.md) (?P<number>[0-9][0-9.]*)")


def has_section(path: Path, number: str) -> bool:
    text = path.read_text(encoding="utf-8")
    return bool(re.search(rf"^(?:##+ |- \*\*){re.escape(number)}(?:\.|\*\*)? ", text, flags=re.MULTILINE))
