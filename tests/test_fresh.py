import os
import re

import pytest

from pplx_gateway import fresh


def test_names_have_a_form_and_never_meet() -> None:
    names = {fresh.name("req_") for _ in range(10_000)}
    assert len(names) == 10_000
    assert all(re.fullmatch(r"req_[0-9a-f]{24}", name) for name in names)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_has_names_of_its_own() -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, fresh.name("").encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        theirs = told.read()
    os.waitpid(child, 0)
    assert len(theirs) == 24
    assert theirs != fresh.name("")
