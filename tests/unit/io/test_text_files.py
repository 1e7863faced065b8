"""Edge text in ranges of bytes: every line once, numbers as Python reads them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mndmst.host.errors import InputError
from mndmst.host.memory import FREE_MEMORY
from mndmst.io.formats import open_edges, read_edges
from mndmst.io.formats.delimited_text import open_dimacs

NUMBERS = (
    "-1e-400", "9007199254740993.0", "2.2250738585072011e-308", "5e-324",
    "2.4703282292062327e-324", "123456789012345678901234567890.0", ".5", "-3.", "+7e2",
    "0.000000000000000000000000000000123456789012345678901234567890", "-0",
    "1.7976931348623157e308", "9223372036854775807.0", "-9007199254740992",
    "179769313486231580793728971405301e276",
)  # fmt: skip


def write(path, weights):
    lines = [f"a 1 {2 + i % 8} {word}" for i, word in enumerate(weights)]
    path.write_text("\n".join([f"p sp 9 {len(lines)}", *lines]))
    return open_dimacs(path, FREE_MEMORY)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=60), st.integers(1, 9))
def test_ranges_hold_every_line_once(tmp_path_factory, weights, parts):
    path = tmp_path_factory.getbasetemp() / "ranges.gr"
    file = write(path, weights)
    bounds = [file.length * part // parts for part in range(parts + 1)]
    file.piece_bytes = 17
    pieces = [
        piece for begin, end in pairwise(bounds) for piece in file.pieces(begin, end)
    ]
    found = np.concatenate([piece.weight for piece in pieces])
    np.testing.assert_array_equal(found, weights)


def test_hard_numbers_are_read_as_python_reads_them(tmp_path):
    weight = write(tmp_path / "hard.gr", NUMBERS).read().weight
    expected = np.array([float(word) for word in NUMBERS])
    np.testing.assert_array_equal(weight.view("u8")[weight != 0],
                                  expected.view("u8")[expected != 0])  # fmt: skip
    np.testing.assert_array_equal(weight, expected)


@settings(deadline=None, max_examples=20)
@given(st.lists(st.from_regex(r"\A-?[0-9]{1,40}\.[0-9]{0,40}(e-?[0-9]{1,3})?\Z")))
def test_long_numbers_are_read_as_python_reads_them(tmp_path_factory, words):
    path = tmp_path_factory.getbasetemp() / "long.gr"
    words = [word for word in words if np.isfinite(float(word))]
    weight = write(path, [*words, "0.5"]).read().weight
    np.testing.assert_array_equal(weight, [*map(float, words), 0.5])


@pytest.mark.parametrize(
    "word", ["1e400", "-1e309", "1.797693134862315808e308", "9" * 400 + ".0",
             "17976931348623158079372897140530341508e271"],
)  # fmt: skip
def test_numbers_beyond_the_largest_are_refused(tmp_path, word):
    file = write(tmp_path / "huge.gr", ["1", "2.5", word, "3"])
    with pytest.raises(InputError, match=r"line 4 has .* beyond the largest float64"):
        file.read()


def test_whole_numbers_keep_64_bits(tmp_path):
    words = [str(number) for number in (2**63 - 1, -(2**63), 0, -1)]
    weight = write(tmp_path / "wide.gr", words).read().weight
    assert weight.tolist() == [2**63 - 1, -(2**63), 0, -1]
    with pytest.raises(InputError, match=r"line 2 has .* of over 64 bits"):
        write(tmp_path / "wider.gr", [str(2**63)]).read()


@pytest.mark.parametrize("word", ["9007199254740993", "-9223372036854775808"])
@pytest.mark.parametrize("apart", [1, 60_000], ids=["near", "in another piece"])
def test_whole_numbers_above_2_53_beside_fractions_are_refused(tmp_path, word, apart):
    """Float64, which the fractions need, does not hold them."""
    for words in ([word, *["1"] * apart, "0.5"], ["0.5", *["1"] * apart, word]):
        with pytest.raises(InputError, match=r"2\^53"):
            write(tmp_path / "mixed.gr", words).read()
    exact = write(tmp_path / "exact.gr", ["9007199254740992", "0.5"]).read()
    assert exact.weight.tolist() == [2.0**53, 0.5]


def test_mistakes_name_the_line_in_any_range(tmp_path):
    file = write(tmp_path / "bad.gr", [*range(50), "x", *range(50)])
    file.piece_bytes = 64
    with pytest.raises(InputError, match=r'bad\.gr: line 52 has "x" in column w'):
        list(file.pieces(file.length // 3, file.length))


def test_a_file_that_is_no_text_has_a_line_without_end(tmp_path):
    path = tmp_path / "binary.gr"
    path.write_bytes(b"p sp 9 9\n" + bytes([1]) * 10000)
    file = open_dimacs(path, FREE_MEMORY)
    file.longest_line = 100
    with pytest.raises(InputError, match="has a line of over 100 bytes at byte 9"):
        file.read()


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("old.csv", b"source,target,weight\r0,1,2\r1,2,3\r"),
        ("plain.csv", b"0,1,2\r1,2,3\r"),
        ("comment.txt", b"# edges\r0 1 2\r1 2 3\r"),
        ("some.txt", b"# edges\n0 1 2\r1 2 3\n"),
        ("long.txt", b"0 1 2\r" * 400_000),
        ("old.gr", b"p sp 2 1\ra 1 2 5\r"),
        ("old.mtx", b"%%MatrixMarket matrix coordinate real general\r2 2 1\r1 2 3\r"),
    ],
)
def test_lines_that_end_with_carriage_returns_alone_are_refused(tmp_path, name, lines):
    path = tmp_path / name
    path.write_bytes(lines)
    with pytest.raises(InputError, match=r"carriage returns where lines end.*tr "):
        open_edges(path)
    path.write_bytes(lines.replace(b"\r", b"\r\n").replace(b"\n\n", b"\n"))
    assert sum(len(piece.src) for piece in open_edges(path).pieces(0, 1 << 30)) >= 1


def test_lines_behind_the_last_vertex_are_refused(tmp_path):
    path = tmp_path / "behind.graph"
    path.write_text("3 2\n2 3\n1\n1\n%\n\n \n")
    assert read_edges(path).src.tolist() == [0, 0, 1, 2]
    path.write_text("3 2\n2 3\n1\n1\n%\n\n1\n")
    with pytest.raises(InputError, match="line 7 follows the lines of all 3 vertices"):
        read_edges(path)
