"""Ctrl-C while a public name is imported leaves no module half imported."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import ROOT

from mndmst.host.errors import MissingExtraError, optional
from mndmst.host.signals import interrupts_deferred

# The line of a module of the standard library at which Ctrl-C made a second import fail
# is reached through two packages, as asyncio is.
MODULES = {
    "outer.py": "import inner\nimport signal\nready = True\n",
    "inner/__init__.py": "from .part import *\nimport os, signal\n"
    "os.kill(os.getpid(), signal.SIGINT)\nfor _ in range(1000): pass\n"
    "__all__ = part.__all__\n",
    "inner/part.py": "__all__ = ['value']\nvalue = 1\n",
}


@pytest.fixture(autouse=True)
def as_in_a_foreground_job() -> Iterator[None]:
    """Raise KeyboardInterrupt at Ctrl-C, also where a shell started the tests with &.

    Such a shell lets its job ignore the signal, and children inherit that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def interrupting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Offer a module `outer` that is interrupted while it is imported."""
    (tmp_path / "inner").mkdir()
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.usefixtures("interrupting")
def test_an_optional_package_is_whole_or_not_there() -> None:
    with pytest.raises(KeyboardInterrupt):
        optional("outer", "plot")
    assert sys.modules["outer"].ready
    assert optional("outer", "plot").inner.value == 1


def test_ctrl_c_comes_after_the_block_and_the_handler_returns() -> None:
    handler = signal.getsignal(signal.SIGINT)
    reached = []
    with pytest.raises(KeyboardInterrupt), interrupts_deferred():
        with interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
            reached.append("inner")
        reached.append("outer")
    assert reached == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is handler
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_an_error_of_the_block_is_raised_without_ctrl_c() -> None:
    with pytest.raises(MissingExtraError, match="no_such_package"):
        optional("no_such_package", "plot")


def test_other_threads_and_ignored_signals_are_left_alone() -> None:
    done = []

    def work() -> None:
        with interrupts_deferred():
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == [1]


# Interrupts at the n-th line of a module's body that is run for the first fit.
PROGRAM = """if True:
    import signal, sys
    import mndmst
    points = [[0.0], [1.0], [2.0], [50.0], [51.0], [53.0]]
    at, lines = int(sys.argv[1]), 0

    def line(frame, event, argument):
        global lines
        lines += event == "line"
        if lines == at:
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)
        return line

    sys.settrace(lambda frame, *_: line if frame.f_code.co_name == "<module>" else None)
    try:
        mndmst.HDBSCAN(3, 1).fit(points)
        sys.exit("not interrupted")
    except KeyboardInterrupt:
        sys.settrace(None)
    assert mndmst.HDBSCAN(3, 1).fit(points).labels_.tolist() == [0, 0, 0, 1, 1, 1]
"""


@pytest.mark.parametrize("at", [30, 9000])
def test_a_fit_after_an_interrupted_first_fit(at: int) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(at)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
