"""Random changes of random graphs on the ranks of one MPI job, beside Kruskal.

Arguments: a seed, how many graphs, and whether indexes and rows are to be made anew
all the time, never, or as they usually are. Rank 0 prints how many batches agreed.
"""

import sys

import graphs
import numpy as np
import oracle

from mndmst.changes import current_forest, replacements, rows
from mndmst.changes.batch import DELETE, INSERT, SET, Batch
from mndmst.changes.changing import ChangingForest
from mndmst.changes.current_forest import CurrentForest, bottlenecks, connected
from mndmst.comm.world import world
from mndmst.graph.model import Rows
from mndmst.graph.order import WEIGHT_DTYPES, keys_to_weights, weights_to_keys
from mndmst.host.errors import InputError
from mndmst.tree.index import ForestIndex

comm = world()
seed, cases, anew = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng = np.random.default_rng(seed)  # the same on all ranks
if anew == "always":
    current_forest.MOST_WORK, rows.LEAST, rows.SHARE, replacements.ROOM = (
        0.1,
        2,
        1 << 40,
        1,
    )
elif anew == "never":
    current_forest.MOST_WORK, rows.LEAST = 1e9, 1 << 60

Edges = dict[tuple[int, int], object]


def answer(n: int, edges: Edges, dtype: np.dtype) -> oracle.Answer:
    pairs = np.array(list(edges), np.int64).reshape(-1, 2)
    return oracle.kruskal(n, *pairs.T, np.array(list(edges.values()), dtype))


def own_rows(n: int, arcs: list, dtype: np.dtype) -> Rows:
    """Return this rank's rows; loops and parallel arcs are among them."""
    cuts = np.sort(rng.integers(0, n + 1, comm.size - 1)).tolist()
    first, last = [0, *cuts, n][comm.rank : comm.rank + 2]
    held = sorted((a for a in arcs if first <= a[0] < last), key=lambda a: a[:2])
    indptr = np.searchsorted([a[0] for a in held], np.arange(first, last + 1))
    keys = weights_to_keys(np.array([a[2] for a in held], dtype))
    heads = np.array([a[1] for a in held], np.uint32)
    return Rows(first, n, indptr.astype(np.int64), heads, keys)


def draw_changes(n: int, edges: Edges, values: np.ndarray) -> tuple[list, Edges]:
    """Return changes, and the edges that there are afterwards."""
    after, changes = dict(edges), []
    heavy = rng.random() < 0.3  # many deletions
    for _ in range(int(rng.integers(0, 16))):
        u, v = sorted(rng.integers(0, n, 2).tolist())
        if after and rng.random() < 0.7:
            u, v = list(after)[int(rng.integers(len(after)))]
        if u == v:
            continue
        weight, op = rng.choice(values), INSERT
        if (u, v) in after:
            op = DELETE if heavy or rng.random() < 0.5 else SET
        after[u, v] = weight
        if op == DELETE:
            del after[u, v]
        changes.append((op, *rng.permutation([u, v]).tolist(), weight))
    return changes, after


def batch_of(changes: list, dtype: np.dtype) -> Batch | None:
    if comm.rank:
        return None
    op, src, dst, weight = zip(*changes, strict=True) if changes else ((),) * 4
    return Batch(np.array(op, np.uint8), src, dst, np.array(weight, dtype))


def refused(changing: ChangingForest, n: int, edges: Edges, dtype: np.dtype) -> None:
    """A batch with a change that cannot be made changes nothing, on no rank."""
    before, rows_before = changing.forest, changing.rows.delta
    missing = next(
        ((u, v) for u in range(n) for v in range(u + 1, n) if (u, v) not in edges), None
    )
    if missing is None:
        return
    changes = [(DELETE, u, v, 0) for u, v in list(edges)[:3]]
    try:
        changing.apply(batch_of([*changes, (SET, *missing, 0)], dtype))
    except InputError as error:
        u, v = missing
        assert f"change {len(changes)}: there is no edge ({u}, {v})" in str(error)
        assert error.ranks == comm.size
    else:
        raise AssertionError("an edge that is not there was set")
    assert changing.forest is before
    assert changing.rows.delta is rows_before


def check(changing: ChangingForest, n: int, edges: Edges, dtype: np.dtype) -> None:
    """Compare the forest on rank 0, and the rows on all."""
    now = changing.rows.current()
    heads, weights = now.indices.tolist(), keys_to_weights(now.keys, dtype).tolist()
    tails = np.repeat(np.arange(now.first, now.last), np.diff(now.indptr)).tolist()
    found: Edges = {}
    for u, v, weight in zip(tails, heads, weights, strict=True):
        if u != v:
            found[u, v] = min(weight, found.get((u, v), weight))
    both = {**edges, **{(v, u): weight for (u, v), weight in edges.items()}}
    right = {pair: w for pair, w in both.items() if now.first <= pair[0] < now.last}
    assert found == right
    if changing.forest is not None:
        expected, forest = answer(n, edges, dtype), changing.forest.edges()
        assert forest.u.tolist() == expected.src.tolist()
        assert forest.v.tolist() == expected.dst.tolist()
        weights = keys_to_weights(forest.key, dtype)
        assert weights.tolist() == expected.weight.tolist()
        assert len(changing.forest) == len(expected.src)
        index = changing.forest.indexed()
        smallest = oracle.smallest_of_trees(n, expected.src, expected.dst)
        assert index.labels.tolist() == smallest.tolist()
        check_paths(changing.forest, index, dtype)


def check_paths(forest: CurrentForest, index: ForestIndex, dtype: np.dtype) -> None:
    """Compare answers from changes with those of an index made anew."""
    pairs = np.random.default_rng(len(forest)).integers(0, index.num_vertices, (2, 40))
    u, v = pairs.astype(np.uint32)
    assert connected(forest, u, v).tolist() == index.connected(u, v).tolist()
    place, edges = bottlenecks(forest, u, v)
    right = index.bottleneck(u, v)
    assert (place < 0).tolist() == (right < 0).tolist()
    place, right = place[place >= 0], right[right >= 0]
    weights = keys_to_weights(edges.key, dtype)
    for end, expected in zip(edges.ends, (index.src, index.dst), strict=True):
        assert end[place].tolist() == expected[right].tolist()
    assert weights[place].tolist() == index.weight[right].tolist()


def run(case: int) -> int:
    """Change a graph several times; return how many batches were applied."""
    dtype = WEIGHT_DTYPES[case % len(WEIGHT_DTYPES)]
    n, m = int(rng.integers(2, 60)), int(rng.integers(0, 150))
    values = np.array(graphs.extremes(dtype.name)[: rng.integers(1, 10)], dtype)
    if rng.random() < 0.5:
        values = np.arange(1000).astype(dtype)
    src, dst = rng.integers(0, n, (2, m)).tolist()
    listed = list(zip(src, dst, rng.choice(values, m), strict=True))
    edges: Edges = {}
    for u, v, weight in listed:
        if u != v:
            pair = min(u, v), max(u, v)
            edges[pair] = min(weight, edges.get(pair, weight))
    arcs = listed + [(v, u, weight) for u, v, weight in listed if u != v]
    own = own_rows(n, arcs, dtype)
    first = answer(n, edges, dtype)
    index = ForestIndex(n, *first[2:]) if comm.rank == 0 else None
    changing = ChangingForest(comm, own, dtype, index)
    batches = int(rng.integers(1, 10))
    for number in range(batches):
        changes, edges = draw_changes(n, edges, values)
        applied = changing.apply(batch_of(changes, dtype))
        assert applied.version == changing.version == number + 1
        check(changing, n, edges, dtype)
    refused(changing, n, edges, dtype)
    return batches


applied = sum(run(case) for case in range(cases))
if comm.rank == 0:
    print(applied)
