"""The shape of the repository: rules that a reader relies on and no linter knows."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import ROOT

PACKAGE = ROOT / "mndmst"
BACKENDS = PACKAGE / "backends"

Sources = list[tuple[Path, ast.Module]]


@pytest.fixture(scope="module")
def sources() -> Sources:
    """Return the package's files and their syntax trees."""
    files = sorted(PACKAGE.rglob("*.py"))
    assert len(files) > 100
    return [(file, ast.parse(file.read_text())) for file in files]


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def names_of_tuples(function: ast.AST) -> set[str]:
    """Return the local names to which a function assigns a tuple it writes out."""
    return {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def has_unlike_elements(annotation: ast.expr) -> bool:
    """Tell whether an annotation holds a tuple of two types of the package."""
    for node in ast.walk(annotation):
        if not (isinstance(node, ast.Subscript) and ast.unparse(node.value) == "tuple"):
            continue
        elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        kinds = {ast.unparse(element) for element in elements}
        if len(kinds) > 2 and "..." not in kinds:
            return True
    return False


def test_no_two_test_files_have_one_name() -> None:
    """Pytest imports them by name alone."""
    names = [file.name for file in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_a_class_name_is_unique(sources: Sources) -> None:
    """Two backends may have twins."""
    places = defaultdict(list)
    for file, tree in sources:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(file)
    shared = {
        name: [str(file.relative_to(ROOT)) for file in files]
        for name, files in places.items()
        if len(files) > 1 and not all(BACKENDS in file.parents for file in files)
    }
    assert shared == {}


def test_no_call_stars_a_tuple_of_the_same_function(sources: Sources) -> None:
    """Arguments that travel together are a dataclass."""
    found = [
        f"{file.relative_to(ROOT)}:{call.lineno} *{argument.value.id}"
        for file, tree in sources
        for function in functions(tree)
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        for argument in call.args
        if isinstance(argument, ast.Starred)
        and isinstance(argument.value, ast.Name)
        and argument.value.id in names_of_tuples(function)
    ]
    assert found == []


def test_no_parameter_is_a_tuple_of_unlike_things(sources: Sources) -> None:
    found = [
        f"{file.relative_to(ROOT)}:{function.lineno} {argument.arg}"
        for file, tree in sources
        for function in functions(tree)
        for argument in (*function.args.args, *function.args.kwonlyargs)
        if argument.annotation and has_unlike_elements(argument.annotation)
    ]
    assert found == []
