"""The command `root`."""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.errors import InputError
from ..host.formatting import counted
from .options import (
    add_flag,
    add_moved_graph,
    add_outputs,
    add_overwrite,
    add_quiet,
    notice_not_kept,
)
from .parser import Commands

if TYPE_CHECKING:
    import numpy as np

    from ..io.names import NameSource
    from ..tree.rooted_trees import RootedTrees

SHOWN = 10  # trees whose roots are printed


def add_root(commands: Commands) -> None:
    """Add the command to the parser."""
    from ..tree.rooted_trees import RULES, SMALLEST

    root = commands.add_parser(
        "root",
        help="root the trees of a forest: parents, depths, distances, subtree sizes",
        description="Hang each tree of a forest from a root, and write for each vertex "
        "its parent, its root, the number of edges and the sum of weights from the "
        "root, the size of its subtree, and its position in an order in which parents "
        "come before children. One process.",
    )
    root.add_argument("forest", type=Path, help="forest file, from solve")
    add_outputs(root, "table, .csv or .tsv, or Newick trees, .nwk")
    root.add_argument(
        "--root",
        action="append",
        default=[],
        metavar="NAME",
        help="vertex that is the root of its tree, by its name or number; may be "
        "repeated, for other trees",
    )
    root.add_argument(
        "--by",
        choices=RULES,
        default=SMALLEST,
        help="root of a tree without a given one: its smallest vertex, the one with "
        "the most forest edges, or the one whose farthest vertex is the fewest edges "
        "away; of several the smallest",
    )
    add_moved_graph(root)
    add_flag(root, "--numbers", "give and write vertex numbers instead of names")
    add_overwrite(root)
    add_quiet(root)
    root.set_defaults(process=_root, one_process=True)


def _root(arguments: argparse.Namespace) -> int:
    from ..api.forest import Forest
    from ..io.atomic_output import AtomicOutput, check_outputs
    from ..io.output_kinds import ROOTED
    from ..io.results.forest_file import read_forest
    from ..io.results.graph_names import names_of_forest
    from ..io.results.rooted_file import write_rooted
    from ..tree.rooted_trees import root_trees

    outputs = [(path, ROOTED) for path in arguments.outputs]
    inputs = arguments.forest, arguments.graph
    check_outputs(inputs, outputs, overwrite=arguments.overwrite)
    names = None
    if not arguments.numbers:
        names = names_of_forest(arguments.forest, arguments.graph)
    forest = Forest.of_file(read_forest(arguments.forest))
    trees = root_trees(
        forest.num_vertices,
        forest.src,
        forest.dst,
        forest.weight,
        _given(arguments, forest.num_vertices, names),
        arguments.by,
        int if names is None else partial(_text, names),
    )
    with AtomicOutput(overwrite=arguments.overwrite) as files:
        for path in arguments.outputs:
            write_rooted(files, path, trees, forest.weight, names)
    if not arguments.quiet:
        _print_roots(trees, names)
    print(
        f"RESULT n={forest.num_vertices} trees={forest.num_trees} "
        f"depth={int(trees.depth.max(initial=0))}",
        flush=True,
    )
    if not arguments.outputs:
        notice_not_kept("the rooted trees are", arguments.quiet)
    return 0


def _given(
    arguments: argparse.Namespace, count: int, names: "NameSource | None"
) -> "np.ndarray":
    """Return the vertices of `--root`; InputError if one does not exist."""
    import numpy as np

    from ..io.names import (
        IdRange,
        NameIndex,
        escaped,
        is_cell_of,
        names_of_cells,
        two_readings,
    )

    if not arguments.root:
        return np.empty(0, np.int64)
    source = IdRange(0, count) if names is None else names
    index, roots = NameIndex.of(source.take(slice(None))), []
    for word in arguments.root:
        cells = [word] * is_cell_of(source.kind, word)
        vertices = index.find(names_of_cells(source.kind, cells)).tolist()
        if vertices in ([], [-1]):
            raise InputError(
                f"--root {escaped(word)}: no vertex of {arguments.forest} is named "
                f'"{escaped(word)}"{two_readings(word)}. Give the name of a vertex.'
            )
        roots += vertices
    return np.array(roots, np.int64)


def _print_roots(trees: "RootedTrees", names: "NameSource | None") -> None:
    """Print the roots of the largest trees, with their sizes."""
    import numpy as np

    from ..io.names import escaped

    sizes = trees.size[trees.roots]
    largest = np.argsort(-sizes, kind="stable")[:SHOWN]
    for root in trees.roots[largest].tolist():
        text = str(root) if names is None else escaped(_text(names, root))
        print(f"root {text}: {counted(trees.size[root].item(), 'vertex')}")
    if len(sizes) > SHOWN:
        print(f"and {counted(len(sizes) - SHOWN, 'other tree')}")


def _text(names: "NameSource", vertex: int) -> str:
    return names.take(slice(vertex, vertex + 1)).texts()[0]
