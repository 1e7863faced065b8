"""Signals that ask a run to save its state and stop: SIGTERM and SIGUSR1.

Batch systems send them some time before they end a job (Slurm: `--signal`).
"""

import signal
import threading

STOP = (signal.SIGTERM, signal.SIGUSR1)


class StopSignals:
    """Remembers which signal to stop has come, instead of stopping at once.

    Attributes
    ----------
    received : int
        The number of the last signal, 0 if there was none.
    """

    def __init__(self) -> None:
        self.received = 0
        self._before = {}
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in STOP}
            for number in STOP:
                signal.signal(number, self._note)

    def _note(self, number: int, _frame: object) -> None:
        self.received = number

    @staticmethod
    def name(number: int) -> str:
        """Return the name of a signal."""
        return signal.Signals(number).name

    def restore(self) -> None:
        """Let the signals do what they did before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
