"""Open, read, write and flush files; failures become errors that name the file.

Only regular files are read, and only if they stay unchanged while they are open: a
pipe, a socket or a device may never give a byte, or bytes without end.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..host import __version__
from ..host.errors import ConfigError, InputError, MndmstError, OutputError
from ..host.formatting import size_text

if TYPE_CHECKING:
    import h5py

# More than any options file, recipe or list of properties has.
LARGEST_TEXT = 4 << 20
# More than any file counts; int64 has room for more beside it.
LARGEST_COUNT = 1 << 62
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class LockedFileError(InputError):
    """A file that another program has locked, or that cannot be locked."""


# The state of a file: its inode, its size and the time of its last modification.
State = tuple[int, int, int]

HDF5_LAYOUT = "v110"
# Errors of HDF5 and NumPy on a file with wrong metadata or values.
MALFORMED = (
    *(OSError, RuntimeError, LookupError, ValueError),
    *(TypeError, AttributeError, ArithmeticError),
)
CHUNK_BYTES = 1 << 20
REMAKE_GRAPH = "make the graph again"
# Error numbers of operations that a file system does not support.
UNSUPPORTED = (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EACCES)
_LOCKED = (errno.EWOULDBLOCK, errno.EACCES)
_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def state_of(path: Path) -> State:
    """Return the state of a file; refuse a directory or a device."""
    status = path.stat()
    _refuse_irregular(path, status)
    return _state(status)


@contextmanager
def opened(path: Path, state: State | None = None) -> Iterator[BufferedReader]:
    """Open a regular file to read.

    Raises InputError if the file changes while it is open, or differs from `state`.
    """
    state_of(path)  # to open a device might have an effect
    with open(path, "rb", opener=_without_waiting) as file:
        status = os.fstat(file.fileno())
        _refuse_irregular(path, status)
        before = _state(status) if state is None else state
        if _state(status) != before:
            raise _changed(path)
        yield file
        if _state(os.fstat(file.fileno())) != before:
            raise _changed(path)


def read_small(path: Path, most: int = LARGEST_TEXT) -> bytes:
    """Return the contents of a file that has to be small; else raise InputError."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise InputError(
                f"{path}: is larger than {size_text(most)}, the limit for such files. "
                "Give another file."
            )
        return file.read(size)


def read_toml(path: Path) -> dict[str, object]:
    """Read a file of options or a recipe; ConfigError if it is not TOML."""
    import tomllib  # only runs with a file of options need it

    try:
        return tomllib.loads(read_small(path).decode())
    except OSError as error:
        raise unreadable(path, error) from error
    except MndmstError:
        raise
    except ValueError as error:
        raise ConfigError(f"{path}: is not TOML ({error}). Fix it.") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: is nested too deeply. Fix it.") from error


def unreadable(path: Path, error: OSError, remake: str = "") -> InputError:
    """Return the error for a file that is missing or cannot be opened."""
    if not isinstance(error, FileNotFoundError):
        return InputError(f"{path}: cannot be read ({_reason(error)}).")
    further = f", copy it there or {remake}" if remake else ""
    return InputError(f"{path}: no such file. Check the name{further}.")


def _without_waiting(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NONBLOCK)


def _state(status: os.stat_result) -> State:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _refuse_irregular(path: Path, status: os.stat_result) -> None:
    mode = status.st_mode
    if not stat.S_ISREG(mode):
        kind = next((text for test, text in _KINDS if test(mode)), "not a file")
        remedy = "Give the name of one"
        if stat.S_ISFIFO(mode):
            remedy = (
                "Write the data to one; or, edges: PROGRAM | mndmst partition - OUT"
            )
        raise InputError(f"{path}: is {kind}; a regular file is expected. {remedy}.")


def _changed(path: Path) -> InputError:
    return InputError(
        f"{path}: has changed while it was read. Wait until it is whole, and try again."
    )


@contextmanager
def reading(path: Path, remake: str = REMAKE_GRAPH) -> Iterator[None]:
    """Turn errors of HDF5 and json into an InputError with a remedy, `remake`."""
    try:
        yield
    except MndmstError:
        raise
    except (FileNotFoundError, PermissionError) as error:
        raise unreadable(path, error, remake) from error
    except MALFORMED as error:
        if is_other_format(path):
            hint = f"; a file of mndmst is expected. Give that, or {remake}."
            if remake == REMAKE_GRAPH:
                hint = (
                    ". If it is a graph in another format, make shards of it with "
                    '"mndmst partition FILE OUT"; of points, distances or alleles '
                    '"mndmst linkage FILE --forest FOREST.h5" finds the forest; else '
                    f"{remake}."
                )
            raise InputError(f"{path}: is not an HDF5 file{hint}") from error
        raise InputError(
            f"{path}: damaged or cut short ({first_line(error)}). Copy it again "
            f"from where it is whole, or {remake}."
        ) from error


@contextmanager
def open_hdf5(path: Path) -> "Iterator[h5py.File]":
    """Open a regular file for reading; use it inside `reading`."""
    state_of(path)
    with _hdf5_file(path) as file:
        yield file


def _hdf5_file(path: Path) -> "h5py.File":
    """Open an HDF5 file; without a lock where its file system has none.

    Files of mndmst are whole when they get their names, so readers need no lock. Raises
    LockedFileError if another program has the file open for writing.
    """
    import h5py  # a client of the service needs none

    try:
        return h5py.File(path, "r")
    except OSError as error:
        if _lock_failed(error) and error.errno not in _LOCKED:
            with suppress(OSError):  # HDF5_USE_FILE_LOCKING may insist on locks
                return h5py.File(path, "r", locking=False)
        raise _lock_error(path, error) or error from None


def _lock_failed(error: OSError) -> bool:
    """Return whether HDF5 has failed to lock a file."""
    return "unable to lock file" in str(error)


def _lock_error(path: Path, error: OSError) -> "LockedFileError | None":
    """Return the error of a file that is locked, or marked as open for writing."""
    if _lock_failed(error) and error.errno in _LOCKED:
        return LockedFileError(
            f"{path}: another program has it open for writing. Close it there and try "
            "again; if no program has, set HDF5_USE_FILE_LOCKING=FALSE."
        )
    if _lock_failed(error):
        return LockedFileError(
            f"{path}: cannot be locked ({first_line(error)}). Set "
            "HDF5_USE_FILE_LOCKING=FALSE."
        )
    if "already open for" in str(error):
        return LockedFileError(
            f"{path}: is marked as open for writing. Close it in the program that has "
            f"it open; if that was killed, run h5clear -s {path}."
        )
    return None


def is_other_format(path: Path) -> bool:
    """Return whether a file is not HDF5, not even one that was cut short."""
    import h5py  # a client of the service needs none

    try:
        with opened(path) as file:
            begin = file.read(len(_SIGNATURE))
    except (OSError, InputError):
        return False
    return not (_SIGNATURE.startswith(begin) or h5py.is_hdf5(path))


def is_hdf5(head: bytes) -> bool:
    """Return whether a file's first bytes are HDF5's signature."""
    return head.startswith(_SIGNATURE)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of the file system or HDF5 on writing into an OutputError."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise OutputError(
            f"{path}: cannot be written ({_reason(error)}). Check that the directory "
            "exists, may be written and has room."
        ) from error


def write_at(descriptor: int, data: bytes | memoryview, offset: int) -> None:
    """Write all data at an offset of an open file; a system call may write less."""
    rest = memoryview(data)
    while rest:
        done = os.pwrite(descriptor, rest, offset)
        rest, offset = rest[done:], offset + done


def flush_to_disk(path: Path) -> None:
    """Flush a file, or a directory where the system can, to disk (fsync)."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in UNSUPPORTED or not path.is_dir():
            raise
    finally:
        os.close(handle)


def _reason(error: Exception) -> str:
    """Return the system's words for the number of an error, or its own."""
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else first_line(error)


def first_line(error: Exception) -> str:
    """Return the first line of an error's text, without quotes around it."""
    lines = str(error).strip("'\"").splitlines()
    return lines[0] if lines else type(error).__name__


def write_attributes(item: "h5py.Group", attributes: dict[str, object]) -> None:
    """Write attributes, texts with a fixed length.

    HDF5 keeps texts of variable length in a heap without a checksum, and reads them
    without end where the heap is damaged.
    """
    import h5py  # a client of the service needs none

    for name, value in attributes.items():
        if isinstance(value, str):
            text = value.encode()
            value = np.array(text, h5py.string_dtype("utf-8", max(1, len(text))))
        item.attrs[name] = value


def read_attribute(item: "h5py.Group", name: str) -> object:
    """Return an attribute; text as str, and None if it is missing or not a scalar.

    None also for a value of variable length; see `write_attributes`. Bytes that are not
    UTF-8 become replacement characters.
    """
    import h5py  # a client of the service needs none

    value: object = _value(item, name) if name in item.attrs else None
    if isinstance(value, np.ndarray | h5py.Empty):
        return None
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _value(item: "h5py.Group", name: str) -> object:
    """Return an attribute as stored; None, without reading it, if its length varies."""
    from h5py import h5t  # a client of the service needs none

    kind = item.attrs.get_id(name).get_type()
    if isinstance(kind, h5t.TypeStringID):
        fixed = not kind.is_variable_str()
    else:
        fixed = kind.get_class() in (h5t.INTEGER, h5t.FLOAT, h5t.ENUM)
    return item.attrs[name] if fixed else None


def text_attribute(item: "h5py.Group", name: str) -> str:
    """Return a text attribute; raise ValueError for another type."""
    value = read_attribute(item, name)
    if not isinstance(value, str):
        raise ValueError(f"attribute {name} is not a text of fixed length")
    return value


def count_attribute(item: "h5py.Group", name: str) -> int:
    """Return an integer attribute from 0 to `LARGEST_COUNT`; ValueError for another."""
    value = read_attribute(item, name)
    if not isinstance(value, np.integer) or not 0 <= value <= LARGEST_COUNT:
        raise ValueError(f"attribute {name} is not a count")
    return int(value)


def number_attribute(item: "h5py.Group", name: str) -> float:
    """Return an attribute that is a number; raise ValueError for another type."""
    value = read_attribute(item, name)
    if not isinstance(value, np.number):
        raise ValueError(f"attribute {name} is not a number")
    return float(value)


def check_counts(item: "h5py.Group", *names: str) -> None:
    """Raise ValueError if an attribute with one of the names is not a count."""
    for name in names:
        if name in item.attrs:
            count_attribute(item, name)


def flag_attribute(item: "h5py.Group", name: str) -> bool:
    """Return a boolean attribute or False; raise ValueError for another type."""
    if name not in item.attrs:
        return False
    value = read_attribute(item, name)
    if not isinstance(value, np.bool_):
        raise ValueError(f"attribute {name} is not a boolean")
    return bool(value)


def read_attributes(item: "h5py.Group") -> dict[str, object]:
    """Return all attributes that `read_attribute` reads, as plain values."""
    values = {name: read_attribute(item, name) for name in item.attrs}
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in values.items()
        if value is not None
    }


def check_version(path: Path, file: "h5py.File", version: int, remake: str) -> None:
    """Refuse a file of another version of its format; `remake` is a remedy."""
    stored = count_attribute(file, "version")
    if stored != version:
        raise InputError(
            f"{path}: has version {stored} of its format, and mndmst {__version__} "
            f"reads version {version}. Use the mndmst that wrote it, or "
            f"{remake[:1].lower()}{remake[1:]}."
        )


def ascends(numbers: np.ndarray) -> bool:
    """Return whether no number is smaller than the one before it."""
    return bool((numbers[1:] >= numbers[:-1]).all())


def fill(file: BufferedReader, array: np.ndarray) -> None:
    """Fill an array from a file; raise OSError if the file ends too early."""
    if file.readinto(array.view(np.uint8).data) != array.nbytes:
        raise OSError("it has become shorter")
