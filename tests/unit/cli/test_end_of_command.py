"""The command ends without teardown of the interpreter, with output and status."""

import subprocess
import sys

import pytest
from processes import ROOT

PROGRAM = """
import atexit, ctypes, threading, time
@ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p)
def handler(status, argument):
    print("handler of C", flush=True)
ctypes.CDLL(None).on_exit(handler, None)  # as of MPICH, which takes leave of mpirun
atexit.register(print, "registered function", flush=True)
class Late:
    def __del__(self):
        print("teardown", flush=True)
late = Late()
def work():
    threading.main_thread().join()  # the program waits for its threads
    time.sleep(0.1)
    print("thread has ended", flush=True)
threading.Thread(target=work).start()
from mndmst.__main__ import command
command()
"""
TOLD = ["thread has ended", "registered function", "handler of C", "teardown"]
DEMO = str(ROOT / "partitions" / "demo")


@pytest.mark.parametrize(
    ("arguments", "status", "printed"),
    [
        (("solve", DEMO, "-q", "--backend", "cpu"), 0, "RESULT n="),
        (("solve", "nowhere", "-q", "--backend", "cpu"), 1, "nowhere"),
    ],
)
def test_output_and_status_are_complete(
    arguments: tuple[str, ...], status: int, printed: str
) -> None:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr
    assert printed in done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if line in TOLD] == TOLD[:3]
