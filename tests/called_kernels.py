"""Write `signatures.txt`: the kernels that commands call, for every type of weights.

python -m tests.called_kernels

It takes half an hour: what the tests of some rooms call is what these compile.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import graphs
from processes import on_ranks

from mndmst.graph.order import WEIGHT_DTYPES
from mndmst.native.cache_dirs import directories
from mndmst.native.code_store import RUNTIME_NAME, find
from mndmst.native.precompile import FILE

PROGRAM = Path(__file__).parent / "mpi" / "kernels_program.py"
RANKS = (1, 2, 3, 5)
# Called by `solve` where there is a GPU, ids are many and far apart, or many edges lead
# to close vertices; by whom, and for weights of so many bytes.
SOLVE, BOTH = ("solve",), ("arrays", "solve")
BLOCKS = (
    "mndmst.kernels.team.Member(i8,i8,i8[]),mndmst.kernels.kruskal.PairEdgeList({0}[],u8[]),"
    "mndmst.kernels.borders.Bordered(u4[],u8[],b1[]),"
    "mndmst.kernels.block_contraction.Blocks(i8[],i8[],i8[]),"
    "mndmst.kernels.block_contraction.Packing({0},i8,i8),u8[]"
)
COPIED_ARCS = (
    "mndmst.io.kernels.chunk_reading.StoredArcs(i8[,],i8[],i8[,],i8[]),"
    "mndmst.graph.arc_files.Driver(i8,i8,i8,i8),"
    "(mndmst.graph.arc_files.Lane(u1[],i8),mndmst.graph.arc_files.Lane(u1[],i8)),"
    "mndmst.io.kernels.chunk_reading.ArcTargets(i8,i8,i8,i8),u4[],i8"
)
AT_TIMES = {
    ("mndmst.io.kernels.chunk_reading.copy_arcs", COPIED_ARCS): (SOLVE, (4, 8)),
    ("mndmst.kernels.read_progress._wait", "i8[],i8,i8"): (SOLVE, (4, 8)),
    ("mndmst.kernels.sorting.order_runs", "u8[],u8[],i8,i8,i8"): (SOLVE, (4, 8)),
    ("mndmst.kernels.sorting._sort_range", "u8[],u8[],i8,i8,i8,i8"): (BOTH, (4, 8)),
    ("mndmst.kernels.block_contraction.mark_positions", "u8[],b1[],b1[],i8,i8"): (
        BOTH,
        (4, 8),
    ),
    ("mndmst.kernels.block_contraction.contract_inside_blocks", BLOCKS.format("u4")): (
        BOTH,
        (4,),
    ),
    ("mndmst.kernels.block_contraction.contract_inside_blocks", BLOCKS.format("u8")): (
        BOTH,
        (8,),
    ),
}
TESTS = {
    "points": ("tests/unit/points", "tests/mpi/test_points.py"),
    "service": ("tests/unit/service", "tests/mpi/test_service.py"),
    "others": ("tests/unit",),
}
# The modules whose kernels follow changes of points. Leaves of a tree have one of two
# types there, see `TreePart.first`; a fit has leaves of float64.
AFTER_CHANGES = (
    "changed_points", "changed_products", "neighbour_lists", "open_edges",
    "path_bounds", "rooted_forest",
)  # fmt: skip
HEAD = """\
# Who calls a kernel and for which types of weights, its name, and the types of its
# arguments. Ids are 32 bits wide. Those with the most code come first: to compile them
# takes longest. Written by tests/called_kernels.py.
"""
# Few edges and many, with and without a giant component, by one thread and several.
ARRAYS = """if True:
    import json, sys
    import numpy as np
    import mndmst
    from mndmst.native.loader import loaded
    rng = np.random.default_rng(1)
    for n, m in ((200, 800), (50_000, 20_000), (20_000, 600_000), (200_000, 400_000)):
        src, dst = rng.integers(0, n, (2, m)).astype(np.int32)
        weight = rng.integers(0, 1000, m).astype(sys.argv[1])
        for ends in ((src, dst), (src.astype(np.int64), dst.astype(np.int64))):
            for threads in (1, 4):
                mndmst.minimum_spanning_forest(*ends, weight, threads=threads)
        mndmst.minimum_spanning_forest(src, dst, weight, maximum=True)
    print(json.dumps(sorted(set(loaded()))))
"""
# Symmetric matrices of the same kinds; each weight is stored twice.
MATRICES = """if True:
    import json, sys
    import numpy as np
    import scipy.sparse
    import mndmst
    from mndmst.native.loader import loaded
    rng = np.random.default_rng(1)
    for n, m in ((200, 800), (50_000, 20_000), (20_000, 600_000), (200_000, 400_000)):
        ends = rng.integers(0, n, (2, m)).astype(np.int32)
        low, high = np.sort(ends[:, ends[0] != ends[1]], axis=0).astype(np.int64)
        low, high = np.divmod(np.unique(low * n + high), n)
        weight = np.tile(rng.integers(1, 1000, len(low)).astype(sys.argv[1]), 2)
        ends = np.r_[low, high], np.r_[high, low]
        matrix = scipy.sparse.csr_array((weight, ends), shape=(n, n))
        for threads in (1, 4):
            mndmst.minimum_spanning_tree(matrix, threads=threads)
    print(json.dumps(sorted(set(loaded()))))
"""


# Clusters of few points, of each norm, by one thread and several.
FEW_POINTS = """if True:
    import json
    import numpy as np
    from mndmst import HDBSCAN
    from mndmst.native.loader import loaded
    rng = np.random.default_rng(1)
    for count, threads in ((30, 1), (512, 4)):
        points = np.round(rng.normal(size=(count, 3)), 1)  # some distances are equal
        for metric in ("euclidean", "manhattan", "chebyshev", "cosine"):
            HDBSCAN(metric=metric, n_jobs=threads).fit(points)
        HDBSCAN(n_jobs=threads).fit(points.astype(np.float32))
    print(json.dumps(sorted(set(loaded()))))
"""


def write_graphs(directory: Path, dtype: str) -> list[Path]:
    """Write graphs that take all ways through the program; return where they are."""
    many = (np.arange(1 << 20) % 65_521).tolist()
    thin, thick = graphs.random(20_000, 25_000, 1), graphs.random(20_000, 200_000, 2)
    # Two graphs side by side have no giant component, so that bands follow.
    apart = [_side_by_side(graph) for graph in (thin, thick)]
    chosen = [
        graph.with_weights(many, dtype)
        for graph in (graphs.path(9), thin, thick, *apart)
    ]
    chosen.append(thick.with_weights([7], dtype))
    return [
        graphs.write_graph(directory / f"{dtype}-{i}", graph)
        for i, graph in enumerate(chosen)
    ]


def _side_by_side(graph: graphs.Graph) -> graphs.Graph:
    ends = (np.concatenate([end, end + graph.n]) for end in graph[1:3])
    return graphs.Graph(2 * graph.n, *ends, np.tile(graph.weight, 2))


def called_in_memory(program: str, dtype: str) -> list[tuple[str, str]]:
    """Return the kernels that solving graphs in memory calls, in another process."""
    run = subprocess.run(
        [sys.executable, "-c", program, dtype], stdout=subprocess.PIPE, check=True
    )
    return [tuple(entry) for entry in json.loads(run.stdout)]


def stored_by_tests(*paths: str) -> set[tuple[str, str]]:
    """Return the kernels of this package that some tests call."""
    with tempfile.TemporaryDirectory() as place:
        environment = dict(os.environ, MNDMST_CACHE_DIR=place, MNDMST_KERNELS="")
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *paths]
        subprocess.run(command, env=environment, check=True)
        heads = [file.open("rb").readline() for file in Path(place).rglob("*.o")]
    facts = [head.decode().split("\t") for head in heads]
    entries = {(name, signature) for name, signature, *_ in facts}
    ours = {entry for entry in entries if entry[0].startswith("mndmst.")}
    return ours - {(RUNTIME_NAME, "")}


def main() -> None:
    """Run all, and write the file."""
    users: dict[tuple[str, str], set[str]] = defaultdict(set)
    FILE.write_text(HEAD)  # a run would begin to compile what may be no more
    with tempfile.TemporaryDirectory() as place:
        for dtype in WEIGHT_DTYPES:
            paths = write_graphs(Path(place), dtype.name)
            for ranks in RANKS:
                for user in ("solve", "verify", "update"):
                    command = on_ranks(ranks, "-m", "mpi4py", PROGRAM, user, *paths)
                    run = subprocess.run(command, stdout=subprocess.PIPE, check=True)
                    for name, signature in json.loads(run.stdout):
                        users[name, signature].add(f"{user}:{dtype.str[1:]}")
            for user, program in (("arrays", ARRAYS), ("matrices", MATRICES)):
                for name, signature in called_in_memory(program, dtype.name):
                    users[name, signature].add(f"{user}:{dtype.str[1:]}")
    for entry, (callers, sizes) in AT_TIMES.items():
        users[entry] |= {
            f"{user}:{dtype.str[1:]}"
            for dtype in WEIGHT_DTYPES
            if dtype.itemsize in sizes
            for user in callers
        }
    for name, signature in called_in_memory(FEW_POINTS, ""):
        users[name, signature] |= {"few-points", "points"}
    for user, paths in TESTS.items():
        for entry in stored_by_tests(*paths) - users.keys():
            users[entry].add(user)
    for (name, signature), callers in users.items():
        of_f4, of_f8 = (f"PointTree({kind}" in signature for kind in ("f4", "f8"))
        if of_f4 or name.split(".")[-2] in AFTER_CHANGES:
            callers.clear()
            callers |= {"versions:f4"} if not of_f8 else set()
            callers |= {"versions:f8"} if not of_f4 else set()
        elif ".product_filter." in name:
            callers.clear()
            callers.add("products")
    lines = [
        (-_code_bytes(*entry), ",".join(sorted(types)), *entry)
        for entry, types in users.items()
    ]
    texts = [
        f"{types} {name.removeprefix('mndmst.')} {signature}\n"
        for _, types, name, signature in sorted(lines)
    ]
    FILE.write_text(HEAD + "".join(texts))


def _code_bytes(name: str, signature: str) -> int:
    """Return the length of the code that a run has compiled."""
    found = find(directories(), name, signature)
    return len(found.code) if found else 0


if __name__ == "__main__":
    main()
