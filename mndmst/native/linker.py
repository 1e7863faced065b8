"""A linker of relocatable x86-64 objects into this process.

LLVM's own linker would take 52 MB of a single process and 140 ms of its start; with 16
ranks on a host, which share the library's pages, 10 MB of each and 270 ms. Objects of
kernels need little: a few kinds of relocations, against sections of their own, code
loaded before, and the C library (System V ABI, AMD64 supplement; ELF-64 format).
"""

import ctypes
import functools
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
# Kinds of R_X86_64_: 64 bits absolute; 32 bits relative to data, code, a GOT entry.
_ABSOLUTE, _RELATIVE, _CALL, _POINTERS = 1, 2, 4, (9, 41, 42)
# Slot of a symbol: a jump to the address in its upper half, jmp *2(%rip), aligned.
_JUMP, _JUMP_TARGET, _SLOT = b"\xff\x25\x02\x00\x00\x00\x00\x00", 8, 16
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
    """Return whether this linker supports this machine's objects."""
    return platform.machine() == "x86_64" and platform.system() == "Linux"


def undefined_symbols(code: bytes) -> set[str]:
    """Return the undefined symbols of an object; none if it is not ELF."""
    if code[:6] != _ELF_64:
        return set()
    return {one.name for one in _File(code).symbols if one.section == 0 and one.name}


class Linker:
    """Loads objects one by one; each may use the symbols of earlier ones."""

    def __init__(self) -> None:
        self._addresses: dict[str, int] = {}
        self._blocks: list[Any] = []
        self._library = ctypes.CDLL(None, use_errno=True)

    def add(self, code: bytes, symbol: str) -> int:
        """Load an object; return the address of one of its symbols.

        Raises OSError if the object is of another kind, or the system forbids new
        executable memory.
        """
        file = _File(code)
        if file.machine != _X86_64:
            raise OSError("not an object file of this machine")
        offsets, end = _layout(file.sections)
        commons = [s for s in file.symbols if s.section == _COMMON]
        first_common = -(-end // 16) * 16
        slots = first_common + sum(-(-s.size // 16) * 16 for s in commons)
        size = slots + _SLOT * len(file.symbols)
        memory = mmap.mmap(-1, size, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self._blocks.append(memory)
        for number, position in offsets.items():
            section = file.sections[number]
            if section.kind != _NO_BITS:
                data = code[section.offset : section.offset + section.size]
                memory[position : position + len(data)] = data
        values = self._values(file.symbols, base, offsets, first_common)
        _Relocator(memory, base, slots, values).relocate(file, offsets)
        if self._library.mprotect(ctypes.c_void_p(base), size, _READ_AND_EXECUTE):
            message = "this system forbids programs to execute code they load"
            raise OSError(ctypes.get_errno(), message)
        for one, value in zip(file.symbols, values, strict=True):
            if one.binding != _LOCAL and one.section:
                self._addresses.setdefault(one.name, value)
        return values[[one.name for one in file.symbols].index(symbol)]

    def _values(
        self, symbols: list[_Symbol], base: int, offsets: dict[int, int], common: int
    ) -> list[int]:
        """Return the addresses of all symbols; 0 in sections that are not loaded."""
        values = []
        for symbol in symbols:
            if symbol.section == _COMMON:
                values.append(base + common)
                common += -(-symbol.size // 16) * 16
            elif symbol.section == 0:
                values.append(self._external(symbol.name) if symbol.name else 0)
            elif symbol.section >= _RESERVED or symbol.section not in offsets:
                values.append(0)
            else:
                values.append(base + offsets[symbol.section] + symbol.value)
        return values

    def _external(self, name: str) -> int:
        if name not in self._addresses:
            try:
                found = ctypes.cast(getattr(self._library, name), ctypes.c_void_p)
            except AttributeError as error:
                raise OSError(
                    f"code needs {name}, which no loaded library has"
                ) from error
            self._addresses[name] = found.value or 0
        return self._addresses[name]


class LlvmLinker:
    """LLVM's linker, for machines that `Linker` does not support.

    LLVM reads the bytes of an object after it has been added, so they stay alive.
    """

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple().create_target_machine()
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
        self._objects: list[Any] = []

    def add(self, code: bytes, symbol: str) -> int:
        """Load an object; return the address of one of its symbols."""
        from llvmlite.binding import ObjectFileRef

        file = ObjectFileRef.from_data(code)
        self._objects.append((file, code))
        self._engine.add_object_file(file)
        self._engine.finalize_object()
        return self._engine.get_function_address(symbol)


@functools.cache
def linker() -> Linker | LlvmLinker:
    """Return this process's linker."""
    return Linker() if links_here() else LlvmLinker()


class _File:
    """Section and symbol tables of an object."""

    def __init__(self, code: bytes) -> None:
        if code[:6] != _ELF_64:
            raise OSError("not an object file of this machine")
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
    """Return the offset of each section that is loaded, and the end of the last."""
    offsets, end = {}, 0
    for number, section in enumerate(sections):
        if section.flags & _ALLOCATED and section.kind != _UNWIND:
            alignment = max(1, section.alignment)
            offsets[number] = -(-end // alignment) * alignment
            end = offsets[number] + section.size
    return offsets, end


class _Relocator:
    """Applies relocations to loaded code.

    Every symbol has a slot. Targets beyond the reach of 32 bits are called through its
    jump, and data is found through the address in it.
    """

    def __init__(
        self, memory: mmap.mmap, base: int, slots: int, values: list[int]
    ) -> None:
        self._memory, self._base, self._values = memory, base, values
        self._slots = slots

    def relocate(self, file: _File, offsets: dict[int, int]) -> None:
        for section, offset, kind, symbol, addend in file.relocations():
            if section not in offsets:
                continue
            at, value = offsets[section] + offset, self._values[symbol]
            if kind == _ABSOLUTE:
                word = (value + addend) % (1 << 64)
                self._memory[at : at + 8] = word.to_bytes(8, "little")
                continue
            if kind in _POINTERS:
                value = self._slot(symbol) + _JUMP_TARGET
            elif kind == _CALL and not _reached(value, self._base):
                value = self._slot(symbol)
            elif kind not in (_RELATIVE, _CALL):
                raise OSError(f"code has a relocation of an unknown kind, {kind}")
            distance = value + addend - (self._base + at)
            self._memory[at : at + 4] = distance.to_bytes(4, "little", signed=True)

    def _slot(self, symbol: int) -> int:
        """Write the slot of a symbol, and return its address."""
        position = self._slots + _SLOT * symbol
        target = self._values[symbol].to_bytes(8, "little")
        self._memory[position : position + _SLOT] = _JUMP + target
        return self._base + position


def _reached(value: int, base: int) -> bool:
    """Return whether 32-bit displacements from code at `base` reach an address."""
    return abs(value - base) < 1 << 30
