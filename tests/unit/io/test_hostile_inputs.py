"""Inputs that never end, unpack to far more than they are, or are not what they say.

Each gets one line, soon, whatever `--memory` is; what a process has held at most is
asked of the system.
"""

import gzip
import lzma
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import graphs
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from processes import ROOT

from mndmst import __main__
from mndmst.cli import main as cli
from mndmst.host.errors import ConfigError, InputError, MndmstError
from mndmst.host.memory import FREE_MEMORY, Budget, held_bytes
from mndmst.io import memory_limit
from mndmst.io.edge_file import EdgeFile
from mndmst.io.file_access import opened, read_toml
from mndmst.io.formats import open_edges, read_edges
from mndmst.io.formats.packed_files import PIECE_BYTES, unpacked_pieces

pytestmark = pytest.mark.slow

MIB = 1 << 20
LIMIT = 400 * MIB
PACK = {
    "gz": partial(gzip.open, mode="wb", compresslevel=1),
    "xz": partial(lzma.open, mode="wb", preset=0),
    "zst": partial(zstandard.open, mode="wb"),
}
# A beginning, what is repeated, how many MiB of it, and what is said.
ARCS = 40 * MIB
BOMBS = {
    "one-line.gr": (b"c ", b"x", 300, "no edge in its first"),
    "no-edge.csv": (b"", b"#\n", 300, "no edge in its first"),
    "one-line.csv": (b"1,2,3\n", b"x", 300, "a line of over"),
    "zeros.egr": (struct.pack("<ii", ARCS - 2, ARCS), bytes(4), 320, "suffices"),
    "rows.metis": (b"9 9\n", b"1 2 3 4\n", 200, "suffices"),
    "rows.adj": (b"AdjacencyGraph\n9\n9\n", b"1\n", 200, "suffices"),
    "objects.json": (b'{"nodes":[', b"{},", 200, "suffices"),
}


@pytest.fixture
def limited() -> Iterator[Budget]:
    """A budget of little more than this process holds."""
    limit = held_bytes() + memory_limit.READER_RESERVE + 20 * MIB
    yield Budget(limit, whole_process=True)
    if "pyarrow" in sys.modules:  # it keeps what it frees; other tests count bytes
        sys.modules["pyarrow"].default_memory_pool().release_unused()


def peak_of(*arguments: object) -> tuple[int, str]:
    """Run a command; return the most bytes that it held, and what it said."""
    # Not the peak of `getrusage`, which begins with that of the process before exec.
    code = (
        "import re, sys; from mndmst.__main__ import main; main(sys.argv[1:]);"
        "print(*re.findall(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read()))"
    )
    command = [sys.executable, "-c", code, *map(str, arguments)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    return 1024 * int(run.stdout.split()[-1]), run.stderr


def write_bomb(folder: Path, name: str, packing: str) -> Path:
    begin, again, mib, _ = BOMBS[name]
    path = folder / f"{name}.{packing}"
    piece = again * (MIB // len(again))
    with PACK[packing](path) as file:
        file.write(begin)
        for _ in range(mib):
            file.write(piece)
    return path


@pytest.mark.parametrize(
    ("name", "packing"),
    [*((name, "zst") for name in BOMBS), ("zeros.egr", "xz"), ("zeros.egr", "gz")],
)
def test_a_file_that_unpacks_to_more_than_memory(
    name: str, packing: str, tmp_path: Path
) -> None:
    path = write_bomb(tmp_path, name, packing)
    out = tmp_path / "out"
    peak, said = peak_of("partition", path, out, "--memory", LIMIT, "-q")
    assert peak < LIMIT
    assert str(path) in said
    assert BOMBS[name][3] in said
    assert said.count("\n") == 1


def test_what_would_do_does(limited: Budget, tmp_path: Path) -> None:
    path = tmp_path / "graph.egr.zst"
    arcs = 12 * MIB
    with zstandard.open(path, "wb") as file:
        file.write(struct.pack("<ii", arcs - 2, arcs) + bytes(8 * arcs - 4))
    with pytest.raises(ConfigError, match="too little: its content takes") as found:
        open_edges(path, budget=limited)
    enough = int(str(found.value).split("--memory ")[2].split("MiB")[0])
    with pytest.raises(InputError, match="its rows go from arc 0 to 0"):
        open_edges(path, budget=Budget(enough * MIB))


def test_a_list_of_edges_that_does_not_fit(limited: Budget, tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_bytes(b"1 2 3\n" * (1 << 20))
    with pytest.raises(ConfigError, match=r"the list of its edges takes .* suffices"):
        read_edges(path, budget=limited)


def test_packed_matrices_that_do_not_fit(limited: Budget, tmp_path: Path) -> None:
    path = tmp_path / "matrix.npz"
    empty = np.zeros(4 << 20, np.int64)
    columns = {"row": empty, "col": empty, "data": empty}
    np.savez_compressed(path, format=b"coo", shape=np.array([2, 2]), **columns)
    assert path.stat().st_size < MIB
    with pytest.raises(ConfigError, match=r"the matrix in it takes .* suffices"):
        read_edges(path, budget=limited)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_packed_tables_that_do_not_fit(
    limited: Budget, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"table.{suffix}"
    column = pyarrow.array(np.zeros(32 << 20, np.int64))
    table = pyarrow.table({"source": column, "target": column})
    if suffix == "parquet":
        kept = {"use_dictionary": False, "compression": "zstd"}
        pyarrow.parquet.write_table(table, path, row_group_size=32 << 20, **kept)
    else:
        packed = pyarrow.ipc.IpcWriteOptions(compression="zstd")
        with pyarrow.ipc.new_file(str(path), table.schema, options=packed) as file:
            file.write_batch(table.to_batches()[0])
    assert path.stat().st_size < MIB
    with pytest.raises(ConfigError, match=r"takes .* suffices for as much\.$"):
        read_edges(path, budget=limited)


def test_pieces_stay_small(tmp_path: Path) -> None:
    path = write_bomb(tmp_path, "rows.metis", "zst")
    assert max(map(len, unpacked_pieces(path, FREE_MEMORY))) <= PIECE_BYTES


@pytest.mark.parametrize("packing", PACK)
def test_several_streams_are_one_file(packing: str, tmp_path: Path) -> None:
    path = tmp_path / f"edges.txt.{packing}"
    for number in range(3):
        with PACK[packing](tmp_path / "one") as file:
            file.write(b"%d 7\n" % number * 70_000)
        with path.open("ab") as file:
            file.write((tmp_path / "one").read_bytes())
    content = b"".join(unpacked_pieces(path, FREE_MEMORY))
    assert content == b"".join(b"%d 7\n" % number * 70_000 for number in range(3))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="cut short"):
        list(unpacked_pieces(path, FREE_MEMORY))


def test_a_dictionary_beyond_the_limit(limited: Budget, tmp_path: Path) -> None:
    path = tmp_path / "edges.txt.xz"
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 256 * MIB, "preset": 0}]
    path.write_bytes(lzma.compress(b"1 2 3\n", filters=filters))
    with pytest.raises(ConfigError, match=r"to unpack it takes .* suffices"):
        read_edges(path, budget=limited)


def test_a_pipe_is_not_an_empty_list_of_edges(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "edges.csv")
    with pytest.raises(
        InputError, match=r"edges\.csv: is a named pipe; a regular file .* partition"
    ):
        open_edges(tmp_path / "edges.csv")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a graph, its forest, and things that are no files."""
    folder = tmp_path_factory.mktemp("places")
    graphs.write_graph(folder / "graph", graphs.path(9))
    os.mkfifo(folder / "pipe")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "socket"))
    return folder


INPUTS = (
    "solve {} --backend cpu -q",
    "solve graph --config {}",
    "components {} -q",
    "verify graph {}",
    "cluster {} --count 2",
    "cluster graph/index.h5 --count 2 --points {} --plot p.png",
    "partition {} out --format txt",
    "partition {} out --format egr",
    "partition {} out --format h5",
    "partition {} out --format parquet",
    "partition {} out --format npz",
    "partition {}.toml out",
    "neighbours {} out",
    "convert {} out.gr --format json",
    "info {}",
    "report {}",
)


@pytest.mark.parametrize("kind", ["pipe", "zero", "socket", "folder"])
@pytest.mark.parametrize("command", INPUTS)
def test_what_is_no_file_is_not_read(
    command: str,
    kind: str,
    places: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(places)
    if "toml" in command:
        Path(f"{kind}.toml").unlink(missing_ok=True)
        Path(f"{kind}.toml").symlink_to(kind)
    assert __main__.main(command.format(kind).split()) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"mndmst: error: {kind}")
    assert said.count("\n") == 1
    assert not Path("out").exists()


def test_a_file_that_grows_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_text("1 2 3\n")
    file = open_edges(path)
    with path.open("a") as more:
        more.write("2 3 4\n")
    with pytest.raises(InputError, match=r"edges\.txt: has changed while it was read"):
        file.read()
    with pytest.raises(InputError, match="has changed"), opened(path):
        path.write_text("1 2 3\n")


def test_a_binary_file_that_changes(tmp_path: Path) -> None:
    path = tmp_path / "graph.egr"
    path.write_bytes(struct.pack("<iiiiiii", 2, 2, 0, 1, 2, 1, 0))
    file: EdgeFile = open_edges(path)
    assert len(file.read()) == 2
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(InputError, match=r"graph\.egr: has changed"):
        file.read()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("x = " + "[" * 5000, "nested too deeply"),
        ("x = " + "9" * 5000, "is not TOML"),
        ("\udc80", "is not TOML"),
        ("#" * (5 << 20), "larger than"),
    ],
)
def test_toml_that_is_none(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "options.toml"
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(MndmstError, match=f"options.toml: .*{said}"):
        read_toml(path)


def test_an_unforeseen_error_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(argv: list[str]) -> int:
        raise KeyError("graph")

    monkeypatch.setattr(cli, "main", fail)
    words = ["info", str(tmp_path)]
    assert __main__.main(words) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"mndmst: error: {tmp_path}: the only rank failed (KeyError")
    assert said.count("\n") == 1
    assert "--debug" in said
    for debug, value in ((["--debug"], "0"), ([], "1")):
        monkeypatch.setenv("MNDMST_DEBUG", value)
        assert __main__.main(words + debug) == 1
        assert "Traceback" in capsys.readouterr().err


def test_every_command_knows_debug() -> None:
    for command in (["--debug"], ["info", "--debug"], ["report", "x", "--debug"]):
        assert "debug" in vars(cli.parser().parse_args(command)), command
