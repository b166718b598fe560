"""The `llm` command, imported once and forked for each run: of a fresh one's time nearly all is imports.

`python warm_llm.py SOCKET` serves. Each run is a process of its own: with the arguments, the folder, the environment
and the three streams of whoever asked (`run`), it enters `llm` where the command does.
"""

import contextlib
import gc
import json
import os
import socket
import sys
import threading
from collections.abc import Mapping, Sequence

_HEAD = 4  # bytes that tell the length of what follows


def run(
    address: str, arguments: Sequence[str], folder: str, environment: Mapping[str, str], streams: Sequence[int]
) -> int:
    """The exit status. `streams` are the numbers of stdin, stdout and stderr."""
    asked = json.dumps([list(arguments), folder, dict(environment)]).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as way:
        way.connect(address)
        socket.send_fds(way, [len(asked).to_bytes(_HEAD, "big")], list(streams))
        way.sendall(asked)
        status = way.recv(1)
    assert status, "the run ended without a status"
    return status[0]


def main(address: str) -> None:
    """Until a signal comes. Says a line once it listens."""
    from llm import cli  # noqa: PLC0415 - those who only ask need not import it

    gc.freeze()  # or each run would copy the memory that it looks through
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen()
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        while not _asked(listener):
            pass
    try:
        cli.cli()
    except SystemExit as end:
        _end(end.code)


def _asked(listener: socket.socket) -> bool:
    """Takes the next run. True in the process that is to carry it out."""
    way, _ = listener.accept()
    with way:
        keeper = os.fork()
        if keeper == 0:
            runner = os.fork()
            if runner == 0:
                _take_over(way)
                return True
            status = os.waitstatus_to_exitcode(os.waitpid(runner, 0)[1])
            way.sendall(bytes([status % 256]))
            os._exit(0)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:  # who has ended since
            pass
    return False


def _take_over(way: socket.socket) -> None:
    head, streams, _, _ = socket.recv_fds(way, _HEAD, 3)
    with way.makefile("rb") as reader:
        arguments, folder, environment = json.loads(reader.read(int.from_bytes(head, "big")))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["llm", *arguments]


def _end(code: object) -> None:
    """The end of a program, without taking down all that was imported, which takes longer than the run."""
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    main(sys.argv[1])
