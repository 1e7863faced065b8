"""The types of a kernel's arguments and of its result, and how they are written.

They are what Numba's typing tells apart:

| text | argument |
|---|---|
| `i8`, `u4`, `f8`, `b1` | a number; Python's own are `i8`, `f8` and `b1` |
| `u4[]`, `u4[,]` | an array in C order, of one and of two dimensions |
| `u4[:]` | an array of another layout |
| `u4!` before a bracket | one that cannot be written |
| `none` | None |
| `(i8,u4[])` | a tuple; a named one has its class before it |
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple


class Scalar(NamedTuple):
    """A number or None."""

    name: str

    def __str__(self) -> str:
        return self.name


class Array(NamedTuple):
    """An array of some numbers."""

    item: str
    ndim: int
    in_c_order: bool
    writable: bool

    def __str__(self) -> str:
        dimension = "" if self.in_c_order else ":"
        mark = "" if self.writable else "!"
        return f"{self.item}{mark}[{','.join([dimension] * self.ndim)}]"


class Tuple(NamedTuple):
    """A tuple; the name of its class is empty for Python's own."""

    name: str
    members: list["Type"]

    @classmethod
    def of(cls, kind: type, members: Iterable["Type"]) -> "Tuple":
        """Return the type of a tuple of some class."""
        name = "" if kind is tuple else f"{kind.__module__}.{kind.__qualname__}"
        return cls(name, list(members))

    def __str__(self) -> str:
        return f"{self.name}({text_of(self.members)})"


Type = Scalar | Array | Tuple
NONE = Scalar("none")


def text_of(types: Iterable[Type]) -> str:
    """Return types as text."""
    return ",".join(map(str, types))


def parse(text: str) -> list[Type]:
    """Return the types that a text stands for."""
    return [_parse_one(part) for part in _split(text)]


def _parse_one(text: str) -> Type:
    if text.endswith("]"):
        item, _, dimensions = text[:-1].partition("[")
        ndim = dimensions.count(",") + 1
        return Array(item.rstrip("!"), ndim, ":" not in dimensions, "!" not in item)
    if text.endswith(")"):
        name, _, members = text[:-1].partition("(")
        return Tuple(name, parse(members))
    return Scalar(text)


def _split(text: str) -> list[str]:
    """Return the types that commas separate, outside of brackets."""
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return [*parts, text[begin:]] if text else []


def named(name: str) -> Any:
    """Return what has a name with its module before it."""
    module, _, name = name.rpartition(".")
    return getattr(import_module(module), name)
