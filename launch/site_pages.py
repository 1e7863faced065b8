"""Hook of MkDocs: take pages from the whole repository, and add the API reference."""

import ast
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = (
    "*.md", "docker/*.md", "launch/*.md", "launch/packages/*.md", "mndmst/docs/*",
    "mndmst/io/formats/*.md", "partitions/*.md", "slurm/*.md",
)  # fmt: skip


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the site's files: pages under their repository paths, theme, reference."""
    found = sorted(
        path.relative_to(ROOT).as_posix()
        for pattern in PAGES
        for path in ROOT.glob(pattern)
        if path.suffix in (".md", ".png", ".svg")
    )
    pages = [
        File(name, str(ROOT), config.site_dir, config.use_directory_urls)
        for name in found
    ]
    pages.append(File.generated(config, "api.md", content=api_reference()))
    theme = [file for file in files if file.src_dir != config.docs_dir]
    return Files([*theme, *pages])


def api_reference() -> str:
    """Return a page of mkdocstrings entries: public names, and what these return."""
    modules = public_names()
    # Headings of public names are as programs write them, mndmst.verify
    as_written = "\n    options:\n      show_root_full_path: true"
    sections = [
        "# API reference",
        *(f"::: mndmst.{name}{as_written}" for name in modules),
        "# Classes of results",
        "Functions and methods return objects of these classes; programs do not import "
        "the classes.",
        *(f"::: {path}" for path in returned_classes(modules)),
    ]
    return "\n\n".join(sections) + "\n"


def public_names() -> dict[str, str]:
    """Return the modules of the public names of mndmst, relative to it."""
    module = ast.parse((ROOT / "mndmst/__init__.py").read_text())
    modules: dict[str, str] = next(
        ast.literal_eval(node.value)
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_MODULES"
    )
    return modules


def returned_classes(modules: dict[str, str]) -> list[str]:
    """Return the paths of the classes that are not public, but returned to users.

    Their names stand in annotations of public functions, and of the methods and
    properties of public classes and of returned classes.
    """
    defined: dict[str, tuple[str, ast.AST]] = {}
    for file in sorted((ROOT / "mndmst").rglob("*.py")):
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                known = modules.get(node.name)
                if known is None or module == f"mndmst.{known}":
                    defined[node.name] = module, node
    found, todo = [], list(modules)
    for name in todo:
        for other in sorted(_returned(defined[name][1])):
            module, node = defined.get(other, ("", ast.Pass()))
            if isinstance(node, ast.ClassDef) and other not in todo:
                todo.append(other)
                found.append(f"{module}.{other}")
    return found


def _returned(node: ast.AST) -> set[str]:
    """Return the names in annotations of what a function, or a class, returns."""
    functions = [node]
    if isinstance(node, ast.ClassDef):
        functions = [
            each
            for each in node.body
            if isinstance(each, ast.FunctionDef)
            and (each.name[0] != "_" or each.name == "__getitem__")
        ]
    return {
        word
        for each in functions
        if isinstance(each, ast.FunctionDef) and each.returns is not None
        for word in re.findall(r"\w+", ast.unparse(each.returns))
    }
