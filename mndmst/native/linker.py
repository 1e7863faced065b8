"""A linker of relocatable x86-64 objects into this process.

LLVM's linker would take 52 MB and 140 ms of the start of a single process; with 16
ranks on a host, which share the library's pages, 10 MB and 270 ms of each. Objects of
kernels need only a few kinds of relocations, against their sections, earlier loaded
code, and the C library (System V ABI, AMD64 supplement; ELF-64 format).
"""

import ctypes
import functools
import mmap
import platform
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

# Of the formats, the fields of `_Section` and `_Symbol`.
_HEADER, _SECTION = struct.Struct("<40xQ10xHH2x"), struct.Struct("<4xIQ8xQQIIQ8x")
_SYMBOL, _RELOCATION = struct.Struct("<IBxHQQ"), struct.Struct("<QQq")
_ELF_64 = b"\x7fELF\x02\x01"  # little-endian
_X86_64 = 62
_SYMBOLS, _RELOCATIONS, _NO_BITS, _UNWIND = 2, 4, 8, 0x70000001
_ALLOCATED = 2
_UNDEFINED, _COMMON = 0, 0xFFF2
_LOCAL = 0
# Kinds of R_X86_64_: 64 bits absolute; 32 bits relative to data, code, a GOT entry.
_ABSOLUTE, _RELATIVE, _CALL, _POINTERS = 1, 2, 4, (9, 41, 42)
# Slot of a symbol: a jump to the address in its upper half, jmp *2(%rip), aligned.
_JUMP, _JUMP_TARGET, _SLOT = b"\xff\x25\x02\x00\x00\x00\x00\x00", 8, 16
# Distance within which 32-bit displacements suffice anywhere in the code.
_REACHED = 1 << 30
_READ_AND_EXECUTE = mmap.PROT_READ | mmap.PROT_EXEC


class _Section(NamedTuple):
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int


class _Symbol(NamedTuple):
    name: str
    binding: int
    section: int
    value: int


def links_here() -> bool:
    """Return whether this linker supports this machine's objects."""
    return platform.machine() == "x86_64" and platform.system() == "Linux"


def undefined_symbols(code: bytes) -> set[str]:
    """Return the undefined symbols of an object; none if it is not ELF."""
    if code[:6] != _ELF_64:
        return set()
    symbols = _File(code).symbols
    return {one.name for one in symbols if one.section == _UNDEFINED and one.name}


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
        slots = -(-end // _SLOT) * _SLOT
        size = slots + _SLOT * len(file.symbols)
        memory = mmap.mmap(-1, size, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self._blocks.append(memory)
        for number, position in offsets.items():
            section = file.sections[number]
            if section.kind != _NO_BITS:
                memory[position : position + section.size] = file.data(section)
        values = [
            base + offsets[one.section] + one.value
            if one.section in offsets
            else self._external(one)
            for one in file.symbols
        ]
        _relocate(file, memory, base, offsets, slots, values)
        if self._library.mprotect(ctypes.c_void_p(base), size, _READ_AND_EXECUTE):
            message = "this system forbids programs to execute code they load"
            raise OSError(ctypes.get_errno(), message)
        for one, value in zip(file.symbols, values, strict=True):
            if one.binding != _LOCAL and one.section != _UNDEFINED:
                self._addresses.setdefault(one.name, value)
        return values[[one.name for one in file.symbols].index(symbol)]

    def _external(self, symbol: _Symbol) -> int:
        """Return the address of an undefined symbol; 0 for any other symbol.

        Raises OSError if no loaded library has the undefined symbol.
        """
        name = symbol.name
        if symbol.section != _UNDEFINED or not name:
            return 0
        if name not in self._addresses:
            function = getattr(self._library, name, None)
            if function is None:
                raise OSError(f"code needs {name}, which no loaded library has")
            self._addresses[name] = ctypes.cast(function, ctypes.c_void_p).value or 0
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
    """Return this process's linker.

    Code is never unmapped: at exit, arrays that kernels have returned may outlive the
    modules, and their destructors call loaded code.
    """
    chosen = Linker() if links_here() else LlvmLinker()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(chosen))
    return chosen


class _File:
    """Section and symbol tables of an object; a common symbol is a section of zeros."""

    def __init__(self, code: bytes) -> None:
        if code[:6] != _ELF_64:
            raise OSError("not an object file of this machine")
        (self.machine,) = struct.unpack_from("<H", code, 18)
        start, size, count = _HEADER.unpack_from(code)
        tables = range(start, start + count * size, size)
        self.sections = [_Section(*_SECTION.unpack_from(code, at)) for at in tables]
        self._code = code
        self.symbols = [
            self._symbol(self.sections[table.link].offset, *entry)
            for table in self._tables(_SYMBOLS)
            for entry in _SYMBOL.iter_unpack(self.data(table))
        ]

    def relocations(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield section, offset, kind, symbol and addend."""
        for table in self._tables(_RELOCATIONS):
            for offset, info, addend in _RELOCATION.iter_unpack(self.data(table)):
                yield table.info, offset, info & 0xFFFFFFFF, info >> 32, addend

    def _tables(self, kind: int) -> list[_Section]:
        return [section for section in self.sections if section.kind == kind]

    def data(self, section: _Section) -> bytes:
        """Return the content of a section."""
        return self._code[section.offset : section.offset + section.size]

    def _symbol(
        self, names: int, name: int, info: int, section: int, value: int, size: int
    ) -> _Symbol:
        begin = names + name
        text = self._code[begin : self._code.index(b"\0", begin)].decode()
        if section == _COMMON:  # the value is its alignment
            zeros = _Section(_NO_BITS, _ALLOCATED, 0, size, 0, 0, value)
            self.sections.append(zeros)
            section, value = len(self.sections) - 1, 0
        return _Symbol(text, info >> 4, section, value)


def _layout(sections: list[_Section]) -> tuple[dict[int, int], int]:
    """Return the offset of each section that is loaded, and the end of the last."""
    offsets, end = {}, 0
    for number, section in enumerate(sections):
        if section.flags & _ALLOCATED and section.kind != _UNWIND:
            alignment = max(1, section.alignment)
            offsets[number] = -(-end // alignment) * alignment
            end = offsets[number] + section.size
    return offsets, end


def _relocate(
    file: _File,
    memory: mmap.mmap,
    base: int,
    offsets: dict[int, int],
    slots: int,
    values: list[int],
) -> None:
    """Apply the relocations of an object to its loaded code.

    Every symbol has a slot with a jump to its address. Calls of targets farther than 32
    bits go through the jump, and data is accessed through the address in the slot.
    """
    for number, value in enumerate(values):
        at = slots + _SLOT * number
        memory[at : at + _SLOT] = _JUMP + value.to_bytes(8, "little")
    for section, offset, kind, symbol, addend in file.relocations():
        if section not in offsets:
            continue
        at, target = offsets[section] + offset, values[symbol]
        if kind == _ABSOLUTE:
            word = (target + addend) % (1 << 64)
            memory[at : at + 8] = word.to_bytes(8, "little")
            continue
        slot = base + slots + _SLOT * symbol
        if kind in _POINTERS:
            target = slot + _JUMP_TARGET
        elif kind == _CALL and abs(target - base) > _REACHED:
            target = slot
        elif kind not in (_RELATIVE, _CALL):
            raise OSError(f"code has a relocation of an unknown kind, {kind}")
        distance = target + addend - (base + at)
        memory[at : at + 4] = distance.to_bytes(4, "little", signed=True)
