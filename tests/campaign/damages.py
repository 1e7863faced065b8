"""Input files that are damaged: the right result, or one clear line."""

import functools
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

from .case import Case, CaseError, contents, expect, numbers
from .commands import Commands, Ended
from .results import Results
from .stock import READINGS, Reading, copied, formats

LIES = (0, 1, -1, 7, 1 << 31, 1 << 32, 1 << 40, 1 << 60, (1 << 63) - 1)
TEXTS = (b"9" * 13, b"-1", b"1e99", b"nan", b"\n", b" ", b"x", b"[" * 5000, b'"', b"\0")


def run_one(results: Results, case: Case, commands: Commands, stock: Path) -> None:
    """Damage a copy of the stock and read it."""
    draw = case.draw()
    reading = draw.choice(draw.choice((READINGS, READINGS, formats())))
    whole = right_result(commands, stock, reading)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copied(stock, folder)
        paths = [folder / reading.subject]
        if paths[0].is_dir():
            paths = sorted(path for path in paths[0].iterdir() if path.name != "lock")
        path, damage = draw.choice(paths), draw.choice(DAMAGES)
        try:
            damage(draw, path)
            before = contents(folder)
            ended = commands.run(*(word.format(folder) for word in reading.arguments))
            judge(folder, reading, ended, before, whole)
        except CaseError as error:
            done = f"{' '.join(reading.arguments)}: {damage.__name__} {path.name}"
            results.add(case, "failed", CaseError(f"{done}\n{error}"))
        else:
            told = "a clear line" if ended.errors() else "an answer"
            results.add(case, f"{reading.arguments[0]}: {told}")


@functools.cache
def right_result(commands: Commands, stock: Path, reading: Reading) -> str | None:
    """Return the facts that a command finds in whole files, if they must not change."""
    if not reading.right:
        return None
    with tempfile.TemporaryDirectory() as name:
        copied(stock, Path(name))
        ended = commands.run(*(word.format(name) for word in reading.arguments))
    expect(ended.status == 0, ended)
    return facts(ended)


def judge(
    folder: Path, reading: Reading, ended: Ended, before: dict, whole: str | None
) -> None:
    """Check how a command has ended, and that it has changed no file but its own."""
    ended.check(str(folder))
    if ended.status == 0 and whole is not None:
        expect(facts(ended) == whole, f"another result: {ended.out}")
    after = contents(folder)
    own = "kept/" if reading.subject == "kept" else "made/graph/"
    if "--model" in reading.arguments and ended.status == 0:
        own = "model.h5"
    lost = [name for name in before if not name.startswith(own)]
    lost = [name for name in lost if after.get(name) != before[name]]
    expect(not lost, f"changed or removed: {lost}")
    made = [name for name in after if name not in before and not name.startswith(own)]
    expect(ended.status == 0 or not made, f"left behind after an error: {made}")


def facts(ended: Ended) -> str:
    """Return the RESULT line without its seconds."""
    return ended.out.rpartition("RESULT")[2].partition(" seconds=")[0]


def flip(draw: random.Random, path: Path) -> None:
    """Change one to three bytes."""
    data = bytearray(path.read_bytes())
    for _ in range(draw.randint(1, 3)):
        if data:
            data[draw.randrange(len(data))] ^= draw.randint(1, 255)
    path.write_bytes(data)


def zero(draw: random.Random, path: Path) -> None:
    """Put zeros in the place of a range."""
    data = bytearray(path.read_bytes())
    begin = draw.randint(0, len(data))
    length = min(draw.choice((8, 512, 4096)), len(data) - begin)
    data[begin : begin + length] = bytes(length)
    path.write_bytes(data)


def cut(draw: random.Random, path: Path) -> None:
    """Cut the end off."""
    data = path.read_bytes()
    path.write_bytes(data[: draw.randint(0, max(0, len(data) - 1))])


def extend(draw: random.Random, path: Path) -> None:
    """Append what does not belong there."""
    path.write_bytes(path.read_bytes() + draw.randbytes(draw.randint(1, 5000)))


def insert(draw: random.Random, path: Path) -> None:
    """Put a text, or a number that a header could lie with, somewhere."""
    data = path.read_bytes()
    at = draw.choice((0, 4, 8, 16, draw.randint(0, len(data))))
    number = (draw.choice(LIES) % (1 << 64)).to_bytes(8, "little")
    what = draw.choice((*TEXTS, number, number[:4]))
    over = draw.random() < 0.5
    path.write_bytes(data[:at] + what + data[at + over * len(what) :])


def remove(_draw: random.Random, path: Path) -> None:
    """Remove it."""
    path.unlink()


def swap(draw: random.Random, path: Path) -> None:
    """Let it and one beside it have each other's contents."""
    others = [p for p in path.parent.iterdir() if p.is_file() and p != path]
    if others:
        other = draw.choice(sorted(others))
        first, second = path.read_bytes(), other.read_bytes()
        path.write_bytes(second)
        if path.parent.name in ("graph", "kept"):
            other.write_bytes(first)


def replace(draw: random.Random, path: Path) -> None:
    """Put an empty file, noise, or a directory in its place."""
    kind = draw.choice(("empty", "noise", "directory"))
    if kind == "directory":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(draw.randbytes(2000) if kind == "noise" else b"")


def lie(draw: random.Random, path: Path) -> None:
    """Change an attribute of an HDF5 file; its checksums stay right."""
    if not h5py.is_hdf5(path):
        return insert(draw, path)
    with h5py.File(path, "r+") as file:
        items = [file, *(file[name] for name in _names(file))]
        places = [(item, name) for item in items for name in item.attrs]
        if places:
            item, name = draw.choice(places)
            if draw.random() < 0.2:
                del item.attrs[name]
            else:
                texts = "other", np.bytes_("other"), np.bytes_("1"), ""
                item.attrs[name] = draw.choice((*LIES, *texts, 0.5, [1, 2]))
    return None


def alter(draw: random.Random, path: Path) -> None:
    """Change, shorten or remove a dataset of an HDF5 file."""
    if not h5py.is_hdf5(path):
        return flip(draw, path)
    with h5py.File(path, "r+") as file:
        names = [name for name in _names(file) if isinstance(file[name], h5py.Dataset)]
        name = draw.choice(names)
        values, kind = file[name][()], draw.choice(("change", "change", "cut", "none"))
        if kind == "none":
            del file[name]
        elif kind == "cut":
            del file[name]
            cut_values = values[: len(values) // 2]
            file.create_dataset(name, data=cut_values, chunks=True, fletcher32=True)
        elif values.size and values.dtype.kind in "iuf":
            at = numbers(draw).integers(0, values.size, draw.randint(1, 3))
            with np.errstate(all="ignore"):
                values.reshape(-1)[at] = np.array(draw.choice(LIES)).astype(
                    values.dtype
                )
            file[name][...] = values
    return None


DAMAGES: tuple[Callable[[random.Random, Path], None], ...] = (
    *(flip, flip, zero, cut, extend, insert, insert),
    *(remove, swap, replace, lie, lie, alter, alter),
)


def _names(file: h5py.File) -> list[str]:
    names: list[str] = []
    file.visit(names.append)
    return sorted(names)
