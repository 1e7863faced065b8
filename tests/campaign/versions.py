"""Points that come and go in batches, beside a fresh fit of the present points."""

import random
from pathlib import Path

import numpy as np

import mndmst
from mndmst.io.atomic_output import AtomicOutput
from mndmst.io.results.forest_file import ForestHeader, write_forest_in
from mndmst.points.certificate.point_certificate import verify_points
from mndmst.points.metrics import METRICS
from mndmst.points.point_files import uuid_of

from .case import expect, numbers

SHAPES = ("normal", "grid", "copies", "line", "equal")
LEAST = 5  # points that stay, so that each min_samples is allowed
FITTED = ("probabilities_", "outlier_scores_", "cluster_persistence_")


def check(draw: random.Random, folder: Path) -> str:
    """Change points by some batches; return the metric and whether many points are."""
    metric = draw.choice(list(METRICS))
    dimensions = draw.choice((1, 2, 2, 3, 5, 12, 50))
    if metric == "haversine":
        dimensions = 2
    if metric == "correlation":
        dimensions = max(dimensions, 3)
    kind = np.float32 if draw.random() < 0.3 else np.float64
    many = draw.random() < 0.3  # beyond the kernel of a few points
    count = draw.randint(600, 900) if many else draw.randint(LEAST, 120)
    model = mndmst.HDBSCAN(
        draw.randint(2, 9),
        draw.choice((None, 1, 2, LEAST - 1)),
        metric=metric,
        cluster_selection_method=draw.choice(("eom", "leaf")),
        allow_single_cluster=draw.random() < 0.2,
    )
    points = draw_points(draw, metric, count, dimensions).astype(kind)
    named = draw.random() < 0.5
    ids = draw.sample(range(10 * count), count) if named else list(range(count))
    model.fit(points, ids=ids if named else None)
    ever = set(model.cluster_numbers_.tolist())
    next_id = 10 * count if named else count
    for _ in range(draw.randint(2, 4)):
        if draw.random() < 0.3:
            check_refusal(draw, model, dimensions)
        if draw.random() < 0.2:
            model.min_cluster_size = draw.randint(2, 9)
        gone = draw_gone(draw, len(points))
        new = draw_points(draw, metric, draw.choice((0, 1, 7, 40)), dimensions)
        if len(new) and draw.random() < 0.4:  # points that are there
            new = points[draw.choices(range(len(points)), k=len(new))]
        new = new.astype(kind)
        new_ids = list(range(next_id, next_id + len(new)))
        next_id += len(new)
        remove = [ids[row] for row in gone]
        draw.shuffle(remove)
        inserted = new if len(new) else None
        found = model.update(inserted, new_ids if named and len(new) else None, remove)
        expect(found.tolist() == new_ids, f"ids {found} for {new_ids}")
        points = np.concatenate([np.delete(points, gone, axis=0), new])
        ids = [one for row, one in enumerate(ids) if row not in set(gone)] + new_ids
        expect(model.ids_.tolist() == ids, f"{model.ids_} for {ids}")
        before, now = ever, set(model.cluster_numbers_.tolist())
        compare(model, points)
        fresh = {n for event in model.events_ for n in event.new}
        expect(now - before <= fresh, f"{now - before} without an event")
        ever = before | now
    if draw.random() < 0.3:
        prove(model, points, folder)
    return f"{metric}, {'many' if many else 'few'} points"


def draw_points(
    draw: random.Random, metric: str, count: int, dimensions: int
) -> np.ndarray:
    """Return points that a metric can compare, with ties, copies or neither."""
    source, shape = numbers(draw), draw.choice(SHAPES)
    points = source.normal(size=(count, dimensions))
    if shape == "grid":
        points = points.round()
    elif shape == "copies" and count:
        points = points[source.integers(0, -(-count // 4), count)]
    elif shape == "line":
        points[:, 1:] = 0
        points = points[np.argsort(points[:, 0])]
    elif shape == "equal":
        points[:] = points[:1]
    if metric in ("cosine", "correlation"):
        points[:, 0] += 10  # no zero vector, and no constant row
    if metric == "haversine":
        points = np.clip(points / 4, -1.5, 1.5)
    return points


def draw_gone(draw: random.Random, count: int) -> list[int]:
    """Return the rows to remove: none, one, some, or all but a few."""
    most = count - LEAST
    return draw.sample(range(count), draw.choice((0, min(1, most), most // 5, most)))


def check_refusal(draw: random.Random, model: mndmst.HDBSCAN, dimensions: int) -> None:
    """Give a bad batch, which changes nothing."""
    new, first = np.ones((2, dimensions)), int(model.ids_[0])
    bad = draw.choice((
        {"remove": [first, 1 << 40]},
        {"remove": [first, first]},
        {"insert": np.full((1, dimensions), np.nan), "remove": [first]},
        {"insert": np.ones((2, dimensions + 1)), "remove": [first]},
        {"insert": new, "ids": [1 << 40, 1 << 40]},
        {"insert": new, "ids": [1 << 40, first]},
    ))  # fmt: skip
    before = model.version_, model.ids_.tolist(), model.labels_.tolist()
    try:
        model.update(**bad)
    except ValueError:  # of mndmst, or of scikit-learn's checks
        pass
    else:
        expect(False, f"not refused: {bad}")
    after = model.version_, model.ids_.tolist(), model.labels_.tolist()
    expect(after == before, f"changed by {bad}")


def compare(model: mndmst.HDBSCAN, points: np.ndarray) -> None:
    """Compare a model with a fresh fit of its points, bit by bit."""
    parameters = model.get_params()
    fresh = mndmst.HDBSCAN(**parameters).fit(points)
    about = f"version {model.version_}, {parameters}"
    for name in ("src", "dst", "weight"):
        found, wanted = (getattr(one.forest_, name) for one in (model, fresh))
        expect(np.array_equal(found, wanted), f"{name} of the forest: {about}")
    for name in FITTED:
        found, wanted = getattr(model, name), getattr(fresh, name)
        expect(np.array_equal(found, wanted, equal_nan=True), f"{name}: {about}")
    given = np.append(model.cluster_numbers_, -1)
    expect(len(set(given.tolist())) == len(given), f"numbers {given}: {about}")
    expect(np.array_equal(model.labels_, given[fresh.labels_]), f"labels: {about}")


def prove(model: mndmst.HDBSCAN, points: np.ndarray, folder: Path) -> None:
    """Let the certificate decide on the forest of a version."""
    forest, path = model.forest_, folder / "forest.h5"
    samples = model.min_samples or model.min_cluster_size
    header = ForestHeader(
        uuid_of(points),
        len(points),
        forest.total_weight,
        forest.digest,
        {"metric": model.metric, "min_samples": samples, "approximate": False},
    )
    edges = forest.src, forest.dst, forest.weight
    with AtomicOutput() as files:
        write_forest_in(files, path, edges, header)
    verdict = verify_points(points.astype(np.float64), path)
    expect(verdict.ok, f"{verdict.problems}: {model.get_params()}")
