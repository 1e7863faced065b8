"""The form of a run's report: which entries it has, and what each may be."""

from collections.abc import Callable
from typing import Any, TypeAlias

from ..host.errors import shown

Check = Callable[[object], bool]
LARGEST_COUNT = 2**63 - 1
LARGEST_NUMBER = 1e15  # seconds or bytes


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_COUNT


def _is_number(value: object) -> bool:
    """Return whether a value is a finite number in the range of times and bytes."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= LARGEST_NUMBER


def _is_limit(value: object) -> bool:
    """Return whether a value is a number of bytes, or none for no limit."""
    return value is None or _is_count(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_plain(value: object) -> bool:
    """Return whether a value is a text, a number that float64 holds, or none."""
    if isinstance(value, int):
        return abs(value) <= LARGEST_COUNT
    return value is None or isinstance(value, str | float)


def _is_cores(value: object) -> bool:
    """Return whether a value is empty, or ranges of cores such as 0-3,8."""
    return isinstance(value, str) and all(
        end.isascii() and end.isdigit() and len(end) <= 9
        for run in filter(None, value.split(","))
        for end in run.split("-", 1)
    )


# A form of values: a check, one form for all elements of a list, or forms by key
Form: TypeAlias = "Check | list[Form] | dict[str, Form]"
_SENTENCES: dict[Check, str] = {
    _is_count: "a count",
    _is_number: "a number",
    _is_limit: "a number of bytes",
    _is_text: "a text",
    _is_plain: "a number or a text",
    _is_cores: "a list of cores",
}
# A list has one form for all elements, and an object a form for each key: a key with a
# question mark may be missing, and "*" stands for all others.
_WORK: Form = {"device": _is_text, "begin": _is_number, "end": _is_number}
_STAGE: Form = {
    "stage": _is_text, "begin": _is_number, "seconds": _is_number,
    "bytes_sent?": _is_count, "seconds_waited?": _is_number, "work?": [_WORK],
}  # fmt: skip
_RANK: Form = {
    "rank": _is_count, "host": _is_text, "peak_bytes": _is_count, "stages": [_STAGE],
    "processor?": _is_text, "memory_bytes?": _is_count,
    "devices?": [_is_text], "threads?": _is_count, "cores?": _is_cores,
    "strategy?": {"name": _is_text},
}  # fmt: skip
_CONFIG: Form = {"memory?": _is_limit, "gpu_memory?": _is_limit, "*": _is_plain}
_FORM: Form = {
    "command": [_is_text], "num_ranks": _is_count, "seconds": _is_number,
    "levels": [{"after": _is_text, "edges": _is_count}],
    "choices?": [{"path": _is_text, "edges": _is_count}],
    "ranks": [_RANK], "config?": _CONFIG, "versions?": {"*": _is_text},
    "date?": _is_text, "commit?": _is_text, "system?": _is_text, "mpi?": _is_text,
    "num_vertices?": _is_count, "num_edges?": _is_count, "digest?": _is_text,
    "forest_edges?": _is_count, "trees?": _is_count, "weight?": _is_plain,
    "components?": _is_count, "largest?": _is_count,
}  # fmt: skip
# Entries that come together.
_TOGETHER = {"forest_edges": ("trees", "weight"), "components": ("largest",)}


def fault_of(record: dict[str, Any]) -> str:
    """Return the first fault of a report in words; "" if it has the form of one."""
    fault = _fault(record, _FORM, "")
    if fault:
        return fault
    for first, others in _TOGETHER.items():
        for other in others:
            if first in record and other not in record:
                return f"{other} is missing"
    return "" if record["ranks"] else "it has no rank"


def _fault(value: object, form: Form, path: str) -> str:
    if isinstance(form, list):
        if not isinstance(value, list):
            return f"{path} is not a list"
        faults = (_fault(x, form[0], f"{path}[{i}]") for i, x in enumerate(value))
        return next(filter(None, faults), "")
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return f"{path or 'it'} is not an object"
        return _fault_of_object(value, form, path)
    if form(value):
        return ""
    return f"{path} is {shown(value)}, not {_SENTENCES[form]}"


def _fault_of_object(value: dict[str, object], form: dict[str, Form], path: str) -> str:
    start = f"{path}." if path else ""
    for key, inner in form.items():
        name = key.removesuffix("?")
        if key == "*":
            faults = (_fault(x, inner, f"{start}{shown(k)}") for k, x in value.items())
            fault = next(filter(None, faults), "")
        elif name in value:
            fault = _fault(value[name], inner, f"{start}{name}")
        else:
            fault = "" if name != key else f"{start}{name} is missing"
        if fault:
            return fault
    return ""
