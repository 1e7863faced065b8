"""Machine code of a kernel for some types, by Numba.

What is used here of Numba is not all its public interface. It was tried with 0.68;
`proof` shows whether code of another version can be called.
"""

import ctypes
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .store import NATIVE, RELEASE, RUNTIME, Code

_BLAS = "scipy.linalg.cython_blas"


def _leave_out_blas() -> None:
    """Let Numba begin without SciPy, which it would ask whether there is a BLAS."""
    if _BLAS in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules[_BLAS] = None  # type: ignore[assignment]
    try:
        from numba.np import arraymath
    finally:
        del sys.modules[_BLAS]
    arraymath._HAVE_BLAS = find_spec("scipy") is not None


_leave_out_blas()

import numba  # noqa: E402, what comes first is a setting of it
import numpy as np  # noqa: E402
from llvmlite import binding as llvm  # noqa: E402
from numba import types  # noqa: E402
from numba.core import compiler, registry  # noqa: E402
from numba.core.compiler_lock import global_compiler_lock  # noqa: E402
from numba.core.runtime import nrtdynmod  # noqa: E402

from .arguments import named, split  # noqa: E402

_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def dispatcher_of(function: Any, inline: str, alone: bool = False) -> Any:
    """Return what Numba makes of a function.

    Parameters
    ----------
    alone : bool
        It is to be called from Python, through Numba.
    """
    options = {} if alone else _NO_WRAPPERS
    return numba.njit(nogil=True, inline=inline, **options)(function)


def type_of(value: Any) -> Any:
    """Return the type of a global value that kernels name."""
    typing = registry.cpu_target.typing_context
    typing.refresh()  # the value may just have been imported
    return typing.resolve_value_type(value)


@global_compiler_lock
def compile_kernel(function: Any, signature: str, processors: str) -> Code:
    """Compile a kernel for some types of arguments.

    Parameters
    ----------
    processors : {"x86-64-v3", "native"}

    Raises
    ------
    TypeError
        If the kernel does what only an interpreter can, such as print.
    """
    flags = compiler.Flags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.release_gil = flags.nrt = True
    typing, context = registry.cpu_target.typing_context, _context(processors)
    made = compiler.compile_extra(
        typing, context, function, _numba_types(signature), None, flags, {}
    )
    code = made.library.emit_native_object()
    unknown = [n for n in _needed(made.library._final_module) if not _known(n)]
    if unknown:
        raise TypeError(f"{function.__qualname__} needs {', '.join(unknown)}")
    result = _text(made.signature.return_type)
    return Code(made.fndesc.llvm_func_name, result, code)


@global_compiler_lock
def compile_runtime(processors: str) -> Code:
    """Compile what counts references to arrays, and takes and frees their memory."""
    module, library = nrtdynmod.create_nrt_module(_context(processors))
    library.add_ir_module(module)
    memory = Path(__file__).with_name("memory.ll").read_text()
    library.add_llvm_module(llvm.parse_assembly(memory))
    return Code(RELEASE, "none", library.emit_native_object())


def _context(processors: str) -> Any:
    """Return the context in which Numba makes objects and loads none."""
    typing = registry.cpu_target.typing_context
    context = registry.cpu_target.target_context
    typing.refresh()
    context.refresh()
    name = "host" if processors == NATIVE else processors
    return context.with_aot_codegen("mndmst", cpu_name=name)


def _needed(module: Any) -> Iterator[str]:
    """Yield the names that code of a module has to find elsewhere."""
    for item in (*module.functions, *module.global_variables):
        if item.is_declaration and not item.name.startswith("llvm."):
            yield item.name


def _known(name: str) -> bool:
    """Return whether a process that has no Numba has something of a name."""
    return name in RUNTIME or hasattr(ctypes.CDLL(None), name)


def _numba_types(signature: str) -> tuple:
    return tuple(map(_numba_type, split(signature)))


def _numba_type(text: str) -> Any:
    if text == "none":
        return types.none
    if text.endswith("]"):
        name, _, dimensions = text[:-1].partition("[")
        dtype = numba.from_dtype(np.dtype(name.rstrip("!")))
        layout = "A" if ":" in dimensions else "C"
        ndim = dimensions.count(",") + 1
        return types.Array(dtype, ndim, layout, readonly="!" in name)
    if text.endswith(")"):
        name, _, inner = text[:-1].partition("(")
        members = _numba_types(inner)
        if not name:
            return types.Tuple(members)
        return types.BaseTuple.from_types(members, named(name))
    return numba.from_dtype(np.dtype(text))


def _text(kind: Any) -> str:
    """Return a type of Numba's as text."""
    if kind == types.none:
        return "none"
    if isinstance(kind, types.Array):
        dimension = "" if kind.layout == "C" else ":"
        readonly = "" if kind.mutable else "!"
        return f"{_text(kind.dtype)}{readonly}[{','.join([dimension] * kind.ndim)}]"
    if isinstance(kind, types.BaseTuple):
        named = getattr(kind, "instance_class", tuple)
        name = "" if named is tuple else f"{named.__module__}.{named.__qualname__}"
        return f"{name}({','.join(map(_text, kind.types))})"
    if isinstance(kind, types.Literal):
        kind = kind.literal_type
    return numba.np.numpy_support.as_dtype(kind).str[1:]
