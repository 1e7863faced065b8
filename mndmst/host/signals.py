"""Signals that ask a run to save its state and stop, SIGTERM and SIGUSR1; Ctrl-C.

Batch systems send them some time before they end a job (Slurm: `--signal`), even while
the job starts. So the program holds them from its begin, before it knows whether the
run has checkpoints.
"""

import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOP = (signal.SIGTERM, signal.SIGUSR1)
_PR_SET_PDEATHSIG = 1  # of prctl(2)


class StopSignals:
    """Records signals that ask the program to stop, instead of ending it."""

    def __init__(self) -> None:
        self.received = 0  # The number of the last signal, 0 if there was none
        self._before: dict[int, Callable[..., object] | int | None] = {}
        self._mask: set[int] | None = None
        self._held = False

    def hold(self) -> None:
        """Hold signals back until `catch`, `listen` or `release`.

        MPI libraries install handlers when they start (MPICH one for SIGUSR1), so
        handlers alone would lose signals. Threads of libraries that start meanwhile
        have the signals blocked, so the main thread gets them.
        """
        self._held = True
        if self._mask is None:
            self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
        self._install()

    def catch(self) -> None:
        """Record signals from now on, including blocked ones."""
        self._install()
        self._let_through()

    def listen(self, call: Callable[[], object]) -> None:
        """Call a function on a thread for each signal, including blocked ones.

        This is for a program whose main thread sleeps. A Python handler runs only when
        the main thread continues, and a signal just before it sleeps, or one that
        another thread receives, does not wake it. But the interpreter writes each
        signal to a pipe immediately. The function is called for Ctrl-C, too, and must
        wake the main thread, which then raises KeyboardInterrupt.
        """
        notes, noted = os.pipe()
        os.set_blocking(noted, False)
        signal.set_wakeup_fd(noted, warn_on_full_buffer=False)

        def listen() -> None:
            while True:
                (number,) = os.read(notes, 1)
                if number in STOP:
                    self.received = number
                if number in (*STOP, signal.SIGINT):
                    call()

        self.catch()
        threading.Thread(target=listen, name="mndmst-signals", daemon=True).start()

    def release(self) -> None:
        """Restore the handlers, and send the last signal again."""
        number = self.received
        self._held = False
        self.restore()
        self._let_through()
        if number:
            os.kill(os.getpid(), number)

    def finish(self) -> None:
        """Discard signals at the end of a run.

        A program that has held signals now ends with its result, and ignores further
        ones, because its handlers would not last until the interpreter's end. Otherwise
        the former handlers are restored.
        """
        if self._held:
            self.received = 0
            for number in STOP:
                signal.signal(number, signal.SIG_IGN)
        else:
            self.restore()

    def restore(self) -> None:
        """Restore the former handlers; forget received signals."""
        for number, handler in self._before.items():
            signal.signal(number, handler or signal.SIG_DFL)
        self._before.clear()
        self.received = 0

    def _install(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in STOP:
                before = signal.signal(number, self._note)
                self._before.setdefault(number, before)

    def _let_through(self) -> None:
        if self._mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
            self._mask = None

    def _note(self, number: int, _frame: object) -> None:
        self.received = number

    @staticmethod
    def name(number: int) -> str:
        """Return the name of a signal."""
        return signal.Signals(number).name


# Handlers belong to the process, and so does the recorded signal.
stop_signals = StopSignals()


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C until the end of the block.

    A process forked inside keeps it blocked, because it could otherwise raise
    KeyboardInterrupt in callbacks of the fork, which print and drop it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Raise a Ctrl-C of the block at its end.

    It is for imports: after KeyboardInterrupt, Python drops the half-imported module
    but not the modules that it has imported, and a second import of asyncio, pandas or
    scipy then fails until the process ends. Only the main thread receives Ctrl-C, so
    other threads need no deferral.
    """
    handler = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or not callable(handler):
        yield
        return
    frames: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda _, frame: frames.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if frames:
            handler(signal.SIGINT, frames[0])


def end_with(parent: int) -> None:
    """Have the system end this process as soon as its parent process has ended."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def die_at_interrupt() -> None:
    """End the process at the next Ctrl-C, without a KeyboardInterrupt.

    A process that is about to end could raise it in exit callbacks, which print a
    traceback, or before it has ended the other ranks.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
