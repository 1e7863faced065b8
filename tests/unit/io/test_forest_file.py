"""The forest file: what is written is read, damage is seen, nothing is left behind."""

import hashlib
import json
import resource
from fractions import Fraction

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI

from mndmst.cli.info import describe
from mndmst.comm.communicator import Comm
from mndmst.graph.model import EdgeList
from mndmst.graph.order import WEIGHT_DTYPES, weights_to_keys
from mndmst.host.errors import InputError, OutputError
from mndmst.io.atomic_output import AtomicOutput, check_writable
from mndmst.io.file_access import write_attributes
from mndmst.io.names import IdRange
from mndmst.io.results import digest_and_total as totals
from mndmst.io.results.digest_and_total import (
    exact_total,
    forest_digest,
    same_total,
    total_of_keys,
)
from mndmst.io.results.forest_file import (
    ForestHeader,
    describe_forest,
    file_digest,
    read_forest,
    write_forest,
)
from mndmst.kernels.threads import ALONE, Threads

COMM = Comm(MPI.COMM_SELF)


def write(path, src, dst, weights, num_vertices=20, labels=None, **header):
    src, dst = np.array(src, np.uint32), np.array(dst, np.uint32)
    facts = {
        "graph_uuid": "some-graph",
        "num_vertices": num_vertices,
        "total_weight": exact_total(COMM, weights),
        "digest": forest_digest(COMM, src, dst),
    } | header
    edges = EdgeList(src, dst, np.zeros(len(src), np.uint32))
    with AtomicOutput(COMM) as outputs:
        write_forest(
            outputs,
            path,
            edges,
            weights,
            lambda: ForestHeader(**facts),
            IdRange(0, num_vertices),
            labels,
        )


@pytest.mark.parametrize("dtype", WEIGHT_DTYPES, ids=str)
def test_what_is_written_is_read(tmp_path, dtype):
    path = tmp_path / "forest.h5"
    weights = np.array([7, 0, 100], dtype)
    report = {"text": "x" * 200_000}  # more than one attribute holds in itself
    labels = np.arange(20)
    write(path, [1, 2, 9], [5, 3, 12], weights, 20, labels, config={"a": 1},
          report=report)  # fmt: skip
    forest = read_forest(path)
    assert (forest.num_edges, forest.num_trees) == (3, 17)
    assert forest.header.config == {"a": 1}
    assert forest.header.report == report
    assert forest.header.total_weight == 107
    src, dst, weight = forest.read(1, 3)
    assert src.tolist() == [2, 9]
    assert dst.tolist() == [3, 12]
    assert weight.dtype == dtype
    assert weight.tolist() == [0, 100]
    assert forest.read_labels(3, 5).tolist() == [3, 4]
    assert describe_forest(path)["damage"] == []
    assert [file.name for file in tmp_path.iterdir()] == ["forest.h5"]


@pytest.mark.parametrize(
    ("vertices", "dtype"), [(20, "int32"), (1 << 31, "int32"), (1 + (1 << 31), "int64")]
)
def test_plain_h5py_reads_it(tmp_path, vertices, dtype):
    """Ids take 4 bytes where all of them fit."""
    write(tmp_path / "f", [1], [5], np.array([-3], np.int64), vertices)
    with h5py.File(tmp_path / "f") as file:
        assert file["forest/src"].dtype == file["forest/dst"].dtype == dtype
        assert file["forest/src"].fletcher32
        assert file["forest/dst"][:].tolist() == [5]
        assert file.attrs["total_weight"] == -3


def test_ids_of_either_width_are_read(tmp_path):
    path = tmp_path / "f"
    write(path, [1, 4], [5, 9], np.array([7, 8], np.int32), labels=np.arange(20))
    narrow = read_forest(path)
    with h5py.File(path, "r+") as file:
        for name in ("forest/src", "forest/dst", "labels"):
            ids = file[name][:].astype(np.int64)
            del file[name]
            file.create_dataset(name, data=ids, fletcher32=True, chunks=ids.shape)
    for forest in (narrow, read_forest(path)):
        src, dst, _ = forest.read(0, 2)
        assert src.dtype == dst.dtype == forest.read_labels(0, 20).dtype == np.int64
        assert (src.tolist(), dst.tolist()) == ([1, 4], [5, 9])
        assert describe_forest(path)["damage"] == []


def test_forest_without_edges(tmp_path):
    write(tmp_path / "f", [], [], np.empty(0, np.float32), num_vertices=0)
    description = describe_forest(tmp_path / "f")
    assert description["damage"] == []
    assert description["digest"] == hashlib.sha256().hexdigest()
    assert description["num_trees"] == 0


def test_digest_is_that_of_the_pairs(tmp_path):
    dst = np.arange(1, 2 * totals.PIECE + 4)
    src = dst // 2
    by_hand = hashlib.sha256(np.column_stack((src, dst)).astype("<i8").tobytes())
    write(tmp_path / "f", src, dst, np.ones(len(src), np.int32), len(src) + 1)
    assert file_digest(tmp_path / "f") == by_hand.hexdigest()
    wide = np.array(src, np.int64), np.array(dst, np.int64)
    assert forest_digest(COMM, *wide) == by_hand.hexdigest()


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
@given(data=st.data())
def test_integer_total_is_exact(dtype, data):
    limits = np.iinfo(dtype)
    numbers = data.draw(st.lists(st.integers(int(limits.min), int(limits.max))))
    numbers += [int(limits.max)] * 3
    assert exact_total(COMM, np.array(numbers, dtype)) == sum(numbers)


@pytest.mark.parametrize("dtype", WEIGHT_DTYPES)
@pytest.mark.parametrize("special", [(), (np.inf,), (np.inf, -np.inf)])
def test_threads_add_what_keys_stand_for(dtype, special):
    count = 17 * totals.PIECE  # of integers, too, several threads add some
    source = np.random.default_rng(len(special))
    if dtype.kind == "f":
        weights = np.r_[source.integers(0, 99, count) / 7, special].astype(dtype)
        expected = exact_total(COMM, weights)
    else:
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        weights = source.integers(least, most, count, dtype, endpoint=True)
        weights[:2] = least, most
        expected = sum(weights.tolist())
    for descending in (False, True):
        keys = weights_to_keys(weights.copy(), descending)
        lists = [keys[:3], keys[3:3], keys[3 : count - 90], keys[count - 90 :]]
        for threads in (ALONE, Threads(3)):
            total = total_of_keys(COMM, lists, dtype, threads, descending)
            assert same_total(total, expected)
    assert total_of_keys(COMM, [keys[:0]], dtype, ALONE) == 0


@pytest.mark.parametrize(("dtype", "width"), [("float32", 32), ("float64", 64)])
@given(data=st.data())
def test_float_total_is_the_nearest(dtype, width, data):
    finite = st.floats(width=width, allow_nan=False, allow_infinity=False)
    numbers = data.draw(st.lists(finite))
    exact = sum((Fraction(number) for number in numbers), Fraction(0))
    try:
        nearest = float(exact)
    except OverflowError:
        nearest = float("inf") if exact > 0 else float("-inf")
    total = exact_total(COMM, np.array(numbers, dtype))
    assert isinstance(total, float)
    assert total == nearest


@pytest.mark.parametrize(
    ("numbers", "total"),
    [
        ([np.inf, 1.0, np.inf], np.inf),
        ([-np.inf, 1e308, 1e308], -np.inf),
        ([np.inf, -np.inf], np.nan),
        ([5e-324, -5e-324, 5e-324], 5e-324),
        ([1e308, 1e308, -1e308], 1e308),
        ([1.0, 1e100, 1.0, -1e100], 2.0),
    ],
)
def test_float_total_at_the_edges(numbers, total):
    assert same_total(exact_total(COMM, np.array(numbers)), total)


def test_total_beyond_int64_is_kept(tmp_path):
    weights = np.full(2, np.iinfo(np.uint64).max)
    write(tmp_path / "f", [0, 1], [1, 2], weights)
    assert read_forest(tmp_path / "f").header.total_weight == 2 * (2**64 - 1)


@pytest.mark.parametrize(
    ("header", "text"),
    [({"digest": "00"}, "digest"), ({"total_weight": 4}, "total weight")],
)
def test_wrong_attribute_is_damage(tmp_path, header, text):
    write(tmp_path / "f", [0, 1], [1, 2], np.array([1, 2], np.int32), **header)
    description = describe_forest(tmp_path / "f")
    assert len(description["damage"]) == 1
    assert text in description["damage"][0]
    assert description["total_weight"] == 3


def test_flipped_or_cut_bytes_are_errors(tmp_path):
    path = tmp_path / "f"
    src = np.arange(1000)
    write(path, src, src + 1000, np.ones(1000, np.int32), 2000)
    whole = path.read_bytes()
    place = whole.index(src.astype("<i4").tobytes()) + 2000
    path.write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
    with pytest.raises(InputError, match="damaged"):
        describe_forest(path)
    for length in (0, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="cut short"):
            describe_forest(path)


def test_info_of_infinite_weights_is_json(tmp_path, capsys):
    path = tmp_path / "f"
    weights = np.array([1, np.inf])
    write(path, [0, 1], [1, 2], weights, report={"seconds": [1, np.nan]})
    with h5py.File(path) as file:
        assert json.loads(file.attrs["report"]) == {"seconds": [1, "NaN"]}
    describe(path, as_json=True)
    facts = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert facts["total_weight"] == "Infinity"


def test_what_is_no_forest_file_is_told_in_a_line(tmp_path):
    (tmp_path / "g.gr").write_text("p sp 1 0\n")
    for name, kind in (("", "a directory"), ("g.gr", "not an HDF5 file")):
        with pytest.raises(
            InputError, match=rf"is {kind}; a .* is expected\. .*\.$"
        ) as found:
            read_forest(tmp_path / name)
        assert "\n" not in str(found.value)


def change_format(file):
    write_attributes(file, {"format": "mndmst-graph"})


def lengthen_format(file):
    file.attrs["format"] = "mndmst-forest"  # h5py's texts have a variable length


def change_version(file):
    file.attrs["version"] = 99


def drop_digest(file):
    del file.attrs["digest"]


def shorten(file):
    del file["forest/dst"]
    file["forest/dst"] = np.array([5])


def change_type(file):
    write_attributes(file, {"weight_dtype": "int64"})


def break_json(file):
    write_attributes(file, {"config": "{"})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (change_format, "not a forest of this version .its format is mndmst-graph"),
        (lengthen_format, "names no format.*solve again"),
        (change_version, "version 99"),
        (drop_digest, "damaged"),
        (shorten, "forest/dst has 1 entries where 2"),
        (change_type, "forest/weight is int32"),
        (break_json, "damaged"),
    ],
)
def test_file_that_does_not_fit_together_is_refused(tmp_path, change, text):
    write(tmp_path / "f", [0, 1], [1, 2], np.ones(2, np.int32))
    with h5py.File(tmp_path / "f", "r+") as file:
        change(file)
    with pytest.raises(InputError, match=text):
        read_forest(tmp_path / "f")


def test_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.h5: no such file"):
        read_forest(tmp_path / "nowhere.h5")


def test_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "f"
    write(path, [0], [1], np.ones(1, np.int32))
    before = path.read_bytes()
    src = np.arange(100_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    try:
        with pytest.raises(OutputError, match="cannot be written"):
            write(path, src, src + 100_000, np.ones(len(src), np.int32), 200_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_places_that_cannot_be_written_are_refused_beforehand(tmp_path):
    check_writable(COMM, tmp_path / "f")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OutputError, match="is a directory"):
        check_writable(COMM, tmp_path)
    with pytest.raises(OutputError, match="No such file"):
        check_writable(COMM, tmp_path / "nowhere" / "f")
    with pytest.raises(OutputError, match="cannot be written"):
        check_writable(COMM, "/proc/forest.h5")
