"""Points in the service: clients of Python and the shell on several ranks."""

import threading
from pathlib import Path

import numpy as np
import pytest
from graphs import simple_path, write_graph
from processes import command
from services import Served, client, rows, served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import pyarrow as arrow

import mndmst
from mndmst.host.errors import ConfigError, InputError
from mndmst.service.client import Service
from mndmst.service.connection import OtherVersionError, ServiceError

pytestmark = [pytest.mark.mpi, pytest.mark.slow]


def blob(x: float, count: int) -> np.ndarray:
    return np.column_stack([x + np.arange(count) % 5, np.arange(count) // 5])


def test_clients_change_points_beside_a_graph(tmp_path: Path) -> None:
    points = np.concatenate([blob(0, 30), blob(20, 30)])
    table = "".join(f"{x},{y}\n" for x, y in points.tolist())
    (tmp_path / "pings.csv").write_text("x,y\n" + table)
    new = "".join(f"{x},{y}\n" for x, y in blob(40, 20).tolist())
    (tmp_path / "new.csv").write_text("x,y\n" + new)
    write_graph(tmp_path / "g", simple_path(9), 2)
    words = (tmp_path / "g", "--points", tmp_path / "pings.csv", "--min-samples", 3)
    words += ("--min-cluster-size", 10, "-q")
    with served(tmp_path, 2, *words) as service, service.connect() as connected:
        pings = connected.points("pings")
        assert pings.coordinates == ("x", "y") and list(connected) == ["g"]
        waited = []
        waiter = threading.Thread(target=lambda: waited.append(pings.wait(after=0)))
        waiter.start()
        done = client(service, "insert", "pings", tmp_path / "new.csv")
        assert done.stdout == "version=1 inserted=20 ids=60-79\n"
        waiter.join(60)
        assert waited == [1]
        other = arrow.table({"y": blob(0, 4)[:, 1], "x": blob(0, 4)[:, 0]})
        update = pings.update(insert=other, ids=[100, 90, 80, 95], remove=[0, 1, 2, 3])
        assert update.version == 2 and update.ids.tolist() == [100, 90, 80, 95]
        fresh = mndmst.HDBSCAN(10, 3).fit(
            np.concatenate([points[4:], blob(40, 20), blob(0, 4)])
        )
        labels = pings.labels()
        assert (
            labels["probability"].to_numpy().tolist() == fresh.probabilities_.tolist()
        )
        assert labels["cluster"].to_numpy().tolist() == fresh.labels_.tolist()
        found = rows(service, "labels", "pings", 100, 60)
        assert [(row["id"], row["cluster"]) for row in found] == [
            ("100", "0"), ("60", "2"),
        ]  # fmt: skip
        (born,) = rows(service, "events", "pings", "--since", 0)
        assert (born["event"], born["new"], born["new_sizes"]) == ("born", "2", "20")
        found = rows(service, "predict", "pings", tmp_path / "new.csv")
        assert {row["cluster"] for row in found} == {"2"}
        found = rows(service, "neighbours", "pings", tmp_path / "new.csv", "--count", 1)
        assert [row["id"] for row in found] == [str(id) for id in range(60, 80)]
        near = pings.neighbours([[40, 0]], 2)
        assert near.ids.tolist()[0][0] == 60 and near.distances.tolist() == [[0, 1]]
        (tmp_path / "bad.csv").write_text("x,y,id\n1,2,7\n3,,8\n")
        said = client(service, "insert", "pings", tmp_path / "bad.csv").stderr
        assert "bad.csv: line 3 has nothing in column y" in said
        assert client(service, "remove", "pings", 100).stdout == "version=3\n"
        assert client(service, "list").stdout == (
            "g version=0\npings version=3 points=79 clusters=3\n"
        )
        metrics = connected.metrics()
        assert 'mndmst_points_count{points="pings"} 79.0' in metrics
        assert 'mndmst_points_clusters{points="pings"} 3.0' in metrics
        check_refusals(connected, tmp_path)
        check_loads(service, connected, tmp_path)
        (tmp_path / "more.tsv").write_text("id\ty\tkind\tx\n300\t0\tcar\t5\n")
        done = client(service, "insert", "pings", tmp_path / "more.tsv")
        assert done.stdout == "version=4 inserted=1\n"
        assert "more.tsv: the column id has the ids of points\n" in done.stderr
        assert pings.labels([300])["id"].to_pylist() == [300]
        check_searches(connected)
        assert connected["g"].insert([0], [5], [2]) == 2


def check_refusals(connected: Service, folder: Path) -> None:
    """Graphs and points have words of their own; nothing changes after a refusal."""
    pings = connected.points("pings")
    with pytest.raises(InputError, match=r"in Python take service\.points\('pings'\)"):
        connected["pings"]
    with pytest.raises(InputError, match=r"in Python take service\['g'\]"):
        connected.points("g")
    with pytest.raises(ServiceError, match="pings are points, and this is for graphs"):
        connected.connection.ask("solve", graph="pings")
    with pytest.raises(ServiceError, match="id 100 is not one of the present points"):
        pings.remove([5, 100])
    with pytest.raises(OtherVersionError, match="present version is 3"):
        pings.insert([[1, 2]], version=2)
    with pytest.raises(
        InputError, match="no column 'y'; the points of pings have x, y"
    ):
        pings.insert(arrow.table({"x": [1.0]}))
    with pytest.raises(InputError, match="no changes; give insert or remove"):
        pings.update()
    with pytest.raises(ServiceError, match="no version 9 of pings yet"):
        pings.events(since=9)
    assert pings.info()["version"] == 3


def check_loads(service: Served, connected: Service, folder: Path) -> None:
    """Clients of Python and the shell load points beside those of the service."""
    points = np.concatenate([blob(0, 30), blob(20, 30)])
    ids = range(100, 160)
    table = arrow.table({"y": points[:, 1], "no": ids, "x": points[:, 0]})
    rule = {"min_samples": 3, "min_cluster_size": 10}
    more = connected.load_points(
        "more", table, table["no"], coordinates=("x", "y"), **rule
    )
    fresh = mndmst.HDBSCAN(10, 3).fit(points)
    for _ in range(2):
        found = more.labels()
        assert found["id"].to_pylist() == [*ids]
        assert found["cluster"].to_numpy().tolist() == fresh.labels_.tolist()
    assert more.insert(arrow.table({"x": [0.0], "y": [0.0]})).tolist() == [160]
    words = ("--min-samples", 3, "--min-cluster-size", 10, "--metric", "chebyshev")
    done = client(service, "load", "shell", folder / "pings.csv", *words)
    assert done.stdout == "version=0 points=60 clusters=2\n"
    assert "x, y" in done.stderr  # the columns that are taken
    facts = connected.points("shell").info()
    assert (facts["metric"], facts["coordinates"]) == ("chebyshev", ["x", "y"])
    forest, saved = folder / "forest.h5", folder / "shell.npy"
    done = client(service, "forest", "shell", "-o", forest, "--save", saved)
    assert done.stdout == "version=0 points=60 edges=59\n"
    proved = command("verify", saved, forest)
    assert proved.stdout.startswith("VERDICT ok "), proved
    with pytest.raises(ConfigError, match=r"p\.csv: give a name that ends in \.npy"):
        more.fetch().write(folder / "f.h5", folder / "p.csv")
    assert more.set_params(min_cluster_size=12, cluster_selection_epsilon=2.5) == 2
    assert more.info()["rule"]["cluster_selection_epsilon_max"] == "Infinity"
    for version, words in enumerate(
        (["--min-samples", 4], ["--default", "min-samples"]), 1
    ):
        done = client(service, "set-params", "shell", *words)
        samples = 4 if version == 1 else 10  # as the smallest cluster
        assert done.stdout == f"version={version} min_samples={samples}\n"
    with pytest.raises(ServiceError, match="rule is for points, and g is a graph"):
        connected.connection.ask("update", graph="g", rule={"min_samples": 2})
    with pytest.raises(ServiceError, match="no changes: give insert, remove or rule"):
        more.set_params()
    found = more.fetch()
    assert found.version == 2 and found.ids.tolist() == [*ids, 160]
    assert found.points.tolist() == [*points.tolist(), [0, 0]]
    for name in ("more", "g"):
        with pytest.raises(ServiceError, match=f"the name {name} is taken"):
            connected.load_points(name, points)
    with pytest.raises(ServiceError, match="min_cluster_size 1: give at least 2"):
        connected.load_points("other", points, min_cluster_size=1)
    with pytest.raises(ServiceError, match="'alpha' is not a parameter of clusters"):
        connected.load_points("other", points, alpha=2)
    with pytest.raises(InputError, match="'a b' is not a valid name of points"):
        connected.load_points("a b", points)
    with pytest.raises(InputError, match="coordinates: none given; give the columns"):
        connected.load_points("other", table)
    batches = {"insert": []}, {"insert": table[:0], "ids": []}, {"remove": []}
    for version, batch in enumerate(batches, 3):  # a version each, as of a graph
        assert more.update(**batch).version == version
    assert connected["g"].insert([], [], []) == 1
    with pytest.raises(ServiceError, match="no graph or points are named 'other'"):
        connected.points("other")


def check_searches(connected: Service) -> None:
    """All ranks search enough points for each; the forest is that of one process."""
    draw = np.round(np.random.default_rng(1).random((900, 3)), 2)
    for metric in ("euclidean", "cosine"):
        many = connected.load_points(metric, draw[:600], metric=metric, min_samples=5)
        many.insert(draw[600:])  # more than it pays to follow
        many.set_params(min_samples=3)
        found = many.fetch()
        fresh = mndmst.HDBSCAN(metric=metric, min_samples=3).fit(draw)
        for name in ("src", "dst", "weight"):
            columns = getattr(found.forest, name), getattr(fresh.forest_, name)
            np.testing.assert_array_equal(*columns)
        labels = many.labels()["probability"].to_numpy().tolist()
        assert labels == fresh.probabilities_.tolist()
        with pytest.raises(ServiceError, match=r"min_samples \(900\) must be at most"):
            many.set_params(min_samples=900)
