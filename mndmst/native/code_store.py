"""The store of compiled kernels: one file per kernel and types of arguments.

`cache_dirs.py` chooses the directories, and `shipped.py` which files are trusted.
"""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..host.caches import replace_file
from .shipped import has_code, read_code

# The runtime: functions that count references to arrays, allocate and free their
# memory, which compiled kernels call. Its name in the store, which has no signature.
RUNTIME_NAME = "mndmst.native.memory"
RELEASE = "NRT_decref"
RUNTIME = {
    RELEASE, "NRT_incref", "NRT_MemInfo_data_fast", "NRT_MemInfo_call_dtor",
    "NRT_MemInfo_alloc", "NRT_MemInfo_alloc_aligned", "NRT_MemInfo_alloc_safe_aligned",
    "NRT_MemInfo_new_varsize", "NRT_MemInfo_new_varsize_dtor",
    "NRT_MemInfo_varsize_realloc", "NRT_Allocate", "NRT_Free",
}  # fmt: skip
_DIGEST_BYTES = 16


class Code(NamedTuple):
    """Object code of a kernel for one signature."""

    symbol: str  # of its entry point
    result: str  # the type of its result, as text (see `arguments`)
    code: bytes  # a relocatable object file


def find(dirs: Iterable[Path], name: str, signature: str) -> Code | None:
    """Return the code of a kernel from the first directory that has it, or None."""
    for directory in dirs:
        file = directory / _file_name(name, signature)
        kernel = _parse(read_code(file), file.name)
        if kernel is not None and kernel[:2] == (name, signature):
            return kernel[2]
    return None


def has(dirs: Iterable[Path], name: str, signature: str) -> bool:
    """Return whether a directory has a trusted file for a kernel, maybe damaged."""
    file = _file_name(name, signature)
    return any(has_code(directory / file) for directory in dirs)


def save(name: str, signature: str, code: Code, directory: Path) -> None:
    """Save code in a directory for other processes; a failure is ignored."""
    head = "\t".join((name, signature, code.symbol, code.result)).encode()
    content = with_digest(head + b"\n" + code.code)
    with suppress(OSError):  # the next process compiles it
        replace_file(directory / _file_name(name, signature), content)


def is_code_file(path: Path) -> bool:
    """Return whether a file has the code of the kernel in its name."""
    return _parse(read_code(path), path.name) is not None


def with_digest(code: bytes) -> bytes:
    """Return code followed by its digest, which tools for cubins ignore."""
    return code + _digest(code)


def without_digest(content: bytes) -> bytes | None:
    """Return the code of a file of `with_digest`; None if it is damaged or empty."""
    code, digest = content[:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
    return code if code and _digest(code) == digest else None


def _parse(content: bytes | None, file: str) -> tuple[str, str, Code] | None:
    """Return the name, signature and code of a kernel, given its file's content.

    Returns None if the content is damaged, or its kernel's file has another name.
    """
    head, _, code = (without_digest(content or b"") or b"").partition(b"\n")
    if not code:
        return None
    name, signature, symbol, result = head.decode().split("\t")
    same = file == _file_name(name, signature)
    return (name, signature, Code(symbol, result, code)) if same else None


def _digest(code: bytes) -> bytes:
    return hashlib.blake2b(code, digest_size=_DIGEST_BYTES).digest()


def code_name(name: str, signature: str) -> str:
    """Return the name of a kernel with a digest of its signature."""
    types = hashlib.blake2b(signature.encode(), digest_size=8).hexdigest()
    return f"{name.removeprefix('mndmst.')}-{types}"


def _file_name(name: str, signature: str) -> str:
    return f"{code_name(name, signature)}.o"
