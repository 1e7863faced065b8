"""Layout of the sharded graph files, shared by their reader and writer.

A graph is a directory::

    index.h5                    which parts there are, and where they begin
        @ format "mndmst-graph", version, creator, graph-uuid
        @ num_vertices, num_arcs, num_parts, weight_dtype, reordered
        @ original_vertices     how many vertices the file had, if there are others now
        @ names                 "int64", "uint64", "text" or "json", if vertices have
                                names
        vtxdist                 int64 [parts + 1]   first vertex of every part
        arcdist                 int64 [parts + 1]   first arc of every part
        parts                   str [parts]         file names
        @ made-from             digest, where the maker was told to restart; see
                                `io.partitioner.partition_run`
    part-00000.h5               the rows of the vertices vtxdist[0] to vtxdist[1]
        @ format "mndmst-shard", version, creator, graph-uuid
        @ num_vertices          of the whole graph
        @ num_arcs              of this part
        @ vertex_begin, vertex_end, part, num_parts, reordered, original_vertices, names
        vtxdist                 int64 [parts + 1]
        original-id             int32 or int64 [rows]   if the graph is reordered, or
                                its ids were made compact
        names                   if vertices have names, see `io.names`
            integers            int64 or uint64 [rows]
            text                uint8               UTF-8, one text behind the other
            begins              int64 [rows + 1]    where each begins, from 0
        graph                   @ encoding-type "csr_matrix", encoding-version, shape
            indptr              int64 [rows + 1]    begins at 0
            indices             int32 or int64      global ids
            data                the weights

The group `graph` is laid out as AnnData and SciPy name it. Each undirected edge
{u, v} stands twice, as arc (u, v) and as arc (v, u), with equal weights, and the
ids within a row ascend. Self-loops and parallel arcs are allowed, but not useful. A
reordered graph is another graph, with another order of edges; `original-id` has the id
of each vertex in the file that the graph was made of. Where vertices of that file have
been left out, because no edge names them, all original ids are below
`original_vertices`.

All datasets have Fletcher-32 checksums, and the files use the HDF5 1.10 layout,
whose metadata has checksums too: a flipped byte is an error, not another graph.
Texts have a fixed length, since HDF5 checksums no heap of variable-length texts.
"""

INDEX_NAME = "index.h5"
MADE_FROM = "made-from"
ORIGINAL_VERTICES = "original_vertices"
NAMES = "names"
GRAPH_FORMAT = "mndmst-graph"
SHARD_FORMAT = "mndmst-shard"
VERSION = 1


def part_name(part: int) -> str:
    """Return the file name of a part."""
    return f"part-{part:05d}.h5"


def part_of_name(name: str) -> int | None:
    """Return the number of the part with a file name; None for other names."""
    digits = name.removeprefix("part-").removesuffix(".h5")
    if digits.isdecimal() and name == part_name(int(digits)):
        return int(digits)
    return None
