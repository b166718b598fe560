"""What the files of the pages may hold, by reading them."""

import hashlib
import re
from pathlib import Path


def test_no_page_holds_inline_scripts_styles_or_handlers(modules: Path) -> None:
    for page in modules.glob("*.html"):
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:|https?://", page.read_text())


def test_our_modules_put_no_html_together(modules: Path) -> None:
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser"
        r"|\beval\(|new Function|localStorage|sessionStorage|indexedDB|document\.cookie"
    )
    for module in modules.glob("*.js"):
        if not module.name.endswith(".min.js"):
            assert not forbidden.search(module.read_text()), module.name


def test_vendored_files_are_those_that_are_noted_with_their_licences(modules: Path) -> None:
    noted = re.findall(r"^([0-9a-f]{64})  (\S+)", (modules / "vendored.txt").read_text(), re.MULTILINE)
    assert {name for _, name in noted} == {file.name for file in modules.glob("*.min.js")}
    for digest, name in noted:
        assert hashlib.sha256((modules / name).read_bytes()).hexdigest() == digest
        assert "icen" in (modules / name.replace(".min.js", ".licence.txt")).read_text()


def test_the_chat_page_names_the_modules_of_its_first_view_so_that_they_come_at_once(modules: Path) -> None:
    needed: set[str] = set()
    waiting = ["chat.js"]
    while waiting:
        text = (modules / waiting.pop()).read_text()
        found = set(re.findall(r'^import [^;]*?"\./([\w.-]+)";', text, re.MULTILINE)) - needed
        needed |= found
        waiting += found
    named = re.findall(r'rel="modulepreload" href="/static/([\w.-]+)"', (modules / "chat.html").read_text())
    assert named == sorted(needed)
