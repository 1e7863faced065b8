"""The public API: what documents import is public, documented, typed and light."""

import ast
import inspect
import pkgutil
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from processes import ROOT

import mndmst

PAGES = [*ROOT.glob("*.md"), *ROOT.glob("*/*.md"), *ROOT.glob("mndmst/docs/*.md")]
# Pages for those who change the program.
OF_MAINTAINERS = {"ARCHITECTURE.md", "CONTRIBUTING.md"}
HEAVY = ("numba", "llvmlite", "mpi4py", "cupy", "h5py", "scipy", "pandas", "pyarrow")
MACHINERY = ("mndmst.kernels", "mndmst.native", "mndmst.comm", "mndmst.backends")


def code_of(page: Path) -> Iterator[ast.Module]:
    """Yield the blocks of Python of a page."""
    for block in re.findall(
        r"^ *```python\n(.*?)^ *```", page.read_text(), re.S | re.M
    ):
        yield ast.parse(textwrap.dedent(block))


def used(tree: ast.Module) -> set[str]:
    """Return the names of the package that a block uses, as `mndmst.NAME`."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names if name.name != "mndmst"}
        if isinstance(node, ast.ImportFrom):
            module = str(node.module)
            names |= {f"{module}.{name.name}" for name in node.names}
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "mndmst":
            names.add(f"mndmst.{node.attr}")
    return {name for name in names if name.partition(".")[0] == "mndmst"}


def test_documents_use_the_public_api_alone() -> None:
    public = {f"mndmst.{name}" for name in mndmst.__all__}
    private = {
        f"{page.relative_to(ROOT)}: {name}"
        for page in PAGES
        for tree in code_of(page)
        for name in used(tree) - public
    }
    assert private == set()


def test_documents_name_no_private_module() -> None:
    modules = "|".join(
        path.name for path in (ROOT / "mndmst").iterdir() if path.is_dir()
    )
    named = {
        f"{page.relative_to(ROOT)}: {name}"
        for page in PAGES
        if page.name not in OF_MAINTAINERS
        for name in re.findall(rf"`mndmst\.(?:{modules})\.\w[\w.]*`", page.read_text())
    }
    assert named == set()


def test_public_names_are_what_they_are_called() -> None:
    assert sorted(mndmst.__all__) == sorted(set(mndmst.__all__))
    assert set(mndmst.__all__) <= set(dir(mndmst))
    for name in mndmst.__all__:
        found = getattr(mndmst, name)
        assert name == "__version__" or found.__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mndmst.nothing  # noqa: B018


def public_callables() -> list[tuple[str, object]]:
    found = []
    for name in mndmst.__all__:
        value = getattr(mndmst, name)
        if inspect.isfunction(value):
            found.append((name, value))
        elif inspect.isclass(value):
            found.append((name, value))
            found += [
                (f"{name}.{method}", function)
                for method, function in vars(value).items()
                if inspect.isfunction(function) and not method.startswith("_")
            ]
    return found


@pytest.mark.parametrize(("name", "value"), public_callables())
def test_public_names_are_documented_and_typed(name: str, value: object) -> None:
    assert inspect.getdoc(value), name
    if inspect.isfunction(value):
        hints = value.__annotations__
        parameters = set(inspect.signature(value).parameters) - {"self", "cls"}
        assert parameters <= set(hints), name
        assert "return" in hints or name.endswith("__init__"), name


def loaded_by(program: str) -> set[str]:
    report = "import sys; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", f"{program}; {report}"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(run.stdout.split())


def heavy(modules: set[str], but: tuple[str, ...] = ()) -> set[str]:
    """Return the heavy packages, and the machinery of the package, among modules."""
    packages = {name for name in HEAVY if name in modules} - set(but)
    return packages | {name for name in modules if name.startswith(MACHINERY)}


@pytest.mark.parametrize("name", ["MndmstError", "InputError", "ConfigError"])
def test_errors_load_nothing(name: str) -> None:
    assert heavy(loaded_by(f"import mndmst; mndmst.{name}")) == set()


def test_a_client_of_the_service_loads_no_kernel_and_no_mpi() -> None:
    pytest.importorskip("pyarrow", reason="the client needs pyarrow")
    modules = loaded_by("import mndmst; mndmst.connect")
    assert "mndmst.service.client" in modules
    assert heavy(modules, but=("pyarrow", "pandas", "scipy")) == set()


def test_no_module_hides_a_function_of_its_name() -> None:
    """An import of `mndmst.verify` would put the module in place of the function."""
    modules = {module.name for module in pkgutil.iter_modules(mndmst.__path__)}
    assert modules.isdisjoint(mndmst._MODULES)


def test_functions_that_use_the_package_can_be_sent_to_workers() -> None:
    """cloudpickle, of joblib, dask and ray, names modules of this very class alone."""
    assert type(mndmst) is ModuleType


def test_type_checkers_see_the_modules_that_names_are_loaded_from() -> None:
    tree = ast.parse(Path(mndmst.__file__).read_text())
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    declared = {
        (name.name, name.asname): str(node.module)
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    public = {(name, name): module for name, module in mndmst._MODULES.items()}
    assert declared == public, "write `from .MODULE import NAME as NAME`, too"


def test_the_page_on_python_has_every_public_name() -> None:
    page = (ROOT / "mndmst/docs/python.md").read_text()
    table = re.findall(r"^\| (`.*?) \|", page.split("\n## ")[0], re.M)
    listed = set(re.findall(r"`(\w+)`", " ".join(table)))
    assert set(mndmst.__all__) - {"__version__"} == listed
