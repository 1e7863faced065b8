"""The decorator `kernel`: functions of numbers and arrays, compiled for their types.

The first call with a signature loads the kernel's code from the store, or has Numba
compile it. Kernels may call other kernels.
"""

import functools
import os
import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeAlias, TypeVar, cast

from .arguments import Packed, named, pack, types_of

# For development: Numba compiles and calls kernels, without the store.
JIT = bool(os.environ.get("MNDMST_JIT"))
_lock = threading.Lock()
# The result of a kernel: Numba infers its type from those of the arguments.
KernelResult: TypeAlias = Any
TupleT = TypeVar("TupleT", bound=tuple)


class Kernel:
    """A compiled function; see `kernel`."""

    def __init__(self, function: Callable[..., Any], inline: str) -> None:
        functools.update_wrapper(self, function)
        self.function, self.inline = function, inline
        self.name = f"{function.__module__}.{function.__qualname__}"
        self._loaded: dict[Hashable, Callable[..., Any]] = {}

    def __call__(self, *arguments: object) -> KernelResult:
        """Call the code for the types of the arguments."""
        words: list[Any] = []
        return self.code(pack(arguments, words))(words, arguments)

    def code(self, key: tuple[Hashable, ...]) -> Callable[[list, tuple], Any]:
        """Return the loaded code for arguments whose types have the key `pack` returns.

        The code takes the packed words, and the arguments themselves.
        """
        code = self._loaded.get(key)
        return self._load(key) if code is None else code

    def _load(self, key: tuple[Hashable, ...]) -> Callable[..., Any]:
        with _lock:
            if key not in self._loaded:
                from .loader import load

                self._loaded[key] = load(self.name, self.function, types_of(key))
            return self._loaded[key]

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's dispatcher of the function, for kernels that call it."""
        from .compiler import dispatcher_of

        return dispatcher_of(self.function, self.inline)

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from .compiler import type_of

        return type_of(self.dispatcher)


def kernel(function: Callable[..., Any] | None = None, *, inline: str = "never") -> Any:
    """Decorate a function as a kernel.

    `inline="always"` inlines its source in other kernels. LLVM also inlines the code of
    small kernels without it.
    """
    if function is None:
        return lambda function: kernel(function, inline=inline)
    if JIT:
        from .compiler import dispatcher_of

        return dispatcher_of(function, inline, alone=True)
    return Kernel(function, inline)


def packed(argument: TupleT) -> TupleT:
    """Return a tuple for many calls of kernels, which pack its words only once.

    Kernels take it like the tuple itself; nothing else does.
    """
    return argument if JIT else cast(TupleT, Packed(argument))


class Instruction:
    """An instruction of the processor, for kernels; see `kernels.intrinsics`."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from .compiler import type_of

        return type_of(named(f"{self.module}.{self.name}"))
