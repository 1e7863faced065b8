"""The errors that a user can fix, and the import of optional packages."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from .signals import interrupts_deferred

# The part of the package that may be absent; the graph programs do not need it.
POINTS = "mndmst.points"


class MndmstError(Exception):
    """An error that a user can fix; the message names its location and the remedy.

    `ranks` ranks raise it together (see `comm.Comm.raise_on_all`), and one prints it:
    `__main__` ends the others. `status` is the exit status of the program. `source`
    names the data, such as a file, and precedes the message. `remedy` is a sentence
    that a caller adds after the message. The text is one line: line feeds of names in
    it, which come from files, are escaped.
    """

    ranks: int = 1
    status: int = 1
    source: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        text = (
            f"{self.source}: {super().__str__()}" if self.source else super().__str__()
        )
        text = f"{text} {self.remedy}" if self.remedy else text
        return text.replace("\n", "\\n")


class InputError(MndmstError, ValueError):
    """Data that are damaged, incomplete or inconsistent: a file, an array, a graph."""


class InputTypeError(InputError, TypeError):
    """Data of an unsupported type, such as weights that are text."""


class OutputError(MndmstError):
    """A result that cannot be written to its destination."""


class ConfigError(MndmstError, ValueError):
    """Options or arguments that contradict each other or the machine."""


class ConfigTypeError(ConfigError, TypeError):
    """An option or argument of the wrong type, such as 2.5 for a count."""


class MissingExtraError(MndmstError, ImportError):
    """An optional package that is not installed; the message says how to install it."""


class StoppedError(MndmstError):
    """A run that has stopped after a signal, has saved its state and can resume."""

    status = 75  # EX_TEMPFAIL of sysexits.h: try again later


def has_points() -> bool:
    """Return whether this installation contains `mndmst.points`."""
    return find_spec(POINTS) is not None


@contextmanager
def points_required(subject: str = "This needs") -> Iterator[None]:
    """Raise MissingExtraError if the body imports `mndmst.points` and it is absent.

    The message begins with `subject`.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != POINTS:
            raise
        raise MissingExtraError(
            f"{subject} {POINTS}, which this installation lacks. Install the complete "
            "package mndmst."
        ) from error


@contextmanager
def about(source: object) -> Iterator[None]:
    """Set the source of each InputError of the block that has no source."""
    try:
        yield
    except InputError as error:
        error.source = error.source or str(source)
        raise


def shown(value: object) -> str:
    """Return the text of a value for messages: one line, shortened."""
    if getattr(value, "shape", None) == ():  # a number or text of NumPy
        value = value.item()  # type: ignore[attr-defined]
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word most similar to a word; empty if none is similar."""
    from difflib import get_close_matches  # for errors alone

    return next(iter(get_close_matches(word, known, 1, cutoff=0.75)), "")


def optional(module: str, extra: str, subject: str = "This needs") -> ModuleType:
    """Return a module of an optional package, which an extra of mndmst installs.

    Raises MissingExtraError, whose message begins with `subject`, if the module is not
    installed or cannot be loaded, for example for lack of memory.
    """
    package = module.partition(".")[0]
    try:
        with interrupts_deferred():
            return import_module(module)
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError)
        if not missing and find_spec(package) is not None:
            reason = " ".join(str(error).split())
            raise MissingExtraError(
                f"{subject} {package}, which is installed but cannot be loaded "
                f"({reason}). Allow this process more memory (ulimit -v), or install "
                "it again."
            ) from error
        raise MissingExtraError(
            f"{subject} {package}, which is not installed. Install it: "
            f'pip install "mndmst[{extra}]"'
        ) from error
