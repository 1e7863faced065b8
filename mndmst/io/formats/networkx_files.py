"""GraphML, GEXF, GML and LEDA, which NetworkX [1] reads and writes.

The ids of nodes are the names of vertices (of GML the labels, where all nodes have
different ones). NetworkX drops some content without an error: graphs beside or within
the first one, parallel edges with one id, all values of an attribute but the last.
Therefore each file is prepared so that NetworkX keeps what it can, and its nodes and
edges are counted: a graph with other counts is refused.

[1] Hagberg, Schult and Swart: Exploring Network Structure, Dynamics, and Function
    using NetworkX. SciPy 2008.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from itertools import chain
from math import isinf
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO
from xml.etree import ElementTree

from ...host.errors import InputError, MndmstError, optional
from ...host.formatting import counted
from ...host.memory import Budget
from ...host.memory_costs import (
    NETWORKX_COPIES,
    NETWORKX_EDGE_BYTES,
    NETWORKX_NODE_BYTES,
)
from ..atomic_output import AtomicOutput
from ..edge_file import EdgeFile, Edges
from ..memory_limit import capped, exceeded
from .attributed_graph import (
    AttributedGraph,
    distinct_edges,
    edges_of_graph,
    id_converter,
    names_to_write,
)
from .edge_attributes import Attributes
from .packed_files import not_utf8, read_bytes
from .table_columns import ColumnNames

if TYPE_CHECKING:
    import networkx

# NetworkX refuses some combinations of them, or keeps one of several edges with one id
_UNUSED_OF_EDGES = ("id", "directed", "type")
_GEXF_SPACE = re.compile(rb"http://(www\.)?gexf\.net/1\.[0-9]\w*")
_GEXF_TYPES = {"short": "long", "byte": "long", "bigdecimal": "double"}
# A text, a comment, the beginning of a graph, a node or an edge, or a number with an
# exponent and no point, which NetworkX takes for two values
_GML_TOKEN = re.compile(
    r'"[^"]*"|#[^\n]*|\b(?P<head>graph|node|edge)\s*\['
    r"|(?<![\w.+-])(?P<mantissa>[+-]?[0-9]+)(?P<exponent>[eE][+-]?[0-9]+)\b"
)
_LEDA_NUMBERS = ("short", "int", "long", "unsigned", "float", "double")
_INFINITY = re.compile(rb"\binf", re.IGNORECASE)
_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@dataclass(frozen=True)
class _Content:
    """A text that NetworkX can read, and its numbers of nodes and edges."""

    text: bytes
    nodes: int
    edges: int
    repeated: dict[str, str] = field(default_factory=dict)  # see `AttributedGraph`
    weight: str | None = None  # see `AttributedGraph`


@dataclass(frozen=True)
class _Kind:
    """The functions that prepare, read and write a format."""

    prepare: Callable[[bytes], _Content]
    read: Callable[[ModuleType, BytesIO], "networkx.Graph"]
    write: Callable[[ModuleType, "networkx.Graph", BinaryIO], None] | None = None


def open_file(
    kind: str, path: Path, budget: Budget, picked: ColumnNames | None = None
) -> EdgeFile:
    """Read a file by `networkx.read_KIND`; see `formats.open_edges`."""
    networkx = optional("networkx", "networkx", "This format needs")
    contents = read_bytes(path, budget, NETWORKX_COPIES)
    with _reading(path, budget, len(contents)):
        content = _KINDS[kind].prepare(bytes(contents))
        graph = _KINDS[kind].read(networkx, BytesIO(content.text))
        links = list(graph.edges(data=True))
    _check_counts(path, graph, content)
    as_id = id_converter(graph)
    edges = [data for *_, data in links]
    defaults = graph.graph.get("edge_default", {})
    _check_finite(path, [defaults, *edges], content)
    listed = AttributedGraph(
        list(map(as_id, graph)),
        [(as_id(u), as_id(v)) for u, v, _ in links],
        edges,
        defaults,
        content.repeated,
        content.weight,
    )
    return edges_of_graph(path, listed, picked)


@contextmanager
def _reading(path: Path, budget: Budget, size: int) -> Iterator[None]:
    """Turn any error of NetworkX into an InputError with its words."""
    try:
        with capped(budget):
            yield
    except MndmstError:
        raise
    except MemoryError as error:
        needed = NETWORKX_COPIES * size
        raise exceeded(budget, path, needed, "its content", " at least") from error
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from error
    except Exception as error:  # the parsers of four formats raise many kinds
        reason = (str(error).splitlines() or [""])[0]
        raise InputError(
            f"{path}: NetworkX cannot read it ({type(error).__name__}: {reason}). Fix "
            "it, give --format if it is another format, or write it as .json or .csv."
        ) from error


def _check_counts(path: Path, graph: "networkx.Graph", content: _Content) -> None:
    """Refuse a graph that lacks nodes or edges of its file, or has more nodes."""
    nodes, edges = graph.number_of_nodes(), graph.number_of_edges()
    if nodes != content.nodes:
        raise InputError(
            f"{path}: lists {counted(content.nodes, 'node')}, and NetworkX reads "
            f"{nodes:,}: two nodes have one id or label, an edge names a node that is "
            "not listed, or a graph lies beside or within another one. Keep one graph "
            "that lists each node once."
        )
    if edges != content.edges:
        raise InputError(
            f"{path}: lists {counted(content.edges, 'edge')}, and NetworkX reads "
            f"{edges:,}: edges are parallel, or a graph lies beside or within another "
            "one. Keep one graph, and of parallel edges the lightest."
        )


def _check_finite(
    path: Path, attributes: Sequence[Attributes], content: _Content
) -> None:
    """Refuse a finite number that NetworkX reads as infinity, such as 1e400."""
    values = chain.from_iterable(one.values() for one in attributes)
    infinite = sum(isinstance(value, float) and isinf(value) for value in values)
    if infinite > len(_INFINITY.findall(content.text)):
        raise InputError(
            f"{path}: an edge has a number beyond the largest float64, 1.8e308. Fix "
            "it, or leave the edge out."
        )


def _prepared_xml(contents: bytes) -> _Content:
    """Return GraphML or GEXF without what NetworkX refuses, or drops in silence."""
    contents = _GEXF_SPACE.sub(b"http://www.gexf.net/1.2draft", contents)
    root = ElementTree.fromstring(contents)
    names = {}  # of the attributes of edges, by their ids
    for key in root.findall("{*}key"):
        if key.get("for") in (None, "all"):
            key.set("for", "edge")  # so that NetworkX keeps the default
        key.attrib.setdefault("attr.type", "string")
        names[key.get("id")] = key.attrib.setdefault("attr.name", key.get("id", ""))
    for graph in root.findall("{*}graph"):
        graph.set("timeformat", "string")
    for attributes in root.findall(".//{*}attributes"):
        attributes.attrib.pop("mode", None)
        for one in attributes.findall("{*}attribute"):
            one.set("type", _GEXF_TYPES.get(one.get("type", ""), one.get("type", "")))
            if attributes.get("class") == "edge":
                names[one.get("id")] = one.get("title", "")
    for node in root.findall(".//{*}node"):
        for port in node.findall("{*}port"):  # NetworkX warns of them
            node.remove(port)
    edges = root.findall(".//{*}edge")
    has_weights = any("weight" in edge.attrib for edge in edges)
    repeated: dict[str, str] = {}
    for edge in edges:
        for name in _UNUSED_OF_EDGES:
            edge.attrib.pop(name, None)
        values = [*edge.findall("{*}data"), *edge.findall("{*}attvalues/{*}attvalue")]
        ids = (value.get("key", value.get("for", "")) for value in values)
        given = Counter(names.get(i, i) for i in ids)
        given["weight"] += "weight" in edge.attrib
        where = f"{edge.get('source')} to {edge.get('target')}"
        repeated |= {name: where for name, times in given.items() if times > 1}
        if has_weights and not given["weight"]:
            edge.set("weight", "1")  # GEXF's default
    count = len(root.findall(".//{*}node"))
    return _Content(ElementTree.tostring(root), count, len(edges), repeated)


def _prepared_gml(contents: bytes) -> _Content:
    """Return GML in ASCII that may have parallel edges; see `_GML_TOKEN`."""
    heads: Counter[str] = Counter()

    def changed(token: re.Match[str]) -> str:
        if head := token["head"]:
            heads[head] += 1
            first = head == "graph" and heads[head] == 1
            return f"{token[0]} multigraph 1 " if first else token[0]
        if token["mantissa"]:
            return f"{token['mantissa']}.0{token['exponent']}"
        return "" if token[0].startswith("#") else token[0].replace("\n", " ")

    text = _GML_TOKEN.sub(changed, contents.decode("utf-8-sig"))
    ascii_text = text.encode("ascii", "xmlcharrefreplace")
    return _Content(ascii_text, heads["node"], heads["edge"])


def _read_gml(networkx: ModuleType, file: BytesIO) -> "networkx.Graph":
    """Return a graph with its labels as ids, where all nodes have different ones."""
    graph = networkx.read_gml(file, label=None)
    labels = dict(graph.nodes(data="label"))
    if None in labels.values() or len(set(labels.values())) < len(labels):
        return graph
    return networkx.relabel_nodes(graph, labels)


def _write_gml(networkx: ModuleType, graph: "networkx.Graph", file: BinaryIO) -> None:
    for line in networkx.generate_gml(graph):
        if line.lstrip().startswith("weight "):
            line = line.replace(".E", ".0E")  # igraph needs a digit behind the point
        file.write(f"{line}\n".encode("ascii"))


def _prepared_leda(contents: bytes) -> _Content:
    """Return LEDA's text; the labels of edges are weights if their type is a number."""
    rows = [line for line in contents.decode().split("\n") if line.strip()]
    lines = [line.strip() for line in rows if not line.startswith("#")]
    nodes = int(lines[4])
    weight = "label" if lines[2].startswith(_LEDA_NUMBERS) else ""
    return _Content(contents, nodes, int(lines[5 + nodes]), weight=weight)


_KINDS = {
    "graphml": _Kind(
        _prepared_xml,
        lambda networkx, file: networkx.read_graphml(file, force_multigraph=True),
        lambda networkx, graph, file: networkx.write_graphml(graph, file),
    ),
    "gexf": _Kind(
        _prepared_xml,
        lambda networkx, file: networkx.read_gexf(file),
        lambda networkx, graph, file: networkx.write_gexf(graph, file),
    ),
    "gml": _Kind(_prepared_gml, _read_gml, _write_gml),
    "leda": _Kind(_prepared_leda, lambda networkx, file: networkx.read_leda(file)),
}


def writing_bytes(edges: Edges) -> int:
    """Return the bytes of NetworkX's graph, which is written from memory."""
    return NETWORKX_NODE_BYTES * edges.num_vertices + NETWORKX_EDGE_BYTES * len(edges)


def write(kind: str, edges: Edges, path: Path, files: AtomicOutput) -> None:
    """Write a file by NetworkX."""
    networkx = optional("networkx", "networkx", "This format needs")
    write_graph = _KINDS[kind].write
    assert write_graph is not None
    names = names_to_write(
        edges, path, _NOT_IN_XML, "a letter that XML and GML do not allow"
    )
    links = list(distinct_edges(edges))
    parallel = len({link[:2] for link in links}) < len(links)
    graph = networkx.MultiGraph() if parallel else networkx.Graph()
    graph.add_nodes_from(names)
    for u, v, weight in links:
        graph.add_edge(names[u], names[v], weight=weight)
    with files.file(path) as temporary, temporary.open("wb") as file:
        write_graph(networkx, graph, file)
