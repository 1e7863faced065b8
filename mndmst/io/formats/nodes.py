"""Number the nodes that a file lists, and keep their names."""

import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...host.errors import InputError
from ..names import IntegerNames, Names, distinct_names, names_of_values, shown


@dataclass(frozen=True)
class Nodes:
    """The nodes of a file, numbered.

    Attributes
    ----------
    count : int
    names : Names or None
        Ascending; None if the ids are the numbers from 0 on.
    number : dict
        The number of each node by its id, as `key` returns it.
    key : callable
        Turns an id into one that tells 1 from true and from 1.0.
    """

    count: int
    names: Names | None
    number: dict[Hashable, int]
    key: Callable[[Any], Hashable]

    def numbers(self, ids: list[Any]) -> np.ndarray:
        """Return the numbers of some ids.

        Raises
        ------
        KeyError
            If one is not the id of a node.
        """
        found = map(self.number.__getitem__, map(self.key, ids))
        return np.fromiter(found, np.int64, len(ids))


def number_nodes(path: Path, ids: list[Any]) -> Nodes:
    """Number nodes: ids from 0 on stay, others are numbered in ascending order.

    Raises
    ------
    InputError
        If an id does not name a node, or names two.
    """
    names = names_of_values(path, ids)
    ordered, positions = distinct_names(names)
    if len(ordered) < len(ids):
        raise InputError(
            f"{path}: two nodes have the id {_repeated(names)}. Give each an id of its "
            "own."
        )
    plain = {type(i) for i in ids} in ({int}, {str})
    key: Callable[[Any], Hashable] = _same if plain else _literal
    number = dict(zip(map(key, ids), positions.tolist(), strict=True))
    counted = np.arange(len(ids))
    integers = isinstance(ordered, IntegerNames)
    if not ids or (integers and np.array_equal(ordered.columns()["integers"], counted)):
        return Nodes(len(ids), None, number, key)
    return Nodes(len(ids), ordered, number, key)


def integers_if_all(ids: list[str]) -> list[Any]:
    """Return texts as integers, if all are integers without zeros in front."""
    whole = all(_is_integer(text) for text in ids)
    return list(map(int, ids)) if whole else list(ids)


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 20):
        return False
    return str(int(text)) == text


def _same(value: Hashable) -> Hashable:
    return value


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _repeated(names: Names) -> str:
    seen: set[str] = set()
    for text in names.texts():
        if text in seen:
            return shown(text)
        seen.add(text)
    return ""
