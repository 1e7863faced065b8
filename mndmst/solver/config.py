"""Every option of a run: defaults < TOML file < MNDMST_* variables < flags."""

import os
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING

from ..backends import backend_names
from ..graph.tuning import MOST, SETTINGS, Tuning
from ..host.cores import MOST_THREADS
from ..host.errors import ConfigError, nearest, shown

if TYPE_CHECKING:
    from ..comm.communicator import Comm

# The keys of `CANDIDATES` in `solver/merging/choose.py`, which this module does not
# import
MERGES = ("auto", "devices", "hosts", "replicated", "messages", "ring", "boruvka")
CHOICES = {"backend": backend_names(), "merge": MERGES}
RANGES = {
    "threads": (0, MOST_THREADS),
    "memory": (0, MOST),
    "gpu_memory": (0, MOST),
    "light_edges": (0, MOST),
    "checkpoint_interval": (0, MOST),
    "timeout": (0, 1_000_000),
    **SETTINGS,
}
# Options that may differ between ranks
OF_RANK = ("backend", "ratio", "threads", "gpu_memory")

# Returns the text of an option and its value as the user typed them.
Typed = Callable[[str, object], str]


def _keyword(name: str, value: object) -> str:
    return f"{name} is {shown(value)}"


_UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", start=1):
    # A single letter is a power of 1024, as in Slurm and Docker
    _UNITS |= dict.fromkeys((_letter, f"{_letter}ib"), 1024**_power)
    _UNITS[f"{_letter}b"] = 1000**_power


def parse_bytes(text: str) -> int:
    """Read a size such as 512MiB, 8G, 8GB or 1000000; raise ConfigError otherwise.

    8G and 8GiB are 8 * 2^30 bytes, and 8GB are 8 * 10^9.
    """
    number = text.strip().lower().rstrip("bikmgt")
    unit = text.strip().lower()[len(number) :]
    try:
        size = int(float(number) * _UNITS[unit])
    except (ValueError, KeyError, OverflowError):
        size = 0
    if not 0 < size <= MOST:
        raise ConfigError(
            f"{shown(text)} is not a size; write for example 8G or 8GiB "
            "(units of 2^30 bytes) or 500MB (of 10^6)"
        )
    return size


def parse_ratio(value: object) -> float | None:
    """Read a share between 0 and 1, or `auto` (None)."""
    if value in ("auto", None):
        return None
    try:
        ratio = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        ratio = -1.0
    if isinstance(value, bool) or not 0.0 <= ratio <= 1.0:
        raise ConfigError("give a share between 0 and 1, or auto")
    return ratio


@dataclass(unsafe_hash=True)
class Config:
    """The options of a run; each is set once, from a value or from text.

    Attributes
    ----------
    backend : {"auto", "cpu", "cuda"}
        The workers of a rank; auto is the predicted faster one of CPU and GPU, and both
        if `ratio` is given or the run is long.
    ratio : float or None
        The GPU's share of a rank's arcs. None chooses it by the devices' speeds, which
        are measured on samples of the rows.
    threads : int
        Threads of the CPU worker; 0 takes this rank's share of the cores.
    memory : int
        Bytes a rank may hold; 0 is its share of the memory of its host, or of its job.
    gpu_memory : int
        Bytes of its GPU that a rank may use; 0 is its share of the free memory. Rows
        that do not fit are streamed from host memory.
    merge : one of `MERGES`
        The strategy by which ranks merge. auto is the first suitable one of devices
        (GPUs of one host merge directly), hosts (the ranks of a host are one team) and
        messages (global Borůvka rounds, then one leader). replicated is hosts without
        shared memory; ring (rings and levels of leaders) and boruvka (only rounds) are
        variants of messages. If a strategy does not suit the run, the next one is used,
        and the run prints the reason.
    light_edges : float
        Edges a vertex in the first band; 0 puts all edges into one band.
    checkpoint_interval : float
        Seconds from one checkpoint to the next; 0 saves as often as possible.
    timeout : int
        Seconds for which a host may be unreachable before the job ends; 0 is forever.
    tuning : Tuning
        Thresholds. Users set those in `SETTINGS`; the others are measured.
    """

    backend: str = "auto"
    ratio: float | None = None
    threads: int = 0
    memory: int = 0
    gpu_memory: int = 0
    merge: str = "auto"
    light_edges: float = 1.3
    checkpoint_interval: float = 60.0
    timeout: int = 120
    tuning: Tuning = field(default_factory=lambda: Tuning.default, repr=False)

    def __setattr__(self, name: str, value: object) -> None:
        if name in vars(self):
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        if name != "tuning":
            value = _value(name, value, _keyword)
        elif isinstance(value, Tuning):
            settings = {each: getattr(value, each) for each in SETTINGS}
            value = replace(value, **_values(settings, _keyword))  # type: ignore[arg-type]
        else:
            raise ConfigError(f"tuning is {shown(value)}; give a Tuning")
        super().__setattr__(name, value)

    @classmethod
    def load(
        cls,
        file: Path | None,
        flags: Mapping[str, object],
        environment: Mapping[str, str] = os.environ,
    ) -> "Config":
        """Return the configuration from all its sources; later ones win.

        Raises
        ------
        ConfigError
            For an option that does not exist or an invalid value.
        """
        config = cls()
        if file is not None:
            from ..io.file_access import read_toml  # loads NumPy, which --help avoids

            config = config.updated(
                read_toml(file), lambda name, value: f"{file}: {name} = {value!r}"
            )
        variables = {
            name: environment[variable]
            for name in DEFAULTS
            if (variable := _variable(name)) in environment
        }
        config = config.updated(
            variables, lambda name, value: f"{_variable(name)}={value}"
        )
        given = {name: value for name, value in flags.items() if value is not None}
        return config.updated(given, _flag)

    def updated(
        self, values: Mapping[str, object], typed: Typed = _keyword
    ) -> "Config":
        """Return a copy with some options set, from text or values.

        Options are fields, and settings of `tuning`. `typed` returns the text of a name
        and a value as the user typed them, for messages. Raises ConfigError for an
        option that does not exist or an invalid value.
        """
        for name in sorted(values.keys() - DEFAULTS.keys()):
            similar = nearest(name, DEFAULTS)
            raise ConfigError(
                f"{typed(name, values[name])}: there is no such option"
                + (f"; did you mean {similar}?" if similar else "")
            )
        changes = _values(values, typed)
        settings = {each: changes.pop(each) for each in SETTINGS if each in changes}
        tuning = replace(self.tuning, **settings)  # type: ignore[arg-type]
        return replace(self, tuning=tuning, **changes)  # type: ignore[arg-type]

    def as_dict(self) -> dict[str, object]:
        """Return the options as plain values, for outputs."""
        return {
            name: getattr(self.tuning if name in SETTINGS else self, name)
            for name in DEFAULTS
        }


# The options that users set, and their defaults: fields, and settings of `tuning`.
DEFAULTS = {
    option.name: option.default for option in fields(Config) if option.name != "tuning"
} | {
    option.name: option.default for option in fields(Tuning) if option.name in SETTINGS
}


def on_all_ranks(comm: "Comm", load: Callable[[], Config]) -> Config:
    """Return the options of the first rank, except `OF_RANK`. Collective.

    Ranks may have different environments, or different files. An error of `load` is
    raised on every rank.
    """
    with comm.raise_on_all():
        loaded = load()
    of_rank = {name: getattr(loaded, name) for name in OF_RANK}
    return replace(comm.bcast(loaded), **of_rank)


def _variable(name: str) -> str:
    return f"MNDMST_{name.upper()}"


def _flag(name: str, value: object) -> str:
    if name in SETTINGS:
        return f"--set {name}={value}"
    return f"--{name.replace('_', '-')} {value}"


def _values(given: Mapping[str, object], typed: Typed) -> dict[str, object]:
    """Return the values of options that are given as values or text."""
    return {name: _value(name, value, typed) for name, value in given.items()}


def _value(name: str, given: object, typed: Typed) -> object:
    try:
        return _read(name, given)
    except ConfigError as error:
        raise ConfigError(f"{typed(name, given)}: {error}") from error


def _read(name: str, value: object) -> object:
    """Return the checked value of an option, given as a value or as text."""
    if name == "ratio":
        return parse_ratio(value)
    if name in CHOICES:
        if value not in CHOICES[name]:
            raise ConfigError(f"give one of {', '.join(CHOICES[name])}")
        return value
    if name in ("memory", "gpu_memory") and isinstance(value, str):
        return parse_bytes(value)
    whole = isinstance(DEFAULTS[name], int)
    least, most = RANGES[name]
    try:
        read = int if whole and isinstance(value, str) else index if whole else float
        number = read(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        raise ConfigError(
            f"give {'a whole' if whole else 'a'} number, {least} or more"
            + (f", at most {most:,}" if most < MOST else "")
        )
    return number
