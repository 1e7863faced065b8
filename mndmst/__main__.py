"""`python -m mndmst` and the script `mndmst`: the command line in an abort hook.

A rank that fails alone must end the whole job: the others would wait for it for
ever, under every MPI. Only after an error that all ranks have raised together may a
process simply exit.
"""

import atexit
import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
import traceback
from errno import ENOMEM
from typing import TYPE_CHECKING, NoReturn

from .host.errors import MndmstError, StoppedError
from .host.formatting import one_line
from .host.launcher import launched_processes, launched_rank, prepare_environment
from .host.signals import die_at_interrupt, stop_signals

if TYPE_CHECKING:
    from .comm.mpi_library import MpiComm

# A launcher that aborts may drop output that it has not forwarded yet.
FORWARDING_SECONDS = 0.3
# Rank 0 of a launcher whose ranks cannot meet prints their error within this time.
LAST_LINE_SECONDS = 5.0
LONGEST_REASON = 300
# Beginnings of the commands that multiply matrices: threads of BLAS serve no other one,
# and would take a tenth of a second of all cores to start.
MATRIX_COMMANDS = (
    "hdbscan", "linkage", "neighb", "predict", "verify", "draw", "report",
)  # fmt: skip
# Messages of Python and of the dynamic loader when the system has no memory left.
_NO_MEMORY = (
    "can't start new thread",
    "failed to map segment from shared object",
    "cannot allocate memory in static TLS block",
    "Cannot allocate memory",
)


def main(argv: list[str] | None = None) -> int:
    """Run the command line, by default the process's, and return its exit status.

    It is 0, or 1 after an error, which has been printed once; 75 after a signal to stop
    a run with checkpoints; 128 and the signal's number when the reader of the output
    has gone. Raises KeyboardInterrupt after Ctrl-C; `command` ends the process then.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115
    stop_signals.hold()  # before anything that takes time
    words = sys.argv[1:] if argv is None else argv
    prepare_environment(matrices=bool(words) and words[0].startswith(MATRIX_COMMANDS))
    try:
        from .cli.main import main as run

        status: int = run(argv)
        sys.stdout.flush()
    except MndmstError as error:
        return _refuse(error)
    except BrokenPipeError:
        _drop_output()
        return _end(128 + signal.SIGPIPE)
    except Exception as error:
        lack = _lack_of_memory(error)
        if lack is not None:
            _say(
                f"mndmst: error: {_rank()} ran out of memory ({lack}). Use more ranks, "
                "more machines or fewer --threads, or set --memory below the free "
                "memory and the limit of ulimit -v."
            )
        elif isinstance(error, OSError) and not error.filename and _output_fails():
            _say(f"mndmst: error: the output cannot be written ({error.strerror})")
        else:
            _say(*_unforeseen(error, sys.argv[1:] if argv is None else argv))
        return _end(1)
    return status


def _lack_of_memory(error: BaseException) -> str | None:
    """Return the text of an out-of-memory error; None for other errors.

    The error may be a later one, raised while the stack was unwound.
    """
    cause: BaseException | None = error
    while cause is not None:
        text = " ".join(str(cause).split())
        lacks = isinstance(cause, MemoryError) or getattr(cause, "errno", 0) == ENOMEM
        loading = isinstance(cause, ImportError | OSError | RuntimeError)
        if lacks or (loading and any(words in text for words in _NO_MEMORY)):
            return text[:LONGEST_REASON]
        cause = cause.__cause__ or cause.__context__
    return None


def _unforeseen(error: Exception, argv: list[str]) -> tuple[str, str]:
    """Return a line about an error that has no message yet, and a traceback if asked.

    The traceback is empty without `--debug`.
    """
    if "--debug" in argv or os.environ.get("MNDMST_DEBUG", "0") not in ("", "0"):
        return f"mndmst: {_rank()} failed", traceback.format_exc()
    named = getattr(error, "filename", None)
    files = [named] if named else [word for word in argv if os.path.exists(word)]  # noqa: PTH110
    what = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_REASON]
    return (
        f"mndmst: error: {', '.join(map(str, files)) or 'no file'}: {_rank()} failed "
        f"({what}). If the files are intact, this is a bug in mndmst: run the command "
        "again with --debug, and report its output and that of mndmst info.",
        "",
    )


def _output_fails() -> bool:
    """Return whether standard output cannot be written, and redirect it to null."""
    try:
        print(flush=True)  # an unbuffered stream has dropped unwritten text
    except OSError:
        _drop_output()
        return True
    return False


def _drop_output() -> None:
    """Let the interpreter's own last flush, on its way out, succeed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(error: MndmstError) -> int:
    """Print an error of the user once, and return the exit status."""
    world = _world()
    size, rank = launched_processes(), launched_rank()
    if world is not None:
        size, rank = world.size, world.rank
    alone = error.ranks < size
    if alone or rank == 0:
        _say(f"mndmst: {'' if isinstance(error, StoppedError) else 'error: '}{error}")
    elif world is None:
        # Without MPI ranks cannot meet, and the first exit with an error ends the
        # others: rank 0 has to be the first.
        stop_signals.release()
        time.sleep(LAST_LINE_SECONDS)
    return _end(error.status) if alone else error.status


def _end(status: int) -> int:
    """Return the status; where other ranks are running, end all with it."""
    world = _world()
    if world is not None:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        time.sleep(FORWARDING_SECONDS)
        world.Abort(status)
    return status


def _end_after_interrupt() -> int:
    """End all ranks after Ctrl-C, and return the exit status.

    Other ranks may be in the start of MPI, which waits for this rank for ever. A
    launcher ends them if a rank dies by a signal; an exit status may not suffice.
    """
    die_at_interrupt()
    if _world() is None and launched_processes() > 1:
        os.kill(os.getpid(), signal.SIGINT)
    return _end(128 + signal.SIGINT)


def _say(line: str, stack: str = "") -> None:
    """Write to stderr in one piece, so that lines of several ranks stay whole."""
    with contextlib.suppress(OSError):
        if "--log-json" in sys.argv:
            from .host.progress import notice, use_json_lines

            use_json_lines(True)
            notice(f"{line}\n{stack}".strip().removeprefix("mndmst: "), "error")
            return
        sys.stderr.write(f"{one_line(line)}\n{stack}")
        sys.stderr.flush()


def _rank() -> str:
    world = _world()
    return f"rank {world.rank} of {world.size}" if world else "the only rank"


def _world() -> "MpiComm | None":
    """Return MPI's world if MPI is running with several ranks; never start it."""
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not mpi.Is_initialized() or mpi.Is_finalized():
        return None
    return mpi.COMM_WORLD if mpi.COMM_WORLD.size > 1 else None


def command() -> NoReturn:
    """Run the command line and end the process with its status, 130 after Ctrl-C.

    The teardown of the interpreter is skipped. It takes 30 ms of a core per rank, and
    frees a GPU's memory array by array where the driver frees all of it at once. But
    handlers of C libraries run: MPICH has one that takes leave of the launcher.
    """
    try:
        status = main()
        die_at_interrupt()
    except KeyboardInterrupt:
        status = _end_after_interrupt()
    threading._shutdown()  # type: ignore[attr-defined]
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    atexit._run_exitfuncs()
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized():
        mpi.Finalize()
    ctypes.PyDLL(None).exit(status)  # with the interpreter's lock: no thread goes on
    raise AssertionError


if __name__ == "__main__":
    command()
