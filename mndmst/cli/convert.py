"""The command `convert`."""

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.errors import ConfigError
from ..host.progress import notice
from .options import (
    add_columns,
    add_flag,
    add_memory,
    add_moved_graph,
    add_overwrite,
    add_quiet,
    print_notes,
    terminal_stages,
)
from .parser import Commands, size

if TYPE_CHECKING:
    from ..host.memory import Budget
    from ..io.atomic_output import AtomicOutput
    from ..io.edge_file import Edges
    from ..io.shards.sharded_graph import ShardedGraph

# Formats that cannot list vertices without an edge
TABLES = (".csv",)


def add_convert(commands: Commands) -> None:
    """Add the command to the parser."""
    convert = commands.add_parser(
        "convert",
        help="write a graph, a forest or clusters in another format",
        description="Read a forest, or any graph that `partition` reads, and write it "
        "as .csv, .tsv, .parquet, .json, .graphml, .gexf, .gml, .net or .ncol, under "
        "the names that vertices have, or as .gr, .mtx, .npz or .txt, which have "
        "numbers. As .nwk, a forest becomes its own trees, rooted, and a cluster file "
        "its dendrogram; as .csv, a cluster file becomes a table of labels.",
    )
    convert.add_argument(
        "file", type=Path, help="graph, forest or cluster file to read"
    )
    convert.add_argument(
        "out", type=Path, nargs="+", help="files to write, in one format each"
    )
    convert.add_argument(
        "--format",
        metavar="NAME",
        help="format of the input (default: from its suffix)",
    )
    add_columns(convert)
    add_moved_graph(convert)
    add_flag(
        convert, "--numbers", "write vertex numbers instead of names or original ids"
    )
    add_memory(convert, "memory limit (default: all free memory)", size)
    add_flag(
        convert,
        "--dendrogram",
        "write the single-linkage dendrogram of the forest as .nwk, not its trees",
    )
    add_overwrite(convert, "replace an existing file")
    add_quiet(convert)
    convert.set_defaults(process=_convert, one_process=True)


def _convert(arguments: argparse.Namespace) -> int:
    from ..io.atomic_output import AtomicOutput, check_outputs
    from ..io.output_kinds import CLUSTERS, EDGES

    trees = [path for path in arguments.out if path.suffix == ".nwk"]
    others = [path for path in arguments.out if path.suffix != ".nwk"]
    if arguments.dendrogram and not trees:
        raise ConfigError("--dendrogram goes with a name in .nwk")
    clusters = bool(others) and _has_clusters(arguments)
    if clusters:
        _check_clusters(arguments, others)
    kind = CLUSTERS if clusters else EDGES
    outputs = [(path, CLUSTERS if path in trees else kind) for path in arguments.out]
    inputs = arguments.file, arguments.graph
    check_outputs(inputs, outputs, overwrite=arguments.overwrite)
    with AtomicOutput(overwrite=arguments.overwrite) as files:
        if trees:
            _convert_to_newick(arguments, trees, files)
        if clusters:
            _convert_clusters(arguments, others, files)
        elif others:
            _convert_edges(arguments, others, files)
    return 0


def _convert_edges(
    arguments: argparse.Namespace, paths: list[Path], files: "AtomicOutput"
) -> None:
    """Write the edges of a graph or a forest in the formats of some files."""
    from ..host.memory import Budget
    from ..io.formats import check_writer, write_edges_in

    budget = Budget(arguments.memory or 0, whole_process=True)
    lists = {path: check_writer(path).lists_vertices for path in paths}
    with terminal_stages(arguments.quiet) as progress:
        progress.stage(f"reading {arguments.file}")
        edges, listed = _read(arguments, paths, any(lists.values()), budget)
        for path in paths:
            progress.stage(f"writing {path}")
            written = listed if lists[path] else edges
            write_edges_in(files, written, path, budget)
            _notice_other_ids(path, written, arguments.quiet)
            if path.suffix in TABLES and written.num_vertices > _named(written):
                _notice_left_out(path, written)


def _has_clusters(arguments: argparse.Namespace) -> bool:
    from ..io.results.clusters_file import is_clusters

    file = arguments.file
    is_result = arguments.format in (None, "h5") and file.suffix in (".h5", ".hdf5")
    return is_result and file.is_file() and is_clusters(file)


def _check_clusters(arguments: argparse.Namespace, paths: list[Path]) -> None:
    """Refuse options and formats that do not suit a cluster file."""
    from ..io.formats.table_columns import check_no_columns

    for path in paths:
        if path.suffix != ".csv":
            raise ConfigError(
                f"{path}: {arguments.file} has clusters, which convert writes as .csv "
                "(labels) or .nwk (dendrogram)."
            )
    check_no_columns(arguments.file, arguments.columns)
    if arguments.graph is not None:
        raise ConfigError(
            f"--graph goes with a forest, and {arguments.file} has clusters"
        )


def _convert_clusters(
    arguments: argparse.Namespace, paths: list[Path], files: "AtomicOutput"
) -> None:
    """Write the labels of a cluster file as tables."""
    from ..io.results.clusters_file import convert_to_table

    for path in paths:
        convert_to_table(arguments.file, path, files, arguments.numbers)


def _convert_to_newick(
    arguments: argparse.Namespace, paths: list[Path], files: "AtomicOutput"
) -> None:
    """Write the trees of a forest, or a dendrogram."""
    from ..api.forest import Forest
    from ..io.formats.graph_files import is_forest
    from ..io.output_kinds import CLUSTERS
    from ..io.results.clusters_file import read_dendrogram
    from ..io.results.forest_file import read_forest
    from ..io.results.graph_names import names_of_forest
    from ..io.results.newick import leaf_names, write_newick, write_trees
    from ..tree.linkage import MIRRORED, single_linkage
    from ..tree.rooted_trees import root_trees

    names, forest = None, None
    if is_forest(arguments.file):
        if not arguments.numbers:
            names = names_of_forest(arguments.file, arguments.graph)
        forest = Forest.of_file(read_forest(arguments.file))
        name = leaf_names(None if names is None else names.take(slice(None)).texts())
    else:
        stored = read_dendrogram(arguments.file)
        name = leaf_names(None if arguments.numbers else stored.ids)
    if forest is not None and forest.maximum and arguments.dendrogram:
        note = f"a maximum forest: heights are the {MIRRORED}"
        print_notes([note], arguments.quiet)
    if forest is None:
        write = partial(write_newick, linkage=stored.linkage, name=name)
    elif arguments.dendrogram:
        write = partial(write_newick, linkage=single_linkage(forest), name=name)
    else:
        trees = root_trees(forest.num_vertices, forest.src, forest.dst, forest.weight)
        write = partial(write_trees, trees=trees, weight=forest.weight, name=name)
    for path in paths:
        with (
            files.file(path, CLUSTERS) as temporary,
            temporary.open("w", encoding="utf-8") as text,
        ):
            write(text)


def _read(
    arguments: argparse.Namespace, paths: list[Path], lists: bool, budget: "Budget"
) -> "tuple[Edges, Edges]":
    """Read the graph or the forest, with the names of its vertices if it has any.

    Returns its edges, and with `lists` the same for formats that list all vertices.
    """
    from ..io.edge_file import EdgeFile
    from ..io.formats import open_edges
    from ..io.formats.graph_files import is_forest, read_numbered
    from ..io.formats.table_columns import is_similarity
    from ..io.names import Names
    from ..io.results.graph_names import (
        GraphNames,
        graph_of_forest,
        names_of_forest,
        with_listed_ids,
        with_names,
        with_vertex_ids,
    )
    from ..io.shards.sharded_graph import open_graph

    def with_ids(edges: "Edges", graph: "ShardedGraph") -> "tuple[Edges, Edges]":
        if arguments.numbers:
            return edges, edges
        edges = with_vertex_ids(edges, graph, budget)
        return edges, with_listed_ids(edges, graph) if lists else edges

    file, given = arguments.file, arguments.format in (None, "h5")
    is_ours = given and (file.is_dir() or file.suffix in (".h5", ".hdf5"))
    if is_ours and arguments.graph is None and (file.is_dir() or not is_forest(file)):
        graph = open_graph(file)
        if graph.maximum:
            _notice_direction(paths)
        return with_ids(read_numbered(graph, budget), graph)
    opened = open_edges(file, arguments.format, arguments.columns, budget)
    print_notes(opened.notes, arguments.quiet)
    if opened.maximum:
        _notice_direction(paths)
    elif is_similarity(opened.weight_name):
        for path in paths:
            notice(
                f"{path}: names the weight weight, not {opened.weight_name}; read it "
                "with --maximum if a larger value means nearer"
            )
    edges = opened.read()
    if arguments.graph is not None:
        return with_ids(edges, graph_of_forest(file, arguments.graph))
    if arguments.numbers:
        edges = replace(edges, names=None, first_id=0)
        return edges, edges
    names = names_of_forest(file) if is_ours else None
    if isinstance(names, GraphNames):
        return with_ids(edges, names.graph)
    if isinstance(names, Names):
        edges = with_names(edges, names, file)
    uncounted = isinstance(opened, EdgeFile) and opened.num_vertices is None
    return edges, with_listed_ids(edges) if lists and uncounted else edges


def _notice_direction(paths: list[Path]) -> None:
    """Say that files do not tell that the largest weights are taken."""
    for path in paths:
        notice(
            f"{path}: does not say that the largest weights are taken; read it with "
            "--maximum"
        )


def _notice_other_ids(out: Path, edges: "Edges", quiet: bool) -> None:
    """Report that a format counts vertices from another id than the input."""
    from ..io.formats import check_writer

    first = check_writer(out).first_id
    differs = first is not None and first != edges.first_id
    if differs and edges.names is None and not quiet:
        notice(
            f"{out}: counts vertices from {first}, so vertex {edges.first_id} of the "
            f"input is vertex {first} there"
        )


def _notice_left_out(out: Path, edges: "Edges") -> None:
    if edges.names is None and edges.first_id == 0:
        what = (
            "has no place for the number of vertices; read it again with partition "
            f"--num-vertices {edges.num_vertices}"
        )
    else:
        what = "has no place for vertices without an edge; .json and .graphml have one"
    notice(f"{out}: {what}")


def _named(edges: "Edges") -> int:
    """Return the number of names in a table of edges, or the largest id plus one."""
    import numpy as np

    if edges.names is not None or edges.first_id:
        return len(np.unique(np.concatenate((edges.src, edges.dst))))
    return 1 + max((int(ends.max()) for ends in (edges.src, edges.dst) if len(ends)),
                   default=-1)  # fmt: skip
