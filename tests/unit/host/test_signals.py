"""Signals to stop are held, remembered and let go again; none is lost."""

import signal
import subprocess
import sys

import pytest

BEGIN = """
import os, signal, sys
from mndmst.host.signals import STOP, stop_signals
number = int(sys.argv[1])
before = {n: signal.getsignal(n) for n in STOP}
stop_signals.hold()
"""


def run(program: str, number: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BEGIN + program, str(number)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture(params=[15, 10], ids=["SIGTERM", "SIGUSR1"])
def number(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_one_that_is_held_is_remembered(number: int) -> None:
    ended = run(
        "os.kill(os.getpid(), number); stop_signals.catch();"
        "print(stop_signals.received)",
        number,
    )
    assert (ended.returncode, ended.stdout) == (0, f"{number}\n"), ended


def test_a_library_that_takes_the_handlers_loses_none(number: int) -> None:
    ended = run(
        """
import ctypes
for n in STOP:
    ctypes.CDLL(None).signal(n, ctypes.c_void_p(1))  # ignores it; Python is not told
stop_signals.catch()
os.kill(os.getpid(), number)
print(stop_signals.received)
""",
        number,
    )
    assert (ended.returncode, ended.stdout) == (0, f"{number}\n"), ended


def test_one_that_is_let_go_does_what_it_did(number: int) -> None:
    ended = run(
        "os.kill(os.getpid(), number); print('here', flush=True);"
        "stop_signals.release(); print('not here')",
        number,
    )
    assert (ended.returncode, ended.stdout) == (-number, "here\n"), ended


def test_after_all_nothing_is_left(number: int) -> None:
    ended = run(
        "stop_signals.release();"
        "assert before == {n: signal.getsignal(n) for n in STOP};"
        "assert not signal.pthread_sigmask(signal.SIG_BLOCK, ());"
        "stop_signals.hold(); stop_signals.catch(); os.kill(os.getpid(), number);"
        "stop_signals.restore(); assert not stop_signals.received;"
        "assert before == {n: signal.getsignal(n) for n in STOP};"
        "assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())",
        number,
    )
    assert ended.returncode == 0, ended


def test_the_program_without_checkpoints_ends_at_once(number: int) -> None:
    ended = run(
        """
from mndmst.cli import main
from mndmst.__main__ import main as run
def parse(argv):
    arguments = main.parser().parse_args(argv)
    os.kill(os.getpid(), number)
    return arguments
main.parse = parse
run(["info"])
""",
        number,
    )
    assert (ended.returncode, ended.stdout) == (-number, ""), ended


def test_a_program_that_has_its_result_is_not_ended(number: int) -> None:
    ended = run(
        "stop_signals.catch(); stop_signals.finish();"
        "os.kill(os.getpid(), number); print(before[number])",
        number,
    )
    assert ended.returncode == 0, ended


def test_nor_is_it_while_the_interpreter_ends(number: int) -> None:
    """Handlers go before what is left of the modules does."""
    ended = run(
        """
class Late:
    def __del__(self, kill=os.kill, process=os.getpid(), number=number):
        kill(process, number)
stop_signals.listen(int)
stop_signals.finish()
sys.late = Late()
""",
        number,
    )
    assert ended.returncode == 0, ended


def test_a_library_gives_the_handlers_back(number: int) -> None:
    ended = run(
        "stop_signals.release(); stop_signals.catch(); stop_signals.finish();"
        "print(signal.getsignal(number) == before[number])",
        number,
    )
    assert (ended.returncode, ended.stdout) == (0, "True\n"), ended


def test_one_is_heard_while_the_main_thread_sleeps_in_a_library(number: int) -> None:
    ended = run(
        """
import ctypes, threading
def hear():
    print(stop_signals.received, flush=True)
    os._exit(0)
stop_signals.listen(hear)
threading.Timer(0.2, os.kill, (os.getpid(), number)).start()
library, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
library.pthread_mutex_lock(mutex)
library.pthread_mutex_lock(mutex)  # no signal ends this wait
""",
        number,
    )
    assert (ended.returncode, ended.stdout) == (0, f"{number}\n"), ended


def test_one_that_another_thread_takes_wakes_the_main_thread(number: int) -> None:
    """So does one that comes just before that thread falls asleep."""
    program = """
import queue, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
waiting = queue.SimpleQueue()
threading.Thread(target=time.sleep, args=(50,), daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
stop_signals.listen(lambda: waiting.put("woken"))
threading.Timer(0.2, os.kill, (os.getpid(), number)).start()
try:
    print(waiting.get(), flush=True)
    time.sleep(60 if number == signal.SIGINT else 0.1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(stop_signals.received)
"""
    assert run(program, number).stdout == f"woken\n{number}\n"
    said = run(program, signal.SIGINT).stdout.split()
    assert said[-2:] == ["interrupted", "0"]
