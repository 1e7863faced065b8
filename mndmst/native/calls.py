"""Many calls of one kernel, put down for threads that need no interpreter."""

from collections.abc import Hashable, Sequence
from typing import Any

from .arguments import pack
from .call import Call, Entry
from .kernel import Kernel


def put_down(kernel: Kernel, calls: Sequence[tuple]) -> list[Call] | None:
    """Return a call for each tuple of arguments.

    An argument that is the one of the call before is not looked at again, so that
    calls which differ in a range of their work cost little more than that range.

    Returns
    -------
    list of Call or None
        None if only the interpreter can make these calls: their types differ, or are
        such as no call can be put down for.
    """
    first = calls[0]
    words: list[list[Any]] = [[] for _ in first]
    keys = [_key(*pair) for pair in zip(first, words, strict=True)]
    entry = kernel.code(tuple(keys), first)
    if not isinstance(entry, Entry) or not entry.can_be_put_down:
        return None
    put, before = [], first
    for arguments in calls:
        for place, argument in enumerate(arguments):
            if argument is not before[place]:
                words[place] = []
                if _key(argument, words[place]) != keys[place]:
                    return None
        put.append(entry.put_down([word for part in words for word in part], arguments))
        before = arguments
    return put


def _key(argument: Any, words: list[Any]) -> Hashable:
    """Append the words of an argument; return what its type has alone."""
    (key,) = pack((argument,), words)
    return key
