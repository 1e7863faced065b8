"""The store of compiled kernels: whose code it gives, and when it gives none."""

import os
import re
import time
from pathlib import Path

import pytest

from mndmst.host import caches
from mndmst.native import cache_dirs, code_store, shipped
from mndmst.native.code_store import Code
from mndmst.native.processor_levels import NATIVE, best_level

CODE = Code("symbol", "i8", b"\x7fELF and more")
NAME = "mndmst.kernels.hooks.count_roots"


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test asks anew where code lies."""
    for function in (
        cache_dirs.writable_named,
        cache_dirs.state,
        cache_dirs._sources,
        cache_dirs._compiler,
    ):
        function.cache_clear()
    cache_dirs._directories.clear()
    for variable in ("MNDMST_CACHE_DIR", "MNDMST_KERNELS", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)


def anew() -> None:
    for function in (
        cache_dirs.writable_named,
        cache_dirs.state,
        cache_dirs._sources,
        cache_dirs._compiler,
    ):
        function.cache_clear()
    cache_dirs._directories.clear()


def test_what_is_kept_is_found(tmp_path: Path) -> None:
    code_store.save(NAME, "i8[]", CODE, tmp_path)
    assert code_store.find([tmp_path], NAME, "i8[]") == CODE
    assert code_store.has([tmp_path], NAME, "i8[]")
    assert code_store.find([tmp_path], NAME, "u4[]") is None
    assert [place.suffix for place in tmp_path.iterdir()] == [".o"]


@pytest.mark.parametrize(
    "damage", ["cut", "changed", "other types", "no head", "empty"]
)
def test_damaged_code_is_not_loaded(tmp_path: Path, damage: str) -> None:
    code_store.save(NAME, "i8[]", CODE, tmp_path)
    (place,) = tmp_path.iterdir()
    held = place.read_bytes()
    _, _, code = held.partition(b"\n")
    place.write_bytes(
        {
            "cut": held[:-1],
            "changed": held[:-1] + b"!",
            "other types": held.replace(b"i8[]", b"i8[:]"),
            "no head": code,
            "empty": b"",
        }[damage]
    )
    assert code_store.find([tmp_path], NAME, "i8[]") is None


def test_code_that_others_can_write_to_is_not_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code_store.save(NAME, "i8[]", CODE, tmp_path)
    (file,) = tmp_path.iterdir()
    file.chmod(0o666)
    assert code_store.find([tmp_path], NAME, "i8[]") is None
    assert not code_store.has([tmp_path], NAME, "i8[]")
    assert code_store.find([tmp_path], NAME, "i8[]") is None
    said = capsys.readouterr().err
    assert said.count(f"not loading {file}, for others can write to it") == 1
    code_store.save(NAME, "i8[]", CODE, tmp_path)  # as it is compiled again
    assert file.stat().st_mode & 0o777 == 0o644
    assert code_store.find([tmp_path], NAME, "i8[]") == CODE


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_code_of_another_user_is_not_loaded(tmp_path: Path) -> None:
    code_store.save(NAME, "i8[]", CODE, tmp_path)
    (file,) = tmp_path.iterdir()
    os.chown(file, 12345, 12345)
    assert code_store.find([tmp_path], NAME, "i8[]") is None


def test_a_file_that_is_exchanged_while_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code comes from the file that was checked, whatever has its name then."""
    code_store.save(NAME, "i8[]", CODE, tmp_path)
    (file,) = tmp_path.iterdir()
    check = caches.weak_file

    def exchanging(opened: Path | int) -> bool:
        weak = check(opened)
        (tmp_path / "other").write_bytes(b"other code")
        (tmp_path / "other").replace(file)
        return weak

    monkeypatch.setattr(caches, "weak_file", exchanging)
    assert code_store.find([tmp_path], NAME, "i8[]") == CODE
    monkeypatch.undo()
    assert code_store.find([tmp_path], NAME, "i8[]") is None


def test_a_change_of_any_source_is_another_state(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "package"
    for name in (
        "kernels/one.py", "backends/cpu/two.py", "io/kernels/three.py",
        "certificate/kernels.py", "native/compiler.py", "native/arguments.py",
        "native/processor_levels.py", "native/memory.ll", "graph/model.py",
        "graph/arc_files.py", "graph/order.py",
    ):  # fmt: skip
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("x = 1\n")
    monkeypatch.setattr(cache_dirs, "PACKAGE", package)
    states = [cache_dirs.state("x86-64-v3")]
    for source in sorted(package.rglob("*.*")):
        os.utime(source, (1, 1))
        anew()
        assert cache_dirs.state("x86-64-v3") == states[-1]
        source.write_text("x = 2\n")
        anew()
        states.append(cache_dirs.state("x86-64-v3"))
    assert len(set(states)) == len(states) == 12


def test_docstrings_and_comments_leave_the_state(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "kernels").mkdir()
    source = tmp_path / "kernels" / "one.py"
    monkeypatch.setattr(cache_dirs, "PACKAGE", tmp_path)
    monkeypatch.setattr(cache_dirs, "kernel_files", lambda package: [source])
    states = []
    for text in (
        'def one(x):\n    return x + "a"\n',
        'def one(x):\n    """Say a.\n\n    b\n    """\n\n    # c\n    return x + "a"\n',
        'def one(x):\n    return x + "b"\n',
    ):
        source.write_text(text)
        anew()
        states.append(cache_dirs.state("x86-64-v3"))
    assert states[0] == states[1] != states[2]


@pytest.fixture
def settled_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A package of one kernel source, unchanged for a while, and an empty cache."""
    monkeypatch.setenv("MNDMST_CACHE_DIR", str(tmp_path))
    (tmp_path / "kernels").mkdir(mode=0o700)
    source = tmp_path / "package" / "kernels" / "one.py"
    source.parent.mkdir(parents=True)
    for file in ("native/compiler.py", "native/arguments.py", "graph/model.py",
                 "graph/arc_files.py", "graph/order.py",
                 "native/processor_levels.py", "kernels/one.py"):  # fmt: skip
        (tmp_path / "package" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "package" / file).write_text("x = 1\n")
    monkeypatch.setattr(cache_dirs, "PACKAGE", tmp_path / "package")
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 60_000_000_000)
    return source


def read_sources(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return a list that gets the path of every source file that is read."""
    read: list[Path] = []
    read_bytes = Path.read_bytes

    def noted(path: Path) -> bytes:
        read.append(path)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    return read


def test_unchanged_sources_are_read_once(
    monkeypatch: pytest.MonkeyPatch, settled_package: Path
) -> None:
    first = cache_dirs.state("x86-64-v3")
    read = read_sources(monkeypatch)
    anew()
    assert cache_dirs.state("x86-64-v3") == first
    assert settled_package not in read


def test_a_change_that_keeps_size_and_time_is_seen(settled_package: Path) -> None:
    """A copy that restores times, such as of rsync or tar, changes the ctime."""
    first, facts = cache_dirs.state("x86-64-v3"), settled_package.stat()
    settled_package.write_text("x = 2\n")
    os.utime(settled_package, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    anew()
    assert cache_dirs.state("x86-64-v3") != first


@pytest.mark.parametrize("damage", ["writable by others", "shortened", "empty"])
def test_a_digest_that_cannot_be_trusted_is_computed_again(
    monkeypatch: pytest.MonkeyPatch, settled_package: Path, damage: str
) -> None:
    first = cache_dirs.state("x86-64-v3")
    (file,) = settled_package.parents[2].glob("kernels/sources-*")
    content = file.read_bytes()
    if damage == "writable by others":
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        file.chmod(0o666)
    else:
        file.write_bytes(content[:-1] if damage == "shortened" else b"")
    read = read_sources(monkeypatch)
    anew()
    assert cache_dirs.state("x86-64-v3") == first
    assert settled_package in read


def test_versions_and_processors_have_states_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    states = [cache_dirs.state("x86-64-v3"), cache_dirs.state(NATIVE)]
    version = cache_dirs._version
    monkeypatch.setattr(cache_dirs, "_version", lambda name: version(name) + b"1")
    anew()
    states.append(cache_dirs.state("x86-64-v3"))
    monkeypatch.setattr(cache_dirs, "processor", lambda: "another")
    anew()
    states.append(cache_dirs.state(NATIVE))
    assert len(set(states)) == 4


def test_an_image_without_a_compiler_uses_its_shared_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    directory = cache_dirs.directory_for(shared, cache_dirs.state(best_level()))
    monkeypatch.setenv("MNDMST_KERNELS", str(shared))
    monkeypatch.setattr(cache_dirs, "has_compiler", lambda: False)
    anew()
    assert directory in cache_dirs.directories()
    for file in shared.glob("*"):
        if file.is_file():
            file.chmod(0o666)  # another user may have named other versions
    anew()
    assert directory not in cache_dirs.directories()


def test_a_processor_below_the_level_has_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A store of a level, such as one on a shared file system, serves no other CPU."""
    monkeypatch.setattr(cache_dirs, "best_level", lambda: NATIVE)
    monkeypatch.setenv("MNDMST_CACHE_DIR", str(tmp_path / "own"))
    for base in (tmp_path / "own" / "kernels", tmp_path / "shared"):
        (base / cache_dirs.state("x86-64-v3")).mkdir(parents=True)
    monkeypatch.setenv("MNDMST_KERNELS", str(tmp_path / "shared"))
    names = {place.name for place in cache_dirs.directories()}
    assert names == {cache_dirs.state(NATIVE)}


def test_every_file_with_kernels_counts() -> None:
    """Kernels are defined in these files alone, or a change would go unseen."""
    defining = re.compile(r"^@kernel|import Instruction|^import numba", re.MULTILINE)
    having = {
        p for p in cache_dirs.PACKAGE.rglob("*.py") if defining.search(p.read_text())
    }
    assert len(having) > 30
    assert having <= set(cache_dirs.kernel_files(cache_dirs.PACKAGE))


def test_where_nothing_can_be_written_another_place_serves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("MNDMST_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    place = cache_dirs.writable()
    assert place is not None
    assert place.parent == tmp_path / "home/mndmst/kernels"


def test_where_others_can_write_above_another_place_serves(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shared = tmp_path / "shared"
    (shared / "mine").mkdir(parents=True)
    shared.chmod(0o777)
    monkeypatch.setenv("MNDMST_CACHE_DIR", str(shared / "mine"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    place = cache_dirs.writable()
    assert place is not None
    assert place.parent == tmp_path / "home/mndmst/kernels"
    assert not list((shared / "mine").iterdir())
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert f"others can change {shared};" in message


def test_where_no_place_is_private_nothing_is_kept(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tmp_path.chmod(0o777)
    for name in ("MNDMST_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert cache_dirs.writable() is None
    assert "kernels are recompiled every run" in capsys.readouterr().err


def test_code_that_others_can_change_is_not_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / "shared" / cache_dirs.state(best_level())
    place.mkdir(parents=True)
    monkeypatch.setenv("MNDMST_KERNELS", str(tmp_path / "shared"))
    assert place in cache_dirs.directories()
    place.chmod(0o777)
    anew()
    assert place not in cache_dirs.directories()


def test_code_for_others_can_be_read_by_them(tmp_path: Path) -> None:
    state = cache_dirs.state("x86-64-v3")
    place = cache_dirs.directory_for(tmp_path / "for" / "all", state)
    code_store.save(NAME, "i8[]", CODE, place)
    (file,) = place.iterdir()
    modes = [p.stat().st_mode & 0o777 for p in (file, place, *place.parents[:2])]
    assert modes == [0o644, 0o755, 0o755, 0o755]
    assert cache_dirs.writable() != place


@pytest.fixture
def shipped_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file of a wheel in a directory that a group can write to, as by a umask."""
    objects = tmp_path / "objects"
    directory = objects / "x86-64-v3-0"
    directory.mkdir(parents=True)
    code_store.save(NAME, "i8[]", CODE, directory)
    (file,) = directory.iterdir()
    listed = {f"x86-64-v3-0/{file.name}": shipped.digest_of(file.read_bytes())}
    for path in (objects, directory, file):
        path.chmod(0o775)
    monkeypatch.setattr(shipped, "SHIPPED", objects)
    monkeypatch.setattr(shipped, "digests", lambda: listed)
    shipped._shipped_directories.cache_clear()
    return file


def test_code_with_the_digest_of_its_wheel_is_loaded(shipped_code: Path) -> None:
    directory = shipped_code.parent
    assert shipped.is_trusted(directory)
    assert code_store.has([directory], NAME, "i8[]")
    assert code_store.find([directory], NAME, "i8[]") == CODE


def test_code_of_a_wheel_that_was_changed_is_not_loaded(shipped_code: Path) -> None:
    """Not even with a right digest of its own, and by its owner alone."""
    code_store.save(
        NAME, "i8[]", CODE._replace(code=b"\x7fELF evil"), shipped_code.parent
    )
    assert shipped_code.stat().st_mode & 0o777 == 0o644
    assert code_store.find([shipped_code.parent], NAME, "i8[]") is None


def test_code_beside_that_of_a_wheel_follows_the_rules_of_caches(
    shipped_code: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = shipped_code.parent
    code_store.save(NAME, "u4[]", CODE, directory)
    (other,) = set(directory.iterdir()) - {shipped_code}
    assert code_store.find([directory], NAME, "u4[]") == CODE
    other.chmod(0o664)
    assert not code_store.has([directory], NAME, "u4[]")
    assert code_store.find([directory], NAME, "u4[]") is None
    assert f"not loading {other}, for others can write to it" in capsys.readouterr().err
    assert not shipped.is_trusted(directory.with_name("x86-64-v3-1"))


def test_shared_code_of_another_compiler_serves_this_installation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A wheel is installed beside the newest Numba, which has not compiled its code."""
    version = cache_dirs._version
    monkeypatch.setattr(cache_dirs, "_version", lambda name: version(name) + b"1")
    name = cache_dirs.state(best_level())
    directory = cache_dirs.directory_for(tmp_path / "shared", name)
    monkeypatch.setenv("MNDMST_KERNELS", str(tmp_path / "shared"))
    monkeypatch.setattr(cache_dirs, "_version", version)
    anew()
    assert cache_dirs.state(best_level()) != name
    assert directory in cache_dirs.directories()
