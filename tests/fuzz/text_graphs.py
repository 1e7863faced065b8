"""Graphs in text: the first byte of an input names the format."""

import gzip
import lzma

from mndmst.host.errors import MndmstError
from mndmst.io.formats import read_edges

from .inputs import DATA, check_refusal, scratch_file

SUFFIXES = (
    "txt", "gr", "mtx", "graph", "adj", "ncol", "json", "net", "leda", "gml", "graphml",
    "gexf", "txt.gz", "txt.xz", "txt.zst",
)  # fmt: skip


def one_input(data: bytes) -> None:
    """Read a graph, whose ends are vertices of it, or refuse the file."""
    suffix = SUFFIXES[data[0] % len(SUFFIXES)] if data else SUFFIXES[0]
    path = scratch_file(f"input.{suffix}", data[1:])
    try:
        edges = read_edges(path)
    except MndmstError as error:
        check_refusal(error, path.name)
        return
    for ends in (edges.src, edges.dst):
        assert not len(ends) or 0 <= ends.min() <= ends.max() < edges.num_vertices


def seeds() -> list[bytes]:
    """Return the squares of the formats' tests."""
    import zstandard

    text = (DATA / "square.txt").read_bytes()
    files = {
        "ncol": b"a b 1\nb c 2\n",
        "txt.gz": gzip.compress(text, mtime=0),
        "txt.xz": lzma.compress(text),
        "txt.zst": zstandard.ZstdCompressor().compress(text),
    }
    for suffix in SUFFIXES:
        if suffix not in files:
            files[suffix] = (DATA / f"square.{suffix}").read_bytes()
    return [bytes([SUFFIXES.index(suffix)]) + files[suffix] for suffix in files]
