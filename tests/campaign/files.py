"""Graph files of other programs: read as they are meant, or refused.

Names, missing weights, defaults, several values, parallel edges and several graphs are
drawn. A file without a flaw is read; of one with a flaw nothing wrong is read.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from mndmst.host.errors import MndmstError
from mndmst.io.formats import read_edges

from .case import expect
from .tables import PACK

NAMES = ("a", "b", "Zürich", "x y", "A&B", "<c>", "it's", "7", "07", "-3", "e1", "None",
         "ß", "nan", "1.5")  # fmt: skip
KNOWN = ("weight", "length", "cost", "distance")
UNKNOWN = ("foo", "speed")
Value = int | float | None


@dataclass
class Drawn:
    """A graph and what its file says: its edges have a weight, or lack it."""

    names: list[str]
    edges: list[tuple[str, str]]
    values: list[Value]  # None where the edge has no attribute
    attribute: str  # name of the weights; "" if no edge has one
    default: Value  # that the file declares
    flaw: str  # "" if the file can only be read in one way

    def weights(self, default: Value) -> dict[tuple[str, str], int | float] | None:
        """Return the least weight of each pair, or None if an edge lacks one."""
        found: dict[tuple[str, str], int | float] = {}
        for edge, value in zip(self.edges, self.values, strict=True):
            if value is None:
                value = default if self.attribute else 1
            if value is None:
                return None
            u, v = sorted(edge)
            found[u, v] = min(value, found.get((u, v), value))
        return found


def check(draw: random.Random, folder: Path) -> str:
    """Write a graph in a format and read it; return the outcome."""
    suffix = draw.choice(list(FORMATS))
    drawn = draw_graph(draw, suffix)
    text = FORMATS[suffix](draw, drawn)
    packing = draw.choice(list(PACK))
    path = folder / f"graph{suffix}{packing}"
    path.write_bytes(PACK[packing](text.encode()))
    about = f"{drawn}\n{text}"
    right = drawn.weights(drawn.default)
    columns = None
    if drawn.attribute in UNKNOWN:
        outcome = f"{suffix}: weights named"
        columns = f"weight={drawn.attribute}"
        expect(refused(path, None) or not right, f"a weight is guessed: {about}")
    else:
        outcome = f"{suffix}: {drawn.flaw or 'read'}"
    if right is None or drawn.flaw:
        if refused(path, columns):
            return f"{outcome}, refused"
        expect(right is not None, f"a weight is missing, and is read: {about}")
    try:
        edges = read_edges(path, columns=columns)
    except MndmstError as error:
        expect(False, f"{error} for {about}")
    names = [str(i) for i in range(edges.num_vertices)]
    names = names if edges.names is None else edges.names.texts()
    expect(sorted(names) == sorted(drawn.names), f"{names} for {about}")
    found: dict[tuple[str, str], Any] = {}
    ends = edges.src.tolist(), edges.dst.tolist(), edges.weight.tolist()
    for a, b, weight in zip(*ends, strict=True):
        u, v = sorted((names[a], names[b]))
        found[u, v] = min(weight, found.get((u, v), weight))
    expect(found == right, f"{found} in place of {right} for {about}")
    return outcome


def refused(path: Path, columns: str | None) -> bool:
    """Return whether a file is refused, in one line that names it."""
    try:
        read_edges(path, columns=columns)
    except MndmstError as error:
        expect(str(path) in str(error) and "\n" not in str(error), error)
        return True
    return False


def draw_graph(draw: random.Random, suffix: str) -> Drawn:
    """Draw a graph that the format can hold."""
    if draw.random() < 0.5:
        names = draw.sample(NAMES, draw.randint(2, 8))
    else:
        first = draw.choice((0, 1, 1, 100, 10**12))
        names = [str(first + i) for i in range(draw.randint(2, 8))]
    if suffix == ".ncol":
        names = [name.replace(" ", "_") for name in names]
    pairs = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :]]
    if suffix == ".ncol":  # which lists no vertices
        edges = [(names[i], name) for i, name in enumerate(names[1:])]
    else:
        edges = draw.sample(pairs, min(len(pairs), draw.randint(1, 8)))
    edges = [edge if draw.random() < 0.5 else edge[::-1] for edge in edges]
    flaw = draw.choice(("", "", "", "", *FLAWS.get(suffix, ())))
    if flaw == "parallel":
        edges.append(draw.choice(edges))
    attribute = draw.choice((*KNOWN, *KNOWN, *UNKNOWN, ""))
    if suffix in FIXED:
        attribute = "weight" if attribute else ""
    whole = draw.random() < 0.5
    values: list[Value] = [None] * len(edges)
    if attribute:
        values = [draw.randint(-9, 99) if whole else draw.uniform(0, 9) for _ in edges]
        if draw.random() < 0.3:
            values[draw.randrange(len(edges))] = None
    default: Value = None
    if attribute and suffix in DECLARED and draw.random() < 0.4:
        default = draw.randint(1, 9) if whole else 2.5
    if attribute and suffix in ONE:
        default = 1
    if all(value is None for value in values) and default is None:
        attribute = ""
    if flaw == "twice" and not attribute:
        flaw = ""
    return Drawn(names, edges, values, attribute, default, flaw)


# Formats that name the weight, that declare defaults, and whose default is 1
FIXED, DECLARED, ONE = (".net", ".ncol", ".gexf"), (".graphml",), (".net", ".gexf")
# Parallel edges can be read right; of the other flaws nothing may be read
FLAWS = {
    ".graphml": ("parallel", "beside", "nested", "twice", "unknown"),
    ".gexf": ("beside", "nested", "unknown"),
    ".gml": ("parallel", "beside", "unknown"),
    ".net": ("parallel", "beside", "unknown"),
    ".json": ("parallel", "both", "unknown"),
}


def graphml(draw: random.Random, drawn: Drawn) -> str:
    """Return GraphML."""
    key, kind = draw.choice(("d0", "w", drawn.attribute or "k")), "double"
    if all(isinstance(v, int) for v in (*drawn.values, drawn.default) if v is not None):
        kind = draw.choice(("int", "long"))
    default = "" if drawn.default is None else f"<default>{drawn.default}</default>"
    head = (
        f'<key id={quoteattr(key)} for="edge" attr.name="{drawn.attribute}" '
        f'attr.type="{kind}">{default}</key>\n'
        if drawn.attribute
        else ""
    )
    nodes = [f"<node id={quoteattr(name)}/>" for name in drawn.names]
    lines = []
    for (u, v), value in zip(drawn.edges, drawn.values, strict=True):
        data = "" if value is None else f"<data key={quoteattr(key)}>{value}</data>"
        if drawn.flaw == "twice" and value is not None:
            data += f"<data key={quoteattr(key)}>{value + 1}</data>"
        lines.append(f"<edge source={quoteattr(u)} target={quoteattr(v)}>{data}</edge>")
    body = _with_strangers(drawn, nodes, lines, '<edge source="?" target="!"/>')
    other = (
        '<graph edgedefault="undirected"><node id="q1"/><node id="q2"/>'
        '<edge source="q1" target="q2"/></graph>'
    )
    if drawn.flaw == "nested":
        body += f'\n<node id="outer">{other}</node>'
    beside = other if drawn.flaw == "beside" else ""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        f'{head}<graph edgedefault="{draw.choice(("undirected", "directed"))}">\n'
        f"{body}\n</graph>{beside}\n</graphml>\n"
    )


def gexf(draw: random.Random, drawn: Drawn) -> str:
    """Return GEXF, whose edges have their weights in an XML attribute."""
    nodes = [
        f'<node id={quoteattr(n)} label="{draw.randint(0, 9)}"/>' for n in drawn.names
    ]
    lines = []
    for i, ((u, v), value) in enumerate(zip(drawn.edges, drawn.values, strict=True)):
        weight = "" if value is None else f' weight="{value}"'
        ends = f"source={quoteattr(u)} target={quoteattr(v)}"
        lines.append(f'<edge id="{i}" {ends}{weight}/>')
    if drawn.flaw == "unknown":
        lines.append('<edge id="x" source="?" target="!"/>')
    other = '<node id="q1"/><node id="q2"/>'
    if drawn.flaw == "nested":
        nodes.append(
            f'<node id="outer"><nodes>{other}</nodes><edges>'
            '<edge id="q" source="q1" target="q2"/></edges></node>'
        )
    graph = f"<nodes>{''.join(nodes)}</nodes>\n<edges>{''.join(lines)}</edges>"
    beside = ""
    if drawn.flaw == "beside":
        edge = '<edge id="q" source="q1" target="q2"/>'
        beside = f"<graph><nodes>{other}</nodes><edges>{edge}</edges></graph>"
    version = draw.choice(("1.2draft", "1.3", "1.1draft"))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<gexf xmlns="http://www.gexf.net/{version}" version="{version[:3]}">\n'
        f'<graph defaultedgetype="undirected">\n{graph}\n</graph>{beside}\n</gexf>\n'
    )


def gml(draw: random.Random, drawn: Drawn) -> str:
    """Return GML, whose nodes have numbers as ids, and labels."""
    number = {name: i for i, name in enumerate(drawn.names)}
    nodes = [f'node [ id {i} label "{_entities(n)}" ]' for n, i in number.items()]
    lines = []
    for (u, v), value in zip(drawn.edges, drawn.values, strict=True):
        weight = "" if value is None else f"{drawn.attribute} {value} "
        lines.append(f"edge [ source {number[u]} target {number[v]} {weight}]")
    body = _with_strangers(drawn, nodes, lines, "edge [ source 900 target 901 ]")
    other = 'graph [ node [ id 0 label "q" ] ]\n' * (drawn.flaw == "beside")
    return f"# drawn\ngraph [\ndirected {draw.randint(0, 1)}\n{body}\n]\n{other}"


def _entities(text: str) -> str:
    return "".join(c if c.isascii() else f"&#{ord(c)};" for c in escape(text))


def _with_strangers(drawn: Drawn, nodes: list[str], lines: list[str], edge: str) -> str:
    """Return nodes and edges, one of which has unknown ends if that is the flaw."""
    return "\n".join([*nodes, *lines, *[edge] * (drawn.flaw == "unknown")])


def pajek(draw: random.Random, drawn: Drawn) -> str:
    """Return a network of Pajek: lines of edges, or lists where none has a value."""
    number = {name: i for i, name in enumerate(drawn.names, 1)}
    lines = [f"*Vertices {len(number)}", *(f'{i} "{n}"' for n, i in number.items())]
    section = draw.choice(("*Edges", "*Arcs", "*edges", '*Arcs :1 "friends"'))
    if not drawn.attribute and draw.random() < 0.5:
        section = draw.choice(("*Edgeslist", "*Arcslist"))
    lines += ["", section] if draw.random() < 0.3 else [section]
    for (u, v), value in zip(drawn.edges, drawn.values, strict=True):
        lines.append(f"{number[u]} {number[v]}{'' if value is None else f' {value}'}")
    if drawn.flaw == "unknown":
        lines.append(f"1 {len(number) + 1}")
    if drawn.flaw == "beside":
        lines += ["*Vertices 2", "*Edges", "1 2 5"]
    return draw.choice(("\n", "\r\n")).join(lines) + "\n"


def node_link(draw: random.Random, drawn: Drawn) -> str:
    """Return node-link data, or adjacency data, of NetworkX, Gephi or Graphology."""
    key, style = draw.choice(("id", "key")), draw.choice(("flat", "flat", "attributes"))
    numbers = all(name.isdecimal() and str(int(name)) == name for name in drawn.names)

    def name_of(name: str) -> str | int:
        return int(name) if numbers else name

    records = []
    for (u, v), value in zip(drawn.edges, drawn.values, strict=True):
        record: dict[str, Any] = {"source": name_of(u), "target": name_of(v)}
        fields = {} if value is None else {drawn.attribute: value}
        # A field with an unknown name is one of an edge only outside of objects
        flat = style == "flat" or drawn.attribute in UNKNOWN
        record |= fields if flat else {"attributes": fields}
        records.append(record)
    if drawn.flaw == "unknown":
        records.append({"source": "?", "target": "!", drawn.attribute or "n": 1})
    graph: dict[str, Any] = {"nodes": [{key: name_of(name)} for name in drawn.names]}
    graph[draw.choice(("links", "edges"))] = records
    if drawn.flaw == "both":
        graph |= {"links": records, "edges": records[:-1]}
    return json.dumps(graph, ensure_ascii=draw.random() < 0.5)


def ncol(draw: random.Random, drawn: Drawn) -> str:
    """Return igraph's list of edges between names."""
    edges = zip(drawn.edges, drawn.values, strict=True)
    rows = [(u, v) if value is None else (u, v, repr(value)) for (u, v), value in edges]
    return "".join(f"{' '.join(row)}\n" for row in rows)


def dot(draw: random.Random, drawn: Drawn) -> str:
    """Return DOT, which the program does not read."""
    drawn.flaw = "not a format"
    lines = [f'"{u}" -- "{v}";\n' for u, v in drawn.edges]
    return f"graph {{\n{''.join(lines)}}}\n"


FORMATS: dict[str, Callable[[random.Random, Drawn], str]] = {
    ".graphml": graphml, ".gexf": gexf, ".gml": gml, ".net": pajek, ".json": node_link,
    ".ncol": ncol, ".dot": dot,
}  # fmt: skip
