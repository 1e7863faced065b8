"""The programs on sharded graphs, called from Python on the ranks of an MPI job.

Every function but `partition` is collective: every rank of `comm` calls it with the
same arguments. A rank that fails alone ends the job (`MPI_Abort`), because the others
would wait for it for ever.
"""

import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.errors import ConfigTypeError, shown
from .inputs import as_count, as_flag, as_path, warn_of_similarity

if TYPE_CHECKING:
    from ..certificate.certificate import Verdict
    from ..comm.communicator import Comm
    from ..comm.mpi_library import MpiComm
    from ..label_components import Components
    from ..solver.config import Config
    from ..solver.write import Summary


def partition(
    file: str | Path,
    out: str | Path,
    parts: int = 1,
    *,
    format: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    weights: str | None = None,
    num_vertices: int | None = None,
    compact_ids: bool = False,
    symmetrize: bool = False,
    reorder: str = "none",
    compress: bool = False,
    maximum: bool | None = None,
    overwrite: bool = False,
    memory: int | str = 0,
) -> Path:
    """Write an edge file of any size as a sharded graph, in this process.

    Parameters
    ----------
    file : str or Path
        An edge file of any format that ``mndmst partition`` reads, or a sharded graph.
    out : str or Path
        Directory to make.
    parts : int
        Number of shards.
    format : str, optional
        In place of the format that the file's suffix says.
    columns : str or mapping, optional
        Columns of a table that are the ends and the weight, or some of these:
        ``"source=A,target=B,weight=C"``, or a dictionary of these roles.
    weights : str, optional
        Weights in place of the file's, such as ``"constant:1"``.
    num_vertices : int, optional
        By default the number in the file, or one more than its largest id.
    compact_ids : bool
        Leave out ids that no edge names; the original ids are kept beside.
    symmetrize : bool
        Accept edges listed in one direction only, in a format that has both.
    reorder : {"none", "degree", "bfs", "rcm"}
        Give vertices new ids, so that neighbours are near each other.
    compress : bool
        Write smaller parts, which take longer to read.
    maximum : bool, optional
        Make a graph for maximum spanning forests: of parallel edges the heaviest stays,
        and `solve`, `verify` and `update` take edges by falling weight. Without it, and
        with weights named as similarities, a warning says that the smallest are taken.
    overwrite : bool
        Replace a graph in `out`.
    memory : int or str
        Bytes to hold, such as ``"8GiB"``; 0 for half of the free memory.

    Returns
    -------
    Path
        `out`, which `solve` and the other programs take.

    Raises
    ------
    InputError
        If the file is damaged.
    ConfigError
        If options contradict each other, or the memory does not suffice.
    OutputError
        If `out` is not empty or cannot be written.
    """
    from ..comm.world import SingleProcess
    from ..host.memory import Budget, free_bytes
    from ..io.partitioner.partition import partition as partition_edges
    from ..io.partitioner.partition_run import Options, check_output
    from ..io.partitioner.weight_rules import open_weighed

    limit = _bytes(memory) or free_bytes() // 2
    options = Options(
        as_path(out, "out"),
        as_count(parts, "parts"),
        limit,
        num_vertices=None
        if num_vertices is None
        else as_count(num_vertices, "num_vertices"),
        compact_ids=as_flag(compact_ids, "compact_ids"),
        symmetrize=as_flag(symmetrize, "symmetrize"),
        reorder=reorder,
        compress=as_flag(compress, "compress"),
        maximum=maximum is not None and as_flag(maximum, "maximum"),
        overwrite=as_flag(overwrite, "overwrite"),
        quiet=True,
    )
    check_output(options)
    edges = open_weighed(
        as_path(file, "file"), weights or "file", format, columns, Budget(limit)
    )
    warn_of_similarity(edges.weight_name, maximum)
    partition_edges(SingleProcess(), edges, options)
    return options.out


def solve(
    path: str | Path,
    comm: "MpiComm | None" = None,
    *,
    config: "Config | None" = None,
    output: str | Path | Sequence[str | Path] | None = None,
    labels: bool = False,
    maximum: bool = False,
    report: str | Path | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    quiet: bool = True,
    **options: object,
) -> "Summary":
    """Compute the minimum spanning forest of a sharded graph. Collective.

    Parameters
    ----------
    path : str or Path
        A directory of shards, or its index.
    comm : mpi4py.MPI.Comm, optional
        All ranks of the job by default; without a launcher this process, without MPI.
    config : Config, optional
        By default the options that variables of the environment give.
    output : str, Path or sequence of them, optional
        Files of the forest: ``.h5``, or a table, ``.csv`` or ``.tsv``.
    report : str or Path, optional
        Where to write the report.
    labels : bool
        Write each vertex's tree to the forest file, too.
    maximum : bool
        Refuse a graph that was not made for maximum forests; one that was is solved as
        such either way.
    checkpoint : str or Path, optional
        Directory to save the state in, every `checkpoint_interval` seconds.
    resume : bool
        Continue from the state in `checkpoint`.
    overwrite : bool
        Replace any files of these names. Without it only earlier results are replaced.
    quiet : bool
        No progress on standard error.
    **options
        Fields of `Config`, and the settings of its `tuning`, which override all other
        sources: ``merge="ring"``, ``group_size=8``.

    Returns
    -------
    Summary
        Counts, total weight, digest and seconds; the same on every rank.

    Raises
    ------
    MndmstError
        On every rank, if the input, the options or the output cannot be used.
    """
    from ..host.progress import Progress
    from ..pipeline import Targets
    from ..pipeline import solve as solve_shards

    graph, heaviest = as_path(path, "path"), as_flag(maximum, "maximum")
    targets = Targets(
        forests=_paths(output, "output"),
        report=_path(report, "report"),
        labels=as_flag(labels, "labels"),
        checkpoint=_path(checkpoint, "checkpoint"),
        resume=as_flag(resume, "resume"),
        overwrite=as_flag(overwrite, "overwrite"),
    )
    with _ranks(comm) as ranks:
        progress = Progress(ranks.rank == 0 and not quiet)
        agreed = _agreed(ranks, "solve", config, options)
        return solve_shards(ranks, graph, agreed, targets, progress, heaviest)


def components(
    path: str | Path,
    comm: "MpiComm | None" = None,
    *,
    config: "Config | None" = None,
    output: str | Path | Sequence[str | Path] | None = None,
    report: str | Path | None = None,
    overwrite: bool = False,
    quiet: bool = True,
    **options: object,
) -> "Components":
    """Find the connected components of a sharded graph. Collective.

    Parameters
    ----------
    path, comm, config, report, overwrite, quiet, **options
        As in `solve`.
    output : str, Path or sequence of them, optional
        Files of the label of each vertex, the smallest vertex of its component.

    Returns
    -------
    Components
        Counts, a histogram of sizes, digest and seconds; the same on every rank.

    Raises
    ------
    MndmstError
        On every rank, if the input, the options or the output cannot be used.
    """
    from ..host.progress import Progress
    from ..label_components import connected_components

    graph, replaced = as_path(path, "path"), as_flag(overwrite, "overwrite")
    with _ranks(comm) as ranks:
        progress = Progress(ranks.rank == 0 and not quiet)
        agreed = _agreed(ranks, "components", config, options)
        return connected_components(
            ranks,
            graph,
            agreed,
            progress,
            _paths(output, "output"),
            _path(report, "report"),
            overwrite=replaced,
        )


def verify(
    path: str | Path,
    forest: str | Path,
    comm: "MpiComm | None" = None,
    *,
    threads: int = 0,
) -> "Verdict":
    """Verify that a file contains the minimum spanning forest of a graph. Collective.

    The two files are the proof; nothing that the solver has computed is trusted.

    Parameters
    ----------
    path : str or Path
        A directory of shards, or its index.
    forest : str or Path
        A file that `solve`, `update` or `Forest.write` has written.
    comm : mpi4py.MPI.Comm, optional
        All ranks of the job by default; without a launcher this process, without MPI.
    threads : int
        Threads of a rank; 0 for its share of the cores.

    Returns
    -------
    Verdict
        `ok`, the counts, and `problems` if the forest is refuted.

    Raises
    ------
    MndmstError
        On every rank, if a file cannot be read.
    """
    from ..certificate.certificate import verify as verify_shards
    from ..comm.placement import locate
    from ..host.progress import Progress
    from ..io.shards.sharded_graph import open_graph
    from ..solver.startup import compile_kernels

    source, proved = as_path(path, "path"), as_path(forest, "forest")
    threads = as_count(threads, "threads")
    with _ranks(comm) as ranks:
        with ranks.raise_on_all():
            graph = open_graph(source, check=ranks.rank == 0)
        if not graph.has_few_arcs():  # the few kernels for these compile when called
            compile_kernels(ranks, "verify", graph.weight_dtype, Progress(False))
        cores = threads or locate(ranks).share
        return verify_shards(ranks, graph, proved, cores)


def update(
    path: str | Path,
    forest: str | Path,
    changes: str | Path,
    output: str | Path | Sequence[str | Path],
    comm: "MpiComm | None" = None,
    *,
    graph_output: str | Path | None = None,
    forest_changes: str | Path | None = None,
    tree_changes: str | Path | None = None,
    memory: int | str = 0,
    threads: int = 0,
    overwrite: bool = False,
    quiet: bool = True,
) -> "Summary":
    """Update the forest of a graph after changes of its edges. Collective.

    Parameters
    ----------
    path : str or Path
        A directory of shards, or its index.
    forest : str or Path
        The forest of that graph.
    changes : str or Path
        A table whose first line is ``op,src,dst,weight``; op is insert, delete or set.
    output : str, Path or sequence of them
        Files of the new forest: ``.h5``, or a table, ``.csv`` or ``.tsv``.
    comm : mpi4py.MPI.Comm, optional
        All ranks of the job by default; without a launcher this process, without MPI.
    graph_output : str or Path, optional
        A directory to write the changed graph to.
    forest_changes : str or Path, optional
        A table to write, ``.csv`` or ``.tsv``, of the edges that leave and enter the
        forest.
    tree_changes : str or Path, optional
        A table to write of the trees that are joined or split.
    memory : int or str
        Bytes that a rank may hold, such as ``"8GiB"``; 0 for its share of the host.
    threads : int
        Threads of a rank; 0 for its share of the cores.
    overwrite : bool
        Replace any files of these names. Without it only earlier results are replaced.
    quiet : bool
        No progress on standard error.

    Returns
    -------
    Summary
        Counts, total weight, digest and seconds; the same on every rank.

    Raises
    ------
    MndmstError
        On every rank, if an input, an option or an output cannot be used. All changes
        are made, or none.
    """
    from ..host.progress import Progress
    from ..update_forest import Files
    from ..update_forest import update as update_shards

    files = Files(
        as_path(path, "path"),
        as_path(forest, "forest"),
        as_path(changes, "changes"),
        _paths(output, "output"),
        _path(graph_output, "graph_output"),
        overwrite=as_flag(overwrite, "overwrite"),
        forest_changes=_path(forest_changes, "forest_changes"),
        tree_changes=_path(tree_changes, "tree_changes"),
    )
    with _ranks(comm) as ranks:
        progress = Progress(ranks.rank == 0 and not quiet)
        options = {"memory": memory, "threads": threads}
        config = _agreed(ranks, "update", None, options)
        return update_shards(ranks, files, config.memory, config.threads, progress)


def _agreed(
    ranks: "Comm", program: str, config: "Config | None", options: Mapping[str, object]
) -> "Config":
    """Return the options of a program, the same on all ranks. Collective."""
    from ..solver.config import Config, on_all_ranks

    if config is not None and not isinstance(config, Config):
        raise ConfigTypeError(f"config is {shown(config)}; give a mndmst.Config")

    def load() -> Config:
        return (config or Config.load(None, {})).updated(
            options, lambda name, value: f"{program}({name}={shown(value)})"
        )

    return on_all_ranks(ranks, load)


@contextmanager
def _ranks(comm: "MpiComm | None") -> "Iterator[Comm]":
    """Lend all ranks of a communicator; end the job if only this rank fails.

    A program may have no abort hook, and the other ranks would wait for ever.
    """
    from ..comm.communicator import Comm
    from ..comm.world import world
    from ..host.memory import give_back_freed

    ranks = world() if comm is None else Comm.dup(comm)
    try:
        yield ranks
    except BaseException as error:
        if getattr(error, "ranks", 1) < ranks.size:
            traceback.print_exc()
            ranks.mpi.Abort(1)
        raise
    finally:
        ranks.free()
        give_back_freed()  # the program goes on


def _bytes(memory: int | str) -> int:
    """Return a number of bytes, given as such or as text."""
    from ..solver.config import parse_bytes

    return (
        parse_bytes(memory) if isinstance(memory, str) else as_count(memory, "memory")
    )


def _paths(
    paths: str | Path | Sequence[str | Path] | None, name: str
) -> tuple[Path, ...]:
    if paths is None:
        return ()
    several = paths if isinstance(paths, list | tuple) else [paths]
    return tuple(as_path(path, name) for path in several)


def _path(path: str | Path | None, name: str) -> Path | None:
    return None if path is None else as_path(path, name)
