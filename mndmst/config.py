"""Every option of a run: defaults < TOML file < MNDMST_* variables < flags."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from .errors import ConfigError

MERGES = ("auto", "messages", "ring", "boruvka", "devices")

_UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", start=1):
    _UNITS |= {f"{_letter}b": 1000**_power, f"{_letter}ib": 1024**_power}


def parse_bytes(text: str) -> int:
    """Read a size such as 512MiB, 8GB or 1000000; raise ConfigError otherwise."""
    number = text.strip().lower().rstrip("bikmgt")
    unit = text.strip().lower()[len(number) :]
    try:
        size = int(float(number) * _UNITS[unit])
    except (ValueError, KeyError):
        size = 0
    if size <= 0:
        raise ConfigError(f"'{text}' is not a size; write for example 8GiB or 500MB")
    return size


def parse_ratio(text: str) -> float | str | None:
    """Read a share between 0 and 1, `measure`, or `auto` (None)."""
    if text in ("auto", "measure"):
        return None if text == "auto" else text
    try:
        ratio = float(text)
    except ValueError:
        ratio = -1.0
    if not 0.0 <= ratio <= 1.0:
        raise ConfigError(
            f"ratio '{text}' is neither 'auto' nor 'measure' nor between 0 and 1"
        )
    return ratio


@dataclass(frozen=True)
class Config:
    """The options of a run.

    Attributes
    ----------
    backend : {"auto", "cpu", "cuda"}
        Which workers a rank has; auto is the CPU and, where there is one, a GPU.
    ratio : float, "measure" or None
        The GPU's share of a rank's arcs. None chooses it by the devices' speeds,
        which are measured once for each machine and family of graphs; "measure"
        measures them anew.
    threads : int
        Threads of the CPU worker; 0 takes this rank's share of the cores.
    memory : int
        Bytes a rank may hold; 0 is its share of what its host, or its job, has.
    gpu_memory : int
        Bytes of its GPU that a rank may take; 0 is its share of what is free. Rows
        that do not fit are streamed from host memory.
    merge : one of `MERGES`
        How ranks merge: by rings and leaders, by global Borůvka rounds, or by messages
        in whichever of these ways is predicted to be faster on the network at hand
        (`costs.py`). With auto, ranks of one host merge on their GPUs, if all have
        their rows there (`devices.py`), or in shared memory (`together.py`), and else
        by messages; devices does the same, and tells if it cannot be on GPUs.
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
        Seconds that a host may be out of reach before the job ends; 0 waits for ever.
    """

    backend: str = "auto"
    ratio: float | str | None = None
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

    def __post_init__(self) -> None:
        _one_of("backend", self.backend, ("auto", "cpu", "cuda"))
        _one_of("merge", self.merge, MERGES)
        _at_least("group_size", self.group_size, 2)
        _at_least("ratio_samples", self.ratio_samples, 1)
        _at_least("threads", self.threads, 0)
        _at_least("checkpoint_interval", self.checkpoint_interval, 0)
        _at_least("timeout", self.timeout, 0)
        if not 0 < self.ratio_share <= 1:
            raise ConfigError(
                f"ratio_share is {self.ratio_share}; give more than 0, at most 1"
            )

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
            For an option that does not exist or a value that cannot be.
        """
        config = cls()
        if file is not None:
            try:
                config = config.updated(tomllib.loads(file.read_text()), str(file))
            except (OSError, tomllib.TOMLDecodeError) as error:
                raise ConfigError(f"{file}: {error}") from error
        for field in fields(cls):
            variable = f"MNDMST_{field.name.upper()}"
            if variable in environment:
                value = {field.name: environment[variable]}
                config = config.updated(value, f"environment variable {variable}")
        given = {name: value for name, value in flags.items() if value is not None}
        return config.updated(given, "command line")

    def updated(self, values: Mapping[str, Any], source: str) -> "Config":
        """Return a copy with some options set, from text where they are text."""
        unknown = set(values) - {field.name for field in fields(self)}
        if unknown:
            raise ConfigError(f"{source}: no such option: {', '.join(sorted(unknown))}")
        try:
            return replace(
                self, **{name: self._read(name, v) for name, v in values.items()}
            )
        except (ValueError, ConfigError) as error:
            raise ConfigError(f"{source}: {error}") from error

    def _read(self, name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if name in ("memory", "gpu_memory"):
            return parse_bytes(value)
        if name == "ratio":
            return parse_ratio(value)
        return type(getattr(self, name))(value)

    def as_dict(self) -> dict[str, Any]:
        """Return the options as plain values, for outputs."""
        return asdict(self)


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{name} is '{value}'; give one of {', '.join(choices)}")


def _at_least(name: str, value: float, least: int) -> None:
    if value < least:
        raise ConfigError(f"{name} is {value}; give {least} or more")
