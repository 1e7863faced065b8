"""The store of compiled kernels: a file for each kernel and the types it is called for.

`places.py` says in which directories it lies. A file is loaded only if no other user
can write to it, from the bytes of the same open file whose owner and mode were checked.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ..host.caches import has_trusted, read_trusted

# What code calls that is not the C library's: it counts references to arrays, and takes
# and frees their memory. It is kept under this name, without types.
RUNTIME_NAME = "mndmst.native.memory"
RELEASE = "NRT_decref"
RUNTIME = {
    RELEASE, "NRT_incref", "NRT_MemInfo_data_fast", "NRT_MemInfo_call_dtor",
    "NRT_MemInfo_alloc", "NRT_MemInfo_alloc_aligned", "NRT_MemInfo_alloc_safe_aligned",
    "NRT_MemInfo_new_varsize", "NRT_MemInfo_new_varsize_dtor",
    "NRT_MemInfo_varsize_realloc", "NRT_Allocate", "NRT_Free",
}  # fmt: skip


class Code(NamedTuple):
    """The code of a kernel for some types.

    Attributes
    ----------
    symbol : str
        The name of its entry.
    result : str
        The type of what it returns, as in `signature`.
    code : bytes
        A relocatable object.
    """

    symbol: str
    result: str
    code: bytes


def find(places: Iterable[Path], name: str, signature: str) -> Code | None:
    """Return what some places have of a kernel for some types; None if nothing."""
    for directory in places:
        code = _read(directory / _file_name(name, signature), name, signature)
        if code is not None:
            return code
    return None


def has(places: Iterable[Path], name: str, signature: str) -> bool:
    """Return whether a file of the store may be loaded; it may still be damaged."""
    file = _file_name(name, signature)
    return any(has_trusted(place / file) for place in places)


def keep(name: str, signature: str, code: Code, directory: Path) -> None:
    """Keep code for the next process."""
    facts = {
        "name": name, "signature": signature, "symbol": code.symbol,
        "result": code.result, "digest": _digest(code.code),
    }  # fmt: skip
    head = json.dumps(facts).encode() + b"\n"
    place = directory / _file_name(name, signature)
    made, part = tempfile.mkstemp(dir=directory, prefix=".part-")
    try:
        with os.fdopen(made, "wb") as file:
            file.write(head + code.code)
            os.fchmod(made, 0o644)  # where others may look, they may read
        Path(part).replace(place)
    except OSError:  # such as a full disk; the next process compiles it
        Path(part).unlink()


def _read(place: Path, name: str, signature: str) -> Code | None:
    held = read_trusted(place)
    if held is None:
        return None
    head, _, code = held.partition(b"\n")
    try:
        facts = json.loads(head)
        expected = name, signature, _digest(code)
        if (facts["name"], facts["signature"], facts["digest"]) != expected:
            return None
        return Code(facts["symbol"], facts["result"], code)
    except (ValueError, KeyError, TypeError):
        return None


def _digest(code: bytes) -> str:
    return hashlib.blake2b(code, digest_size=16).hexdigest()


def _file_name(name: str, signature: str) -> str:
    types = hashlib.blake2b(signature.encode(), digest_size=8).hexdigest()
    return f"{name.removeprefix('mndmst.')}-{types}.o"
