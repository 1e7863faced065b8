"""How a run goes on where one that was killed has ended, or finds that all is done.

The plan lies in the working directory as soon as all arcs are in buckets; each part
that is done has a note there. A run with `restart` also leaves a record in the index
of the graph, so that the same run once more finds it finished.
"""

import hashlib
import json
import shutil
from contextlib import suppress
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ConfigError, InputError
from ..edge_file import EdgeFile
from ..layout import (
    INDEX_NAME,
    MADE_FROM,
    MALFORMED,
    open_hdf5,
    read_attribute,
    writing,
)
from ..shard_writer import ShardWriter
from .plan import Plan

if TYPE_CHECKING:
    from . import Options


class Found(Enum):
    """What is there of a run when it begins."""

    NOTHING = "nothing"
    PLAN = "plan"
    GRAPH = "graph"


def describe(file: EdgeFile, options: "Options") -> dict[str, Any]:
    """Return what a restart must have in common with the run before."""
    return file.identity() | {
        "parts": options.parts,
        "symmetrize": options.symmetrize,
        "reorder": options.reorder,
    }


def record_of(described: dict[str, Any]) -> str:
    """Return a digest of what a graph is made from."""
    text = json.dumps(described, sort_keys=True).encode()
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def prepare(options: "Options", described: dict[str, Any]) -> Found:
    """Make the directories ready, and return what is in them to go on from.

    Raises
    ------
    ConfigError
        If what a restart finds was left by another run.
    OutputError
        If the output is not empty or cannot be written.
    """
    found = Found.NOTHING
    if options.restart:
        if _record_in(options.out) == record_of(described):
            shutil.rmtree(options.work, ignore_errors=True)
            return Found.GRAPH
        if (options.work / "plan.json").exists():
            load_plan(options.work, described)
            ShardWriter.take_back(options.out, options.parts)
            found = Found.PLAN
    ShardWriter.claim(options.out, options.overwrite)
    if found is Found.NOTHING:
        with writing(options.work):
            shutil.rmtree(options.work, ignore_errors=True)
            options.work.mkdir(parents=True)
    return found


def _record_in(out: Path) -> Any:
    """Return the record of a whole graph; None if there is none."""
    with suppress(*MALFORMED, InputError), open_hdf5(out / INDEX_NAME) as file:
        return read_attribute(file, MADE_FROM)
    return None


def save_plan(work: Path, described: dict[str, Any], plan: Plan, runs: int) -> None:
    """Save a plan, with the number of files that the arcs are in."""
    fields = {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in asdict(plan).items()
    }
    fields["weight_dtype"] = plan.weight_dtype.name
    write_json(
        work / "plan.json", {"described": described, "plan": fields, "runs": runs}
    )


def load_plan(work: Path, described: dict[str, Any]) -> tuple[Plan, list[Path]]:
    """Return a plan that was saved, and the files that the arcs are in.

    Raises
    ------
    ConfigError
        If another run has left it.
    """
    kept = json.loads((work / "plan.json").read_text())
    before = kept["described"]
    if before != described:
        names = [n for n in before | described if before.get(n) != described.get(n)]
        what = ", ".join(f"{n} {before.get(n)}, not {described.get(n)}" for n in names)
        raise ConfigError(
            f"{work}: was left by a run with {what}. Give the same, or run it without "
            "--restart."
        )
    fields: dict[str, Any] = {
        name: np.array(value, np.int64) if isinstance(value, list) else value
        for name, value in kept["plan"].items()
    }
    fields["weight_dtype"] = np.dtype(fields["weight_dtype"])
    return Plan(**fields), [work / f"run-{rank}" for rank in range(kept["runs"])]


def write_json(path: Path, value: Any) -> None:
    """Write a file that is whole or not there."""
    with writing(path):
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(value))
        temporary.rename(path)
