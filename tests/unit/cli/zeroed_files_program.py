"""Describe files again and again, a run of bytes zeroed or inverted each time.

`python zeroed_files_program.py FILE...` describes the file, or the graph that it is in.
Each time there is an answer, or one line of an error; the process ends itself where a
description takes too long.
"""

import faulthandler
import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from mndmst.__main__ import main

RUN = 64  # bytes
SECONDS = 60  # for a description, which takes milliseconds


def described(path: str) -> None:
    """Describe a file; AssertionError for another end than an answer or one line."""
    out, err = io.StringIO(), io.StringIO()
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    with redirect_stdout(out), redirect_stderr(err):
        status = main(["info", path])
    faulthandler.cancel_dump_traceback_later()
    said = err.getvalue()
    assert status == said.count("mndmst: error: ") == len(said.splitlines()), said
    assert "bug in mndmst" not in said, said


def run(path: Path, about: str) -> None:
    """Damage each run of bytes of a file in its turn."""
    whole = path.read_bytes()
    for begin in range(0, len(whole), RUN):
        part = whole[begin : begin + RUN]
        for damaged in (bytes(len(part)), bytes(255 - byte for byte in part)):
            path.write_bytes(whole[:begin] + damaged + whole[begin + len(part) :])
            described(about)
    path.write_bytes(whole)


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        in_graph = (file.parent / "index.h5").exists()
        run(file, str(file.parent if in_graph else file))
