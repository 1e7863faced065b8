"""Pages on data of users: their files are written, commands run, lines compared."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from processes import ROOT

PAGES = "my-data.md", "from-programs.md", "matrices.md"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.S | re.M)


def sections() -> dict[str, list[tuple[str, str, str]]]:
    """Return the blocks of each section: language, name of a file, and text."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for name in PAGES:
        parts = re.split(r"^## ", (ROOT / "mndmst/docs" / name).read_text(), flags=re.M)
        titles = [name, *(part.partition("\n")[0] for part in parts[1:])]
        found |= zip(titles, map(BLOCK.findall, parts), strict=True)
    return found


def shell(command: str, folder: Path) -> str:
    """Run a line where `mndmst` is ours; return its output on both streams."""
    program = folder / "bin" / "mndmst"
    if not program.exists():
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mndmst "$@"\n')
        program.chmod(0o755)
    search = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    run = subprocess.run(
        command, shell=True, cwd=folder, capture_output=True, text=True, timeout=250,
        check=False, env=os.environ | {"PATH": search, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert run.returncode == 0, f"{command}\n{run.stdout}{run.stderr}"
    return run.stderr + run.stdout


@pytest.mark.timeout(600)
@pytest.mark.parametrize("title", sections())
def test_section(title: str, tmp_path: Path) -> None:
    for package in ("pandas", "networkx", "pyarrow"):
        pytest.importorskip(package, reason=f"the page needs {package}")
    for language, name, text in sections()[title]:
        if language == "csv":
            (tmp_path / name).write_text(text)
        elif language == "python":
            shell(f"{sys.executable} - <<'END'\n{text}END", tmp_path)
        else:
            for lines in re.split(r"^\$ ", text, flags=re.M)[1:]:
                command, *expected = lines.splitlines()
                out = shell(command, tmp_path).splitlines()
                for line in expected:
                    assert any(found.startswith(line) for found in out), (line, out)


def test_each_program_has_a_section_that_ends_in_a_forest() -> None:
    programs = ["pandas", "OSMnx", "pgRouting", "Gephi", "NetworkX", "igraph", "R"]
    for title in ("my-data.md", *programs, "Neo4j"):
        text = "".join(block[2] for block in sections()[title])
        assert "edges=2 trees=1 weight=4.0" in text, title
