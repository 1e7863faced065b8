"""The rule for columns: known names in any order and case, or one line that asks."""

import itertools
from collections.abc import Sequence

import pytest

from mndmst.host.errors import ConfigError, InputError
from mndmst.io.formats.table_columns import (
    EMPTY,
    NUMBER,
    OTHER,
    TEXT,
    Column,
    ColumnNames,
    choose_columns,
    choose_positions,
    choose_weight,
)


def numbers(*names: str) -> list[Column]:
    return [Column(name, NUMBER) for name in names]


def choose(header: str, asked: str | None = None, **kinds: str) -> str:
    """Return the choice among columns of numbers, or of the kinds given by name."""
    columns = [Column(name, kinds.get(name, NUMBER)) for name in header.split(",")]
    return choose_columns("t.csv", columns, ColumnNames.of(asked)).text()


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("source,target,weight", "source: source, target: target, weight: weight"),
        ("source,target", "source: source, target: target, weight: 1 for every edge"),
        ("weight,source,target", "source: source, target: target, weight: weight"),
        ("cost,from,to", "source: from, target: to, weight: cost"),
        ("to,distance,from", "source: from, target: to, weight: distance"),
        ("V,W,U", "source: U, target: V, weight: W"),
        ("u,v,key,length", "source: u, target: v, weight: length; left out: key"),
        (
            "id,source,target,cost,reverse_cost",
            "source: source, target: target, weight: cost; left out: id, reverse_cost "
            "(edges have no direction)",
        ),
        (
            "Source,Target,Id,Weight",
            "source: Source, target: Target, weight: Weight; left out: Id",
        ),
        (
            ",source,target,weight",
            "source: source, target: target, weight: weight; left out: (without a "
            "name)",
        ),
        (
            "Unnamed: 0,src,dst,Travel Time",
            "source: src, target: dst, weight: Travel Time; left out: Unnamed: 0",
        ),
        (
            "edge,node1,node2,w",
            "source: node1, target: node2, weight: w; left out: edge",
        ),
        (
            ":START_ID(Node),:END_ID(Node),distance:float,:TYPE",
            "source: :START_ID(Node), target: :END_ID(Node), weight: distance:float; "
            "left out: :TYPE",
        ),
        ("FromNodeId,ToNodeId", "source: FromNodeId, target: ToNodeId, weight: 1 for "
         "every edge"),
        ("V1,V2,value", "source: V1, target: V2, weight: value"),
        ("i,j,dist", "source: i, target: j, weight: dist"),
        ("row,col,data", "source: row, target: col, weight: data"),
        ("head,tail,length_km", "source: tail, target: head, weight: length_km"),
        ("start,end,cost", "source: start, target: end, weight: cost"),
        ("index,osmid,u,v,length (m),lanes", "source: u, target: v, weight: length "
         "(m); left out: index, osmid, lanes"),
        ("protein1,protein2,combined_score", "source: protein1, target: protein2, "
         "weight: combined_score"),
        ("source,target,__index_level_0__,cost", "source: source, target: target, "
         "weight: cost; left out: __index_level_0__"),
        ("from_node,to_node,from_name,to_name,w", "either"),
        ("source,target,source_osm,target_osm,cost", "source: source, target: target, "
         "weight: cost; left out: source_osm, target_osm"),
    ],
)  # fmt: skip
def test_headers_that_people_bring(header: str, text: str) -> None:
    if text == "either":
        with pytest.raises(
            InputError, match="the ends may be from_node and to_node or"
        ):
            choose(header)
        return
    assert choose(header) == text


@pytest.mark.parametrize(
    ("header", "taken"),
    [
        ("year,month,day,dep_time,arr_delay,carrier,tailnum,origin,dest,air_time,"
         "distance,hour,minute,time_hour", "origin,dest,distance"),  # flights
        ("Origin,Dest,miles", "Origin,Dest,miles"),
        ("name,bus0,bus1,x,r,s_nom,length", "bus0,bus1,length"),  # PyPSA
        (",from_bus,to_bus,length_km,r_ohm_per_km,max_i_ka", "from_bus,to_bus,"
         "length_km"),  # pandapower
        ("init_node,term_node,capacity,length,b,power,speed,toll,link_type",
         "init_node,term_node,length"),  # transportation networks
        ("ID,A_NODE,B_NODE,LANES,DISTANCE", "A_NODE,B_NODE,DISTANCE"),
        ("a_id,b_id,km", "a_id,b_id,km"),
        ("TF,target,value", "TF,target,value"),
        ("Regulator,Target,Weight", "Regulator,Target,Weight"),
        ("ref,query,dist", "ref,query,dist"),
        ("Query_name,Ref_name,dist", "Ref_name,Query_name,dist"),
        ("query,target,distance", "query,target,distance"),
        ("cell1,cell2,distance", "cell1,cell2,distance"),
        ("from,to,hours", "from,to,hours"),
    ],
)  # fmt: skip
def test_headers_of_programs_and_fields(header: str, taken: str) -> None:
    names = header.split(",")
    found = choose_columns("t.csv", numbers(*names))
    assert ",".join(names[i] for i in found.wanted) == taken


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("TF,source,target,weight", "the ends may be source and target or TF and t"),
        ("src,origin,dest,weight", "the ends may be src and dest or origin and dest"),
        ("ref,query,target,weight", "the ends may be ref and query or query and targ"),
        ("bus0,bus1,from_bus,to_bus,length", "the ends may be from_bus and to_bus or"),
        ("cell1,cell2,cell_a,cell_b,w", "the ends may be cell1 and cell2 or cell_a"),
        ("origin,dest,km,hours", "each of km, hours may be the weight"),
        ("origin,dest,distance,hours", "each of distance, hours may be the weight"),
        ("from,to,m", "no column has a known name of a weight, and m holds numbers"),
        ("TF,target,importance", "no column has a known name of a weight, and impo"),
    ],
)
def test_headers_of_fields_with_two_readings_are_refused(
    header: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        choose(header)


ENDS = [
    ("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"),
    ("node1", "node2"), ("node_a", "node_b"), ("start", "end"), ("i", "j"),
    ("START_ID", "END_ID"), ("V1", "V2"), ("Source Node", "Target Node"),
    ("origin", "destination"), ("vertex_1", "vertex_2"), ("id1", "id2"),
    ("origin", "dest"), ("from_bus", "to_bus"), ("bus0", "bus1"), ("TF", "target"),
    ("Regulator", "Target"), ("ref", "query"), ("A_NODE", "B_NODE"),
    ("init_node", "term_node"), ("cell1", "cell2"),
]  # fmt: skip
WEIGHTS = ["weight", "w", "cost", "distance", "dist", "length", "len", "travel_time",
    "time", "value", "Shape_Length", "similarity", "km", "miles", "hours"]  # fmt: skip


def check_order(names: list[str], order: Sequence[str]) -> None:
    found = choose_columns("t", numbers(*order))
    assert [order[i] for i in found.wanted] == names[:3]


@pytest.mark.parametrize("ends", ENDS)
def test_ends_are_found_beside_any_weight(ends: tuple[str, str]) -> None:
    for weight in WEIGHTS:
        names = [*ends, weight, "id"]
        check_order(names, names)
        check_order(names, names[::-1])


@pytest.mark.parametrize(
    ("ends", "weight"),
    [(ends, "weight") for ends in ENDS] + [(ENDS[0], weight) for weight in WEIGHTS],
)
def test_ends_and_weight_are_found_in_any_order(
    ends: tuple[str, str], weight: str
) -> None:
    for case in (str.lower, str.upper, str.title):
        names = [case(name) for name in (*ends, weight, "id")]
        for order in itertools.permutations(names):
            check_order(names, order)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("source,target,length,travel_time", "each of length, travel_time may be the"),
        ("u,v,cost,distance", "each of cost, distance may be the weight"),
        ("source,target,weight,w", "each of weight, w may be the weight"),
        ("source,target,affinity_index", "and affinity_index holds numbers"),
        ("source,target,lanes,maxspeed", "and lanes, maxspeed hold numbers"),
        ("source,target,timestamp", "and timestamp holds numbers"),
        ("0,1,2", "no two columns have known names of the ends"),
        ("x,y,weight", "no two columns have known names of the ends"),
        ("id,key,weight", "no two columns have known names of the ends"),
        ("source,weight", "no two columns have known names of the ends"),
        ("source,target,u,v,w", "the ends may be source and target or u and v"),
        ("source,target,Target,w", "the ends may be source and target or source and T"),
    ],
)
def test_other_headers_are_refused_with_the_option_and_the_columns(
    header: str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as found:
        choose(header)
    assert "--columns" in str(found.value)
    assert all(name in str(found.value) for name in header.split(","))


@pytest.mark.parametrize(
    ("header", "twice"),
    [("source,target,w,w", "w"), ("source,source,target,w", "source")],
)
def test_candidates_of_one_name_are_to_be_renamed(header: str, twice: str) -> None:
    with pytest.raises(InputError, match=f"several columns are named {twice}"):
        choose(header)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("weight=length", "source: u, target: v, weight: length; left out: id, time"),
        ("weight=TIME", "source: u, target: v, weight: time; left out: id, length"),
        ("weight=", "source: u, target: v, weight: 1 for every edge; left out: id, "
         "length, time"),
        ("source=v,target=u,weight=id", "source: v, target: u, weight: id; left out: "
         "length, time"),
        ("source=id,target=v,weight=time", "source: id, target: v, weight: time; left "
         "out: u, length"),
    ],
)  # fmt: skip
def test_the_user_decides(asked: str, text: str) -> None:
    assert choose("id,u,v,length,time", asked) == text


def test_the_user_names_one_end_and_the_rule_the_other() -> None:
    header = "source,target,u,v,w"
    assert choose(header, "source=u").startswith("source: u, target: v, weight: w")
    assert choose(header, "target=u").startswith("source: v, target: u, weight: w")


@pytest.mark.parametrize(
    "asked",
    [
        "weight",
        "source",
        "ends=a",
        "source=,target=b",
        "source=u,source=v",
        "=u",
        "",
        3,
    ],
)
def test_options_of_another_form_are_refused(asked: object) -> None:
    with pytest.raises(ConfigError, match="give source=A,target=B,weight=C"):
        ColumnNames.of(asked)


def test_columns_are_given_as_text_or_mapping() -> None:
    expected = ColumnNames("a", "b, c", "d=e")
    assert ColumnNames.of("source=a,target=b, c,weight=d=e") == expected
    mapping = {"source": "a", "target": "b, c", "weight": "d=e"}
    assert ColumnNames.of(mapping) == expected
    assert ColumnNames.of({"weight": None}) == ColumnNames(weight="")


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(
        ConfigError, match=r"weight=km: t\.csv has no such column; it has"
    ):
        choose("u,v,length", "weight=km")
    with pytest.raises(ConfigError, match="for two roles"):
        choose("u,v,length", "source=u,target=u")


def test_a_weight_has_to_hold_numbers() -> None:
    with pytest.raises(InputError, match="column length is the weight, but does not"):
        choose("u,v,length", length=TEXT)
    with pytest.raises(InputError, match="column flag is the weight, but does not"):
        choose("u,v,flag", "weight=flag", flag=OTHER)
    assert "weight: dist" in choose("u,v,length,dist", length=TEXT)
    # Nothing in the first lines; a reader reports the row
    assert "weight: length" in choose("u,v,length,name", length=EMPTY, name=TEXT)


@pytest.mark.parametrize("kind", [TEXT, OTHER, EMPTY])
def test_weight_1_where_no_further_column_holds_numbers(kind: str) -> None:
    assert "weight: 1 for every edge" in choose("u,v,remark", remark=kind)


def test_the_weight_of_edges_whose_ends_are_known() -> None:
    assert choose_weight("g", numbers("id", "key", "length")) == 2
    assert choose_weight("g", numbers("id", "key")) is None


def test_texts_without_names() -> None:
    assert choose_positions("t", numbers("1", "2")).wanted == [0, 1]
    assert choose_positions("t", numbers("1", "2", "3")).wanted == [0, 1, 2]
    asked = ColumnNames.of("source=2,target=4,weight=1")
    assert choose_positions("t", numbers(*"1234"), asked).wanted == [1, 3, 0]
    asked = ColumnNames.of("source=1,target=2,weight=")
    assert choose_positions("t", numbers(*"1234"), asked).wanted == [0, 1]
    with pytest.raises(InputError, match=r"4 columns without names.*matrix"):
        choose_positions("t", numbers(*"1234"))
    with pytest.raises(InputError, match=r"2 further columns: 3, 4.*weight=3"):
        choose_positions("t", numbers(*"1234"), ColumnNames.of("source=1,target=2"))
    with pytest.raises(ConfigError, match="no such column"):
        choose_positions("t", numbers(*"123"), ColumnNames.of("weight=4"))
