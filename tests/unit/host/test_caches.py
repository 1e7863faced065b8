"""Caches lie where nobody else can change them, all the way from the root on."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from mndmst.backends.cuda import use_private_cache
from mndmst.host import caches
from mndmst.host.caches import (
    fresh_directory,
    has_trusted,
    make_private,
    read_trusted,
    weak_ancestor,
    weak_file,
)
from mndmst.host.errors import ConfigError

STRANGER = 12345

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "one" / "two"
    place.mkdir(parents=True, mode=0o700)
    place.parent.chmod(0o700)
    return place


def test_a_directory_of_ones_own(place: Path) -> None:
    assert weak_ancestor(place) is None
    assert make_private(place / "three" / "four") is None
    assert (place / "three").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o702, 0o1777])
def test_where_all_may_write(place: Path, mode: int) -> None:
    place.chmod(mode)
    assert weak_ancestor(place) == place
    assert make_private(place) == place


@pytest.mark.parametrize("mode", [0o777, 0o703])
def test_above_it_all_may_write(place: Path, mode: int) -> None:
    place.parent.chmod(mode)
    assert weak_ancestor(place) == place.parent
    assert make_private(place / "three") == place.parent
    assert not list(place.iterdir())


def test_a_sticky_directory_above(place: Path) -> None:
    place.parent.chmod(0o1777)
    assert weak_ancestor(place) is None


@as_root
@pytest.mark.parametrize("above", [False, True])
def test_a_directory_of_a_stranger(place: Path, above: bool) -> None:
    whose = place.parent if above else place
    os.chown(whose, STRANGER, STRANGER)
    assert weak_ancestor(place) == whose


@pytest.mark.parametrize("mode", [0o770, 0o720])
def test_where_a_group_may_write(place: Path, mode: int) -> None:
    place.chmod(mode)
    assert weak_ancestor(place) == place
    place.chmod(0o750)
    place.parent.chmod(mode)
    assert weak_ancestor(place) == place.parent


def acl(path: Path, *named: tuple[int, int, int], mask: int = 7) -> None:
    """Give a file a list: the owner may all, the group read, and some others."""
    entries = [(1, 7, -1), *named, (4, 5, -1), (16, mask, -1), (32, 0, -1)]
    value = struct.pack("<I", 2)
    value += b"".join(struct.pack("<HHi", *entry) for entry in sorted(entries))
    try:
        os.setxattr(path, "system.posix_acl_access", value)
    except (OSError, AttributeError) as error:
        pytest.skip(f"no access control lists here: {error}")


@pytest.mark.parametrize("tag", [2, 8])  # a user, a group
@pytest.mark.parametrize("above", [False, True])
def test_an_access_control_list_of_a_directory(
    place: Path, tag: int, above: bool
) -> None:
    whose = place.parent if above else place
    acl(whose, (tag, 7, STRANGER))
    assert whose.stat().st_mode & 0o077 == 0o070
    assert weak_ancestor(place) == whose
    assert make_private(place / "three") == whose


def test_lists_that_let_no_other_user_write(place: Path) -> None:
    acl(place, (2, 5, STRANGER), mask=5)  # reads
    assert weak_ancestor(place) is None
    acl(place, (2, 7, STRANGER), mask=5)  # the mask takes it away
    assert weak_ancestor(place) is None


@pytest.mark.parametrize(
    ("mode", "weak"),
    [
        (0o600, False),
        (0o644, False),
        (0o755, False),
        (0o666, True),
        (0o602, True),
        (0o664, True),
        (0o620, True),
    ],
)
def test_files(place: Path, mode: int, weak: bool) -> None:
    file = place / "file"
    file.write_bytes(b"code")
    file.chmod(mode)
    assert weak_file(file) == weak
    assert has_trusted(file) != weak
    assert read_trusted(file) == (None if weak else b"code")


@as_root
@pytest.mark.parametrize("how", ["owner", "list of a user", "list of a group"])
def test_files_that_others_can_write_to(place: Path, how: str) -> None:
    file = place / "file"
    file.write_bytes(b"code")
    file.chmod(0o644)
    assert read_trusted(file) == b"code"
    if how == "owner":
        os.chown(file, STRANGER, STRANGER)
    else:
        acl(file, (2 if how == "list of a user" else 8, 6, STRANGER))
    assert weak_file(file)
    assert not has_trusted(file)
    assert read_trusted(file) is None
    with file.open("rb") as opened:
        assert weak_file(opened.fileno())


def test_what_is_no_file_of_its_own(place: Path) -> None:
    (place / "file").write_bytes(b"code")
    (place / "link").symlink_to("file")
    os.mkfifo(place / "pipe")
    (place / "folder").mkdir()
    for name in ("link", "pipe", "folder", "none"):
        assert read_trusted(place / name) is None
        assert not has_trusted(place / name)


def test_links_are_followed(place: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("one/../one/two")
    assert weak_ancestor(tmp_path / "link") is None
    place.parent.chmod(0o777)
    assert weak_ancestor(tmp_path / "link") == place.parent


@as_root
def test_a_link_of_a_stranger(place: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    link = tmp_path / "link"
    link.symlink_to(place)
    os.lchown(link, STRANGER, STRANGER)
    assert weak_ancestor(link / "three") == link


def test_links_that_never_end(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "link")
    with pytest.raises(OSError, match="Too many levels"):
        weak_ancestor(tmp_path / "link")


def test_a_file_in_the_way(place: Path) -> None:
    (place / "file").write_text("")
    with pytest.raises(OSError, match="not a directory"):
        weak_ancestor(place / "file" / "three")


def test_a_fresh_directory_goes_with_its_process(tmp_path: Path) -> None:
    program = "from mndmst.host.caches import fresh_directory; print(fresh_directory())"
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert Path(run.stdout.strip()).parent == tmp_path
    assert not list(tmp_path.iterdir())


def test_no_place_for_a_fresh_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "weak_ancestor", lambda path: path)
    with pytest.raises(ConfigError, match="MNDMST_CACHE_DIR"):
        fresh_directory()


def test_kernels_of_the_device(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUPY_CACHE_DIR", str(place))
    use_private_cache()
    assert os.environ["CUPY_CACHE_DIR"] == str(place)
    place.chmod(0o777)
    use_private_cache()
    assert os.environ["CUPY_CACHE_DIR"] != str(place)
    assert f"others can change {place}" in capsys.readouterr().err


def test_a_kernel_of_the_device_that_others_can_write_to(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUPY_CACHE_DIR", str(place))
    (place / "kernel.cubin").write_bytes(b"code")
    use_private_cache()
    assert os.environ["CUPY_CACHE_DIR"] == str(place)
    (place / "kernel.cubin").chmod(0o666)
    use_private_cache()
    assert os.environ["CUPY_CACHE_DIR"] != str(place)
    assert f"others can change {place}/kernel.cubin" in capsys.readouterr().err


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give this process a user id without a home, as containers do."""
    for name in ("HOME", "XDG_CACHE_HOME", "MNDMST_CACHE_DIR", "CUPY_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda _: {}["no such user"])


@pytest.mark.usefixtures("homeless")
def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    bases = list(caches.user_cache_bases())
    assert bases == [tmp_path / f"mndmst-cache-{os.getuid()}" / "kernels"]
    use_private_cache()
    assert weak_ancestor(Path(os.environ["CUPY_CACHE_DIR"])) is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert next(caches.user_cache_bases()) == tmp_path / "cache" / "mndmst" / "kernels"
