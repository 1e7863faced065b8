"""One way into a service: its address file, from Python and from a shell."""

from pathlib import Path

import numpy as np
import pytest
from graphs import simple_path, write_graph
from processes import finish, on_ranks, python, start
from services import Served, client, rows, served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import mndmst

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

N = 30


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory):
    """Serve a path as `g`, and as `changed` for the tests that change their graph."""
    folder = tmp_path_factory.mktemp("service")
    graphs = [write_graph(folder / name, simple_path(N)) for name in ("g", "changed")]
    with served(folder, 2, *graphs, "-q") as running:
        yield running


def test_the_address_file_is_the_way_in(service: Served) -> None:
    for address in (service.address, str(service.address)):
        with mndmst.connect(address) as client:
            assert repr(client) == f"Service('{service.url}')"
            assert repr(client["g"]) == f"Graph('g' at '{service.url}')"


def test_a_missing_token_is_told(service: Served) -> None:
    with pytest.raises(mndmst.ServiceError, match=r"wants a token.*--token-file"):
        mndmst.connect(service.url)
    with pytest.raises(mndmst.ServiceError, match="refused the token"):
        mndmst.connect(service.url, "x" * 20)


def test_queries_of_the_shell_agree_with_python(service: Served) -> None:
    with mndmst.connect(service.address) as connection:
        graph = connection["g"]
        heaviest = graph.path_max([0, 3], [N - 1, 7]).to_pylist()
    found = rows(service, "connected", "g", 0, N - 1, 2, 2)
    assert [row["connected"] for row in found] == ["True", "True"]
    found = rows(service, "path-max", "g", 0, N - 1, 3, 7)
    assert [int(row["src"]) for row in found] == [edge["src"] for edge in heaviest]
    found = rows(service, "path", "g", 3, 7)
    assert [(int(row["src"]), int(row["dst"])) for row in found] == [
        (v, v + 1) for v in range(3, 7)
    ]
    assert {row["component"] for row in rows(service, "components", "g")} == {"0"}
    labels = rows(service, "clusters", "g", "--count", 3)
    assert len({row["label"] for row in labels}) == 3 and len(labels) == N


def test_pairs_and_labels_as_files(service: Served, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("u,v\n0,5\n4,9\n")
    words = ("--pairs", tmp_path / "pairs.csv", "-o", tmp_path / "answers.csv")
    assert client(service, "connected", "g", *words).returncode == 0
    answers = (tmp_path / "answers.csv").read_text().replace('"', "")
    assert answers.splitlines() == ["u,v,connected", "0,5,true", "4,9,true"]
    done = client(service, "connected", "g", 1)
    assert done.returncode == 1 and "give pairs of vertices" in done.stderr
    wrong = {"0,5\n1,x\n": '"x"', "0,5\n1,\n": "nothing", "0,5\n1,2.5\n": '"2.5"'}
    for lines, has in wrong.items():
        (tmp_path / "pairs.csv").write_text(f"u,v\n{lines}")
        done = client(service, "connected", "g", "--pairs", tmp_path / "pairs.csv")
        text = f"pairs.csv: row 1 (from 0) has {has} in column v, and a vertex is a"
        assert done.returncode == 1 and text in done.stderr


def test_columns_of_vertices_have_one_length(service: Served) -> None:
    with mndmst.connect(service.address) as connection:
        graph = connection["changed"]
        calls = (
            lambda: graph.connected([0, 1], [1, 2, 3]),
            lambda: graph.insert([0, 1], [5], [1]),
            lambda: graph.solve(without_edges=([0, 1], [1])),
        )
        for call in calls:
            with pytest.raises(mndmst.InputError, match="entries; give as many of"):
                call()
        assert graph.connected([], []).tolist() == []
        assert graph.solve(without_edges=([], [])).digest == graph.forest.digest
        assert graph.insert([], [], []) == graph.delete([], []) - 1


def test_the_shell_takes_the_table_of_the_command_update(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(N))
    table = "op,src,dst,weight\ndelete,3,4,\nset,0,1,9\ninsert,0,5,7\n"
    (tmp_path / "changes.csv").write_text(table)
    with served(tmp_path, 2, tmp_path / "g", "-q") as service:
        done = client(service, "update", "g", tmp_path / "changes.csv")
        assert done.stdout == "version=1\n", done
        with mndmst.connect(service.address) as connection:
            edges = connection["g"].edges()
        pairs = np.stack([edges["src"].to_numpy(), edges["dst"].to_numpy()], 1)
        assert [3, 4] not in pairs.tolist() and [0, 5] in pairs.tolist()
        words = (tmp_path / "changes.csv", "--delete", tmp_path / "changes.csv")
        done = client(service, "update", "g", *words)
        assert done.returncode == 1 and "but not both" in done.stderr


def test_lines_of_a_table_are_made_one_after_the_other(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(N))
    path = tmp_path / "changes.csv"
    with served(tmp_path, 1, tmp_path / "g", "-q") as service:
        lines = (
            "set,0,1,9\ndelete,1,0,\ninsert,0,1,8\nset,0,1,7\n"
            "insert,0,5,4\nset,5,0,6\nset,2,3,1\ndelete,2,3,\n"
        )
        path.write_text(f"op,src,dst,weight\n{lines}")
        done = client(service, "update", "g", path)
        assert done.stdout == "version=1\n", done
        with mndmst.connect(service.address) as connection:
            table = connection["g"].edges().to_pydict()
        columns = (table[name] for name in ("src", "dst", "weight"))
        edges = {(u, v): weight for u, v, weight in zip(*columns, strict=True)}
        assert (edges[0, 1], edges[0, 5]) == (7, 6) and (2, 3) not in edges
        refused = {
            "set,1,2,5\ninsert,0,1,9\ndelete,0,1,\n": "line 3: inserts an edge that a",
            "delete,0,1,\nset,0,1,9\n": "line 3: there is no edge (0, 1)",
            "set,1,2,5\ninsert,0,999999,9\n": "line 3: (0, 999999) names vertex",
        }
        for lines, problem in refused.items():
            path.write_text(f"op,src,dst,weight\n{lines}")
            done = client(service, "update", "g", path)
            assert done.returncode == 1 and problem in done.stderr, done
            assert f"{path}: " in done.stderr


def test_a_service_that_has_ended_leaves_no_address(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(N))
    with served(tmp_path, 1, tmp_path / "g", "-q") as service:
        kept = service.address.read_bytes()
    assert not service.address.exists()
    with pytest.raises(
        mndmst.InputError, match=r"no such file\. The service has ended"
    ):
        mndmst.connect(service.address)
    service.address.write_bytes(kept)  # as a service that was killed leaves it
    with pytest.raises(mndmst.ServiceError, match="left from a service that has ended"):
        mndmst.connect(service.address)
    done = client(service, "list")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done


def test_a_service_removes_an_old_address_before_it_reads(tmp_path: Path) -> None:
    address = tmp_path / "address"
    address.write_text('{"format": "mndmst-address", "creator": "mndmst 0", "url": ""}')
    words = ("serve", tmp_path / "missing", "--address-file", address)
    done = finish(start(python("-m", "mndmst", *words)), 60)
    assert done.returncode == 1
    assert not address.exists()


def test_a_client_on_ranks_sends_one_request(service: Served, tmp_path: Path) -> None:
    (tmp_path / "changes.csv").write_text("op,src,dst,weight\ninsert,0,7,3\n")
    words = ("-m", "mndmst", "client", service.address)
    with mndmst.connect(service.address) as connection:
        before = connection["changed"].info()["version"]
        update = (*words, "update", "changed", tmp_path / "changes.csv")
        done = finish(start(on_ranks(2, *update)), 60)
        assert done.returncode == 0 and done.stdout.count("version") == 1, done
        assert connection["changed"].info()["version"] == before + 1
    done = finish(start(on_ranks(2, *words, "info", "none")), 60)
    assert done.returncode != 0 and done.stderr.count("mndmst: error:") == 1, done


def test_a_running_service_keeps_its_address_file(service: Served) -> None:
    kept = service.address.read_bytes()
    graph = service.address.with_name("g")
    words = ("serve", graph, "-q", "--overwrite", "--address-file", service.address)
    done = finish(start(python("-m", "mndmst", *words)), 60)
    assert done.returncode == 1, done
    assert len(done.stderr.splitlines()) == 1, done
    assert f"{service.address}: a running service uses this" in done.stderr
    assert f"{service.url}, process {service.ranks()[0]} on " in done.stderr
    assert service.address.read_bytes() == kept
    assert client(service, "list").returncode == 0


def test_a_file_of_another_kind_is_no_address(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("hello")
    with pytest.raises(mndmst.InputError, match="is not the address file"):
        mndmst.connect(tmp_path / "file")


@pytest.mark.parametrize("ranks", [0, -1])
def test_a_session_needs_ranks(ranks: int) -> None:
    with pytest.raises(mndmst.ConfigError, match="give at least 1"):
        mndmst.Session("g", ranks=ranks)
    with pytest.raises(mndmst.ConfigError, match="give an integer"):
        mndmst.Session("g", ranks=1.5)
    with pytest.raises(mndmst.ConfigError, match="give the path of a graph"):
        mndmst.Session(["g"])
    with pytest.raises(mndmst.ConfigError, match="give the path of a file of points"):
        mndmst.Session(points=[[1, 2]])
    for given in ({}, {"graph": "g", "points": "p.csv"}):
        with pytest.raises(mndmst.ConfigError, match="either the path of a graph, or"):
            mndmst.Session(**given)
    assert repr(mndmst.Session("g")) == "Session('g', ranks=1, ended)"
    shown = repr(mndmst.Session(points="p.csv", ranks=2))
    assert shown == "Session(points='p.csv', ranks=2, ended)"
