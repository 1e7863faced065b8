"""The certificate accepts the one right forest and refutes every other."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import graphs
import h5py
import numpy as np
import pytest
from forests import COMM, judge, write
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import kruskal
from processes import Run

import mndmst
from mndmst.certificate import candidate, certificate, verify
from mndmst.certificate.candidate import in_words, load
from mndmst.host.errors import InputError
from mndmst.io.names import names_of_values
from mndmst.io.results import forest_file
from mndmst.io.results.forest_file import read_forest
from mndmst.io.shards.sharded_graph import ShardedGraph, open_graph

# Two trees of the vertices 0 to 4 and 7 to 9; 5 and 6 stand alone.
GRAPH = graphs.Graph(
    10,
    np.array([0, 1, 2, 3, 0, 1, 7, 8, 7, 3]),
    np.array([1, 2, 3, 4, 4, 3, 8, 9, 9, 4]),
    np.array([1, 2, 3, 2, 5, 3, 4, 4, 4, 9]),
)
FOREST = {(0, 1): 1, (1, 2): 2, (1, 3): 3, (3, 4): 2, (7, 8): 4, (7, 9): 4}
LABELS = np.array([0, 0, 0, 0, 0, 5, 6, 7, 7, 7])


def test_right_forest_is_accepted(tmp_path: Path) -> None:
    verdict = judge(tmp_path, GRAPH, FOREST, labels=LABELS)
    assert verdict.problems == []
    assert verdict.ok
    facts = verdict.n, verdict.m, verdict.edges, verdict.trees, verdict.weight
    assert facts == (10, 9, 6, 4, 16)
    assert verdict.digest == kruskal(*GRAPH).digest
    assert verdict.text().startswith("VERDICT ok n=10 m=9 edges=6 trees=4 weight=16 ")


def test_trees_of_a_forest_of_another_graph_are_not_guessed(tmp_path: Path) -> None:
    small = graphs.Graph(3, *np.array([[0, 1], [1, 2], [1, 2]]))
    graphs.write_graph(tmp_path / "small", small)
    assert judge(tmp_path, GRAPH, FOREST).ok
    verdict = verify(COMM, open_graph(tmp_path / "small"), tmp_path / "forest.h5")
    assert verdict.trees is None
    last = verdict.text().splitlines()[-1]
    assert "VERDICT refuted n=3 m=unknown edges=6 trees=unknown weight=unknown" in last


@pytest.mark.parametrize(
    ("labels", "wrong"),
    [
        ([2, 2, 2, 8, 9], []),
        ([2, 5, 2, 8, 9], ["vertex 5 has label 5, but 2 is"]),
        ([2, 2, 7, 8, 2], ["vertex 7 has label 7, but 2 is", "vertex 9 has label 2, "]),
    ],
)
def test_vertices_without_edges_are_labelled_by_themselves(
    labels: list[int], wrong: list[str]
) -> None:
    """Of the vertices 2, 5, 7, 8 and 9 the first three are a tree."""
    none = np.zeros(0, np.uint32)
    forest = candidate.Candidate(*[none] * len(candidate.Candidate._fields))._replace(
        vertices=np.array([2, 5, 7, 3], np.uint32), smallest=np.array([0, 0, 0, 1])
    )
    vertices, heads = np.array([2, 5, 7, 8, 9]), np.array([0, 1, 2, 3, 3])
    problems = certificate._wrong_labels(np.array(labels), forest, vertices, heads)
    found = list(map(in_words, problems))
    assert [
        text[: len(words)] for text, words in zip(found, wrong, strict=True)
    ] == wrong


def without(*edges: tuple[int, int]) -> dict:
    return {edge: weight for edge, weight in FOREST.items() if edge not in edges}


def ordered(forest: dict) -> dict:
    return dict(sorted(forest.items()))


@pytest.mark.parametrize(
    ("forest", "problems"),
    [
        pytest.param(
            ordered(without((1, 3)) | {(2, 3): 3}),
            [
                "edge (1, 3) weight 3 precedes the tree edge (2, 3) weight 3 on the "
                "path between its ends: the forest is not minimal"
            ],
            id="swapped among ties",
        ),
        pytest.param(
            ordered(without((1, 3)) | {(0, 4): 5}),
            [
                "edge (1, 3) weight 3 is lighter than the tree edge (0, 4) weight 5 on "
                "the path between its ends: the forest is not minimal",
                "edge (2, 3) weight 3 is lighter than the tree edge (0, 4) weight 5 on "
                "the path between its ends: the forest is not minimal",
            ],
            id="heavier",
        ),
        pytest.param(
            without((7, 9)),
            [
                "edge (7, 9) weight 4 joins two trees: the forest does not span its "
                "component",
                "edge (8, 9) weight 4 joins two trees: the forest does not span its "
                "component",
            ],
            id="missing",
        ),
        pytest.param(
            FOREST | {(1, 2): 7},
            ["edge (1, 2) weight 7 has weight 2 in the graph"],
            id="wrong weight",
        ),
        pytest.param(
            FOREST | {(3, 4): 9},
            ["edge (3, 4) weight 9 has weight 2 in the graph"],
            id="heavier of parallel edges",
        ),
        pytest.param(
            ordered(FOREST | {(8, 9): 4}),
            ["edge (8, 9) weight 4 closes a cycle"],
            id="cycle",
        ),
        pytest.param(
            ordered(FOREST | {(5, 6): 1}),
            ["edge (5, 6) weight 1 is not in the graph"],
            id="not in the graph",
        ),
    ],
)
def test_wrong_forest_is_refuted(
    tmp_path: Path, forest: dict, problems: list[str]
) -> None:
    verdict = judge(tmp_path, GRAPH, forest)
    assert not verdict.ok
    assert [text for text in problems if text not in verdict.problems] == []
    kinds = ("lighter", "precedes", "joins", "has weight", "cycle", "not in")
    named = {kind for kind in kinds if any(kind in text for text in problems)}
    seen = {kind for kind in kinds if any(kind in text for text in verdict.problems)}
    # A forest edge of too much weight is also heavier than its own arc.
    assert seen - named <= ({"lighter"} if "has weight" in named else set())


@pytest.mark.parametrize(
    ("change", "text", "times"),
    [
        ({"graph_uuid": "other"}, "says it is of graph other", 1),
        ({"n": 11}, "11 vertices, this graph has 10", 1),
        ({"dtype": np.int32}, "weights are int32, the graph's are int64", 1),
        ({"total_weight": 17}, "of the edges is 16, the attribute says 17", 1),
        ({"total_weight": 16.0}, "of the edges is 16, the attribute says 16.0", 1),
        ({"digest": "0" * 64}, "the attribute says 000", 1),
        ({"labels": np.where(LABELS == 7, 8, LABELS)}, "has label 8, but", 3),
        ({"labels": np.where(LABELS == 5, 0, LABELS)}, "vertex 5 has label 0", 1),
    ],
)
def test_wrong_header_or_labels_are_refuted(
    tmp_path: Path, change: dict, text: str, times: int
) -> None:
    verdict = judge(tmp_path, GRAPH, FOREST, **change)
    assert not verdict.ok
    assert [text in problem for problem in verdict.problems] == [True] * times


def test_wrong_number_of_trees_is_refuted(tmp_path: Path) -> None:
    judge(tmp_path, GRAPH, FOREST)
    with h5py.File(tmp_path / "forest.h5", "r+") as file:
        file.attrs["num_trees"] = 5
    verdict = verify(COMM, open_graph(tmp_path / "graph"), tmp_path / "forest.h5")
    assert verdict.trees == 4
    assert len(verdict.problems) == 1
    assert "make 4 trees, the attribute says 5" in verdict.problems[0]


@pytest.mark.parametrize(
    ("src", "dst", "text"),
    [
        ([0, 0], [1, 1], "edge (0, 1) is there twice"),
        ([1, 0], [2, 1], "edge (0, 1) is not sorted"),
        ([0, 4], [1, 3], "edge (4, 3) is not written with src < dst"),
        ([2], [2], "edge (2, 2) is not written with src < dst"),
        ([3], [10], "edge (3, 10) is out of range"),
        ([-1], [3], "edge (-1, 3) is out of range"),
    ],
)
@pytest.mark.parametrize("piece", [1, 1000])
def test_malformed_edges_are_refuted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, src, dst, text, piece
) -> None:
    monkeypatch.setattr("mndmst.io.results.forest_file.PIECE", piece)
    graphs.write_graph(tmp_path / "graph", GRAPH)
    columns = np.array(src), np.array(dst), np.ones(len(src), np.int64)
    write(tmp_path / "forest.h5", 10, *columns)
    verdict = verify(COMM, open_graph(tmp_path / "graph"), tmp_path / "forest.h5")
    assert not verdict.ok
    assert verdict.m is None
    assert any(text in problem for problem in verdict.problems)


def test_nan_in_the_forest_is_refuted(tmp_path: Path) -> None:
    graph = GRAPH._replace(weight=GRAPH.weight.astype(np.float64))
    verdict = judge(tmp_path, graph, FOREST | {(1, 2): np.nan})
    assert "edge (1, 2) is of weight NaN" in verdict.problems


def test_asymmetric_graph_is_refused(tmp_path: Path) -> None:
    arcs = graphs.Graph(
        3, np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]), np.array([1, 1, 2, 3])
    )
    graphs.write_arcs(tmp_path / "graph", arcs)
    forest = np.array([0, 1]), np.array([1, 2]), np.array([1, 2])
    write(tmp_path / "forest.h5", 3, *forest)
    with pytest.raises(InputError, match="rows of both its ends"):
        verify(COMM, open_graph(tmp_path / "graph"), tmp_path / "forest.h5")


def test_only_the_first_problems_are_named(tmp_path: Path) -> None:
    verdict = judge(tmp_path, graphs.clique(30), {})
    assert len(verdict.problems) == 10
    assert verdict.problems[9].startswith("edge (0, 10) ")
    assert verdict.text().splitlines()[:10] == verdict.problems
    assert verdict.text().splitlines()[10].startswith("VERDICT refuted n=30 m=435 ")


@pytest.mark.parametrize("name", graphs.NASTY)
def test_answer_of_the_oracle_is_accepted(tmp_path: Path, name: str) -> None:
    graph = graphs.NASTY[name]
    answer = kruskal(*graph)
    verdict = judge(tmp_path, graph, answer)
    assert verdict.problems == []
    assert verdict.ok
    facts = verdict.m, verdict.edges, verdict.trees, verdict.digest
    assert facts == (answer.m, len(answer.src), answer.trees, answer.digest)


def with_wide_ids(graph: graphs.Graph) -> graphs.Graph:
    """Spread a graph's vertices out, so that most ids are not in the forest."""
    return graph._replace(n=graph.n * 90, src=graph.src * 90, dst=graph.dst * 90)


@pytest.mark.parametrize(
    ("spread", "piece"), [(lambda graph: graph, 3), (with_wide_ids, 200)]
)
def test_any_other_spanning_forest_is_refuted(spread: Callable, piece: int) -> None:
    @settings(max_examples=40, deadline=None)
    @given(graph=graphs.graphs(max_vertices=12), data=st.data())
    def check(graph: graphs.Graph, data: st.DataObject) -> None:
        graph = spread(graph)
        right = kruskal(*graph)
        shuffled = data.draw(st.permutations(range(len(graph.src))))
        other = kruskal(graph.n, graph.src, graph.dst, np.array(shuffled, np.int64))
        place = {rank: edge for edge, rank in enumerate(shuffled)}
        chosen = [place[rank] for rank in other.weight.tolist()]
        other = other._replace(weight=graph.weight[chosen])
        columns = zip(right[2:], other[2:], strict=True)
        same = all(np.array_equal(mine, its) for mine, its in columns)
        with tempfile.TemporaryDirectory() as folder:
            verdict = judge(Path(folder), graph, other, threads=2)
        assert verdict.ok == same
        assert verdict.m == right.m
        assert verdict.trees == right.trees

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certificate, "PIECE_ARCS", piece)
        patch.setattr(certificate, "PIECE_ROWS", 2 * piece)
        check()


class FirstAndLastRows:
    """Rows 0 to 2 and the last three of a graph too wide to be written."""

    n = (1 << 32) + 5
    weight_dtype = np.dtype(np.uint64)
    maximum = False
    arcs = {0: (n - 1, 6), 1: (n - 2, 7), n - 2: (1, 7), n - 1: (0, 6)}  # noqa: RUF012

    def read_rows(self, begin: int, end: int) -> tuple:
        held = [row in self.arcs for row in range(begin, end)]
        arcs = [self.arcs[row] for row in range(begin, end) if row in self.arcs]
        columns = np.array(arcs, np.int64).reshape(-1, 2)
        indptr = np.concatenate(([0], np.cumsum(held)))
        return indptr, columns[:, 0].copy(), columns[:, 1].astype(np.uint64)


def test_ids_beyond_32_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = FirstAndLastRows()
    monkeypatch.setattr(certificate, "read_rows", FirstAndLastRows.read_rows)
    ends = np.array([0, 1]), np.array([graph.n - 1, graph.n - 2])
    weight = np.array([6, 7], np.uint64)
    for edges in (slice(2), slice(1)):
        columns = (column[edges] for column in (*ends, weight))
        path = write(tmp_path / "forest.h5", graph.n, *columns)
        forest = read_forest(path)
        candidate = load(forest)
        assert candidate.vertices.dtype == np.int64
        findings = certificate.merge(
            [
                certificate.check_rows(graph, forest, candidate, 0, 3),
                certificate.check_rows(graph, forest, candidate, graph.n - 3, graph.n),
            ]
        )
        assert (findings.distinct, findings.balance) == (2, 0)
        lost = [f"edge (1, {graph.n - 2}) weight 7"] if edges.stop == 1 else []
        texts = [in_words(problem) for problem in findings.problems["apart"]]
        assert [text.split(" joins")[0] for text in texts] == lost
        assert sum(map(len, findings.problems.values())) == len(lost)


def test_damaged_rows_are_an_input_error(tmp_path: Path) -> None:
    judge(tmp_path, GRAPH, FOREST)
    part = next((tmp_path / "graph").glob("part-*.h5"))
    part.write_bytes(part.read_bytes()[:2000])
    with pytest.raises(InputError, match="part-"):
        verify(COMM, open_graph(tmp_path / "graph", False), tmp_path / "forest.h5")


def test_the_command_passes_threads_on(
    tmp_path: Path, mndmst: Callable[..., Run]
) -> None:
    assert judge(tmp_path, GRAPH, FOREST).ok
    command = "verify", tmp_path / "graph", tmp_path / "forest.h5", "--threads"
    assert mndmst(*command, 2).stdout.startswith("VERDICT ok")
    assert (
        "--threads: '0' is not a whole number from 1 to 4,096"
        in mndmst(*command, 0).stderr
    )


@pytest.mark.parametrize("piece", [1, 3, 1 << 20])
def test_ranks_divide_all_rows(tmp_path: Path, piece: int) -> None:
    """Each row is in one piece of one rank; pieces have few arcs, or one row."""
    graph = open_graph(graphs.write_graph(tmp_path / "graph", GRAPH, parts=3))
    for ranks in (1, 2, 3, 7):
        found = [
            list(certificate.pieces(graph, rank, ranks, piece, 2 * piece))
            for rank in range(ranks)
        ]
        every = [piece for mine in found for piece in mine]
        assert [row for part in every for row in range(*part)] == list(range(10))
        loads = [sum(arcs_of(graph, *part) for part in mine) for mine in found]
        assert sum(loads) == graph.num_arcs
        assert max(loads) <= graph.num_arcs / ranks + 4  # of the longest row
        for begin, end in every:
            assert end == begin + 1 or arcs_of(graph, begin, end) <= piece


def arcs_of(graph: ShardedGraph, begin: int, end: int) -> int:
    return int(np.ptp(graph.read_indptr(begin, end)))


def test_problems_name_vertices_where_they_have_names(tmp_path: Path) -> None:
    lines = [
        f"{'abcdefghij'[u]} {'abcdefghij'[v]} {w}\n"
        for u, v, w in zip(*GRAPH[1:], strict=True)
    ]
    (tmp_path / "named.ncol").write_text("".join(lines))
    path = mndmst.partition(tmp_path / "named.ncol", tmp_path / "named")
    graph = open_graph(path)
    mndmst.solve(path, output=tmp_path / "forest.h5", labels=True)
    assert verify(COMM, graph, tmp_path / "forest.h5").ok
    with h5py.File(tmp_path / "forest.h5", "r+") as file:
        file["labels"][3] = 2
        file["forest/dst"][0] += 1
    text = verify(COMM, graph, tmp_path / "forest.h5").text()
    assert 'edge ("a", "c") weight 1 is not in the graph' in text
    assert (
        'vertex "d" has label "c", but "a" is the smallest vertex of its tree' in text
    )


def test_a_problem_names_only_its_vertices() -> None:
    names = names_of_values("names", ["zero", "one"])
    problem = ("edge (", 1, ", ", 2, ") weight 1, 0 (0, 1)")
    assert in_words(problem) == "edge (1, 2) weight 1, 0 (0, 1)"
    assert in_words(problem, names) == 'edge ("one", 2) weight 1, 0 (0, 1)'
    assert in_words(("edge (", -1, ")"), names) == "edge (-1)"


def test_room_is_made_for_all_arrays_of_a_forest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(
        candidate, "require", lambda nbytes, ranks: asked.append(nbytes)
    )
    answer = kruskal(*graphs.random(3000, 9000, seed=1))
    judge(tmp_path, graphs.random(3000, 9000, seed=1), answer)
    held = sum(array.nbytes for array in load(read_forest(tmp_path / "forest.h5")))
    assert held <= asked[0] <= 2 * held


@pytest.mark.parametrize("piece", [1, 2, 3])
def test_the_order_of_edges_is_checked_from_piece_to_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(forest_file, "PIECE", piece)
    assert judge(tmp_path, GRAPH, FOREST).ok
    graph = open_graph(tmp_path / "graph")
    for place in range(len(FOREST) - 1):
        edges = list(FOREST.items())
        edges[place], edges[place + 1] = edges[place + 1], edges[place]
        ends = np.array([end for end, _ in edges]).T
        weight = np.array([weight for _, weight in edges])
        path = write(tmp_path / f"{place}.h5", GRAPH.n, *ends, weight)
        (u, v), _ = edges[place + 1]
        wanted = f"edge ({u}, {v}) is not sorted by (src, dst)"
        assert wanted in verify(COMM, graph, path).problems
