"""Every option of a run: defaults < TOML file < MNDMST_* variables < flags."""

import os
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..backends import backend_names
from ..graph.tuning import Tuning
from ..host.cores import MOST_THREADS
from ..host.errors import ConfigError, shown

if TYPE_CHECKING:
    from ..comm.communicator import Comm

# The strategies by which parts merge (`solver/merging/choose.py`).
MERGES = ("auto", "devices", "hosts", "replicated", "messages", "ring", "boruvka")
CHOICES = {"backend": backend_names(), "merge": MERGES}
_MOST = 1 << 62
RANGES = {
    "threads": (0, MOST_THREADS),
    "memory": (0, _MOST),
    "gpu_memory": (0, _MOST),
    "group_size": (2, _MOST),
    "light_edges": (0, _MOST),
    "ratio_samples": (1, _MOST),
    "ratio_share": (1e-9, 1),
    "round_gain": (0, 1),
    "recursion_edges": (0, _MOST),
    "leader_edges": (0, _MOST),
    "ring_gain": (0, 1),
    "checkpoint_interval": (0, _MOST),
    "timeout": (0, 1_000_000),
}
# Ranks may differ in these, as their devices do.
OF_RANK = ("backend", "ratio", "threads", "gpu_memory")

# Returns an option and its value as they were typed.
Typed = Callable[[str, Any], str]

_UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", start=1):
    # A letter alone is a power of 1024, as Slurm and Docker take it
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
    if size <= 0:
        raise ConfigError(
            f"{text!r} is not a size; write for example 8G or 8GiB "
            "(units of 2^30 bytes) or 500MB (of 10^6)"
        )
    return size


def parse_ratio(value: str | float | None) -> float | None:
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


@dataclass(frozen=True)
class Config:
    """The options of a run.

    Attributes
    ----------
    backend : {"auto", "cpu", "cuda"}
        Which workers a rank has; auto is the faster one of CPU and GPU by a prediction,
        and both if `ratio` is given or the run is long.
    ratio : float or None
        The GPU's share of a rank's arcs. None chooses it by the devices' speeds, which
        are measured on samples of the rows.
    threads : int
        Threads of the CPU worker; 0 takes this rank's share of the cores.
    memory : int
        Bytes a rank may hold; 0 is its share of the memory of its host, or of its job.
    gpu_memory : int
        Bytes of its GPU that a rank may take; 0 is its share of the free memory. Rows
        that do not fit are streamed from host memory.
    merge : one of `MERGES`
        The strategy by which ranks merge. auto takes the first that suits of devices
        (GPUs of one host merge directly), hosts (the ranks of a host are one team) and
        messages (global Borůvka rounds, then one leader). replicated is hosts without
        shared memory; ring (rings and levels of leaders) and boruvka (rounds alone) are
        messages by one method. A strategy that does not suit the run is replaced by
        the next, and the run says why.
    group_size : int
        Ranks that merge into one leader.
    light_edges : float
        Edges a vertex in the first band; 0 puts all edges into one band.
    ratio_samples, ratio_share : int, float
        How many samples of which share of the rows the ratio is measured on
        (MND-MST 4.3.1).
    round_gain : float
        With merge="auto": global rounds end after one that shrank the edges by a
        smaller share; leaders take over (the diminishing benefits of 4.3.2).
    recursion_edges : int
        A rank's reduced graph with more edges is dealt to both workers again
        (4.3.3).
    leader_edges : int
        A group whose members hold no more edges in all goes to its leader without
        ring rounds (4.3.4).
    ring_gain : float
        Ring rounds end after one that shrank the group's edges by less (4.3.4).
    checkpoint_interval : float
        Seconds from one checkpoint to the next; 0 saves as often as possible.
    timeout : int
        Seconds that a host may be out of reach before the job ends; 0 waits forever.
    tuning : Tuning
        Thresholds that are measured, not options; tests set them.
    """

    backend: str = "auto"
    ratio: float | None = None
    threads: int = 0
    memory: int = 0
    gpu_memory: int = 0
    merge: str = "auto"
    group_size: int = 4
    light_edges: float = 1.3
    ratio_samples: int = 5
    ratio_share: float = 0.05
    round_gain: float = 0.1
    recursion_edges: int = 100_000_000
    leader_edges: int = 1_000_000
    ring_gain: float = 0.1
    checkpoint_interval: float = 60.0
    timeout: int = 120
    tuning: Tuning = field(default_factory=lambda: Tuning.default, repr=False)

    def __post_init__(self) -> None:
        self._read(lambda name, value: f"{name} is {shown(value)}")

    @classmethod
    def load(
        cls,
        file: Path | None,
        flags: Mapping[str, Any],
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
            from ..io.file_access import read_toml  # loads NumPy, which --help spares

            config = config.updated(
                read_toml(file), lambda name, value: f"{file}: {name} = {value!r}"
            )
        variables = {
            option.name: environment[variable]
            for option in _options()
            if (variable := _variable(option.name)) in environment
        }
        config = config.updated(
            variables, lambda name, value: f"{_variable(name)}={value}"
        )
        given = {name: value for name, value in flags.items() if value is not None}
        return config.updated(given, _flag)

    def updated(self, values: Mapping[str, Any], typed: Typed) -> "Config":
        """Return a copy with some options set, from text or values.

        `typed` returns a name and a value as the user has typed them, for messages.
        Raises ConfigError for an option that does not exist or an invalid value.
        """
        unknown = set(values) - {option.name for option in _options()}
        if unknown:
            name = min(unknown)
            raise ConfigError(f"{typed(name, values[name])}: there is no such option")
        changed = replace(self)
        for name, value in values.items():
            object.__setattr__(changed, name, value)
        changed._read(typed)
        return changed

    def _read(self, typed: Typed) -> None:
        """Replace text by values; raise a ConfigError for invalid text."""
        for option in _options():
            given = getattr(self, option.name)
            try:
                value = _read(option.name, option.default, given)
            except ConfigError as error:
                raise ConfigError(f"{typed(option.name, given)}: {error}") from error
            object.__setattr__(self, option.name, value)

    def as_dict(self) -> dict[str, Any]:
        """Return the options as plain values, for outputs."""
        return {option.name: getattr(self, option.name) for option in _options()}


def on_all_ranks(comm: "Comm", load: Callable[[], Config]) -> Config:
    """Return the options of the first rank, but this rank's own for its devices.

    Collective: ranks may have been given another environment, or files that differ. An
    error of `load` is raised on every rank.
    """
    with comm.raise_on_all():
        mine = load()
    own = {name: getattr(mine, name) for name in OF_RANK}
    return replace(comm.bcast(mine), **own)


def _options() -> list[Field[Any]]:
    """Return the fields that users set."""
    return [option for option in fields(Config) if option.name != "tuning"]


def _variable(name: str) -> str:
    return f"MNDMST_{name.upper()}"


def _flag(name: str, value: Any) -> str:
    return f"--{name.replace('_', '-')} {value}"


def _read(name: str, default: Any, value: Any) -> Any:
    """Return the value of an option, given as such or as text."""
    if name == "ratio":
        return parse_ratio(value)
    if name in CHOICES:
        if value not in CHOICES[name]:
            raise ConfigError(f"give one of {', '.join(CHOICES[name])}")
        return value
    if name in ("memory", "gpu_memory") and isinstance(value, str):
        return parse_bytes(value)
    whole = isinstance(default, int)
    least, most = RANGES[name]
    try:
        read = int if whole and isinstance(value, str) else index if whole else float
        number = read(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        raise ConfigError(
            f"give {'a whole' if whole else 'a'} number, {least} or more"
            + (f", at most {most:,}" if most < _MOST else "")
        )
    return number
