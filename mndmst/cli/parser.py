"""A parser that reports a mistake in one line, and the argument types of commands.

argparse prints the usage before an error, which hides it; `--help` prints the usage.
"""

import argparse
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from ..graph.tuning import SETTINGS
from ..host.cores import MOST_THREADS
from ..host.errors import ConfigError, nearest
from ..host.option_types import Number, real, whole
from ..solver.config import parse_bytes

# Bounds of counts that no machine reaches, and of ids.
MOST_POINTS = (1 << 32) - 1
MOST_PARTS = 1_000_000
MOST_SECONDS = 1_000_000
MOST_VERTICES = 1 << 48


def threads(least: int = 0) -> Number[int]:
    """Return the type of an option that takes a number of threads or processes."""
    return whole(least, MOST_THREADS)


ADVANCED = "advanced"
# Other spellings of commands.
OTHER_NAMES = {
    "neighbors": "neighbours",
    "neighbor": "neighbours",
    "neighbour": "neighbours",
}

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_RANKS = re.compile(r"(-n|-np|--np|--ranks)=?(\d*)")


class UsageError(Exception):
    """An invalid command line; the message is for the user."""

    def __init__(self, parser: argparse.ArgumentParser, message: str) -> None:
        super().__init__(message)
        self.parser = parser  # Of the command, or of all


class Parser(argparse.ArgumentParser):
    """A parser that raises a UsageError in place of printing it and its usage."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # argparse names the function in its messages: "invalid int value"
        for kind, read in ((int, whole()), (float, real()), (Path, on_disk)):
            self.register("type", kind, read)

    # The help may list what takes long to import, such as all formats
    @property
    def epilog(self) -> str | None:
        """The text below the options; a function that returns it is called late."""
        return self._epilog() if callable(self._epilog) else self._epilog

    @epilog.setter
    def epilog(self, text: str | Callable[[], str] | None) -> None:
        self._epilog = text

    def parse_known_args(self, *given: Any, **named: Any) -> Any:
        """Parse words; report unknown ones as a mistake of this command."""
        arguments, unknown = super().parse_known_args(*given, **named)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return arguments, unknown

    def error(self, message: str) -> NoReturn:
        """Raise the error; see `argparse.ArgumentParser.error`."""
        raise UsageError(self, message.removeprefix("argument "))

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help or the version; argparse would ignore an OSError."""
        print(message, end="", file=file, flush=True)

    @property
    def advanced(self) -> "argparse._ArgumentGroup":
        """The group of rarely needed options, last in the help."""
        for group in self._action_groups:
            if group.title == ADVANCED:
                return group
        text = "for tests and measurements; the defaults suit nearly every run"
        return self.add_argument_group(ADVANCED, text)


# The commands of the program, to which each module adds its own
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


def on_disk(text: str) -> Path:
    """Return a path; refuse `-` and a URL, whose double slash a path would lose."""
    if text == "-":
        raise argparse.ArgumentTypeError(
            "- is standard input or output, which cannot be used here: write the data "
            "to a file, as in PROGRAM > FILE, and give its name"
        )
    if _URL.match(text):
        raise argparse.ArgumentTypeError(
            f"{text} is a URL, but the file must be on this machine: download it "
            f"first, for example with curl -LO {text}"
        )
    return Path(text)


def on_disk_or_input(text: str) -> Path:
    """Return a path, which is `-` for standard input."""
    return Path(text) if text == "-" else on_disk(text)


def setting(text: str) -> tuple[str, str]:
    """Return the name and the value of a setting, NAME=VALUE."""
    name, equals, value = text.partition("=")
    if name in SETTINGS and equals:
        return name, value
    meant = nearest(name, SETTINGS)
    raise argparse.ArgumentTypeError(
        f"{text}: give NAME=VALUE"
        if name in SETTINGS
        else f"there is no setting {name!r}; "
        + (f"did you mean {meant}?" if meant else f"give one of {', '.join(SETTINGS)}")
    )


def size(text: str) -> int:
    """Return a number of bytes, given as text such as 8GiB."""
    try:
        return parse_bytes(text)
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def advice(error: UsageError, words: list[str], known: Iterable[str]) -> str:
    """Return one line that says how to correct an invalid command line.

    `words` is the command line, `known` has the commands.
    """
    command, message = error.parser, str(error)
    given = words[0] if words and not words[0].startswith("-") else ""
    if for_mpirun := _for_mpirun(words, command):
        return for_mpirun
    if given and given not in known:
        near = nearest(given, [*known, *OTHER_NAMES])
        meant = f"; did you mean {OTHER_NAMES.get(near, near)}?" if near else ""
        return f"there is no command {given}{meant or '; see mndmst --help'}"
    unknown = message.removeprefix("unrecognized arguments: ")
    if unknown != message:
        message = _unknown(unknown.split()[0], command)
    elif " required" in message and (strange := _strange(words, command)):
        message = _unknown(strange, command)
    return f"{message}; see mndmst {_name(command)} --help".replace("  ", " ")


def _for_mpirun(words: list[str], command: argparse.ArgumentParser) -> str:
    """Return the line for a number of ranks that is mpirun's; empty without one."""
    for at, word in enumerate(words):
        option = _RANKS.fullmatch(word)
        if option is None or option[1] in command._option_string_actions:
            continue
        number, after = option[2], words[at + 1 :]
        if not number and after and after[0].isdecimal():
            number, *after = after
        rest = " ".join([*words[:at], *after])
        return (
            f"{word} is for mpirun, which starts the ranks: "
            f"mpirun -n {number or 'N'} python -m mndmst {rest}"
        )
    return ""


def _strange(words: list[str], command: argparse.ArgumentParser) -> str:
    """Return the first option that a command does not have; empty if there is none.

    argparse reports a missing option before an unknown one, although a misspelt name
    may be the reason why the option is missing.
    """
    known = list(command._option_string_actions)
    for word in words:
        name = word.partition("=")[0]
        if name.startswith("--") and not any(o.startswith(name) for o in known):
            return word
    return ""


def _unknown(word: str, command: argparse.ArgumentParser) -> str:
    """Return the line for an unknown argument, with the nearest known option."""
    known, name = list(command._option_string_actions), _name(command)
    word = word.partition("=")[0]
    if not name:
        return f"{word}: options stand after a command, mndmst COMMAND {word}"
    if not word.startswith("-"):
        return f"{name} takes no further argument: {word}"
    near = nearest(word, known)
    return f"{name} has no option {word}" + f" (did you mean {near}?)" * bool(near)


def _name(command: argparse.ArgumentParser) -> str:
    return command.prog.removeprefix("mndmst").strip()
