"""A version never changes, and says which uploads belong to it."""

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the service needs pyarrow")

import pyarrow as arrow

from mndmst.host.errors import InputError
from mndmst.service.graph_version import GraphVersion
from mndmst.service.limits import ServiceMemory
from mndmst.service.protocol import read_version, versioned
from mndmst.service.uploads import Uploads, UploadVersion
from mndmst.service.version_history import StaleVersionError

VERSION = GraphVersion(
    number=7, edges_since=4, num_edges=9, num_arcs=18, weight_dtype=np.dtype(np.int32)
)


def test_no_part_of_a_version_can_be_replaced() -> None:
    for part in fields(GraphVersion):
        with pytest.raises(FrozenInstanceError):
            setattr(VERSION, part.name, None)
    for mapping in (VERSION.columns, VERSION.files):
        with pytest.raises(TypeError):
            mapping["name"] = None  # type: ignore[index]
    more = replace(VERSION, ticketed=True)
    assert not VERSION.ticketed and more.ticketed and more != VERSION


@pytest.mark.parametrize("kind", ("weights", "edges", "vertices", "changes"))
def test_uploads_of_another_version_are_refused(kind: str) -> None:
    """Weights belong to all versions with the same order of edges."""
    fine = range(4, 8) if kind == "weights" else (7,)
    for version in range(12):
        if version in fine:
            VERSION.check_upload("g", kind, version)
            continue
        with pytest.raises(StaleVersionError) as refused:
            VERSION.check_upload("g", kind, version)
        assert f"version {version} of g" in str(refused.value)
        assert "has version 7" in str(refused.value)


def test_the_version_of_an_upload_is_read_from_its_schema() -> None:
    schema = arrow.schema([("src", arrow.int64())])
    assert read_version(schema) is None
    assert read_version(schema.with_metadata({"graph": "g"})) is None
    assert read_version(versioned(schema, 12, "g")) == 12
    for text in (b"", b"-1", b"1.5", b"x", b"9" * 30, "³".encode()):
        with pytest.raises(InputError, match="give the number"):
            read_version(schema.with_metadata({b"version": text}))


def test_the_version_of_an_upload_is_taken_once() -> None:
    uploads = Uploads(ServiceMemory(0))
    sent = arrow.table({"vertex": [1]}).to_batches()
    uploads.receive("a", "vertices", sent, version=UploadVersion("g", 3))
    assert uploads.take("b") is None
    taken = uploads.take("a")
    assert taken is not None and taken.version == ("g", 3)
    assert uploads.take("a") is None
