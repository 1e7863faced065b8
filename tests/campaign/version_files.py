"""Points that come and go by files and in a service, beside fits on ranks."""

import os
import random
import signal
import subprocess
import threading
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from processes import finish, on_ranks, start
from services import Served

import mndmst
from mndmst.api.forest import Forest
from mndmst.host.errors import MndmstError

from .case import expect
from .commands import Commands
from .versions import (
    FOLLOWED,
    RULE,
    compare,
    draw_gone,
    draw_new,
    draw_points,
    draw_rule,
)
from .versions import check as check_in_python

LONGEST = 300
Batch = dict[str, Any]
IDS = ("none", "integers", "texts", "dates")
BAD = ("unknown", "twice", "again", "nan", "text", "short", "empty")


def check(draw: random.Random, folder: Path, commands: Commands) -> str:
    """Change points in Python, by files or in a service; return the outcome."""
    kind = draw.random()
    if kind < 0.02:
        return check_service(draw, folder)
    if kind < 0.08:
        return check_files(draw, folder, commands)
    return check_in_python(draw, folder)


def options(model: mndmst.HDBSCAN) -> tuple[object, ...]:
    """Return the options of commands for an estimator's parameters."""
    words = "--metric", model.metric
    for name in RULE:
        if (value := getattr(model, name)) is not None:
            words += f"--{name.replace('_', '-')}", value
    return words


def draw_model(draw: random.Random) -> tuple[mndmst.HDBSCAN, np.ndarray]:
    """Return an estimator, fitted to points, and the points."""
    metric, dimensions = draw.choice(FOLLOWED), draw.choice((1, 2, 3, 12, 20))
    count = draw.choice((20, 90, 700, 1100))
    points = draw_points(draw, metric, count, dimensions)
    model = mndmst.HDBSCAN(draw.randint(2, 9), draw.choice((None, 1, 4)), metric=metric)
    return model.fit(points), points


def check_on_ranks(
    draw: random.Random, folder: Path, model: mndmst.HDBSCAN, points: np.ndarray
) -> None:
    """Compare an estimator with the command on 1 to 3 ranks."""
    np.save(folder / "present.npy", points)
    files = "-o", folder / "fresh.h5", "--forest", folder / "fresh-forest.h5"
    words = "hdbscan", folder / "present.npy", *files, *options(model), "-q"
    ranks = draw.randint(1, 3)
    run = finish(start(on_ranks(ranks, "-m", "mndmst", *words)), LONGEST)
    expect(run.returncode == 0, run)
    digest = Forest.read(folder / "fresh-forest.h5").digest
    expect(digest == model.forest_.digest, f"another forest on {ranks} ranks")
    with h5py.File(folder / "fresh.h5") as file:
        labels, probabilities = file["labels"][:], file["probabilities"][:]
    given = np.append(model.cluster_numbers_, -1)
    expect(np.array_equal(model.labels_, given[labels]), f"labels on {ranks} ranks")
    same = np.array_equal(model.probabilities_, probabilities)
    expect(same, f"probabilities on {ranks} ranks")


class Names:
    """Ids of a user for the points 0, 1, ..., and the tables that have them."""

    def __init__(self, draw: random.Random, folder: Path) -> None:
        self.kind, self.folder, self.draw = draw.choice(IDS), folder, draw
        self.order = draw.sample(range(20_000), 20_000)

    def of(self, point: int) -> object:
        """Return the id of a point."""
        number = self.order[point]
        match self.kind:
            case "none":
                return point
            case "integers":
                return number
            case "texts":
                return f"news {number}, {number % 7}"
            case _:
                return str(np.datetime64("2026-01-01T00:00") + number)

    def write(self, name: str, points: np.ndarray, ids: list[int]) -> Path:
        """Write points with their ids as a table."""
        heads = [f"c{i}" for i in range(points.shape[1])]
        columns = dict(zip(heads, points.T, strict=True))
        if self.kind != "none":
            columns = {"id": [self.of(point) for point in ids], **columns}
        if self.draw.random() < 0.5 and find_spec("pyarrow") is not None:
            import pyarrow
            import pyarrow.parquet

            path = self.folder / f"{name}.parquet"
            pyarrow.parquet.write_table(pyarrow.table(columns), path)
            return path
        path = self.folder / f"{name}.csv"
        rows = zip(*(map(cell, column) for column in columns.values()), strict=True)
        lines = [",".join(columns), *map(",".join, rows)]
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    def write_ids(self, name: str, ids: list[int]) -> Path:
        """Write ids as a text of lines or a table."""
        cells = [str(self.of(point)) for point in ids]
        if self.draw.random() < 0.5:
            path = self.folder / f"{name}.txt"
            path.write_text("".join(f"{each}\n" for each in cells))
            return path
        path = self.folder / f"{name}.csv"
        lines = [f"7,{cell(self.of(point))}\n" for point in ids]
        path.write_text("day,id\n" + "".join(lines))
        return path


def cell(value: object) -> str:
    """Return a value as a cell of a table."""
    text = value if isinstance(value, str) else repr(np.asarray(value).item())
    return f'"{text}"' if "," in text else text


def check_files(draw: random.Random, folder: Path, commands: Commands) -> str:
    """Let a model of files go on for some days; commands are killed now and then."""
    model, points = draw_model(draw)
    names, path = Names(draw, folder), folder / "model.h5"
    table = names.write("old", points, list(range(len(points))))
    first = "hdbscan", table, "-o", path, "--prediction-data", *options(model), "-q"
    ended = commands.run(*first)
    expect(ended.status == 0, ended)
    same: dict[int, int] = {
        number: number for number in model.cluster_numbers_.tolist()
    }
    next_id = len(points)
    for day in range(1, draw.randint(3, 6)):
        gone = draw_gone(draw, model.labels_)
        new = draw_new(draw, str(model.metric), points)
        size = model.min_cluster_size
        if draw.random() < 0.3:
            size = draw.randint(2, 9)
        if not len(new) and not gone and size == model.min_cluster_size:
            continue
        removed = model.ids_[gone].tolist()
        draw.shuffle(removed)
        taken = list(range(next_id, next_id + len(new)))
        next_id += len(new)
        files = "--forest", folder / "forest.h5", "--save", folder / "saved.npy"
        words: tuple[object, ...] = (
            "hdbscan",
            "--model",
            path,
            *files,
            "--overwrite",
            "-q",
        )
        if size != model.min_cluster_size:
            words += "--min-cluster-size", size
        if draw.random() < 0.4:
            refuse(draw, folder, commands, names, path, model)
        if len(new):
            words += "--insert", names.write(f"new{day}", new, taken)
        if removed:
            words += "--remove", names.write_ids(f"gone{day}", removed)
        before = path.read_bytes()
        done = False
        if draw.random() < 0.3:  # killed, before the model, the last file, or after it
            commands.run(*words, seconds=draw.uniform(0.01, 0.8))
            done = path.read_bytes() != before
        if not done:
            ended = commands.run(*words)
            expect(ended.status == 0, ended)
        model.min_cluster_size = size
        model.update(new if len(new) else None, taken if len(new) else None, removed)
        points = np.concatenate([np.delete(points, gone, axis=0), new])
        check_model(path, model, same)
        expect(
            Forest.read(folder / "forest.h5").digest == model.forest_.digest,
            f"another forest on day {day}",
        )
    if (folder / "forest.h5").exists():
        expect(np.load(folder / "saved.npy").tobytes() == points.tobytes(), "points")
        verdict = commands.run("verify", folder / "saved.npy", folder / "forest.h5")
        expect(verdict.status == 0, verdict)
    if draw.random() < 0.4:
        check_on_ranks(draw, folder, model, points)
    return f"files: ids {names.kind}"


def check_model(path: Path, model: mndmst.HDBSCAN, same: dict[int, int]) -> None:
    """Compare a file with an estimator, whose new clusters may have other numbers.

    `same` has the numbers of the estimator by those of the file; new ones are added.
    """
    with h5py.File(path) as file:
        labels, probabilities = file["labels"][:], file["probabilities"][:]
        version = int(file.attrs["point_version"])
    expect(version == model.version_, f"{version} for {model.version_}")
    expect(np.array_equal(probabilities, model.probabilities_), "probabilities")
    pairs = set(zip(labels.tolist(), model.labels_.tolist(), strict=True))
    for found, wanted in pairs:
        expect((found < 0) == (wanted < 0), f"{found} for {wanted}")
        if found >= 0:
            known = same.setdefault(found, wanted)
            expect(known == wanted, f"cluster {found} was {known} and is {wanted}")
    expect(len(set(same.values())) == len(same), same)


def refuse(
    draw: random.Random,
    folder: Path,
    commands: Commands,
    names: Names,
    path: Path,
    model: mndmst.HDBSCAN,
) -> None:
    """Give a bad batch, which is one sentence and changes nothing."""
    kind, before = draw.choice(BAD), path.read_bytes()
    present = int(model.ids_[0])
    dimensions = model.n_features_in_
    far = 19_000 + draw.randrange(900)
    point = np.ones((1, dimensions))
    bad = folder / "bad.csv"
    heads = [
        *(["id"] if names.kind != "none" else []),
        *(f"c{i}" for i in range(dimensions)),
    ]
    cells = [
        *([cell(names.of(far))] if names.kind != "none" else []),
        *["1.5"] * dimensions,
    ]
    option = "--insert"
    match kind:
        case "unknown":
            option, bad = "--remove", names.write_ids("bad", [present, far])
        case "twice":
            option, bad = "--remove", names.write_ids("bad", [present, present])
        case "again":
            if names.kind == "none":
                return
            bad = names.write("bad", point, [present])
        case "nan" | "text":
            cells[-1] = "nan" if kind == "nan" else "abc"
        case "short":
            heads, cells = heads[:-1], cells[:-1]
    if kind in ("nan", "text", "short", "empty"):
        rows = [heads, *([cells] if kind != "empty" else [])]
        bad.write_text("".join(f"{','.join(row)}\n" for row in rows))
    ended = commands.run("hdbscan", "--model", path, option, bad, "-q")
    expect(ended.status == 1, f"{kind}: {ended}")
    ended.check(bad.name)
    expect(path.read_bytes() == before, f"{kind} changed the model")


class Writer(threading.Thread):
    """Sends batches until the service is gone or all are done."""

    def __init__(self, service: Served, batches: list[Batch]) -> None:
        super().__init__(daemon=True)
        self.service, self.batches, self.done = service, batches, 0
        self.killed = threading.Event()  # set before the service is killed
        self.problem: Exception | None = None

    def run(self) -> None:
        """Send the batches."""
        try:
            with self.service.connect() as client:
                served = client.points("p")
                for batch in self.batches:
                    if "rule" in batch:
                        served.set_params(**batch["rule"])
                    else:
                        served.update(**batch)
                    self.done += 1
        except MndmstError as error:
            if not self.killed.is_set():
                self.problem = error


def check_service(draw: random.Random, folder: Path) -> str:
    """Change points in services on ranks that are killed and go on from the journal."""
    if find_spec("pyarrow") is None:
        return "service: pyarrow is missing"
    model, points = draw_model(draw)
    np.save(folder / "p.npy", points)
    words = ("--points", folder / "p.npy", "--journal", folder / "journal", "-q")
    words += options(model)
    services = draw.randint(2, 3)
    planned: list[Batch] = []
    acknowledged = 0
    for number in range(services + 1):
        service = Served(folder, draw.randint(1, 3), *words)
        try:
            with service.connect() as client:
                served = client.points("p")
                version = served.info()["version"]
                # The last batch may have come without an answer
                expected = acknowledged <= version <= acknowledged + 1
                expect(expected, f"{version} after {acknowledged} answers")
                for batch in planned[: version - model.version_]:
                    points = followed(model, points, batch)
                    compare(model, points)
                check_labels(served, model)
                expect(served.fetch().forest.digest == model.forest_.digest, "forest")
                if draw.random() < 0.3:
                    served.snapshot()
            if number == services:
                break
            planned = plan(draw, model, points)
            writer = Writer(service, planned)
            writer.start()
            time.sleep(draw.uniform(0, 1.5))
            writer.killed.set()
            if draw.random() < 0.5:  # one rank, which ends the others
                one = draw.choice(list(service.ranks().values()))
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
                with suppress(subprocess.TimeoutExpired):
                    service.process.wait(60)
            service.kill()
            writer.join(60)
            expect(not writer.is_alive(), "a client hangs")
            expect(writer.problem is None, writer.problem)
            acknowledged = model.version_ + writer.done
        finally:
            service.kill()
    check_on_ranks(draw, folder, model, points)
    return f"service: {services} kills, {model.version_} batches"


def plan(draw: random.Random, model: mndmst.HDBSCAN, points: np.ndarray) -> list[Batch]:
    """Return batches, each for the version that the one before it makes."""
    ids, next_id = model.ids_.tolist(), 10_000 * (model.version_ + 1)
    batches: list[Batch] = []
    for _ in range(draw.randint(3, 12)):
        if draw.random() < 0.15:
            batches.append({"rule": draw_rule(draw)})
        gone = draw.sample(ids, draw.randint(0, min(9, max(0, len(ids) - 12))))
        new = draw_new(draw, str(model.metric), points)
        batch: Batch = {"remove": gone} if gone else {}
        ids = [each for each in ids if each not in set(gone)]
        if len(new):
            taken = list(range(next_id, next_id + len(new)))
            next_id += len(new)
            batch |= {"insert": new, "ids": taken}
            ids += taken
        if batch:
            batches.append(batch)
    return batches


def followed(model: mndmst.HDBSCAN, points: np.ndarray, batch: Batch) -> np.ndarray:
    """Change an estimator by a batch; return its points."""
    if "rule" in batch:
        model.set_params(**batch["rule"]).update()
        return points
    gone = np.isin(model.ids_, np.array(batch.get("remove", []), np.int64))
    model.update(**batch)
    kept = points[~gone]
    return np.concatenate([kept, batch["insert"]]) if "insert" in batch else kept


def check_labels(served: Any, model: mndmst.HDBSCAN) -> None:
    """Compare labels of a service with those of an estimator of the same batches."""
    table = served.labels()
    expect(table["id"].to_pylist() == model.ids_.tolist(), "ids of the service")
    found = table["cluster"].to_numpy()
    expect(np.array_equal(found, model.labels_), f"{found} for {model.labels_}")
    found = table["probability"].to_numpy()
    expect(np.array_equal(found, model.probabilities_), "probabilities")
