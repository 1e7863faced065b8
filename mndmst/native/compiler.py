"""Compile kernels to object code by Numba.

Part of the interface used here is not public in Numba. It is tested with 0.68;
`self_test` checks whether the code of another version can be called.
"""

import ctypes
import functools
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..host.signals import interrupts_deferred
from .code_store import RELEASE, RUNTIME, Code, code_name
from .linker import undefined_symbols
from .processor_levels import LEVELS, NATIVE, Level

_BLAS = "scipy.linalg.cython_blas"


def _leave_out_blas() -> None:
    """Import Numba without SciPy, which Numba would import to look for a BLAS."""
    if _BLAS in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules[_BLAS] = None  # type: ignore[assignment]
    try:
        with interrupts_deferred():
            from numba.np import arraymath
    finally:
        del sys.modules[_BLAS]
    arraymath._HAVE_BLAS = find_spec("scipy") is not None


_leave_out_blas()

import numba  # noqa: E402, the setting above must come first
import numpy as np  # noqa: E402
from llvmlite import binding as llvm  # noqa: E402
from llvmlite import ir  # noqa: E402
from numba import types  # noqa: E402
from numba.core import (  # noqa: E402
    callconv,
    codegen,
    compiler,
    config,
    pythonapi,
    registry,
)
from numba.core.compiler_lock import global_compiler_lock  # noqa: E402
from numba.core.runtime import nrtdynmod, rtsys  # noqa: E402

from .arguments import NONE, Array, Tuple, Type, named, parse  # noqa: E402


def dispatcher_of(function: Any, inline: str, alone: bool = False) -> Any:
    """Return Numba's dispatcher of a function; with `alone`, Python can call it."""
    bare = {"no_cpython_wrapper": not alone, "no_cfunc_wrapper": not alone}
    return numba.njit(nogil=True, inline=inline, **bare)(function)


def type_of(value: Any) -> Any:
    """Return Numba's type of a global value that kernels use."""
    typing = registry.cpu_target.typing_context
    typing.refresh()  # the value may just have been imported
    return typing.resolve_value_type(value)


@global_compiler_lock
def compile_kernel(function: Any, signature: str, processors: str) -> Code:
    """Compile a kernel for one signature and a level of processors.

    Raises TypeError if the code calls functions that a process without Numba lacks,
    such as functions of the interpreter or of LLVM's runtime library.
    """
    flags = compiler.Flags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.release_gil = flags.nrt = True
    typing, context = registry.cpu_target.typing_context, _context(processors)
    kinds = tuple(map(_numba_type, parse(signature)))
    with _only_linked(processors), _without_locations():
        made = compiler.compile_extra(typing, context, function, kinds, None, flags, {})
        name = f"{function.__module__}.{function.__qualname__}"
        entry = code_name(name, signature)
        _add_entry(made.library, made.fndesc, context, entry)
        made.library._ensure_finalized()
        _name_symbols(made.library._final_module, entry)
        code = made.library.emit_native_object()
    # LLVM calls its runtime library for operations that the target lacks. Only the
    # object shows such calls; LLVM's linker would end the process at a missing
    # function.
    needed = {*_needed(made.library._final_module), *undefined_symbols(code)}
    unknown = sorted(name for name in needed if not _known(name))
    if unknown:
        raise TypeError(f"{function.__qualname__} needs {', '.join(unknown)}")
    result = str(_from_numba(made.signature.return_type))
    return Code(entry, result, code)


@global_compiler_lock
def compile_runtime(processors: str) -> Code:
    """Compile the functions that count references to arrays, allocate and free them."""
    module, library = nrtdynmod.create_nrt_module(_context(processors))
    library.add_ir_module(module)
    memory = Path(__file__).with_name("memory.ll").read_text()
    library.add_llvm_module(llvm.parse_assembly(memory))
    return Code(RELEASE, "none", library.emit_native_object())


class _Codegen(codegen.AOTCPUCodegen):
    """Code generator for the processors of a level, of Linux if of another machine.

    Numba derives the features of a processor from its name. This processor may have
    fewer features, because a hypervisor hides some.
    """

    def __init__(self, processors: str) -> None:
        self._triple, self._features = llvm.get_process_triple(), ""
        if processors == NATIVE:
            cpu, self._features = "host", codegen.get_host_cpu_features()
        elif (level := LEVELS[processors]).machine == platform.machine():
            cpu, self._features = level.cpu, level.features
        else:
            cpu = ""
        super().__init__("mndmst", cpu_name=cpu)
        if not cpu:
            self._aim_at(level)

    def _customize_tm_features(self) -> str:
        return self._features

    def _aim_at(self, level: Level) -> None:
        """Emit code for another machine. Numba's engine, which loads code, stays."""
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        self._triple = f"{level.machine}-unknown-linux-gnu"
        self._tm = llvm.Target.from_triple(self._triple).create_target_machine(
            level.cpu, level.features, config.OPT, reloc="pic", codemodel="default"
        )
        self._target_data = self._tm.target_data
        self._data_layout = str(self._target_data)

    def _create_empty_module(self, name: str) -> Any:
        module = super()._create_empty_module(name)
        module.triple = self._triple
        return module


class _Part(codegen.AOTCodeLibrary):
    """A library of a function that only kernels call, which needs no address."""

    def get_pointer_to_function(self, name: str) -> int:
        return 0


class _Parts(_Codegen):
    _library_class = _Part

    def set_env(self, name: str, environment: Any) -> None:
        pass


@contextmanager
def _only_linked(processors: str) -> Iterator[None]:
    """Keep Numba from loading the functions that kernels call separately.

    Numba links its runtime to each of them: here one for the same processors.
    """
    context = registry.cpu_target.target_context
    before = context._internal_codegen, rtsys._library
    rtsys._library = _linked_runtime(processors)
    context._internal_codegen = _Parts(processors)
    try:
        yield
    finally:
        context._internal_codegen, rtsys._library = before


@functools.cache
def _linked_runtime(processors: str) -> Any:
    return nrtdynmod.compile_nrt_functions(_context(processors))


def _context(processors: str) -> Any:
    """Return a context in which Numba emits objects and loads none."""
    typing = registry.cpu_target.typing_context
    context = registry.cpu_target.target_context
    typing.refresh()
    context.refresh()
    return context.subtarget(_internal_codegen=_Codegen(processors), aot_mode=True)


@contextmanager
def _without_locations() -> Iterator[None]:
    """Keep paths of this machine's sources out of exceptions (see `_error`).

    Numba's own messages name paths, too, and functions by the count of those that the
    process has compiled before.
    """
    convention, interface = callconv.CPUCallConv, pythonapi.PythonAPI
    build, check = convention.build_excinfo_struct, interface.emit_environment_sentry
    convention.build_excinfo_struct = lambda self, kind, values, *_: (
        kind,
        values and tuple(map(_without_location, values)),
        None,
    )
    interface.emit_environment_sentry = (
        lambda self, pointer, return_pyobject=False, debug_msg="": check(
            self, pointer, return_pyobject
        )
    )
    try:
        yield
    finally:
        convention.build_excinfo_struct = build
        interface.emit_environment_sentry = check


def _without_location(value: object) -> object:
    """Return a value of an exception; of a message only what precedes a location."""
    return value.partition('\nFile "')[0] if isinstance(value, str) else value


def _add_entry(library: Any, function: Any, context: Any, name: str) -> None:
    """Add code that calls a function with a row of words; see `compiled_kernel`."""
    word, module = ir.IntType(64), library.create_ir_module(name)
    kind = context.call_conv.get_function_type(function.restype, function.argtypes)
    callee = ir.Function(module, kind, function.llvm_func_name)
    row = ir.PointerType(word)
    entry = ir.Function(module, ir.FunctionType(ir.IntType(32), [row]), name)
    builder = ir.IRBuilder(entry.append_basic_block())
    arguments = []
    for number, argument in enumerate(kind.args):  # little-endian: of the first bytes
        at = builder.gep(entry.args[0], [ir.Constant(word, number)])
        arguments.append(builder.load(builder.bitcast(at, ir.PointerType(argument))))
    # Inlined, the function would be in the code twice
    builder.ret(builder.call(callee, arguments, attrs=("noinline",)))
    library.add_ir_module(module)


def _name_symbols(module: Any, entry: str) -> None:
    """Number all symbols that a module defines but its entry point.

    Numba's names count the functions that the process has compiled before.
    """
    number = 0
    for item in (*module.functions, *module.global_variables):
        if not item.is_declaration and item.name != entry:
            number += 1
            item.name = f"{entry}.{number}"


def _needed(module: Any) -> Iterator[str]:
    """Yield the external symbols of a module."""
    for item in (*module.functions, *module.global_variables):
        if item.is_declaration and not item.name.startswith("llvm."):
            yield item.name


def _known(name: str) -> bool:
    """Return whether a process without Numba can resolve a symbol."""
    return name in RUNTIME or hasattr(ctypes.CDLL(None), name)


def _numba_type(kind: Type) -> Any:
    if kind == NONE:
        return types.none
    if isinstance(kind, Array):
        dtype = numba.from_dtype(np.dtype(kind.item))
        layout = "C" if kind.in_c_order else "A"
        return types.Array(dtype, kind.ndim, layout, readonly=not kind.writable)
    if isinstance(kind, Tuple):
        members = tuple(map(_numba_type, kind.members))
        if not kind.name:
            return types.Tuple(members)
        return types.BaseTuple.from_types(members, named(kind.name))
    return numba.from_dtype(np.dtype(kind))


def _from_numba(kind: Any) -> Type:
    """Convert a type of Numba's to one of `arguments`."""
    if kind == types.none:
        return NONE
    if isinstance(kind, types.Array):
        item = str(_from_numba(kind.dtype))
        return Array(item, kind.ndim, kind.layout == "C", kind.mutable)
    if isinstance(kind, types.BaseTuple):
        members = map(_from_numba, kind.types)
        return Tuple.of(getattr(kind, "instance_class", tuple), members)
    if isinstance(kind, types.Literal):
        kind = kind.literal_type
    return str(numba.np.numpy_support.as_dtype(kind).str[1:])
