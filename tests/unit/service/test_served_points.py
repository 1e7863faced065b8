"""Points in the service: batches, numbers, events, answers, journals and snapshots."""

import math
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the service needs pyarrow")

import pyarrow as arrow

import mndmst
from mndmst.cli.point_options import SERVED
from mndmst.comm.world import world
from mndmst.host.errors import ConfigError, InputError, MndmstError
from mndmst.host.progress import Progress
from mndmst.points.clusters.density_clusters import DensityRule
from mndmst.points.clusters.selection import ClusterSelection
from mndmst.points.point_files import uuid_of
from mndmst.points.versions.point_batch import PointBatch
from mndmst.points.versions.point_version import ForestRule
from mndmst.service.journal import loaded_journals
from mndmst.service.limits import ServiceMemory
from mndmst.service.live_points.first_points import (
    FirstPoints,
    PointSource,
    keep_first,
    points_of_client,
    points_of_file,
    points_of_journal,
)
from mndmst.service.live_points.point_records import (
    FACTS,
    PointsChange,
    pack_change,
    pack_columns,
    read_snapshot,
    unpack_change,
)
from mndmst.service.live_points.served_points import ServedPoints
from mndmst.service.live_points.shared_search import (
    SharedRule,
    SharedSearch,
    hold_search,
)
from mndmst.service.protocol import ACTIONS, Request, batches_of, read_request
from mndmst.service.records import HEADER_BYTES, RecordReader, record
from mndmst.service.uploads import Uploads, UploadVersion
from mndmst.service.version_history import StaleVersionError

QUIET = Progress(False)
SIZE, SAMPLES = 10, 4


def blob(x: float, y: float, count: int, seed: int) -> np.ndarray:
    """Return points around a place, on a grid: some are equal."""
    draw = np.random.default_rng(seed).normal((x, y), 0.3, (count, 2))
    return np.round(draw, 2)


@pytest.fixture
def source(tmp_path: Path) -> PointSource:
    points = np.concatenate([blob(0, 0, 40, 1), blob(9, 9, 40, 2)])
    np.save(tmp_path / "pings.npy", points)
    rule = DensityRule(SIZE, SAMPLES)
    return PointSource(tmp_path / "pings.npy", rule)


def searches(memory: ServiceMemory) -> SharedSearch:
    return SharedSearch(world(), memory, 1)


def begun(begin: Callable[[], FirstPoints], memory: ServiceMemory) -> ServedPoints:
    """Return points as a service that starts has them; replay their journal."""
    served = ServedPoints.first(searches(memory), "pings", begin)
    if served.journal is not None:
        for batch in served.journal.open(served.version, served.uuid):
            served.replay(batch)
    return served


def load(source: PointSource, journal: Path | None = None) -> ServedPoints:
    """Return points of a file, or of their journal."""
    memory = ServiceMemory(0)
    search = searches(memory)

    def begin() -> FirstPoints:
        return points_of_file("pings", source, journal, None, search, QUIET)

    return begun(begin, memory)


def sent(**columns: object) -> dict[str, Uploads]:
    """Return uploads by the field of a request, as a client sends them."""
    uploads, found = Uploads(ServiceMemory(0)), {}
    for field, table in columns.items():
        kind = {"point": "points", "id": "ids"}.get(
            "+".join(table.column_names), "points-with-ids"
        )
        uploads.receive(field, kind, batches_of(table))
        found[field] = uploads.take(field)
    return found


def points_of(values: object) -> arrow.Array:
    if isinstance(values, arrow.Array):
        return values
    array = np.asarray(values, np.float64)
    return arrow.FixedSizeListArray.from_arrays(array.ravel(), array.shape[1])


def update(
    served: ServedPoints,
    insert: object = None,
    ids: object = None,
    remove: object = None,
    **rule: object,
) -> dict[str, object]:
    """Make a batch that a client sends."""
    tables = {}
    if insert is not None:
        columns = {} if ids is None else {"id": np.asarray(ids, np.int64)}
        tables["insert"] = arrow.table(columns | {"point": points_of(insert)})
    if remove is not None:
        tables["remove"] = arrow.table({"id": np.asarray(remove, np.int64)})
    fields = Request(rule=rule) if rule else Request()
    return served.update(fields, sent(**tables), QUIET, lambda: None, lambda: None)


def table_of(served: ServedPoints, **request: object) -> arrow.Table:
    with served.held_table(Request(graph="pings", **request)) as table:
        return table


def labels(served: ServedPoints, **request: object) -> dict[str, list[object]]:
    return table_of(served, table="labels", **request).to_pydict()


@pytest.mark.parametrize("more", [0, 2000])  # which a batch follows without a search
def test_every_version_has_the_clusters_of_a_fresh_fit(
    source: PointSource, more: int
) -> None:
    """Labels are equal up to their numbers, and the forest is the same bit for bit."""
    np.save(source.path, np.concatenate([np.load(source.path), blob(5, 5, more, 9)]))
    served, draw = load(source), np.random.default_rng(3)
    for step in range(8):
        present = np.array(labels(served)["id"])
        new = blob(*draw.integers(0, 10, 2), draw.integers(0, 25), step)
        update(served, new, None, draw.choice(present, draw.integers(0, 9), False))
        now = served.current
        fresh = mndmst.HDBSCAN(SIZE, SAMPLES).fit(now.points.points)
        assert np.array_equal(now.points.forest.weight, fresh.forest_.weight)
        assert np.array_equal(now.points.forest.src, fresh.forest_.src)
        found = labels(served)
        assert found["probability"] == fresh.probabilities_.tolist()
        pairs = set(zip(found["cluster"], fresh.labels_.tolist(), strict=True))
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
        assert all((number < 0) == (label < 0) for number, label in pairs)


def test_numbers_stay_and_events_say_what_became_of_others(source: PointSource) -> None:
    served = load(source)
    assert update(served, blob(0, 9, 20, 4)) == {
        "version": 1, "inserted": 20, "deleted": 0, "first_id": 80,
    }  # fmt: skip
    update(served, remove=range(40))
    assert table_of(served, table="events", since=0).to_pylist() == [
        {"version": 1, "event": "born", "old": [], "new": [2], "old_sizes": [],
         "new_sizes": [20]},
        {"version": 2, "event": "died", "old": [0], "new": [], "old_sizes": [40],
         "new_sizes": []},
    ]  # fmt: skip
    assert table_of(served, table="events", since=2).num_rows == 0
    assert set(labels(served)["cluster"]) == {1, 2}
    assert set(labels(served, version=0)["cluster"]) == {0, 1}
    with pytest.raises(ConfigError, match="no version 3 of pings yet"):
        labels(served, version=3)
    with pytest.raises(ConfigError, match="events: since is missing"):
        table_of(served, table="events")


@pytest.mark.parametrize(
    ("batch", "reason"),
    [
        ({"remove": [80]}, "points; give ids of these.$"),
        ({"remove": [5, 5]}, "remove: id 5 is given twice"),
        ({"insert": [[np.nan, 0]]}, "insert: point 0 has a coordinate that is NaN"),
        ({"insert": [[1, 2, 3]]}, "insert: has 3 dimensions, and the present points 2"),
        ({"insert": [[1, 2]], "ids": [7]}, "ids: id 7 was given before"),
        ({"insert": [[1, 2]] * 2, "ids": [90, 90]}, "ids: id 90 is given twice"),
        ({"insert": [[1, 2]], "remove": [99]}, "remove: id 99 is not"),
        ({"remove": range(80)}, "the batch removes all points"),
        ({"remove": range(77)}, r"min_samples \(4\) must be at most"),
        ({}, "no changes: give insert, remove or rule"),
        ({"min_samples": 80}, r"min_samples \(80\) must be at most"),
        ({"min_cluster_size": 1}, "min_cluster_size 1: give at least 2"),
        ({"alpha": 2}, "'alpha' is not a parameter of clusters; there are min_cluster"),
        ({"insert": [[1, 2]], "min_samples": 0}, "min_samples 0: give at least 1"),
    ],
)
def test_a_bad_batch_changes_nothing(
    source: PointSource, batch: dict[str, object], reason: str
) -> None:
    served = load(source)
    before = served.current
    with pytest.raises(ValueError, match=reason):
        update(served, **batch)
    assert served.current is before and served.version == 0
    assert update(served, [[1, 2]])["first_id"] == 80


@pytest.mark.parametrize(
    "batch", [{"insert": np.empty((0, 2))}, {"insert": np.empty((0, 2)), "ids": []},
              {"remove": []}]
)  # fmt: skip
def test_an_empty_batch_makes_a_version_and_changes_nothing(
    source: PointSource, batch: dict[str, object]
) -> None:
    served = load(source)
    before = served.current.points.point_forest, labels(served)
    assert update(served, **batch) == {
        "version": 1, "inserted": 0, "deleted": 0, "first_id": None,
    }  # fmt: skip
    assert (served.current.points.point_forest, labels(served)) == before


@pytest.mark.parametrize(
    "batch",
    [
        PointBatch(np.array([80]), np.empty(0, np.int64), np.empty((0, 2))),
        PointBatch(np.empty(0, np.int64), np.array([7]), np.zeros((1, 2))),
        PointBatch(np.empty(0, np.int64), np.array([80]), np.array([[np.nan, 0]])),
        PointBatch(np.empty(0, np.int64), np.array([80]), np.zeros((1, 3))),
        PointBatch(np.arange(80), np.empty(0, np.int64), np.empty((0, 2))),
    ],
)
def test_a_batch_of_a_journal_that_does_not_suit_is_refused(
    source: PointSource, batch: PointBatch
) -> None:
    served = load(source)
    with pytest.raises(ValueError, match=r"id|insert|removes all") as refused:
        served.replay(PointsChange(batch))
    assert "\n" not in str(refused.value) and served.version == 0


def test_the_field_of_a_graph_is_refused(source: PointSource) -> None:
    upload = sent(remove=arrow.table({"id": [1]}))["remove"]
    with pytest.raises(InputError, match="delete is for graphs; give insert or remove"):
        load(source).read(Request(), {"delete": upload})
    with pytest.raises(InputError, match="insert: no upload of points or ids"):
        load(source).read(Request(), {"insert": upload})


def test_an_upload_for_another_version_is_refused(source: PointSource) -> None:
    served = load(source)
    upload = sent(remove=arrow.table({"id": [1]}))["remove"]
    named = upload._replace(version=UploadVersion("pings", 0))
    served.read(Request(), {"remove": named})
    update(served, [[1, 2]])
    with pytest.raises(StaleVersionError) as stale:
        served.read(Request(), {"remove": named})
    assert str(stale.value) == (
        "the points sent belong to version 0 of pings, and its present version is 1. "
        "Read the labels again."
    )


def ask(served: ServedPoints, query: str, batch: arrow.Table, **fields: int) -> dict:
    request = Request(graph="pings", query=query, **fields)
    (found,) = served.answers(request)[1](batch.to_batches()[0])
    return found.to_pydict()


def test_queries_are_answered_by_ids_and_numbers(source: PointSource) -> None:
    served = load(source)
    update(served, blob(0, 9, 20, 4), range(500, 520), range(40))
    wanted = arrow.table({"id": [519, 40, 500]})
    assert ask(served, "labels", wanted)["cluster"] == [2, 1, 2]
    new = arrow.table({"point": points_of([[0, 9], [9, 9], [50, 50]])})
    assert ask(served, "predict", new)["cluster"] == [2, 1, -1]
    found = ask(served, "neighbours", new, count=3)
    points = served.current.points
    for row, (x, y) in enumerate([(0, 9), (9, 9), (50, 50)]):
        distances = np.hypot(points.points[:, 0] - x, points.points[:, 1] - y)
        assert found["distance"][row] == pytest.approx(np.sort(distances)[:3])
        rows = np.searchsorted(points.ids, found["id"][row])
        assert distances[rows] == pytest.approx(found["distance"][row])


MISSING = arrow.array([[1.0, 2.0], None], arrow.list_(arrow.float64(), 2))
NO_DIMENSION = arrow.array([[], []], arrow.list_(arrow.float64(), 0))


@pytest.mark.parametrize(
    ("query", "column", "fields", "reason"),
    [
        ("labels", {"id": [1, 99]}, {}, "ids: id 99 is not one of the present points"),
        ("labels", {"point": [1]}, {}, "a query has the column id, not point"),
        ("predict", {"point": points_of([[1, 2, 3]])}, {}, "have 3 dimensions"),
        ("predict", {"point": points_of([[1, np.inf]])}, {}, "point 0 of those asked"),
        ("predict", {"point": ["a"]}, {}, "has type string; give lists of floats"),
        ("predict", {"point": [None]}, {}, "'point' has no value in row 0"),
        ("predict", {"point": MISSING}, {}, "'point' has no value in row 1"),
        ("predict", {"point": NO_DIMENSION}, {}, "of a fixed size of 1 or more"),
        ("labels", {"id": [1, None]}, {}, "the column 'id' has no value in row 1"),
        ("neighbours", {"point": points_of([[1, 2]])}, {}, "count is missing"),
        ("neighbours", {"point": points_of([[1, 2]])}, {"count": 81}, "are 80 points"),
        ("path", {"point": points_of([[1, 2]])}, {}, "no query of points is named"),
        ("predict", {"point": points_of([[1, 2]])}, {"version": 1}, "no version 1"),
    ],
)
def test_a_bad_query_is_one_sentence(
    source: PointSource,
    query: str,
    column: dict[str, object],
    fields: dict[str, int],
    reason: str,
) -> None:
    with pytest.raises(ValueError, match=reason) as refused:
        ask(load(source), query, arrow.table(column), **fields)
    assert "\n" not in str(refused.value)


def state(served: ServedPoints) -> tuple[object, ...]:
    """Return everything that a client can see of the newest version."""
    facts = {k: v for k, v in served.describe().items() if not k.endswith("since")}
    return labels(served), {k: v for k, v in facts.items() if k != "uuid"}


def close(served: ServedPoints) -> None:
    assert served.journal is not None
    served.journal.close()


def test_a_journal_leads_to_the_same_labels_and_numbers(
    source: PointSource, tmp_path: Path
) -> None:
    """With a snapshot after each number of batches; ids that ended stay used."""
    for snapshot_after in range(5):
        folder = tmp_path / f"j{snapshot_after}"
        served = load(source, folder)
        batches: list[dict[str, object]] = [
            {"insert": blob(0, 9, 20, 4), "ids": range(500, 520)},
            {"remove": [*range(40), 519]},
            {"min_samples": 3, "cluster_selection_epsilon": 0.5, "remove": [41]},
            {"insert": blob(5, 0, 15, 5)},
        ]
        for number, batch in enumerate(batches, 1):
            update(served, **batch)
            if number == snapshot_after:
                path = served.journal.snapshot_path(served.version)
                uuid = served.write_snapshot(path)
                served.journal.restart(served.version, uuid, path)
        before, events = state(served), table_of(served, table="events", since=2)
        close(served)
        for _ in range(2):
            again = load(source, folder)
            assert state(again) == before
            assert before[1]["rule"]["cluster_selection_epsilon"] == 0.5
            if snapshot_after < 3:
                assert table_of(again, table="events", since=2).equals(events)
            with pytest.raises(InputError, match="id 519 was given before"):
                update(again, [[0, 0]], [519])
            close(again)


@pytest.mark.parametrize(
    "other",
    [
        {"metric": "manhattan"},
        {"rule": DensityRule(SIZE, SAMPLES + 1)},
        {"rule": DensityRule(SIZE + 1, SAMPLES)},
    ],
)
def test_a_journal_of_other_options_is_refused(
    source: PointSource, tmp_path: Path, other: dict[str, object]
) -> None:
    close(load(source, tmp_path))
    changed = PointSource(**(vars(source) | other))
    with pytest.raises(InputError, match="of points with other options"):
        load(changed, tmp_path)


def test_a_damaged_snapshot_is_refused(source: PointSource, tmp_path: Path) -> None:
    served = load(source)
    path = tmp_path / "snapshot-7-x"
    served.write_snapshot(path)
    whole = path.read_bytes()
    assert np.array_equal(read_snapshot(path, 0).points, served.current.points.points)
    for place in range(0, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(InputError, match="is damaged"):
            read_snapshot(path, 0)
    path.write_bytes(whole[:-1])
    with pytest.raises(InputError, match="is damaged"):
        read_snapshot(path, 0)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(InputError, match=f"{path}: is a named pipe"):
        read_snapshot(path, 0)
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match=f"{path}: is a directory"):
        read_snapshot(path, 0)


ROWS = np.arange(40)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("ids", ROWS[:-1]),
        ("ids", ROWS - 1),
        ("ids", ROWS // 2),
        ("ids", ROWS + 1),  # up to the next one
        ("retired", ROWS[:1]),  # and present
        ("retired", np.array([-1])),
        ("points", np.full((40, 2), np.nan)),
        ("points", np.zeros((39, 2))),
        ("points", np.zeros((0, 2))),
        ("clusters", ROWS[:-1]),
        ("clusters", np.full(40, -2)),
        ("clusters", np.full(40, 7)),
        ("next", np.array([40])),
        ("next", np.array([0, 0])),
        ("ids", arrow.array([[None, *range(1, 40)]], arrow.large_list(arrow.int64()))),
    ],
)
def test_a_snapshot_that_contradicts_itself_is_refused(
    tmp_path: Path, name: str, column: object
) -> None:
    """Its checksums are right: anybody can compute them."""
    folder = tmp_path / "pings"
    keep_first(sent_first(blob(0, 0, 40, 1)), folder, ServiceMemory(0)).journal.close()
    (path,) = folder.glob("snapshot-0-*")
    content = path.read_bytes()
    with path.open("rb") as file:
        body = RecordReader(path, file, -1).next().packed
    table = arrow.ipc.open_stream(body).read_all()
    if isinstance(column, np.ndarray):
        packed = pack_columns({name: column})
        column = arrow.ipc.open_stream(packed).read_all()[name]
    place = table.column_names.index(name)
    sink = arrow.BufferOutputStream()
    forged = table.set_column(place, name, column)
    with arrow.ipc.new_stream(sink, forged.schema) as writer:
        writer.write_table(forged)
    path.write_bytes(content[:HEADER_BYTES] + record(0, sink.getvalue().to_pybytes()))
    with pytest.raises(InputError, match="is damaged: ") as raised:
        loaded(folder)
    assert str(path) in str(raised.value)


def test_a_batch_is_the_same_after_its_record() -> None:
    given = ([], 2), ([3, 1], 0), ([5], 3)
    rules = [None, DensityRule(), DensityRule(7, 3, ClusterSelection("leaf", 0.5))]
    for (removed, count), rule in zip(given, rules, strict=True):
        batch = PointBatch(
            np.array(removed, np.int64), np.arange(count), np.ones((count, 3)) / 7
        )
        packed = pack_change(PointsChange(batch, rule))
        found = unpack_change(packed, "")
        assert found.rule == rule
        assert np.array_equal(found.batch.removed, batch.removed)
        assert np.array_equal(found.batch.ids, batch.ids)
        assert np.array_equal(found.batch.points, batch.points)
    strange = packed.replace(b'"min_samples": 3', b'"min_sample_": 3')
    assert len(strange) == len(packed) and strange != packed
    nested = arrow.ipc.open_stream(packed).read_all()
    nested = nested.replace_schema_metadata({FACTS: "[" * 100_000})
    sink = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, nested.schema) as writer:
        writer.write_table(nested)
    for body in (b"", b"x" * 100, packed[:-30], strange, sink.getvalue().to_pybytes()):
        with pytest.raises(ValueError, match=r"\w") as raised:
            unpack_change(body, "")
        assert not isinstance(raised.value, MndmstError)  # the journal names the record


def test_parameters_change_without_a_new_search(
    source: PointSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version has the clusters of a fresh fit, and clusters keep their numbers."""
    served = load(source)
    update(served, blob(0, 9, 20, 4), remove=range(40))
    forest = served.current.points.point_forest
    with monkeypatch.context() as patch:
        patch.delattr(SharedRule, "forest_of")
        patch.delattr(ForestRule, "forest_of")
        assert update(served, min_cluster_size=25, allow_single_cluster=True) == {
            "version": 2, "inserted": 0, "deleted": 0, "first_id": None,
        }  # fmt: skip
    assert served.current.points.point_forest is forest
    assert set(labels(served)["cluster"]) == {1, -1}
    (died,) = table_of(served, table="events", since=1).to_pylist()
    assert (died["event"], died["old"]) == ("died", [2])
    facts = served.describe()["rule"]
    assert facts["min_cluster_size"] == 25 and facts["min_samples"] == SAMPLES
    update(served, cluster_selection_method="leaf", min_cluster_size=5)
    fresh = mndmst.HDBSCAN(
        5, SAMPLES, cluster_selection_method="leaf", allow_single_cluster=True
    ).fit(served.current.points.points)
    found = labels(served)
    assert found["probability"] == fresh.probabilities_.tolist()
    assert set(labels(served, version=1)["cluster"]) == {1, 2}
    new = arrow.table({"point": points_of([[9, 9]])})
    assert ask(served, "predict", new)["cluster"][0] in found["cluster"]


@pytest.mark.parametrize("batch", [{}, {"insert": [[3, 3]] * 9, "remove": [1, 2]}])
def test_other_core_distances_are_searched_anew(
    source: PointSource, batch: dict[str, object]
) -> None:
    served = load(source)
    update(served, **batch, min_samples=2, min_cluster_size=4)
    fresh = mndmst.HDBSCAN(4, 2).fit(served.current.points.points)
    assert np.array_equal(served.current.points.forest.weight, fresh.forest_.weight)
    assert labels(served)["probability"] == fresh.probabilities_.tolist()
    assert served.describe()["min_samples"] == 2
    update(served, min_samples=None)  # that of min_cluster_size
    assert served.describe()["min_samples"] == 4


def test_the_memory_counts_the_newest_version(source: PointSource) -> None:
    np.save(source.path, np.random.default_rng(1).random((3000, 2)))
    served = load(source)
    before = served.current.nbytes
    update(served, [[0.5, 0.5]])
    # The trees of the change, and then those of a prediction
    assert served.current.nbytes > before + served.current.points.points.nbytes
    before = served.current.nbytes
    served.current.predicted(np.zeros((1, 2)))
    assert served.current.nbytes > before + served.current.points.points.nbytes
    small = ServiceMemory(1 << 20, 1 << 20)
    many = np.random.default_rng(1).random((20000, 2))
    np.save(source.path, many)
    with pytest.raises(ConfigError, match="a search of 20,000 points"):
        points_of_file("pings", source, None, None, searches(small), QUIET)
    with pytest.raises(ConfigError, match="a search of 20,000 points"):
        sent_first(many, memory=small)


def test_ids_come_from_a_column_of_integers(tmp_path: Path) -> None:
    rows = "".join(f"{7 * i},{i % 5},{i // 5}\n" for i in range(30))
    (tmp_path / "p.csv").write_text("id,x,y\n" + rows)
    rule = DensityRule(3, 2)
    served = load(PointSource(tmp_path / "p.csv", rule, "x,y"))
    assert labels(served)["id"] == list(range(0, 210, 7))
    assert served.coordinates == ("x", "y")
    (tmp_path / "p.csv").write_text("id,x,y\n" + rows + "0,1,1\n")
    with pytest.raises(
        InputError, match=r"p\.csv: column id: ids: id 0 is given twice"
    ):
        load(PointSource(tmp_path / "p.csv", rule, "x,y"))


def sent_first(
    points: object,
    ids: object = None,
    memory: ServiceMemory | None = None,
    **fields: object,
) -> FirstPoints:
    """Return points as a client loads them."""
    columns = {} if ids is None else {"id": np.asarray(ids, np.int64)}
    upload = sent(insert=arrow.table(columns | {"point": points_of(points)}))["insert"]
    rule = {"min_cluster_size": SIZE, "min_samples": SAMPLES}
    rule |= {name: fields.pop(name) for name in {*fields} & {*DensityRule().parameters}}
    request = Request(**{"rule": rule, **fields})
    return points_of_client(request, upload, searches(memory or ServiceMemory(0)))


def loaded(folder: Path, until: int | None = None) -> ServedPoints:
    """Return points that a client has sent to a service before, by their journal."""
    memory, origin = ServiceMemory(0), loaded_journals(folder.parent)[folder.name]
    search = searches(memory)
    return begun(lambda: points_of_journal(folder, origin, until, search), memory)


def test_points_of_a_client_are_those_of_a_file(source: PointSource) -> None:
    points = np.load(source.path)
    memory = ServiceMemory(0)
    served = begun(lambda: sent_first(points, coordinates=["x", "y"]), memory)
    assert labels(served) == labels(load(source))
    assert served.describe()["coordinates"] == ["x", "y"]
    served = begun(lambda: sent_first(points, range(500, 580)), memory)
    assert labels(served)["id"] == list(range(500, 580))


def test_points_of_a_client_outlive_the_service(tmp_path: Path) -> None:
    """Rule, metric and names of dimensions are on disk, with and without a snapshot."""
    points = np.concatenate([blob(0, 0, 40, 1), blob(9, 9, 40, 2)])
    folder, memory = tmp_path / "pings", ServiceMemory(0)
    rule = {
        "metric": "manhattan", "coordinates": ["lon", "lat"],
        "cluster_selection_method": "leaf", "cluster_selection_epsilon": 0.25,
    }  # fmt: skip

    def begin() -> FirstPoints:
        return keep_first(sent_first(points, **rule), folder, memory)

    served = ServedPoints.first(searches(memory), "pings", begin)
    first = state(served)
    close(served)
    for number in range(3):
        served = loaded(folder)
        assert number or state(served) == first
        update(served, blob(number, 9, 20, 4), remove=[number])
        if number == 1:
            path = served.journal.snapshot_path(served.version)
            served.journal.restart(served.version, served.write_snapshot(path), path)
        before = state(served)
        close(served)
        again = loaded(folder)
        assert state(again) == before
        close(again)
    assert before[1]["coordinates"] == ["lon", "lat"]
    fresh = mndmst.HDBSCAN(
        SIZE, SAMPLES, metric="manhattan", cluster_selection_method="leaf",
        cluster_selection_epsilon=0.25,
    ).fit(again.current.points.points)  # fmt: skip
    assert labels(again)["probability"] == fresh.probabilities_.tolist()
    back = loaded(folder, until=2)  # the version of the snapshot
    assert back.version == 2
    close(back)


def test_a_load_that_was_cut_off_leaves_the_name_free(tmp_path: Path) -> None:
    """The origin is written last; whatever is there before it is replaced."""
    first, memory = sent_first(blob(0, 0, 40, 1)), ServiceMemory(0)
    folder = tmp_path / "pings"
    keep_first(first, folder, memory).journal.close()
    with pytest.raises(ConfigError, match="is the journal of others"):
        keep_first(first, folder, memory)
    left = sorted(path.name for path in folder.iterdir())
    (folder / "graph").unlink()
    (folder / "snapshot-0-0123456789abcdef").write_bytes(b"older")
    (folder / "snapshot-0-fedcba9876543210.tmp").write_bytes(b"cut o")
    assert loaded_journals(tmp_path) == {}
    keep_first(first, folder, memory).journal.close()
    assert len(left) == len(list(folder.iterdir()))
    close(loaded(folder))
    (folder / "graph").unlink()
    (folder / "journal-3").write_bytes(b"of acknowledged batches")
    with pytest.raises(ConfigError, match="is the journal of others"):
        keep_first(first, folder, memory)


def test_a_journal_of_a_client_without_its_snapshot_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "pings"
    first = sent_first(blob(0, 0, 40, 1))
    keep_first(first, folder, ServiceMemory(0)).journal.close()
    (snapshot,) = folder.glob("snapshot-0-*")
    snapshot.unlink()
    with pytest.raises(InputError, match="has no snapshot of points"):
        loaded(folder)


def test_a_journal_of_a_client_with_a_pipe_in_place_of_its_origin(
    tmp_path: Path,
) -> None:
    """A service that ignored it would serve nothing of that name."""
    (tmp_path / "pings").mkdir()
    os.mkfifo(tmp_path / "pings" / "graph")
    with pytest.raises(InputError, match="graph: is a named pipe"):
        loaded_journals(tmp_path)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"metric": "mahalanobis"}, "metric mahalanobis: points in a service have"),
        ({"min_samples": 40}, r"min_samples \(40\) must be at most"),
        ({"rule": {"alpha": 2}}, "'alpha' is not a parameter of clusters; there are"),
        ({"min_cluster_size": "2"}, "min_cluster_size '2' is not an integer"),
        ({"min_cluster_size": 1}, "min_cluster_size 1: give at least 2"),
        ({"cluster_selection_method": "leaves"}, "give eom or leaf"),
        ({"coordinates": ["x"]}, "coordinates: x are not the names of 2 dimensions"),
        ({"coordinates": ["x", "x"]}, "coordinates: x, x are not the names"),
        ({"ids": [1, *range(39)]}, "ids: id 1 is given twice"),
        ({"ids": [-1, *range(39)]}, "ids: id -1; ids are integers from 0"),
        ({"points": [[np.nan, 0]]}, "point 0 has a coordinate that is NaN"),
        ({"points": np.zeros((0, 2))}, "the upload has no points; send at least one"),
        ({"points": np.zeros((0, 2)), "rule": {}}, "the upload has no points"),
        ({"points": NO_DIMENSION}, "of a fixed size of 1 or more"),
        ({"points": [[0, 0]] * 5, "metric": "cosine"}, "point 0"),
    ],
)
def test_bad_points_of_a_client_are_refused(
    given: dict[str, object], reason: str
) -> None:
    points = {"points": blob(0, 0, 40, 1)}
    with pytest.raises(ValueError, match=reason) as refused:
        sent_first(**{**points, **given})
    assert "\n" not in str(refused.value)


def test_the_command_and_the_protocol_have_the_parameters_of_clusters() -> None:
    assert list(SERVED) == list(DensityRule().parameters)
    body = b'{"graph": "p", "upload": "%s", "rule": {"a": "Infinity", "b": null}}'
    fields = ACTIONS["load"][1]
    request = read_request("load", body % (b"0" * 32), fields)
    assert request["rule"] == {"a": math.inf, "b": None}
    with pytest.raises(ConfigError, match="load: rule is"):
        read_request(
            "load", b'{"graph": "p", "upload": "%s", "rule": []}' % (b"0" * 32), fields
        )


def fetched(
    served: ServedPoints, table: str, version: int | None = None
) -> arrow.Table:
    """Return a table as a client reads it: by a ticket for a version."""
    given = {} if version is None else {"version": version}
    request = Request(graph="pings", table=table, **given)
    schema, facts = served.ticket(request)
    with served.held_table(request) as found:
        assert found.schema.equals(schema) and facts["version"] == request["version"]
        return found


def test_points_and_forest_of_one_version_stay_for_their_tickets(
    source: PointSource,
) -> None:
    served = load(source)
    update(served, blob(0, 9, 20, 4), range(500, 520), [3, 5])
    points, kept = fetched(served, "points"), served.current
    for _ in range(3):
        update(served, [[1, 2]])
    forest = fetched(served, "forest", 1)
    assert points["id"].to_pylist() == kept.points.ids.tolist()
    assert points["point"].to_pylist() == kept.points.points.tolist()
    for name in ("src", "dst", "weight"):
        expected = getattr(kept.points.forest, name)
        assert np.array_equal(forest[name].to_numpy(), expected)
    facts = served.ticket(Request(graph="pings", table="forest", version=1))[1]
    assert facts == {
        "version": 1, "metric": "euclidean", "min_samples": SAMPLES,
        "graph_uuid": uuid_of(kept.points.points),
    }  # fmt: skip
    assert fetched(served, "points").num_rows == 101  # tickets for the newest one
    with pytest.raises(StaleVersionError, match="version 1 of pings is no longer held"):
        fetched(served, "forest", 1)
    with pytest.raises(ConfigError, match="there is no version 9 of pings yet"):
        fetched(served, "points", 9)


def test_a_version_of_tickets_gives_way_to_a_batch() -> None:
    """It is dropped if the next version does not fit the memory beside it."""
    points, new = np.random.default_rng(1).random((4000, 3)), [[0.5] * 3]
    room = ServiceMemory(1 << 40, 1)
    served = begun(lambda: sent_first(points, memory=room), room)
    fetched(served, "points")
    kept = served.current.nbytes
    update(served, new)
    with hold_search(room, SAMPLES, 4002, 3):
        needed = room.of_graphs + room.of_requests
    room.limit = needed  # beside the version of the tickets
    update(served, new)
    assert fetched(served, "forest", 0).num_rows == 3999
    room.limit = needed - kept // 4
    update(served, new)
    assert served.version == 3
    with pytest.raises(StaleVersionError):
        fetched(served, "forest", 0)
    room.limit = room.of_graphs + 1000
    with pytest.raises(ConfigError, match="too little for a search of 4,004 points"):
        update(served, new)
    assert served.version == 3
