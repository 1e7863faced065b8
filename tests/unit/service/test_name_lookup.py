"""Names of vertices are found in any order, and answered as they are."""

import re
import tracemalloc

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the service needs pyarrow")

import pyarrow as arrow

from mndmst.host.errors import ConfigError, InputError
from mndmst.host.formatting import size_text
from mndmst.host.memory_costs import (
    ANSWER_LETTER_BYTES,
    ANSWER_NAME_BYTES,
    FOUND_NAME_BYTES,
    FOUND_NAME_COPIES,
)
from mndmst.io.names import IntegerNames, NameKind, Names, names_of_texts
from mndmst.service.limits import ServiceMemory
from mndmst.service.name_lookup import (
    ANSWER_NAMES,
    NameLookup,
)


@pytest.mark.parametrize(
    ("names", "asked"),
    [
        (IntegerNames(np.array([-5, 3, 1 << 40])), [1 << 40, 4, -5, 3, 3]),
        (IntegerNames(np.array([70, 3, 9])), [9, 4, 70, 3, 3]),  # of a reordered graph
        (names_of_texts("it", ["01", "Köln", "Ulm"]), ["Ulm", "1", "01"]),
    ],
)
def test_names_and_vertices_lead_to_each_other(names: Names, asked: list) -> None:
    lookup = NameLookup("g", names, ServiceMemory(0))
    every = names.values()
    (found,) = lookup.answers("vertices", arrow.record_batch({"name": asked}))
    expected = [every.index(name) if name in every else None for name in asked]
    assert found["vertex"].to_pylist() == expected
    vertices = arrow.record_batch({"vertex": np.array([2, 0, 0])})
    (found,) = lookup.answers("names", vertices)
    assert found["name"].to_pylist() == [every[2], every[0], every[0]]
    part = arrow.record_batch({"name": asked}).slice(2)  # shares the buffers
    (found,) = lookup.answers("vertices", part)
    assert found["vertex"].to_pylist() == expected[2:]


def test_wrong_questions_are_refused() -> None:
    lookup = NameLookup(
        "g", IntegerNames(np.array([1 << 63], np.uint64)), ServiceMemory(0)
    )
    assert lookup._kind is NameKind.UINT64
    for query, column, values, words in (
        ("names", "vertex", [0, 1], "1 is not a vertex of g; they are numbered from 0"),
        ("names", "name", [0], "the query names has one column, vertex"),
        ("names", "vertex", [None, 0], "has type int64, or null; give integers"),
        ("names", "vertex", [0.5], "has type double"),
        ("vertices", "name", [-1], "named by integers of type uint64, not by values"),
        ("vertices", "name", ["1"], "not by values of type string"),
        ("vertices", "name", [1, None], "give names, or ask the graph's `numbers`"),
    ):
        batch = arrow.record_batch({column: values})
        with pytest.raises(InputError, match=words):
            list(lookup.answers(query, batch))


@pytest.mark.parametrize("order", [1, -1])
def test_names_count_against_the_memory(order: int) -> None:
    names = IntegerNames(np.arange(1000)[::order])
    peak = 16_000 if order == 1 else 208_000
    graphs = 1 << 20
    small, enough = (
        ServiceMemory(graphs + limit, least=0) for limit in (peak - 1, peak)
    )
    for memory in (small, enough):
        memory.add_graph(graphs)
    with pytest.raises(ConfigError, match=r"the names of the vertices of g of .*MiB"):
        NameLookup("g", names, small)
    NameLookup("g", names, enough)
    held = 8_000 if order == 1 else 24_000
    enough.check(peak - held, "more")
    beside = f"beside {size_text(graphs + held)} of graphs"
    with pytest.raises(ConfigError, match=re.escape(beside)):
        enough.check(peak - held + 1, "more")
    assert small.of_requests == enough.of_requests == 0


@pytest.mark.parametrize("length", [0, 8, 100])  # 0: integers
def test_answers_count_against_the_memory(length: int) -> None:
    many = 20_000
    vertices = np.random.default_rng(1).permutation(many)
    names: Names = IntegerNames(np.arange(many))
    if length:
        names = names_of_texts("it", [f"{k:0{length}}" for k in range(many)])
    lookup = NameLookup("g", names, ServiceMemory(0))
    asked = arrow.record_batch({"vertex": vertices})
    found = [f"{k:0{length}}" if length else k for k in vertices.tolist()]
    named = arrow.record_batch({"name": found})
    some = ANSWER_NAMES * (ANSWER_NAME_BYTES + ANSWER_LETTER_BYTES * length)
    every = many * FOUND_NAME_BYTES + FOUND_NAME_COPIES * named.nbytes
    for query, batch, counted in (("names", asked, some), ("vertices", named, every)):
        for _ in range(2):  # the first time fills caches
            tracemalloc.start()
            for table in lookup.answers(query, batch):
                assert lookup._memory.of_requests == table.nbytes
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert counted / 8 <= peak <= counted + 100_000, query
        assert lookup._memory.of_requests == 0
        small = NameLookup("g", names, ServiceMemory(0, least=0))
        small._memory.limit = small._memory.of_graphs + counted - 1
        with pytest.raises(
            ConfigError, match=r"too little for the (names|vertices) of"
        ):
            list(small.answers(query, batch))
        small._memory.limit += 1
        assert list(small.answers(query, batch))
