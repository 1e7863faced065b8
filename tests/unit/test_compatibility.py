"""Promises: names that stay; tests that compatibility.md and SECURITY.md name."""

import ast
import json
import re
import tomllib
from itertools import zip_longest
from pathlib import Path
from typing import Any

import h5py
import pytest
from golden_files import (
    GOLDEN,
    options_of_commands,
    protocol_fields,
    python_names,
)
from processes import ROOT

import mndmst

PAGE = (ROOT / "mndmst/docs/compatibility.md").read_text(encoding="utf-8")
ADVICE = "a later version 1 keeps it; before 1.0: python tests/golden_files.py names"


SECURITY = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def rows(page: str) -> list[list[str]]:
    """Return the rows of all tables of a page whose last column has tests."""
    tables = re.findall(r"^\|.*\| test \|\n\|[-|]+\|\n((?:\|.*\n)+)", page, re.M)
    lines = [line for table in tables for line in table.splitlines()]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def functions(path: str) -> set[str]:
    """Return the tests in a file of tests."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


PROMISES = [*rows(PAGE), *rows(SECURITY)]


@pytest.mark.parametrize("row", PROMISES, ids=[row[0][:60] for row in PROMISES])
def test_every_promise_names_tests_that_exist(row: list[str]) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row[-1])
    assert named, "the last cell names no test"
    for path, function in named:
        assert (ROOT / path).is_file(), path
        assert functions(path), path
        assert not function or function in functions(path), function


@pytest.mark.parametrize("row", rows(SECURITY), ids=lambda row: row[0][:60])
def test_every_attack_names_its_tests_and_no_whole_file(row: list[str]) -> None:
    assert not re.findall(r"`tests/[\w/]+\.py`", row[-1])


def test_the_pages_have_their_promises() -> None:
    assert len(rows(PAGE)) > 25
    assert len(rows(SECURITY)) > 20


def test_the_places_of_checks_exist() -> None:
    table = SECURITY.partition("## Trust")[2].partition("## Files")[0]
    named = re.findall(r"`([\w/]+(?:\.py|/))`", table)
    assert len(named) > 10
    assert [name for name in named if not (ROOT / "mndmst" / name).exists()] == []


def broken_calls(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return the parameters for which a call that was valid before is not so now."""

    def positional(parameters: dict[str, str]) -> list[str]:
        return [name for name, kind in parameters.items() if "positional or" in kind]

    gone = before.keys() - now.keys()
    required = {name for name in now if now[name].startswith("required")}
    required -= {name for name in now if "variadic" in now[name]}
    newly = {n for n in required if before.get(n, "optional").startswith("optional")}
    moved = [
        name
        for name, other in zip_longest(positional(before), positional(now))
        if name is not None and name != other
    ]
    return sorted({*gone, *newly, *moved})


@pytest.mark.parametrize(
    ("now", "broken"),
    [
        ({"a": "required", "b": "optional"}, []),
        ({"a": "required", "b": "optional", "c": "optional"}, []),
        ({"a": "optional", "b": "optional"}, []),
        ({"a": "required"}, ["b"]),
        ({"a": "required", "c": "optional", "b": "optional"}, ["b"]),
        ({"b": "optional", "a": "required"}, ["a", "b"]),
        ({"a": "required", "b": "required"}, ["b"]),
        ({"a": "required", "b": "optional", "c": "required"}, ["c"]),
    ],
)
def test_changes_that_break_calls_are_found(
    now: dict[str, str], broken: list[str]
) -> None:
    given = {"a": "required", "b": "optional"}
    before, after = (
        {name: f"{kind} positional or keyword" for name, kind in parameters.items()}
        for parameters in (given, now)
    )
    assert broken_calls(before, after) == broken


def test_a_positional_parameter_does_not_become_one_by_keyword() -> None:
    before = {"a": "optional positional or keyword"}
    assert broken_calls(before, {"a": "optional keyword-only"}) == ["a"]
    assert broken_calls({"a": "optional keyword-only"}, before) == []


def promised(kind: str) -> dict[str, Any]:
    names: dict[str, Any] = json.loads((GOLDEN / "names.json").read_text())[kind]
    assert len(names) > 10
    return names


def test_python_names_of_this_major_version_stay() -> None:
    present = python_names()
    for name, parameters in promised("python").items():
        assert name in present, f"{name}: {ADVICE}"
        broken = broken_calls(parameters, present[name])
        assert broken == [], f"{name} {broken}: {ADVICE}"


def test_the_page_lists_the_deprecated_names() -> None:
    """The first name that warns changes the row of the page."""
    warning = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "mndmst").rglob("*.py")
        if "FutureWarning" in path.read_text("utf-8")
    }
    assert (warning == set()) == ("No name is deprecated now" in PAGE), warning


def test_commands_and_options_of_this_major_version_stay() -> None:
    present = options_of_commands()
    for command, options in promised("commands").items():
        lacking = set(options) - set(present.get(command, []))
        assert command in present and not lacking, f"{command} {lacking}: {ADVICE}"


def test_requests_of_this_major_version_stay() -> None:
    """A client of 1.0 sends no field that a later service does not know or misses."""
    present = protocol_fields()
    for request, fields in promised("protocol").items():
        assert request in present and not set(fields) - set(present[request]), ADVICE
        for field, required in present[request].items():
            assert not required or fields.get(field), f"{request} {field}: {ADVICE}"


# A golden file of each kind, and where its number is
NUMBERED = {
    "mndmst-graph": "towns/index.h5",
    "mndmst-shard": "towns/part-00000.h5",
    "mndmst-column": "towns/columns/kilometres.h5",
    "mndmst-forest": "towns.forest.h5",
    "mndmst-labels": "towns.labels.h5",
    "mndmst-clusters": "model.h5",
    "mndmst-checkpoint": "checkpoint/mndmst-checkpoint.json",
    "mndmst-journal": "journal/towns/journal-1",
}


def number_in(path: Path) -> tuple[str, int]:
    """Return the format and its number that a file names."""
    if path.suffix == ".h5":
        with h5py.File(path) as file:
            return file.attrs["format"].decode(), int(file.attrs["version"])
    if path.suffix == ".json":
        content = json.loads(path.read_text())
        return content["format"], content["version"]
    format, number = path.read_bytes().split(b" ")[:2]
    return format.decode(), int(number)


def test_the_page_has_the_number_of_each_kind_of_file() -> None:
    section = PAGE.partition("## Files")[2].partition("## Service")[0]
    told = {
        format: int(row[1])
        for row in rows(section)
        for format in re.findall(r"`(mndmst-\w+)`", row[0])
    }
    assert told == dict(number_in(GOLDEN / file) for file in NUMBERED.values())
    assert told.keys() == NUMBERED.keys()


def test_the_page_names_the_oldest_packages_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    spelled = {"numpy": "NumPy", "numba": "Numba"}
    for requirement in project["dependencies"]:
        name, _, oldest = requirement.partition(">=")
        assert f"{spelled.get(name, name)} {oldest}" in PAGE
    assert f"| Python | {project['requires-python'].strip('>=')} to 3.14 |" in PAGE


def test_the_change_log_ends_with_this_version() -> None:
    """Keep a changelog: the newest first, one head for each version."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.M)
    released = [version for version, date in heads if date]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert mndmst.__version__ == project["version"] == released[0]
    assert f"version: {released[0]}\n" in (ROOT / "CITATION.cff").read_text()
    assert heads[0][0] in ("Unreleased", mndmst.__version__)
    in_order = sorted(set(released), key=lambda v: [*map(int, v.split("."))])
    assert released == in_order[::-1]
    kinds = set(re.findall(r"^### (\w+)$", text, re.M))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
