"""Points that come and go in batches, beside a fresh fit of the present points."""

import random
from pathlib import Path
from unittest.mock import patch

import numpy as np

import mndmst
from mndmst.io.atomic_output import AtomicOutput
from mndmst.io.results.forest_file import ForestHeader, write_forest_in
from mndmst.points.certificate.point_certificate import verify_points
from mndmst.points.metrics import METRICS, Norm
from mndmst.points.pairwise_forest import metric_forest
from mndmst.points.point_files import uuid_of
from mndmst.points.versions import followed_forest, forest_change
from mndmst.points.versions.followed_forest import LEAST_POINTS
from mndmst.points.versions.point_parts import TreePart
from mndmst.points.versions.point_version import ForestRule, PointVersion
from mndmst.points.versions.product_part import ProductPart

from .case import expect, numbers

SHAPES = ("normal", "grid", "copies", "line", "equal", "clusters")
DIMENSIONS = (1, 2, 2, 3, 5, 12, 16, 24, 32, 50, 64, 384)
# Metrics whose forests are followed, more often than the others
FOLLOWED = ("euclidean", "cosine", "manhattan", "chebyshev")
# Values of parameters of the clusters
RULE = {
    "min_cluster_size": range(2, 10),
    "min_samples": (None, 1, 3, 4),
    "cluster_selection_method": ("eom", "leaf"),
    "cluster_selection_epsilon": (0.0, 0.5),
    "max_cluster_size": (0, 30),
}
LEAST = 5  # points that stay, so that each min_samples is allowed
FITTED = ("probabilities_", "outlier_scores_", "cluster_persistence_")
# Points of a batch, as a part of all; and limits of searches beside it
SHARES, CHEAP, REACHED = (2, 8, 256), (1, 16, 1 << 12), (1, 1 << 8, 1 << 16)


def check(draw: random.Random, folder: Path) -> str:
    """Change points by some batches; return the outcome."""
    # More batches are followed than a user's, and by all paths
    share = draw.choice(SHARES)
    least, reachable = draw.choice(REACHED), draw.choice((1, 512))
    cheap = draw.choice(CHEAP)
    with (
        patch.object(forest_change, "LARGEST_SHARE", share),
        patch.object(followed_forest, "LEAST_REACHED", least),
        patch.multiple(TreePart, cheap=cheap, reachable=reachable),
        patch.multiple(ProductPart, cheap=cheap, reachable=reachable),
    ):
        if draw.random() < 0.5:
            return check_forest(draw)
        return check_estimator(draw, folder)


def draw_metric(draw: random.Random) -> tuple[str, int]:
    """Return a metric, and dimensions that it can compare."""
    metric = draw.choice((*FOLLOWED, *METRICS))
    dimensions = draw.choice(DIMENSIONS)
    if metric == "haversine":
        dimensions = 2
    if metric == "correlation":
        dimensions = max(dimensions, 3)
    return metric, dimensions


def check_forest(draw: random.Random) -> str:
    """Follow the forest alone, of many points."""
    metric, dimensions = draw_metric(draw)
    min_samples = draw.choice((0, 0, 1, 2, 5, 16, 60))
    count = draw.choice((LEAST_POINTS, LEAST_POINTS + 1, 700, 1024, 1500))
    if dimensions <= 3 and draw.random() < 0.1:
        count = 20_000
    points = draw_points(draw, metric, count, dimensions)
    if draw.random() < 0.3:
        points = points.astype(np.float32)
    by_products = METRICS[metric].norm == Norm.EUCLIDEAN and draw.random() < 0.5
    search = "product" if by_products else "auto"
    rule = ForestRule(metric, min_samples, search=search)
    version = PointVersion.first(points, rule)
    followed = 0
    for _ in range(draw.randint(3, 6)):
        gone = version.ids[draw_some(draw, len(version.ids))]
        if len(version.ids) - len(gone) <= min_samples:
            gone = gone[:0]
        new = draw_new(draw, metric, version.points)
        batch = version.check(remove=gone, insert=new if len(new) else None)
        version = version.changed(batch)
        followed += version.followed is not None
        forest = version.forest
        fresh = metric_forest(version.points, metric, min_samples).forest
        for name in ("src", "dst", "weight", "labels"):
            expect(
                np.array_equal(getattr(forest, name), getattr(fresh, name)),
                f"{name} of version {version.number}, {metric}, {dimensions} "
                f"dimensions, min_samples {min_samples}, {len(version.ids)} points, "
                f"search {search}",
            )
    kind = version.point_forest.search
    return f"forest: {metric}, {'followed' if followed else 'found anew'}, {kind}"


def draw_some(draw: random.Random, count: int) -> list[int]:
    """Return rows to remove: none, few, a run of neighbours in the order of rows."""
    size = draw.choice((0, 1, 2, 5, 30, count // 10))
    if draw.random() < 0.3:
        start = draw.randrange(count - size + 1)
        return list(range(start, start + size))
    return draw.sample(range(count), size)


def draw_new(draw: random.Random, metric: str, points: np.ndarray) -> np.ndarray:
    """Return new points: others, present ones, such beside these, or round one."""
    count, dimensions = draw.choice((0, 1, 2, 7, 40, len(points) // 3)), points.shape[1]
    new = draw_points(draw, metric, count, dimensions)
    place = draw.random()
    if count and place < 0.3 and metric != "haversine":
        # More of them are near to a present point than its list of neighbours has
        spread = 10.0 ** draw.randint(-4, 0)
        new = points[draw.randrange(len(points))] + spread * new
    elif count and place < 0.6:
        new = points[draw.choices(range(len(points)), k=count)]
        if draw.random() < 0.3 and metric != "haversine":
            new = new * (1 + 1e-9)
    return new.astype(points.dtype)


def check_estimator(draw: random.Random, folder: Path) -> str:
    """Change the points of an estimator."""
    metric, dimensions = draw_metric(draw)
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
            model.set_params(**draw_rule(draw))
        gone = draw_gone(draw, model.labels_)
        new = draw_new(draw, metric, points)
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
    if draw.random() < 0.2:
        empty_and_fill(model, points)
    return f"{metric}, {'many' if many else 'few'} points"


def draw_rule(draw: random.Random) -> dict[str, object]:
    """Return another value of a parameter of the clusters."""
    name = draw.choice(list(RULE))
    return {name: draw.choice(RULE[name])}


def empty_and_fill(model: mndmst.HDBSCAN, points: np.ndarray) -> None:
    """Remove all points, and insert them again."""
    number, ids = model.version_, set(model.ids_.tolist())
    model.remove(model.ids_)
    expect(len(model.labels_) == len(model.forest_) == 0, model.labels_)
    again = model.insert(points)
    expect(not ids & set(again.tolist()), "ids are given again")
    expect(model.version_ == number + 2, model.version_)
    compare(model, points)


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
    elif shape == "clusters":
        points = points / 9 + source.integers(0, 3, (count, 1))
    if metric in ("cosine", "correlation"):
        points[:, 0] += 10  # no zero vector, and no constant row
    if metric == "haversine":
        points = np.clip(points / 4, -1.5, 1.5)
    return points


def draw_gone(draw: random.Random, labels: np.ndarray) -> list[int]:
    """Return the rows to remove: none, one, some, a cluster, or all but a few."""
    count = len(labels)
    most = count - LEAST
    if draw.random() < 0.2:
        return np.flatnonzero(labels == draw.choice(labels.tolist()))[:most].tolist()
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
