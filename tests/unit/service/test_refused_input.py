"""Clients refuse wrong input before they ask; ranks wrong uploads and records."""

import io
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import pyarrow as arrow

import mndmst
from mndmst.host.errors import ConfigError, InputError
from mndmst.io.names import NameKind
from mndmst.service.connection import Connection, ServiceError
from mndmst.service.live_points.point_records import (
    PointOptions,
    pack_columns,
    unpack_change,
)
from mndmst.service.name_lookup import RemoteNames
from mndmst.service.points_client import Points
from mndmst.service.uploads import HeldUpload, read_batch

NOWHERE = "grpc+tcp://127.0.0.1:1"  # an attempt to ask would be another error
ONE, TWO = [[1.0, 2]], [[1.0, 2], [3, 4]]
SRC = {"src": np.zeros(1, np.int64), "dst": np.ones(1, np.int64)}


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        ({}, "no changes; give insert or remove"),
        ({"remove": [1], "ids": [2]}, "ids are for points to insert; give insert, too"),
        ({"insert": TWO, "ids": [2]}, "ids: there are 1, and 2 points; give each"),
        ({"insert": ONE, "ids": [0.5]}, "ids has type float64; give ids, which are"),
        ({"remove": ["a"]}, "remove has .a. \\(str\\) at position 0; give numbers"),
    ],
)
def test_a_batch_of_points(batch: dict[str, list], words: str) -> None:
    points = Points(Connection(NOWHERE, "", None), "pings")
    with pytest.raises(InputError, match=words):
        points.update(**batch)


def test_an_address_is_text_or_a_path() -> None:
    with pytest.raises(ConfigError, match="address is 7000; give the text that mndmst"):
        mndmst.connect(7000)
    with pytest.raises(ConfigError, match=r"^web://a: is not an address of a service"):
        mndmst.connect("web://a", "token")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"url": 7, "token_file": null}', r"\(it names no address\)"),
        ('{"url": "grpc+tcp://127.0.0.1:1"}', r"\('token_file'\)"),
        ("[]", "is not the address file of a service"),
        ("{", "is not the address file of a service"),
    ],
)
def test_a_file_of_no_address(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "address"
    file.write_text(text)
    with pytest.raises(InputError, match=words):
        mndmst.connect(file)


def test_a_token_file_that_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "address"
    file.write_text(f'{{"url": "{NOWHERE}", "token_file": "{tmp_path}/token"}}')
    with pytest.raises(ServiceError, match=f"its token file {tmp_path}/token is gone"):
        mndmst.connect(file)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({}, "no changes: give delete, set_weights, insert or some of them"),
        ({"remove": SRC}, "remove is for points; give delete to remove edges"),
        ({"insert": None}, "insert: no upload of src, dst, weight has come under that"),
        ({"insert": SRC}, "insert: no upload of src, dst, weight has come under that"),
        (
            {"delete": {**SRC, "weight": np.ones(1)}},
            "delete: no upload of src, dst has",
        ),
        (
            {
                "insert": {**SRC, "weight": np.ones(1, np.float32)},
                "set_weights": {**SRC, "weight": np.ones(1, np.int64)},
            },
            "the weights have types float32 and int64; give one for all",
        ),
    ],
)
def test_a_batch_of_edges(
    sent: Mapping[str, Mapping[str, np.ndarray] | None], words: str
) -> None:
    uploads = {
        field: columns and HeldUpload(time.monotonic(), "a", columns, None)
        for field, columns in sent.items()
    }
    with pytest.raises(InputError, match=words):
        read_batch(uploads)


@pytest.mark.parametrize("names", [[1, "a"], ["a", None, 2.5], [1 << 70]])
def test_names_of_one_type(names: list) -> None:
    lookup = RemoteNames(Connection(NOWHERE, "", None), "g", NameKind.TEXT)
    with pytest.raises(InputError):
        lookup.numbers(names)


IDS, POINTS = np.array([7, 8]), np.array(TWO)
CHANGE = {"removed": np.array([3]), "ids": IDS, "points": POINTS}


@pytest.mark.parametrize(
    ("columns", "facts", "words"),
    [
        ({"ids": IDS, "points": POINTS}, None, "has the columns ids, points"),
        ({**CHANGE, "ids": IDS[:1]}, None, "has another number of ids than of points"),
        ({"re\nmoved": IDS}, None, r"has the columns re\\nmoved"),
        ({**CHANGE, "ids": IDS / 2}, None, "has columns of other types"),
        (CHANGE, [1], "has facts of another kind"),
        (CHANGE, {"other": 1}, "has no rule of clusters"),
        (CHANGE, {"rule": {"min_cluster_size": -1}}, "min_cluster_size"),
        (CHANGE, {"rule": {"min_size": 3}}, "min_size"),
    ],
)
def test_a_record_of_points(
    columns: dict[str, np.ndarray], facts: dict[str, object] | None, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        unpack_change(pack_columns(columns, facts), "the journal")


def test_a_record_that_arrow_cannot_read() -> None:
    whole = pack_columns(CHANGE)
    for body in (b"", b"x" * 64, whole[:-40]):
        with pytest.raises(ValueError):
            unpack_change(body, "the journal")


def test_a_record_of_points_without_dimensions() -> None:
    points = arrow.array([[], []], arrow.list_(arrow.float64(), 0))
    lists = {
        name: arrow.LargeListArray.from_arrays([0, len(values)], values)
        for name, values in {**CHANGE, "points": points}.items()
    }
    table, sink = arrow.table(lists), io.BytesIO()
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(ValueError, match="has columns of other types"):
        unpack_change(sink.getvalue(), "the journal")


def test_a_record_with_a_type_of_which_arrow_makes_no_array() -> None:
    large_list, interval = 21, 11  # numbers of types in a schema of Arrow
    body = bytearray(pack_columns(CHANGE))
    for at in [i for i, byte in enumerate(body) if byte == large_list]:
        body[at] = interval
        with pytest.raises(ValueError):
            unpack_change(bytes(body), "the journal")
        body[at] = large_list


@pytest.mark.parametrize(
    "facts",
    [{}, {"metric": "other"}, {"coordinates": "xy"}, {"coordinates": [1]}, {"rule": 3}],
)
def test_options_of_points(facts: dict[str, object]) -> None:
    known = {"metric": "euclidean", "coordinates": ["x", "y"], "rule": {}}
    assert PointOptions.of_facts(known).coordinates == ("x", "y")
    with pytest.raises(
        ValueError, match=r"has no (options of points|rule of clusters)"
    ):
        PointOptions.of_facts({**known, **facts} if facts else {})
