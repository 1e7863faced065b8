"""What the formats share: compressed files, whole files, SciPy."""

import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from ...errors import InputError, MissingExtraError
from ..layout import writing

_UNPACK = {".gz": gzip.decompress, ".xz": lzma.decompress}


def read_bytes(path: Path) -> bytes:
    """Return a file's contents, unpacked if its name ends in .gz or .xz.

    Raises
    ------
    InputError
        If it cannot be read or is cut short.
    """
    unpack = _UNPACK.get(path.suffix, bytes)
    try:
        return unpack(path.read_bytes())
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path}: damaged or cut short ({error}). Copy or download it again."
        ) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary name to write to; rename it to `path` when that went well.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    temporary = path.with_name(f"tmp-{path.name}")
    try:
        with writing(path):
            yield temporary
            temporary.rename(path)
    finally:
        temporary.unlink(missing_ok=True)


def import_scipy() -> ModuleType:
    """Return SciPy with `scipy.io` and `scipy.sparse`.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        import scipy.io
        import scipy.sparse
    except ImportError as error:
        raise MissingExtraError(
            "This format needs SciPy, which is not installed. Install it with\n"
            '    pip install "mndmst[formats]"'
        ) from error
    return scipy
