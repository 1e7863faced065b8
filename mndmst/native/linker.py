"""Load relocatable objects into this process and link them.

LLVM can do so, but its library takes 44 MB of every process. The objects of kernels
need little: a few kinds of relocations, against sections of their own, code loaded
before, and the C library (System V ABI, AMD64 supplement; ELF-64 object format).
"""

import ctypes
import mmap
import platform
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

_HEADER = struct.Struct("<40xQ10xHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_ELF_64 = b"\x7fELF\x02\x01"  # little-endian
_X86_64 = 62
_SYMBOLS, _RELOCATIONS, _NO_BITS, _UNWIND = 2, 4, 8, 0x70000001
_ALLOCATED = 2
_COMMON, _RESERVED = 0xFFF2, 0xFF00
_LOCAL = 0
# R_X86_64_: an address; what is relative to the place, to code or to a pointer.
_ABSOLUTE, _RELATIVE, _CALL, _POINTERS = 1, 2, 4, (9, 41, 42)
_JUMP = b"\xff\x25\x00\x00\x00\x00"  # jmp *(next eight bytes)
_STUB, _POINTER = 16, 8
_READ_AND_EXECUTE = mmap.PROT_READ | mmap.PROT_EXEC


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


class _Symbol(NamedTuple):
    name: str
    binding: int
    section: int
    value: int
    size: int


def links_here() -> bool:
    """Return whether objects of this machine are of the kind that is known here."""
    return platform.machine() == "x86_64" and platform.system() == "Linux"


def undefined_symbols(code: bytes) -> set[str]:
    """Return the names that an object has to find elsewhere; none if it is not ELF."""
    if code[:6] != _ELF_64:
        return set()
    return {one.name for one in _File(code).symbols if one.section == 0 and one.name}


class Linker:
    """Objects that have been loaded; those to come may use what these define."""

    def __init__(self) -> None:
        self._addresses: dict[str, int] = {}
        self._blocks: list[Any] = []
        self._library = ctypes.CDLL(None, use_errno=True)

    def add(self, code: bytes, symbol: str) -> int:
        """Load an object; return the address of one of its symbols.

        Raises
        ------
        OSError
            If it is of an unknown kind, or the system executes no new code.
        """
        file = _File(code)
        if file.machine != _X86_64:
            raise OSError("this is no object of this machine")
        places, end = _layout(file.sections)
        commons = [s for s in file.symbols if s.section == _COMMON]
        first_common = -(-end // 16) * 16
        stubs = first_common + sum(-(-s.size // 16) * 16 for s in commons)
        size = stubs + (_STUB + _POINTER) * len(file.symbols)
        memory = mmap.mmap(-1, size, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self._blocks.append(memory)
        for number, place in places.items():
            section = file.sections[number]
            if section.kind != _NO_BITS:
                data = code[section.offset : section.offset + section.size]
                memory[place : place + len(data)] = data
        values = self._values(file.symbols, base, places, first_common)
        _Relocator(memory, base, stubs, values).relocate(file, places)
        if self._library.mprotect(ctypes.c_void_p(base), size, _READ_AND_EXECUTE):
            number = ctypes.get_errno()
            raise OSError(number, "this system lets a program execute no code it loads")
        for one, value in zip(file.symbols, values, strict=True):
            if one.binding != _LOCAL and one.section:
                self._addresses.setdefault(one.name, value)
        return next(
            value
            for one, value in zip(file.symbols, values, strict=True)
            if one.name == symbol
        )

    def _values(
        self, symbols: list[_Symbol], base: int, places: dict[int, int], common: int
    ) -> list[int]:
        """Return the addresses of all symbols, 0 for those of what is not loaded."""
        values = []
        for symbol in symbols:
            if symbol.section == _COMMON:
                values.append(base + common)
                common += -(-symbol.size // 16) * 16
            elif symbol.section == 0:
                values.append(self._elsewhere(symbol.name) if symbol.name else 0)
            elif symbol.section >= _RESERVED or symbol.section not in places:
                values.append(0)
            else:
                values.append(base + places[symbol.section] + symbol.value)
        return values

    def _elsewhere(self, name: str) -> int:
        if name not in self._addresses:
            try:
                found = ctypes.cast(getattr(self._library, name), ctypes.c_void_p)
            except AttributeError as error:
                raise OSError(f"code needs {name}, which is not there") from error
            self._addresses[name] = found.value or 0
        return self._addresses[name]


class _File:
    """The tables of an object."""

    def __init__(self, code: bytes) -> None:
        if code[:6] != _ELF_64:
            raise OSError("this is no object of this machine")
        (self.machine,) = struct.unpack_from("<H", code, 18)
        start, size, count, _ = _HEADER.unpack_from(code)
        self.sections = [
            _Section(*_SECTION.unpack_from(code, start + i * size))
            for i in range(count)
        ]
        self._code = code
        self.symbols = list(self._symbols())

    def _symbols(self) -> Iterator[_Symbol]:
        for table in self.sections:
            if table.kind != _SYMBOLS:
                continue
            names = self.sections[table.link].offset
            for at in range(table.offset, table.offset + table.size, _SYMBOL.size):
                name, info, _, section, value, size = _SYMBOL.unpack_from(
                    self._code, at
                )
                begin = names + name
                text = self._code[begin : self._code.index(b"\0", begin)].decode()
                yield _Symbol(text, info >> 4, section, value, size)

    def relocations(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield section, offset, kind, symbol and addend."""
        for table in self.sections:
            if table.kind == _RELOCATIONS:
                data = self._code[table.offset : table.offset + table.size]
                for offset, info, addend in _RELOCATION.iter_unpack(data):
                    kind, symbol = info & 0xFFFFFFFF, info >> 32
                    yield table.info, offset, kind, symbol, addend


def _layout(sections: list[_Section]) -> tuple[dict[int, int], int]:
    """Return where sections go that code needs, and one past the last of them."""
    places, end = {}, 0
    for number, section in enumerate(sections):
        if section.flags & _ALLOCATED and section.kind != _UNWIND:
            alignment = max(1, section.alignment)
            places[number] = -(-end // alignment) * alignment
            end = places[number] + section.size
    return places, end


class _Relocator:
    """Writes addresses into loaded code.

    What is out of reach of 32 bits is called through a stub, and found through a
    pointer; there is room for one of each for every symbol.
    """

    def __init__(
        self, memory: mmap.mmap, base: int, stubs: int, values: list[int]
    ) -> None:
        self._memory, self._base, self._values = memory, base, values
        self._stubs, self._pointers = stubs, stubs + _STUB * len(values)

    def relocate(self, file: _File, places: dict[int, int]) -> None:
        for section, offset, kind, symbol, addend in file.relocations():
            if section not in places:
                continue
            at, value = places[section] + offset, self._values[symbol]
            if kind == _ABSOLUTE:
                word = (value + addend) % (1 << 64)
                self._memory[at : at + 8] = word.to_bytes(8, "little")
                continue
            if kind in _POINTERS:
                value = self._pointer(symbol)
            elif kind == _CALL and not _reached(value, self._base):
                value = self._stub(symbol)
            elif kind not in (_RELATIVE, _CALL):
                raise OSError(f"code has a relocation of an unknown kind, {kind}")
            distance = value + addend - (self._base + at)
            self._memory[at : at + 4] = distance.to_bytes(4, "little", signed=True)

    def _stub(self, symbol: int) -> int:
        place = self._stubs + _STUB * symbol
        target = self._values[symbol].to_bytes(8, "little")
        self._memory[place : place + 14] = _JUMP + target
        return self._base + place

    def _pointer(self, symbol: int) -> int:
        place = self._pointers + _POINTER * symbol
        target = self._values[symbol].to_bytes(8, "little")
        self._memory[place : place + 8] = target
        return self._base + place


def _reached(value: int, base: int) -> bool:
    """Return whether code of a block at `base` reaches an address by 32 bits."""
    return abs(value - base) < 1 << 30
