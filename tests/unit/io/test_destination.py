"""What a graph that is written replaces, and what it leaves alone."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from killed_partition import killed_in
from shard_files import symmetric_rows, write
from test_partition import digest, made, random_edges

from mndmst.host.errors import ConfigError, MndmstError, OutputError
from mndmst.io.partitioner import write_parts as parts
from mndmst.io.shards.graph_directory import Destination
from mndmst.io.shards.sharded_graph import open_graph

EDGES = random_edges(2000, 9000)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder, and what they hold; links as their targets."""
    return {
        str(path.relative_to(folder)): path.readlink().name.encode()
        if path.is_symlink()
        else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def plant(folder: Path, *names: str) -> dict[str, bytes]:
    """Put files of somebody else into a folder."""
    folder.mkdir(exist_ok=True, parents=True)
    for name in names:
        (folder / name).write_text(f"{name} of somebody else")
    return contents(folder)


def test_strangers_beside_a_graph_stay_when_it_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "graph"
    made(out, EDGES, parts=7)
    names = ("notes.txt", "part-00009.h5", "part-00001.h5.tmp", "part-backup.h5")
    plant(tmp_path / "canaries", *names)
    shutil.copytree(tmp_path / "canaries", out, dirs_exist_ok=True)
    # The shard of another graph, and one of this that is not listed
    shutil.copy(
        made(tmp_path / "other", EDGES, parts=1) / "part-00000.h5", out / "o.h5"
    )
    shutil.copy(out / "part-00000.h5", out / "part-00010.h5")
    before = contents(out)
    made(out, random_edges(300, 800), parts=2, overwrite=True)
    after = contents(out)
    strangers = {*names, "o.h5", "part-00010.h5"}
    assert {name: after[name] for name in strangers} == {
        name: before[name] for name in strangers
    }
    assert {*after} - strangers == {"index.h5", "part-00000.h5", "part-00001.h5"}
    assert open_graph(out).num_vertices == 300


@pytest.mark.parametrize("name", ["index.h5", "part-00001.h5"])
@pytest.mark.parametrize("kind", ["text", "link", "other"])
def test_what_does_not_prove_to_be_of_the_graph_is_not_replaced(
    tmp_path: Path, name: str, kind: str
) -> None:
    out = made(tmp_path / "graph", EDGES, parts=3)
    other = write(tmp_path / "other", symmetric_rows(), [0, 20, 60])
    (out / name).unlink()
    if kind == "text":
        (out / name).write_text("notes")
    elif kind == "link":
        (out / name).symlink_to(other / name)
    else:
        shutil.copy(other / name, out / name)
        if name == "index.h5":  # its parts are those of a graph that is not there
            (out / "part-00000.h5").write_text("notes")
    before = contents(tmp_path)
    with pytest.raises(OutputError, match=r"\.h5: is in the way, and does not prove"):
        made(out, EDGES, parts=3, overwrite=True)
    assert contents(tmp_path) == before


def test_a_working_directory_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    work = tmp_path / "graph.partition-work"
    before = plant(work, "plan.json", "part-0.json", "thesis.txt")
    for restart in (False, True):
        with pytest.raises(MndmstError, match=r"partition-work: .*Move it away"):
            made(tmp_path / "graph", EDGES, restart=restart)
        assert contents(work) == before
    shutil.rmtree(work)
    (tmp_path / "elsewhere").mkdir()
    work.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="Move it away"):
        made(tmp_path / "graph", EDGES)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("fails", [False, True])
def test_strangers_in_our_working_directory_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    work = tmp_path / "graph.partition-work"
    true = parts.write_part

    def visited(*given: object) -> object:
        plant(work, "thesis.txt", "notes.tmp", "part-a.json")
        if fails:
            raise OutputError("full")
        return true(*given)

    monkeypatch.setattr(parts, "write_part", visited)
    if fails:
        with pytest.raises(OutputError, match="full"):
            made(tmp_path / "graph", EDGES)
    else:
        made(tmp_path / "graph", EDGES)
    assert {*contents(work)} == {"thesis.txt", "notes.tmp", "part-a.json"}


def test_parts_of_another_plan_are_never_taken(tmp_path: Path) -> None:
    with killed_in("finish_graph"):
        made(tmp_path / "graph", EDGES)
    other = random_edges(2000, 9001)
    made(tmp_path / "graph", other)
    assert digest(tmp_path / "graph") == digest(made(tmp_path / "other", other))
    assert [path.name for path in tmp_path.glob("graph*")] == ["graph"]


def test_a_part_that_was_not_written_to_its_end_is_made_again(tmp_path: Path) -> None:
    out = tmp_path / "graph"
    with killed_in("finish_graph"):
        made(out, EDGES)
    first, second, third = sorted(out.glob("*.tmp"))[:3]
    first.unlink()
    os.truncate(second, 3000)
    # A process that is killed while it changes a file leaves the mark that it does so
    code = "import h5py,os,sys;f=h5py.File(sys.argv[1],'r+');os.kill(os.getpid(),9)"
    subprocess.run([sys.executable, "-c", code, third], check=False)
    made(out, EDGES, restart=True)
    assert digest(out) == digest(made(tmp_path / "whole", EDGES))


def test_a_graph_cannot_be_the_root(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="/: give a directory below it"):
        made(Path("/"), EDGES)


def test_an_abandoned_exchange_leaves_what_is_left_of_the_old_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = made(tmp_path / "graph", EDGES, parts=3)
    true = Path.unlink

    def full(path: Path, missing_ok: bool = False) -> None:
        if path.name == "part-00001.h5":
            raise OSError(errno.EIO, "broken")
        true(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", full)
        with pytest.raises(OutputError, match="cannot be written"):
            made(out, random_edges(300, 800), parts=3, overwrite=True)
    assert (out / "index.h5").exists()
    assert not [*out.glob("*.tmp"), *out.glob("*.old")]
    made(out, EDGES, parts=3, overwrite=True)
    assert Destination(out, overwrite=True).path == out
    assert digest(out) == digest(made(tmp_path / "whole", EDGES, parts=3))
