"""One file with the modules and kernels that earlier runs of a command loaded.

Ranks that start together from a shared file system would ask it for every directory of
the search path, every module and every kernel. With an archive, a rank maps one file,
and asks for the state of each source: as with Python's own bytecode, an entry counts
while its source has the same size and time of change.

Rank 0 writes the archive at the end of a run that has loaded something else, into the
cache of the user. The name of the file depends on the version of Python, the
installation, and the times of change of the directories on the search path.

    uint64     bytes of the index
    index      marshal: modules and files by name, with their range of the data
    data       marshal: code of modules; contents of files
"""

import hashlib
import marshal
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    ExtensionFileLoader,
    ModuleSpec,
    SourceFileLoader,
)
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import BinaryIO, NamedTuple

from .caches import (
    make_private,
    mark_used,
    open_trusted,
    own_bases,
    read_trusted,
    replace_file,
    weak_place,
)
from .launcher import launched_rank

PACKAGE = Path(__file__).parents[1]
HEAD = 8


class Module(NamedTuple):
    """A module of the archive."""

    origin: str  # Its source, or its extension module
    # State of this file, in ns and bytes.
    mtime: int
    size: int
    directories: list[str] | None  # Where submodules are, of a package
    # Range of its code in the data; empty for an extension module.
    begin: int
    end: int


class ArchiveLoader(SourceFileLoader):
    """Loads a module of Python from its code in an archive."""

    def __init__(self, name: str, found: Module, archive: "StartArchive") -> None:
        super().__init__(name, found.origin)
        self._found, self._archive = found, archive

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the module."""
        # Another host may have replaced the archive on a shared file system.
        with suppress(OSError, *_DAMAGED):
            code: CodeType = marshal.loads(self._archive.data(*self._found[-2:]))
            return code
        return super().get_code(fullname)


class StartArchive:
    """Modules and files of an archive, and the finder of these modules.

    The file stays open, and is read in parts: mapped pages would count as memory of
    every rank.
    """

    def __init__(self, file: BinaryIO | None = None) -> None:
        # Fields of `Module` by name, and ranges of the data by path.
        self.modules: dict[str, tuple] = {}
        self.files: dict[str, tuple[int, int]] = {}
        # Modules that were there before, and modules of the archive.
        self.imported = set(sys.modules)
        self._file = file
        if file is not None:
            length = int.from_bytes(file.read(HEAD), "little")
            self.modules, self.files, nbytes = marshal.loads(file.read(length))
            self._begin = HEAD + length
            if os.fstat(file.fileno()).st_size != self._begin + nbytes:
                raise EOFError

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """Return the spec of a module whose file has not changed, or None."""
        row = self.modules.get(name)
        if row is None or row[1:3] != _state(row[0]):
            return None
        self.imported.add(name)
        found = Module(*row)
        return spec_from_file_location(
            name,
            found.origin,
            loader=ExtensionFileLoader(name, found.origin)
            if found.begin == found.end
            else ArchiveLoader(name, found, self),
            submodule_search_locations=found.directories,
        )

    def data(self, begin: int, end: int) -> bytes:
        """Return a range of the data."""
        assert self._file is not None
        return os.pread(self._file.fileno(), end - begin, self._begin + begin)


_DAMAGED = (ValueError, EOFError, TypeError)
_archive = StartArchive()
_name = ""
_read: set[str] = set()  # files that this process has read, not in the archive


def install(command: str) -> None:
    """Import modules from the archive of a command from now on, if there is one."""
    global _archive, _name
    _archive = StartArchive()
    with suppress(OSError, *_DAMAGED):
        _name = _file_name(command)
        for base in own_bases():
            file = open_trusted(base / _name) if weak_place(base) is None else None
            if file is not None:
                _archive = StartArchive(file)
                mark_used(base / _name)
                sys.meta_path.insert(0, _archive)
                return


def is_archive(file: BinaryIO) -> bool:
    """Return whether an open file of this user is an archive; close it."""
    with file, suppress(OSError, *_DAMAGED):
        StartArchive(file)
        return True
    return False


def read_kept(path: Path) -> bytes | None:
    """Return the contents of a file that never changes; see `caches.read_trusted`."""
    name = str(path)
    if name in _archive.files:
        with suppress(OSError):
            return _archive.data(*_archive.files[name])
    content = read_trusted(path)
    if content is not None:
        _read.add(name)
    return content


def save() -> None:
    """Write the archive on rank 0, if this run has loaded something else.

    Where Python has been told to write no bytecode, there is no archive. A failure is
    ignored.
    """
    if not _name or launched_rank() or sys.dont_write_bytecode:
        return
    with suppress(OSError):
        others = sorted(sys.modules.keys() - _archive.imported)
        loaded = {name: _loaded_otherwise(name) for name in others}
        new = {name: found for name, found in loaded.items() if found is not None}
        if new or _read:
            _write(_joined(new))


def _write(content: bytes) -> None:
    for base in own_bases():
        with suppress(OSError):
            if make_private(base) is None:
                replace_file(base / _name, content)
                return


def _joined(new: dict[str, tuple[Module, bytes]]) -> bytes:
    """Return the contents of an archive with the present one's entries and new ones."""
    modules, files, data = {}, {}, bytearray()

    def add(content: bytes) -> tuple[int, int]:
        nonlocal data
        data += content
        return len(data) - len(content), len(data)

    for name in {**_archive.modules, **new}:
        found = new[name][0] if name in new else Module(*_archive.modules[name])
        code = new[name][1] if name in new else _archive.data(*found[-2:])
        modules[name] = (*found[:-2], *add(code))
    # A directory of kernels is named by their sources. Other sources, other kernels.
    kept = {path.rpartition("/")[0] for path in _read}
    for path, place in _archive.files.items():
        if not kept or path.rpartition("/")[0] in kept:
            files[path] = add(_archive.data(*place))
    for path in _read:
        files[path] = add(read_trusted(Path(path)) or b"")
    index = marshal.dumps((modules, files, len(data)))
    return len(index).to_bytes(HEAD, "little") + index + data


def _loaded_otherwise(name: str) -> tuple[Module, bytes] | None:
    """Return a loaded module and its code, if an archive can have it.

    A module beside the user's files is left out: it belongs to a directory, and the
    archive serves runs in all of them.
    """
    spec = getattr(sys.modules[name], "__spec__", None)
    if spec is None or spec.name != name or not spec.has_location:
        return None
    path = Path(spec.origin)
    if path.is_relative_to(Path.cwd()) and not path.is_relative_to(PACKAGE):
        return None
    state = _state(spec.origin)
    if state is None:
        return None
    found, code = (
        Module(spec.origin, *state, spec.submodule_search_locations, 0, 0),
        b"",
    )
    if type(spec.loader) is SourceFileLoader:
        with suppress(ImportError, SyntaxError, OSError):
            return found, marshal.dumps(spec.loader.get_code(name))
    # mpi4py's own finder loads an extension of another name, after its MPI library.
    leaf = name.rpartition(".")[2]
    named = path.name in [leaf + suffix for suffix in EXTENSION_SUFFIXES]
    is_extension = isinstance(spec.loader, ExtensionFileLoader) and named
    return (found, code) if is_extension else None


def _file_name(command: str) -> str:
    """Return the name of a command's archive for this installation."""
    here = os.getcwd()  # noqa: PTH109
    places = [(path, _state(path)) for path in sys.path if path not in ("", here)]
    facts = sys.version, sys.flags.optimize, str(PACKAGE), places
    digest = hashlib.blake2b(repr(facts).encode(), digest_size=8).hexdigest()
    return f"start-{command}-{digest}"


def _state(path: str) -> tuple[int, int] | None:
    """Return the time of change in ns and the size of a file; None without one."""
    try:
        facts = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size
