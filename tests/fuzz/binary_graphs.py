"""Binary graphs: the first byte of an input names the format."""

import tempfile
from pathlib import Path

from mndmst.host.errors import MndmstError
from mndmst.io.formats import read_edges
from tests.bvgraph import write_bvgraph

from .inputs import DATA, check_refusal, scratch_file

FILES = (
    "square-rows.npz", "square.npz", "square.binary-edgelist", "square.egr",
    "square64.egr", "square.parhip", "square32.parhip", "square.sg", "square.wsg",
    "square.undirected-binary-edgelist",
)  # fmt: skip
# Of a web graph: the byte behind the format has the length of its properties.
WEB = len(FILES)


def one_input(data: bytes) -> None:
    """Read a graph, whose ends are vertices of it, or refuse the file."""
    kind, content = (data[0] % (WEB + 1), data[1:]) if data else (0, b"")
    if kind == WEB:
        length = content[0] if content else 0
        scratch_file("input.properties", content[1 : 1 + length])
        path = scratch_file("input.bvgraph", content[1 + length :])
    else:
        path = scratch_file(f"input{Path(FILES[kind]).suffix}", content)
    try:
        edges = read_edges(path)
    except MndmstError as error:
        check_refusal(error, "input.")
        return
    for ends in (edges.src, edges.dst):
        assert not len(ends) or 0 <= ends.min() <= ends.max() < edges.num_vertices


def seeds() -> list[bytes]:
    """Return the squares of the formats' tests, and a web graph."""
    files = [bytes([i]) + (DATA / name).read_bytes() for i, name in enumerate(FILES)]
    lists = [[1, 2, 3, 4, 5], [0, 2, 3, 4, 5], [0, 1, 3, 5], [], [5], [0, 4]] * 4
    with tempfile.TemporaryDirectory() as folder:
        path = write_bvgraph(Path(folder) / "web.graph", lists)
        properties = path.with_suffix(".properties").read_bytes()
        web = bytes([WEB, len(properties)]) + properties + path.read_bytes()
    return [*files, web]
