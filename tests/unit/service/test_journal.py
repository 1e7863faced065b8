"""A journal loses no acknowledged batch, whatever becomes of its file.

Two kinds of damage cannot be told from a failure in the middle of a write: a file that
ends in the middle of a record, or behind an earlier one; and zeros from a sector's
boundary in the last record to the end of the file. Neither has the end mark of the last
record. The service says how many bytes it cuts. Everything else is refused, with the
place.
"""

import contextlib
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from graphs import simple_path, write_graph

pytest.importorskip("pyarrow", reason="the journal needs pyarrow")

from mndmst.changes.batch import INSERT, Batch
from mndmst.host.errors import InputError, OutputError
from mndmst.io.atomic_output import AtomicOutput
from mndmst.io.owned_files import LockFile
from mndmst.io.partitioner import graph_lock
from mndmst.io.shards.sharded_graph import open_graph
from mndmst.service import records
from mndmst.service.journal import Journal, take_lease
from mndmst.service.records import END, HEADER_BYTES, SECTOR
from mndmst.service.served_graph import GRAPH_JOURNAL

pytestmark = pytest.mark.slow

UUID = "01234567-89ab-cdef-0123-456789abcdef"


def batch(version: int, changes: int = 2) -> Batch:
    ends = np.arange(changes)
    weight = ends * 0.5 + version
    return Batch(np.full(changes, INSERT, np.uint8), ends, ends + 5, weight)


def data(*versions: int, changes: int = 2) -> bytes:
    parts = [records.record(v, records.pack(batch(v, changes))) for v in versions]
    return records.header(UUID) + b"".join(parts)


def read(path: Path, content: bytes) -> tuple[int, int]:
    """Return the last version and how many bytes behind it would be cut."""
    path.write_bytes(content)
    with path.open("rb") as file:
        try:
            found = records.reader(path, file, UUID, 0, "another")
        except ValueError as error:
            raise InputError(str(error)) from error
        while (body := found.next()) is not None:
            kept = records.unpack(body.packed, body.where)
            assert kept.weight.tolist() == batch(body.version).weight.tolist()
        return found.version, len(content) - found.offset


def ends(content: bytes, path: Path) -> list[int]:
    """Return the byte behind the header and behind each record."""
    path.write_bytes(content)
    with path.open("rb") as file:
        found = records.reader(path, file, UUID, 0, "another")
        places = [found.offset]
        while found.next() is not None:
            places.append(found.offset)
    return places


def test_every_flipped_bit_is_refused(tmp_path: Path) -> None:
    whole = data(1, 2, 3)
    for place in range(len(whole)):
        for bit in range(8):
            flipped = bytearray(whole)
            flipped[place] ^= 1 << bit
            with pytest.raises(InputError):
                read(tmp_path / "journal-0", bytes(flipped))


def test_every_cut_is_an_unfinished_write_of_one_record(tmp_path: Path) -> None:
    whole, path = data(1, 2, 3), tmp_path / "journal-0"
    places = ends(whole, path)
    for cut in range(len(whole)):
        if cut < HEADER_BYTES:
            with pytest.raises(InputError):
                read(path, whole[:cut])
            continue
        version = sum(place <= cut for place in places) - 1
        assert read(path, whole[:cut]) == (version, cut - places[version])


@pytest.mark.parametrize("lost", [1, 2, 3, 4, 5, 29])
def test_bytes_lost_inside_the_last_record(tmp_path: Path, lost: int) -> None:
    """The end mark is behind them, so the record was written to its end."""
    whole, path = data(1, 2, 3), tmp_path / "journal-0"
    *_, last, end = ends(whole, path)
    # More than the mark, and a part of it: as if the file were shortened and changed
    behind = end - lost if lost <= len(END) else end - len(END) - lost + 1
    for place in range(last, behind):
        with pytest.raises(InputError, match=rf"record 3 \(byte {last:,}, version 3\)"):
            read(path, whole[:place] + whole[place + lost :])
    assert read(path, whole[: end - lost]) == (2, end - lost - last)


@pytest.mark.parametrize("byte", [0x00, 0x01, 0x64, 0xF5, 0xFA, 0xFF])
def test_a_byte_inserted_into_the_last_record(tmp_path: Path, byte: int) -> None:
    whole, path = data(1, 2, 3), tmp_path / "journal-0"
    *_, last, end = ends(whole, path)
    for place in range(last, end):
        longer = whole[:place] + bytes([byte]) + whole[place:]
        if longer.startswith(whole):  # the byte is behind the record
            continue
        with pytest.raises(InputError, match=rf"record 3 \(byte {last:,}, version 3\)"):
            read(path, longer)


def test_an_end_mark_that_is_cut_and_changed(tmp_path: Path) -> None:
    """A beginning of the mark is behind a whole body, or the file is damaged."""
    whole, path = data(1, 2), tmp_path / "journal-0"
    _, last, end = ends(whole, path)
    for left in range(1, len(END)):
        cut = whole[: end - len(END) + left]
        assert read(path, cut) == (1, len(cut) - last)
        for place in range(last, len(cut)):
            for bit in range(8):
                flipped = bytearray(cut)
                flipped[place] ^= 1 << bit
                with pytest.raises(InputError, match="record 2 "):
                    read(path, bytes(flipped))


def test_every_range_of_zeros(tmp_path: Path) -> None:
    """Zeros are an unfinished write only at the end, from a sector's boundary on."""
    whole, path = data(1, 2, 3, changes=80), tmp_path / "journal-0"
    *_, end = ends(whole, path)
    for begin in range(0, end, 29):
        for stop in {begin + 1, (begin + end) // 2, end - 4, end}:
            damaged = whole[:begin] + bytes(max(0, stop - begin)) + whole[stop:]
            if damaged == whole:
                continue
            path.write_bytes(damaged)
            with path.open("rb") as file, contextlib.suppress(InputError, ValueError):
                found = records.reader(path, file, UUID, 0, "another")
                while found.next() is not None:
                    pass
                written = len(damaged.rstrip(b"\0"))
                boundary = -(-written // SECTOR) * SECTOR
                assert stop == end
                assert boundary < end or written <= found.offset
                # Of several records, the head of the first one is missing
                head_missing = written <= found.offset or boundary - found.offset < 28
                assert found.version == 2 or head_missing


def test_zeros_at_the_end_of_the_last_record(tmp_path: Path) -> None:
    whole, path = data(1, 2, 3, changes=80), tmp_path / "journal-0"
    *_, last, end = ends(whole, path)
    boundaries = [place for place in range(0, end, SECTOR) if place > last]
    assert len(boundaries) > 3
    for begin in [last, *boundaries]:
        path.write_bytes(whole[:begin] + bytes(end - begin))
        with path.open("rb") as file:
            found = records.reader(path, file, UUID, 0, "another")
            while found.next() is not None:
                pass
        assert (found.version, found.offset) == (2, last)


@pytest.mark.parametrize("zeros", [1, 27, 28, 5000, 1 << 20])
def test_zeros_behind_whole_records(tmp_path: Path, zeros: int) -> None:
    assert read(tmp_path / "journal-0", data(1, 2) + bytes(zeros)) == (2, zeros)


def test_a_record_lost_from_the_middle(tmp_path: Path) -> None:
    whole, path = data(1, 2, 3, 4), tmp_path / "journal-0"
    places = ends(whole, path)
    for begin in range(places[1], places[2], 5):
        for end in range(places[2], places[3] + 1, 11):
            with pytest.raises(InputError, match=r"record [23] \(byte"):
                read(path, whole[:begin] + whole[end:])


def test_the_error_names_the_place_and_the_way_on(tmp_path: Path) -> None:
    folder = tmp_path / "city"
    folder.mkdir()
    whole, path = data(1, 2, 3), folder / "journal-0"
    places = ends(whole, path)
    damaged = bytearray(whole)
    damaged[places[1] + 4] ^= 1  # the length of the second record
    with pytest.raises(InputError) as told:
        read(path, bytes(damaged))
    assert str(told.value) == (
        f"{path}: record 2 (byte {places[1]:,}, version 2) is damaged: its head does "
        "not match its checksum. The batches up to version 1 are whole. Restore the "
        "file from a copy, or continue from there: serve --journal-until city=1 keeps "
        "this file under another name."
    )


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    write_graph(tmp_path / "g", simple_path(20))
    return tmp_path / "g"


def opened(graph: Path, folder: Path, until: int | None = None) -> list[Batch]:
    """Return the batches of a journal, opened as a service does; let it go again."""
    journal = Journal(folder, GRAPH_JOURNAL, until)
    try:
        found = journal.begin(graph, open_graph(graph).uuid)
        return list(journal.open(found.version, open_graph(found.path).uuid))
    finally:
        journal.close()


def filled(graph: Path, folder: Path, versions: int) -> Path:
    """Write some batches; return the file."""
    journal = Journal(folder, GRAPH_JOURNAL)
    found = journal.begin(graph, open_graph(graph).uuid)
    last = len(list(journal.open(found.version, open_graph(found.path).uuid)))
    for version in range(last + 1, last + versions + 1):
        journal.append(version, journal.packed(batch(version)))
    journal.close()
    return folder / "journal-0"


def test_what_was_appended_is_there(graph: Path, tmp_path: Path) -> None:
    folder = tmp_path / "j"
    for count in (2, 3):
        filled(graph, folder, count)
    assert [b.weight[0] for b in opened(graph, folder)] == [1, 2, 3, 4, 5]
    assert sorted(p.name for p in folder.iterdir()) == ["graph", "journal-0", "lease"]


def test_a_batch_without_room_on_disk_changes_nothing(
    graph: Path, tmp_path: Path
) -> None:
    file = filled(graph, tmp_path / "j", 2)
    before = file.read_bytes()
    journal = Journal(tmp_path / "j", GRAPH_JOURNAL)
    journal.begin(graph, open_graph(graph).uuid)
    assert len(list(journal.open(0, open_graph(graph).uuid))) == 2
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 1000, hard))
    try:
        with pytest.raises(
            OutputError, match=r"journal-0: cannot be written \(File too"
        ):
            journal.packed(batch(3, changes=1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_bytes() == before
    journal.append(3, journal.packed(batch(3)))
    journal.close()
    assert len(opened(graph, tmp_path / "j")) == 3


def test_a_cut_is_said_and_made_once(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = filled(graph, tmp_path / "j", 3)
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])
    assert len(opened(graph, tmp_path / "j")) == 2
    told = capsys.readouterr().err
    cut = len(whole) - 10 - file.stat().st_size
    assert f"cut the last {cut:,} bytes" in told
    assert "behind version 2" in told
    assert len(opened(graph, tmp_path / "j")) == 2
    assert not capsys.readouterr().err
    filled(graph, tmp_path / "j", 1)
    assert len(opened(graph, tmp_path / "j")) == 3


@pytest.mark.parametrize("place", ["record", "header", "nowhere"])
def test_journal_until_keeps_the_file(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    folder = tmp_path / "j"
    file = filled(graph, folder, 5)
    damaged = bytearray(file.read_bytes())
    if place == "record":
        damaged[-300] ^= 4
    if place == "header":
        damaged[20] ^= 4
    file.write_bytes(damaged)
    if place != "nowhere":
        last = 4 if place == "record" else 5
        with pytest.raises(InputError, match=f"--journal-until j={last} keeps"):
            opened(graph, folder)
        assert file.read_bytes() == damaged
    assert len(opened(graph, folder, until=3)) == 3
    (kept,) = folder.glob("journal-0.kept-*")
    assert kept.read_bytes() == damaged
    assert f"the file before is {kept.name}" in capsys.readouterr().err
    filled(graph, folder, 2)
    assert [b.weight[0] for b in opened(graph, folder)] == [1, 2, 3, 4, 5]
    assert kept.read_bytes() == damaged


def test_journal_until_before_the_snapshot(graph: Path, tmp_path: Path) -> None:
    folder = tmp_path / "j"
    journal = Journal(folder, GRAPH_JOURNAL)
    uuid = open_graph(graph).uuid
    journal.begin(graph, uuid)
    list(journal.open(0, uuid))
    shutil.copytree(graph, journal.snapshot_path(2))
    (snapshot,) = folder.glob("snapshot-*")
    journal.restart(2, uuid, snapshot)
    journal.close()
    files = sorted(path.name for path in folder.iterdir())
    with pytest.raises(InputError, match="until 1 is before the snapshot of version 2"):
        opened(graph, folder, until=1)
    assert sorted(path.name for path in folder.iterdir()) == files


def test_journal_until_what_is_not_there(graph: Path, tmp_path: Path) -> None:
    folder = tmp_path / "j"
    file = filled(graph, folder, 3)
    before = file.read_bytes()
    with pytest.raises(InputError, match="no version 4; the last one is 3"):
        opened(graph, folder, until=4)
    assert file.read_bytes() == before
    assert sorted(p.name for p in folder.iterdir()) == ["graph", "journal-0", "lease"]


@pytest.mark.parametrize(
    "body", [b"", b"rubbish", b"\xff" * 100, "columns", "types", "more rows"]
)
def test_a_right_checksum_over_rubbish(
    graph: Path, tmp_path: Path, body: bytes | str
) -> None:
    import pyarrow as arrow

    if isinstance(body, str):
        names = ["op", "src", "dst", "x" if body == "columns" else "weight"]
        columns = dict.fromkeys(names, ["a"] if body == "types" else [1] * 37)
        table = arrow.table(columns)
        sink = arrow.BufferOutputStream()
        with arrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        rows = [n.to_bytes(8, "little") for n in (37, 1 << 20)]
        stream = sink.getvalue().to_pybytes()
        body = stream.replace(*rows) if body == "more rows" else stream
    file = filled(graph, tmp_path / "j", 2)
    with file.open("ab") as more:
        more.write(records.record(3, body))
    match = r"record 3 \(byte [\d,]+, version 3\) is damaged: its checksum is right"
    with pytest.raises(InputError, match=match) as told:
        opened(graph, tmp_path / "j")
    assert "--journal-until j=2" in str(told.value)


def test_a_journal_that_is_missing(graph: Path, tmp_path: Path) -> None:
    folder = tmp_path / "j"
    filled(graph, folder, 2).unlink()
    with pytest.raises(InputError, match=r"journal-0: is missing.*--journal-until j=0"):
        opened(graph, folder)
    assert opened(graph, folder, until=0) == []


@pytest.mark.parametrize("version", [0, 2])  # from which a service would go on
@pytest.mark.parametrize("place", ["nowhere", "behind a link"])
def test_a_journal_without_its_snapshot(
    graph: Path, tmp_path: Path, place: str, version: int
) -> None:
    """Its batches were acknowledged, so a service does not go on without them."""
    folder = tmp_path / "j"
    filled(graph, folder, 1)
    journal = Journal(folder, GRAPH_JOURNAL)
    for number in (2, 7)[version == 0 :]:
        path = journal.snapshot_path(number)
        shutil.copytree(graph, path)
        journal.restart(number, open_graph(path).uuid, path)
    journal.append(8, journal.packed(batch(8)))
    journal.close()
    (snapshot,) = folder.glob("snapshot-7-*")
    snapshot.rename(tmp_path / "away")
    if place == "behind a link":
        snapshot.symlink_to(tmp_path / "away")
    if version:
        shutil.copytree(graph, folder / f"snapshot-2-{'0' * 16}")
    before = (folder / "journal-7").read_bytes()
    with pytest.raises(InputError, match="snapshot of version 7 is missing, or a link"):
        opened(graph, folder)
    assert (folder / "journal-7").read_bytes() == before
    assert not (folder / f"journal-{version}").exists()
    snapshot.unlink(missing_ok=True)
    (tmp_path / "away").rename(snapshot)
    assert [one.weight[0] for one in opened(graph, folder)] == [8]


@pytest.mark.parametrize("until", [None, 1])
@pytest.mark.parametrize("kind", ["link", "pipe", "directory"])
def test_a_journal_that_is_not_a_regular_file(
    graph: Path, tmp_path: Path, kind: str, until: int | None
) -> None:
    file = filled(graph, tmp_path / "j", 2)
    moved = file.rename(tmp_path / "else")
    before = moved.read_bytes()
    if kind == "link":
        file.symlink_to(moved)
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.mkdir()
    with pytest.raises(InputError, match=f"{file}: is a link, or not a regular file"):
        opened(graph, tmp_path / "j", until)
    assert moved.read_bytes() == before


def test_one_service_has_a_folder(graph: Path, tmp_path: Path) -> None:
    folder = tmp_path / "j"
    filled(graph, folder, 1)
    holder = Journal(folder, GRAPH_JOURNAL)  # it has read nothing yet
    holder_of = f"another service has this journal: process {os.getpid()} on "
    with pytest.raises(OutputError, match=re.escape(f"{folder}: {holder_of}")):
        Journal(folder, GRAPH_JOURNAL)
    holder.begin(graph, open_graph(graph).uuid)
    (batch_of_1,) = holder.open(0, open_graph(graph).uuid)
    shutil.copytree(graph, holder.snapshot_path(1))
    (snapshot,) = folder.glob("snapshot-*")
    holder.restart(1, open_graph(snapshot).uuid, snapshot)
    with pytest.raises(OutputError, match="another service has this"):
        Journal(folder, GRAPH_JOURNAL)
    holder.append(2, holder.packed(batch_of_1))
    holder.close()
    assert len(opened(graph, folder)) == 1


@pytest.mark.parametrize("said", [b"", b"\0\1", b"\n"])
def test_a_holder_that_has_not_said_its_process(tmp_path: Path, said: bytes) -> None:
    (tmp_path / "lease").write_bytes(said)
    held = LockFile.take(tmp_path / "lease")
    with pytest.raises(OutputError, match="journal: it has not said its process"):
        take_lease(tmp_path)
    held.close()


def test_a_lease_ends_with_its_process(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path;"
        "from mndmst.service.journal import take_lease;"
        "lease = take_lease(Path(sys.argv[1]));"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path], check=False, timeout=60)
    assert re.match(r"process \d+ on ", (tmp_path / "lease").read_text())
    take_lease(tmp_path).close()


@pytest.mark.parametrize("kind", ["link", "pipe", "directory"])
def test_a_lease_that_is_no_file(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "lease"
    if kind == "link":
        (tmp_path / "else").write_text("theirs")
        place.symlink_to(tmp_path / "else")
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
    with pytest.raises(OutputError, match="lease"):
        take_lease(tmp_path)
    if kind == "link":
        assert (tmp_path / "else").read_text() == "theirs"


def test_what_a_killed_service_has_left_is_swept(graph: Path, tmp_path: Path) -> None:
    folder = tmp_path / "j"
    file = filled(graph, folder, 2)
    uuid = open_graph(graph).uuid
    with AtomicOutput() as output:
        names = ("journal-2", "journal-3", "journal-4", "graph")
        whole, cut, empty, origin = (output.begin(folder / n).name for n in names)
        output.discard()
    own = {
        whole: records.header(uuid),
        cut: records.header(uuid)[:9],
        empty: b"",
        origin: uuid.encode(),
        f"snapshot-2-{'2' * 16}.tmp.mndmst-lock": graph_lock.TEXT,
    }
    theirs = {
        f"journal-2.tmp-{'1' * 20}": b"something else",
        f"graph.tmp-{'1' * 20}": b"something else",
        f"snapshot-2-{'3' * 16}.tmp.mndmst-lock": b"something else",
        "journal-2.tmp-notes": b"",
        "journal-x.tmp-00000000000000000000": b"",
    }
    for name, content in (own | theirs).items():
        (folder / name).write_bytes(content)
    shards = folder / f"snapshot-2-{'0' * 16}.tmp"
    mixed = folder / f"snapshot-1-{'0' * 16}.tmp"
    for place in (shards, mixed):
        place.mkdir()
        (place / f"part-00000.h5.{'0' * 16}.tmp").write_bytes(b"half of it")
        (place / "part-00001.h5").write_bytes(b"half of it")
    (mixed / "notes").write_text("theirs")
    assert len(opened(graph, folder)) == 2
    left = {p.name for p in folder.iterdir()}
    assert left == {"graph", "lease", file.name, mixed.name, *theirs}
    assert [p.name for p in mixed.iterdir()] == ["notes"]


def test_the_end_of_a_record_has_no_zero() -> None:
    """Zeros at the end of a file are no part of a whole record."""
    assert 0 not in END
