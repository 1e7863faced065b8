"""Signals that ask a run to save its state and stop, SIGTERM and SIGUSR1; Ctrl-C.

Batch systems send them some time before they end a job (Slurm: `--signal`), be it
while the job starts. So the program holds them from its first moment on, before it
knows whether the run keeps checkpoints.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOP = (signal.SIGTERM, signal.SIGUSR1)


class StopSignals:
    """Remembers which signal to stop has come, instead of stopping at once."""

    def __init__(self) -> None:
        self.received = 0  # The number of the last signal, 0 if there was none
        self._before: dict[int, Callable | int | None] = {}
        self._mask: set[int] | None = None
        self._held = False

    def hold(self) -> None:
        """Hold signals back until `catch`, `listen` or `release`.

        MPI libraries put their own handlers in place as they start (MPICH one for
        SIGUSR1), so handlers alone would lose signals. The threads of libraries that
        start meanwhile leave signals to the main thread.
        """
        self._held = True
        if self._mask is None:
            self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
        self._install()

    def catch(self) -> None:
        """Remember signals from now on, blocked ones included."""
        self._install()
        self._let_through()

    def listen(self, call: Callable[[], object]) -> None:
        """Call a function on a thread for each signal, blocked ones included.

        This is for a program that sleeps. A handler runs once the main thread goes on,
        and a signal that comes just before it falls asleep, or that another thread
        takes, does not wake it. But the interpreter notes each in a pipe at once. The
        function is called for Ctrl-C too, which is raised as soon as it has woken the
        main thread.
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
        """Forget signals, for the run is over.

        A program that has held them ends now, with its result, and ignores further
        ones: a handler would be gone before the interpreter is. Elsewhere the former
        handlers return.
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


# Handlers belong to the process, and so does the signal that they remember.
stop_signals = StopSignals()


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Hold Ctrl-C back until the end of the block.

    A process forked inside keeps it blocked forever. Such a process would raise
    KeyboardInterrupt even in callbacks of the fork, which print and forget it.
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

    It is for imports: Python forgets a module that KeyboardInterrupt leaves half
    imported, but not the modules that this one has imported, and a second import of
    asyncio, pandas or scipy then fails until the process ends. Only the main thread
    hears Ctrl-C, so that in other threads nothing is to be done.
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


def die_at_interrupt() -> None:
    """End the process at the next Ctrl-C, without a KeyboardInterrupt.

    A process that is about to end would raise it in callbacks of its end, which print a
    traceback, or before it has ended the other ranks.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
