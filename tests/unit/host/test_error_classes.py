"""Errors of the package are also Python's own, and no handler swallows them for that.

`except ValueError` around a call of the package would take an `InputError` for what
NumPy or Python raises, and replace its message.
"""

import ast
import pickle
from pathlib import Path

import pytest
from processes import ROOT

import mndmst
from mndmst.host import errors

OURS = {name for name in vars(errors) if name.endswith("Error")}
BROAD = {"ValueError", "TypeError", "ImportError"}
# Handlers whose calls raise none of ours.
HARMLESS = {
    ("mndmst/changes/table.py", "_weight"),
    ("mndmst/host/errors.py", "interrupts_deferred"),
    ("mndmst/host/memory.py", "_bounded"),
    ("mndmst/io/output_kinds.py", "_carries_mark"),
    ("mndmst/host/option_types.py", "plain"),
    ("mndmst/io/hdf5_reader.py", "undo"),
    ("mndmst/io/partitioner/partition_run.py", "_plan_of"),
    ("mndmst/io/formats/attributed_graph.py", "read_number"),
    ("mndmst/io/formats/delimited_text.py", "read_number"),
    ("mndmst/io/partitioner/weight_rules.py", "read_number"),
    ("mndmst/io/formats/point_tables.py", "self"),
    ("mndmst/io/names.py", "_holds_object"),
    ("mndmst/native/code_store.py", "Code"),
}


@pytest.mark.parametrize(
    ("error", "kinds"),
    [
        (errors.InputError, (ValueError,)),
        (errors.InputTypeError, (errors.InputError, ValueError, TypeError)),
        (errors.ConfigError, (ValueError,)),
        (errors.ConfigTypeError, (errors.ConfigError, ValueError, TypeError)),
        (errors.MissingExtraError, (ImportError,)),
        (errors.OutputError, ()),
        (errors.StoppedError, ()),
        (mndmst.ServiceError, ()),
        (mndmst.OtherVersionError, (mndmst.ServiceError,)),
    ],
)
def test_errors_are_also_those_of_python(
    error: type[errors.MndmstError], kinds: tuple[type, ...]
) -> None:
    raised = error("place: what is wrong. Do that.")
    assert isinstance(raised, (errors.MndmstError, *kinds))
    assert str(raised) == "place: what is wrong. Do that."
    assert str(pickle.loads(pickle.dumps(raised))) == str(raised)


def test_an_error_names_its_source_once_and_travels_with_it() -> None:
    with (
        pytest.raises(errors.InputError) as raised,
        errors.about("outer.csv"),
        errors.about("inner.csv"),
    ):
        raise errors.InputError("row 3 is empty. Fill it.")
    error = raised.value
    assert str(error) == "inner.csv: row 3 is empty. Fill it."
    error.remedy = "Or leave it out."
    text = "inner.csv: row 3 is empty. Fill it. Or leave it out."
    assert str(error) == str(pickle.loads(pickle.dumps(error))) == text


def test_an_invalid_value_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="NaN"):
        mndmst.minimum_spanning_forest([0], [1], [float("nan")])
    with pytest.raises(TypeError, match="weight"):
        mndmst.minimum_spanning_forest([0], [1], ["heavy"])


def caught(handler: ast.ExceptHandler) -> set[str]:
    """Return the errors that a handler takes; constants stand for Python's errors."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {ast.unparse(kind).rpartition(".")[2] for kind in kinds if kind is not None}
    return names | BROAD if any(name.isupper() for name in names) else names


def called(body: list[ast.stmt], ours: set[str]) -> set[str]:
    """Return the names of the package that statements call, and whether they yield."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    names = {"yield" for node in nodes if isinstance(node, ast.Yield)}
    for node in nodes:
        if isinstance(node, ast.Call):
            first: ast.expr = node.func
            while isinstance(first, ast.Attribute | ast.Call):
                first = first.value if isinstance(first, ast.Attribute) else first.func
            if isinstance(first, ast.Name):
                names |= {first.id} & ours
    return names


def swallowing(path: Path) -> list[str]:
    """Return the handlers of a file that would take our errors for Python's."""
    tree = ast.parse(path.read_text())
    definitions = (ast.FunctionDef, ast.ClassDef)
    ours = {node.name for node in ast.walk(tree) if isinstance(node, definitions)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            ours |= {name.asname or name.name for name in node.names}
    found, file = [], path.relative_to(ROOT).as_posix()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Try):
            continue
        before: set[str] = set()
        for handler in node.handlers:
            kinds = caught(handler)
            calls = called(node.body, ours | {"self"})
            harmless = {(file, name) for name in calls} & HARMLESS
            if kinds & BROAD and not before & OURS and calls and not harmless:
                found.append(f"{file}:{handler.lineno}: {', '.join(sorted(calls))}")
            before |= kinds
    return found


def test_no_handler_takes_our_errors_for_those_of_python() -> None:
    files = sorted((ROOT / "mndmst").rglob("*.py"))
    found = [handler for path in files for handler in swallowing(path)]
    assert found == [], "precede it by: except MndmstError: raise"


def test_an_error_is_one_line_whatever_names_a_file_has() -> None:
    error = errors.InputError("has columns x, a\nb")
    error.source, error.remedy = "two\nlines.csv", "Name the column."
    assert str(error) == "two\\nlines.csv: has columns x, a\\nb Name the column."
