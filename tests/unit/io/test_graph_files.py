"""Graph files of other programs: nothing is lost in silence.

Each file is read as its format defines it, or refused with the place and the remedy.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from mndmst.host.errors import ConfigError, InputError
from mndmst.io.edge_file import Edges
from mndmst.io.formats import open_edges, read_edges, write_edges

networkx = pytest.importorskip("networkx", reason="reads the formats")

GRAPHML = "http://graphml.graphdrawing.org/xmlns"
ABC = '<node id="a"/><node id="b"/><node id="c"/>'


def graphml(edges: str, keys: str = "", nodes: str = ABC, more: str = "") -> str:
    keys = keys or '<key id="w" for="edge" attr.name="weight" attr.type="double"/>'
    return (
        f'<graphml xmlns="{GRAPHML}">{keys}<graph edgedefault="undirected">{nodes}'
        f"{edges}</graph>{more}</graphml>"
    )


def link(u: str, v: str, *values: object, key: str = "w", how: str = "") -> str:
    data = "".join(f'<data key="{key}">{value}</data>' for value in values)
    return f'<edge source="{u}" target="{v}" {how}>{data}</edge>'


def gexf(edges: str, attributes: str = "", space: str = "1.2draft") -> str:
    return (
        f'<gexf xmlns="http://www.gexf.net/{space}"><graph mode="dynamic">'
        f"{attributes}<nodes>{ABC}</nodes><edges>{edges}</edges></graph></gexf>"
    )


def gml(edges: str, nodes: str = "") -> str:
    labels = (f'node [ id {i} label "{x}" ]\n' for i, x in enumerate("abc"))
    return f"graph [\n{nodes or ''.join(labels)}{edges}\n]\n"


def net(edges: str, vertices: str = '*Vertices 3\n1 "a"\n2 "b"\n3 "c"\n') -> str:
    return vertices + edges


LEDA = (
    "LEDA.GRAPH\nstring\n%s\n-2\n3\n|{a}|\n|{b}|\n|{c}|\n2\n1 2 0 |{8}|\n2 3 0 |{%s}|\n"
)
LENGTHS = (
    '<attributes class="edge" mode="dynamic"><attribute id="0" title="length" '
    'type="float"><default>9</default></attribute></attributes>'
)
BEYOND = "an edge has a number beyond the largest float64"
VALUE = '<attvalues><attvalue for="0" value="2" start="1" end="2"/></attvalues>'


def found(path: Path) -> list[tuple[str, str, float]]:
    edges = read_edges(path)
    names = list(map(str, range(edges.num_vertices)))
    if edges.names is not None:
        names = edges.names.texts()
    columns = (edges.src.tolist(), edges.dst.tolist(), edges.weight.tolist())
    triples = zip(*columns, strict=True)
    return sorted((*sorted((names[u], names[v])), w) for u, v, w in triples)


@pytest.mark.parametrize(
    ("name", "text", "bc"),
    [
        (
            "default.graphml",
            graphml(
                link("a", "b", 8) + link("b", "c"),
                '<key id="w" for="all" attr.name="weight" attr.type="double">'
                "<default>7.5</default></key>",
            ),
            7.5,
        ),
        (
            "directions.graphml",
            graphml(
                link("a", "b", 8, how='directed="true"')
                + link("b", "c", 2, how='directed="false"')
            ),
            2,
        ),
        ("ports.graphml", graphml(link("a", "b", 8) + link("b", "c", 2), nodes=(
            '<node id="a"><port name="n"/></node><node id="b"/><node id="c"/>'
        )), 2),
        (
            "osmnx.graphml",
            graphml(
                link("a", "b", "8.0", key="l") + link("b", "c", "23.5", key="l"),
                '<key id="l" for="edge" attr.name="length" attr.type="string"/>',
            ),
            23.5,
        ),
        (
            "exact.graphml",
            graphml(
                link("a", "b", 8) + link("b", "c", 2**53 + 1),
                '<key id="w" for="edge" attr.name="weight" attr.type="long"/>',
            ),
            2**53 + 1,
        ),
        (
            "one.gexf",
            gexf(
                '<edge source="a" target="b" weight="8"/><edge source="b" target="c"/>'
            ),
            1,
        ),
        *(
            (
                "gephi.gexf",
                gexf(
                    '<edge id="0" source="a" target="b" weight="8" type="mutual"/>'
                    '<edge id="1" source="b" target="c" weight="2" type="directed"/>',
                    space=space,
                ),
                2,
            )
            for space in ("1.1draft", "1.2draft", "1.3")
        ),
        (
            "default.gexf",
            gexf(
                '<edge source="a" target="b"><attvalues><attvalue for="0" value="8"/>'
                '</attvalues><spells><spell start="1"/></spells></edge>'
                '<edge source="b" target="c"/>',
                LENGTHS,
            ),
            9,
        ),
        ("times.gexf", gexf('<edge source="a" target="b" weight="8"/>'
                            '<edge source="b" target="c" start="1" weight="2"/>'), 2),
        (
            "exponents.gml",
            gml(
                "edge [ source 0 target 1 value 8 ]\n# a [ comment\n"
                "edge [ source 1 target 2 value 2e-7 ]"
            ),
            2e-7,
        ),
        (
            "lists.gml",
            gml(
                "edge [ source 0 target 1 attributes [ weight 8 ] ]\n"
                'edge [ source 1 target 2 attributes [ weight 2 ] note "a\nb [" ]'
            ),
            2,
        ),
        (
            "texts.gml",
            gml(
                'edge [ source 0 target 1 weight "8" ]\n'
                f'edge [ source 1 target 2 weight "{2**53 + 1}" ]'
            ),
            2**53 + 1,
        ),
        ("inf.graphml", graphml(link("a", "b", 8) + link("b", "c", "INF")), math.inf),
        ("int.leda", LEDA % ("int", 2), 2),
        ("double.leda", LEDA % ("double", 2.5), 2.5),
        ("mixed.net", net("*Arcs\n1 2 8\n*Edges\n2 3 2 c Blue\n"), 2),
        ("default.net", net('*Edges\n1 2 8 l "x y"\n2 3 w 3\n'), 1),
        ("list.net", net("*Arcs\n1 2 8\n*Edgeslist\n2 3\n"), 1),
        ("relations.net", net('*Arcs :1 "x"\n1 2 8\n*Edges :2 "y"\n2: 2 3 2\n'), 2),
        ("matrix.net", net("*Matrix\n0 8 0\n0 0 2\n0 0 0\n"), 2),
        ("blank.net", net("% c\n\n*Edges\r\n1 2 8\r\n\n2 3 2\n"), 2),
        ("modes.net", net("*Matrix\n8 0\n0 2\n", "*Vertices 4 2\n1 a\n2 c\n3 b\n4 d\n"),
         2),
        ("mark.net", "\ufeff" + net("*Edges\n1 2 8\n2 3 2\n"), 2),
        (
            "gephi.json",
            json.dumps(
                {
                    "nodes": [{"key": x, "attributes": {"x": 1.5}} for x in "abc"],
                    "edges": [
                        {"source": "a", "target": "b", "attributes": {"weight": 8}},
                        {"source": "b", "target": "c", "attributes": {"weight": 2}},
                    ],
                }
            ),
            2,
        ),
        (
            "twice.json",
            json.dumps(
                [
                    {"data": {"source": "a", "target": "b", "attributes": {"cost": 8}}},
                    {"data": {"source": "b", "target": "c", "attributes": {"cost": 2}}},
                ]
            ),
            2,
        ),
        (
            "neo4j.json",
            json.dumps(
                [
                    {"start": "a", "end": "b", "properties": {"cost": 8, "x": 1}},
                    {"start": "b", "end": "c", "properties": {"cost": 2}},
                ]
            ),
            2,
        ),
    ],
)  # fmt: skip
def test_weights_as_the_format_defines_them(
    tmp_path: Path, name: str, text: str, bc: float
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    second = ("c", "d", bc) if name == "modes.net" else ("b", "c", bc)
    assert found(path) == [("a", "b", 8), second]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "g.graphml",
            graphml(
                link("a", "b", 3, how='id="e"')
                + link("a", "b", 1, how='id="e"')
                + link("b", "c", 2)
            ),
        ),
        (
            "g.gexf",
            gexf(
                '<edge id="e" source="a" target="b" weight="3"/>'
                '<edge id="e" source="b" target="a" weight="1"/>'
                '<edge id="f" source="b" target="c" weight="2"/>'
            ),
        ),
        (
            "g.gml",
            gml(
                "edge [ source 0 target 1 value 3 ]\nedge [ source 1 target 0 value 1 ]"
                "\nedge [ source 1 target 2 value 2 ]"
            ),
        ),
        ("g.net", net("*Edges\n1 2 3\n2 1 1\n2 3 2\n")),
    ],
)
def test_parallel_edges_are_all_kept(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert found(path) == [("a", "b", 1), ("a", "b", 3), ("b", "c", 2)]
    edges = read_edges(path)
    for suffix in (".graphml", ".gexf", ".gml", ".net", ".json"):
        write_edges(edges, tmp_path / f"again{suffix}")
        assert found(tmp_path / f"again{suffix}") == found(path)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        (
            "g.graphml",
            graphml(link("a", "b", 8) + link("b", "c")),
            "the edge b to c has no weight",
        ),
        (
            "g.gml",
            gml("edge [ source 0 target 1 value 8 ]\nedge [ source 1 target 2 ]"),
            "the edge b to c has no value",
        ),
        (
            "g.json",
            '{"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2, '
            '"weight": 8}, {"source": 2, "target": 2}]}',
            r"weight has no value in edge 1 \(from 0\)",
        ),
        (
            "g.json",
            '{"nodes": [{"id": 1}, {"id": 2}], "adjacency": [[{"id": 2, "weight": 8}], '
            '[{"id": 1}]]}',
            "the edge 2 to 1 has no weight",
        ),
        (
            "g.json",
            '[{"source": 1, "target": 2, "weight": 8, "weight": 2}]',
            "an object has weight twice",
        ),
        (
            "g.json",
            '[{"source": 1, "target": 2, "weight": 8, "data": {"weight": 2}}]',
            "both outside and inside of 'data'",
        ),
        (
            "g.json",
            '{"nodes": [], "links": [], "edges": [{"source": 1, "target": 2}]}',
            "has both edges and links",
        ),
        (
            "g.graphml",
            graphml(
                link("a", "b", 8),
                nodes='<node id="a"/><node id="b"><graph edgedefault="directed">'
                '<node id="c"/><node id="d"/><edge source="c" target="d"/></graph>'
                "</node>",
            ),
            "lists 4 nodes, and NetworkX reads 2.*within another",
        ),
        (
            "g.graphml",
            graphml(link("a", "b", 8), more=f"<graph>{ABC}</graph>"),
            "lists 6 nodes, and NetworkX reads 3.*beside or within",
        ),
        (
            "g.graphml",
            graphml('<hyperedge><endpoint node="a"/></hyperedge>'),
            "NetworkX cannot read it .*hyperedges",
        ),
        (
            "g.graphml",
            graphml(link("a", "z", 8)),
            "lists 3 nodes, and NetworkX reads 4.*not listed",
        ),
        (
            "g.graphml",
            graphml(link("a", "b", 8, 9)),
            "edge a to b has several",
        ),
        ("g.graphml", graphml(link("a", "b", "x")), "NetworkX cannot read it .*'x'"),
        (
            "g.gexf",
            gexf(
                f'<edge source="a" target="b">{VALUE.replace("/><", "/>%s<", 1)}</edge>'
                % '<attvalue for="0" value="3" start="2" end="3"/>',
                LENGTHS,
            ),
            "the edge a to b has several values of length",
        ),
        (
            "g.gexf",
            gexf(
                '<edge source="a" target="b" weight="2"><attvalues>'
                '<attvalue for="weight" value="3"/></attvalues></edge>'
            ),
            "the edge a to b has several values of weight",
        ),
        (
            "g.gexf",
            gexf('<edge source="a" target="b"/>').replace(
                '<node id="c"/>',
                '<node id="c"><edges><edge source="a" target="c"/></edges></node>',
            ),
            "lists 2 edges, and NetworkX reads 1.*within another",
        ),
        (
            "g.gml",
            gml("edge [ source 0 target 1 value 8 value 9 ]"),
            "value is the weight, but does not hold numbers",
        ),
        (
            "g.gml",
            gml("", "node [ id 0 graph [ node [ id 1 ] ] ]\n"),
            "lists 2 nodes, and NetworkX reads 1",
        ),
        ("g.gml", gml("") * 2, "more than one graph"),
        (
            "g.leda",
            (LEDA % ("int", 2)).replace("2 3 0", "2 1 0"),
            "lists 2 edges, and NetworkX reads 1: edges are parallel",
        ),
        ("g.gml", gml("edge [ source 0 target 1 value 1e400 ]"), BEYOND),
        ("g.graphml", graphml(link("a", "b", "1e400")), BEYOND),
        (
            "g.gexf",
            gexf('<edge source="a" target="b" weight="-1.5e400"/>'),
            BEYOND,
        ),
        (
            "g.json",
            '[{"u": "a", "v": "b", "attributes": {"flow": 8}}]',
            "no column has a known name of a weight, and flow holds numbers",
        ),
        ("g.net", net("*Edges\n1 2 8 9\n"), "line 6 has something behind its value"),
        ("g.net", net("*Edges\n1 4 2\n"), "line 6 names vertex 4, but ids run from 1"),
        ("g.net", net("*Edges\n1 2 x\n"), r"line 6 is not a line of \*edges"),
        ("g.net", net("*Edges\n1 2 [1-3]\n"), "line 6 has times in brackets"),
        ("g.net", net("*Edges\n1 2 nan c Blue\n"), "weight of edge 0 .* is nan"),
        ("g.net", net("*Edges\n1\n"), r"line 6 is not a line of \*edges"),
        ("g.net", net("*Edges\n1 2 3\n") * 2, r"line 7 begins a section \*vertices"),
        ("g.net", net("*Events\n"), r"line 5 begins a section \*events"),
        ("g.net", net("*Matrix\n0 1\n"), "line 6 has 2 values, and a row .* has 3"),
        ("g.net", net("*Matrix\n0 1 2\n"), "its matrix has 1 row for 3 vertices"),
        ("g.net", "*Edges\n1 2 3\n", r"line 2 comes before \*Vertices"),
        ("g.net", "% nothing\n", r"has no \*Vertices"),
        (
            "g.net",
            net("", '*Vertices 2\n1 "a"\n1 "b"\n'),
            "line 3 lists vertex 1",
        ),
    ],
)
def test_content_that_would_be_lost_is_refused(
    tmp_path: Path, name: str, text: str, why: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=rf"{name}: .*{why}"):
        read_edges(tmp_path / name)


def test_notes_say_what_was_taken(tmp_path: Path) -> None:
    for name, text, note in (
        ("g.net", net("*Edges\n1 2 8\n2 3\n"), "weight: weight (by default 1: 1 edge)"),
        ("h.net", net("*Edges\n1 2\n2 3\n"), "weight: 1 for every edge"),
        ("g.leda", LEDA % ("int", 2), "weight: label"),
        ("h.leda", LEDA % ("string", 2), "weight: 1 for every edge"),
    ):
        (tmp_path / name).write_text(text)
        assert open_edges(tmp_path / name).notes == (note,)


def test_one_weight_for_every_edge_on_request(tmp_path: Path) -> None:
    path = tmp_path / "g.graphml"
    path.write_text(graphml(link("a", "b", 8, 9) + link("b", "c")))
    assert read_edges(path, columns="weight=").weight.tolist() == [1, 1]
    with pytest.raises(ConfigError, match="names the ends of edges itself"):
        read_edges(path, columns="source=a")


@pytest.mark.parametrize("name", ["g.gml", "g.net"])
def test_letters_beyond_ascii(tmp_path: Path, name: str) -> None:
    text = {"g.gml": gml("edge [ source 0 target 1 ]"), "g.net": net("*Edges\n1 2\n")}
    path = tmp_path / name
    path.write_text(text[name].replace('"a"', '"\u00e9 \u4e2d"'), encoding="utf-8")
    assert found(path) == [("b", "\u00e9 \u4e2d", 1)]
    path.write_text(text[name].replace('"a"', '"\u00e9"'), encoding="latin-1")
    with pytest.raises(InputError, match=r"g\..*: is not UTF-8.*Save it as UTF-8"):
        read_edges(path)


def test_vertices_of_pajek_without_labels_have_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "g.net"
    path.write_text("*Vertices 4\n*Edges\n1 2 5\n2 4 3\n")
    edges = read_edges(path)
    assert edges.names is not None and edges.names.values() == [1, 2, 3, 4]
    path.write_text(f"*Vertices {10**15}\n*Edges\n1 2 5\n")
    with pytest.raises(ConfigError, match=r"takes .* of memory"):
        read_edges(path)


def test_gml_that_igraph_and_networkx_read(tmp_path: Path) -> None:
    igraph = pytest.importorskip("igraph")
    weights = [1e-7, 2.5, 1e300]
    ends = np.arange(3, dtype=np.uint32)
    path = tmp_path / "g.gml"
    write_edges(Edges(4, ends, ends + 1, np.array(weights)), path)
    assert igraph.Graph.Read_GML(str(path)).es["weight"] == weights
    assert [w for *_, w in networkx.read_gml(path).edges(data="weight")] == weights
    graph = igraph.Graph(n=4, edges=[(0, 1), (1, 2), (2, 3)])
    graph.es["weight"] = weights
    for write, name in ((graph.write_gml, "i.gml"), (graph.write_pajek, "i.net"),
                        (graph.write_graphml, "i.graphml")):  # fmt: skip
        write(str(tmp_path / name))
        assert sorted(read_edges(tmp_path / name).weight.tolist()) == sorted(weights)
