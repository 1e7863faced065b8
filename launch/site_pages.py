"""Hook of MkDocs: take pages from the whole repository, and add the API reference."""

import ast
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = (
    "*.md", ".github/*.md", "docker/*.md", "launch/*.md", "launch/packages/*.md",
    "mndmst/docs/*", "mndmst/io/formats/*.md", "partitions/*.md", "slurm/*.md",
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
    """Return a page of mkdocstrings entries, one for each public name of mndmst."""
    module = ast.parse((ROOT / "mndmst/__init__.py").read_text())
    names = next(
        ast.literal_eval(node.value)
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_MODULES"
    )
    entries = [f"::: mndmst.{name}" for name in names]
    return "\n\n".join(["# API reference", *entries]) + "\n"
