"""How the command line reads words: what is wrong with one is told in one line.

The usage, which argparse prints before an error, would hide it; `--help` has it.
"""

import argparse
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from ..host.errors import ConfigError
from ..run.config import parse_bytes
from .numbers import real, whole

ADVANCED = "advanced"
# Names that people try, and the command's own.
OTHER_NAMES = {
    "neighbors": "neighbours",
    "neighbor": "neighbours",
    "neighbour": "neighbours",
}

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_RANKS = re.compile(r"(?:-n|-np|--np|--ranks)=?(\d*)")


class UsageError(Exception):
    """Words that are no command; the message is for the user.

    Attributes
    ----------
    parser : argparse.ArgumentParser
        Of the command, or of all.
    """

    def __init__(self, parser: argparse.ArgumentParser, message: str) -> None:
        super().__init__(message)
        self.parser = parser


class Parser(argparse.ArgumentParser):
    """A parser that raises a UsageError in place of printing it and its usage."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # argparse names the function in its messages: "invalid int value"
        for kind, read in ((int, whole()), (float, real()), (Path, on_disk)):
            self.register("type", kind, read)

    def parse_known_args(self, *given: Any, **named: Any) -> Any:
        """Parse words; what this command does not know is its own mistake."""
        found, unknown = super().parse_known_args(*given, **named)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Raise the error; see `argparse.ArgumentParser.error`."""
        raise UsageError(self, message.removeprefix("argument "))

    @property
    def advanced(self) -> Any:
        """The group of options that few people need, last in the help."""
        for group in self._action_groups:
            if group.title == ADVANCED:
                return group
        text = "for tests and measurements; the defaults suit nearly every run"
        return self.add_argument_group(ADVANCED, text)


def on_disk(text: str) -> Path:
    """Return a path; refuse a URL, of which a path would lose a slash."""
    if _URL.match(text):
        raise argparse.ArgumentTypeError(
            f"{text} is a URL, and files have to be on this machine: fetch it first, "
            f"such as with curl -LO {text}"
        )
    return Path(text)


def size(text: str) -> int:
    """Return a number of bytes, given as text such as 8GiB."""
    try:
        return parse_bytes(text)
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def advice(error: UsageError, words: list[str], known: Iterable[str]) -> str:
    """Return the line about a command line that cannot be read.

    Parameters
    ----------
    error : UsageError
    words : list of str
        The command line.
    known : iterable of str
        The commands.
    """
    command, message = error.parser, str(error)
    given = words[0] if words and not words[0].startswith("-") else ""
    place = next((n for n, word in enumerate(words) if _RANKS.fullmatch(word)), None)
    if place is not None and given != "bench":
        return _for_mpirun(words, place)
    if given and given not in known:
        near = _near(given, [*known, *OTHER_NAMES])
        meant = f"; did you mean {OTHER_NAMES.get(near, near)}?" if near else ""
        return f"there is no command {given}{meant or '; see mndmst --help'}"
    unknown = message.removeprefix("unrecognized arguments: ")
    if unknown != message:
        message = _unknown(unknown.split()[0], command)
    elif " required" in message and (strange := _strange(words, command)):
        message = _unknown(strange, command)
    return f"{message}; see mndmst {_name(command)} --help".replace("  ", " ")


def _for_mpirun(words: list[str], place: int) -> str:
    """Say that the number of ranks, at a place of the command line, is not for us."""
    found = _RANKS.fullmatch(words[place])
    number, after = found[1] if found else "", words[place + 1 :]
    if not number and after and after[0].isdecimal():
        number, *after = after
    rest = " ".join([*words[:place], *after])
    return (
        f"{words[place]} is for mpirun, which starts the ranks: "
        f"mpirun -n {number or 'N'} python -m mndmst {rest}"
    )


def _strange(words: list[str], command: argparse.ArgumentParser) -> str:
    """Return the first option that a command does not have; empty if there is none.

    What is missing is told before what is not known, and may be missing only because
    the name of an option is wrong.
    """
    known = list(command._option_string_actions)
    for word in words:
        name = word.partition("=")[0]
        if name.startswith("--") and not any(o.startswith(name) for o in known):
            return word
    return ""


def _unknown(word: str, command: argparse.ArgumentParser) -> str:
    """Say what a word might have been that is no argument of a command."""
    known, name = list(command._option_string_actions), _name(command)
    word = word.partition("=")[0]
    if not name:
        return f"{word}: options stand after a command, mndmst COMMAND {word}"
    if not word.startswith("-"):
        return f"{name} takes no further argument: {word}"
    near = _near(word, known)
    return f"{name} has no option {word}" + f", did you mean {near}?" * bool(near)


def _near(word: str, known: Iterable[str]) -> str:
    """Return which of some words is most like one; an empty one if none is."""
    from difflib import get_close_matches  # for errors alone

    return next(iter(get_close_matches(word, known, 1, cutoff=0.75)), "")


def _name(command: argparse.ArgumentParser) -> str:
    return command.prog.removeprefix("mndmst").strip()
