"""Names in the files of a sharded graph, shared by their reader and writer.

docs/files.md describes the layout. A reordered graph is another graph, with another
order of edges; `original-id` has the id of each vertex in the file that the graph was
made of.

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
