"""The documentation does what it says: commands, Python, and the reference."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from processes import ROOT

from mndmst.cli.__main__ import PAGE, page
from mndmst.io.formats import NAMES

DOCS = ROOT / "mndmst/docs"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.S | re.M)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A directory that looks like a checkout, for commands to write into."""
    (tmp_path / "partitions").symlink_to(ROOT / "partitions")
    return tmp_path


def run(command: str, directory: Path) -> str:
    """Run a line of a shell where `mndmst`, `python` and `mpirun` are ours."""
    binaries = directory / "bin"
    if not binaries.exists():
        binaries.mkdir()
        (binaries / "mndmst").write_text(
            f'#!/bin/sh\nexec "{sys.executable}" -m mndmst "$@"\n'
        )
        (binaries / "mndmst").chmod(0o755)
    search = [binaries, Path(sys.executable).parent, os.environ["PATH"]]
    done = subprocess.run(
        command, shell=True, cwd=directory, capture_output=True, text=True, timeout=250,
        check=False, env=os.environ | {
            "PATH": os.pathsep.join(map(str, search)), "PYTHONPATH": str(ROOT)
        },
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_reference_is_that_of_the_parser() -> None:
    """If this fails: python -m mndmst.cli."""
    assert PAGE.read_text() == page()


def test_tutorial(checkout: Path) -> None:
    """Every command and every block of Python, from the top to the bottom."""
    for package in ("scipy", "matplotlib"):
        pytest.importorskip(package, reason=f"the tutorial needs {package}")
    page = DOCS / "tutorial.md"
    digests = []
    folder = checkout / "tutorial"
    folder.mkdir()
    for block in blocks(page, "(?:console|python)"):
        if not block.startswith("$ "):
            run(f"python - <<'END'\n{block}END", folder)
            continue
        for line in block.splitlines():
            out = run(line.removeprefix("$ "), folder)
            digests += re.findall(r"digest=(\w+)", out)
    assert digests[0] == digests[1] == digests[2]
    assert (folder / "rings.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "run4.html").read_text()


def test_live_clusters(checkout: Path) -> None:
    """The commands print what the page says, and find the labels of its Python."""
    for package in ("scipy", "matplotlib"):
        pytest.importorskip(package, reason=f"the page needs {package}")
    page = DOCS / "live-clusters.md"
    script = "\n".join(blocks(page, "python"))
    labels = run(f"python - <<'END'\n{script}\nprint(*model.labels_)\nEND", checkout)
    lines = "".join(blocks(page, "console")).splitlines()
    out = [run(line.removeprefix("$ "), checkout) for line in lines]
    said = re.search(r"third command prints `(.*?)`", page.read_text())
    assert said is not None
    assert said[1] in out[2].splitlines()
    assert "VERDICT ok" in out[-2]
    _, *rows = (checkout / "labels.csv").read_text().splitlines()
    assert [row.split(",")[2] for row in rows] == labels.split()
    assert (checkout / "live.png").read_bytes().startswith(b"\x89PNG")


def test_python_pages(checkout: Path) -> None:
    """The blocks of three pages; `unit/io/test_golden_files.py` has those of files."""
    for package in ("scipy", "networkx", "pandas"):
        pytest.importorskip(package, reason=f"the page needs {package}")
    pages = (
        ROOT / "README.md", DOCS / "python.md", DOCS / "from-scipy-and-networkx.md"
    )  # fmt: skip
    found = [block for page in pages for block in blocks(page, "python")]
    if "mndmst" not in __import__("networkx").utils.backends.backends:
        found = [block for block in found if 'backend="mndmst"' not in block]
    assert len(found) >= 4
    script = "\n".join(found)
    run(f"python - <<'END'\n{script}END", checkout)


def test_every_stage_is_explained() -> None:
    """The names of stages in the code have a row in files.md."""
    sources = [path.read_text() for path in (ROOT / "mndmst").rglob("*.py")]
    names = {
        name
        for source in sources
        for name in re.findall(r'report\.stage\("([^"]+)"', source)
    }
    rows = re.findall(r"^\| `([^`]+)` \|", (DOCS / "files.md").read_text(), re.M)
    assert len(names) > 20
    assert names - set(rows) == set()


def test_links_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *DOCS.glob("*.md")]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []


def test_the_tests_that_pages_name_exist() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("*/*.md"), *DOCS.glob("*.md")]
    named = {
        name
        for page in pages
        for name in re.findall(r"`(?:tests/)?([\w/]*\btest_\w+\.py)`", page.read_text())
    }
    assert len(named) > 20
    tests = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/*.py")}
    unknown = {
        name for name in named if not any(path.endswith(f"/{name}") for path in tests)
    }
    assert unknown == set()


def test_newcomers_path_is_in_the_readme(checkout: Path) -> None:
    """From a clone to a picture in five commands; fewer points here."""
    for package in ("scipy", "matplotlib"):
        pytest.importorskip(package, reason=f"clustering points needs {package}")
    text = (ROOT / "README.md").read_text()
    fenced = re.findall(r"^```\w*\n(.*?)^```$", text, re.S | re.M)
    block = next(block for block in fenced if "rings" in block)
    commands = [line for line in block.splitlines() if "mndmst " in line]
    assert len(block.splitlines()) <= 5
    for line in commands:
        if not line.startswith(("git", "pip", "python -m venv")):
            run(line.replace("1000000", "6000").replace("10000", "300"), checkout)
    assert (checkout / "rings.png").read_bytes().startswith(b"\x89PNG")
    few = "--count 6000 --min-samples 8 --min-cluster-size 300"
    assert "clusters=3 " in run(f"mndmst hdbscan rings {few} -o c.h5", checkout)
    assert re.search("^num_clusters +3$", run("mndmst info c.h5", checkout), re.M)


def test_a_newcomer_reads_the_readme_in_one_go() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 150


# Three screens of sixty lines. Generated pages and references are looked up, not read.
USER_PAGES = (
    "consistency.md", "embeddings.md", "from-hdbscan-and-scikit-learn.md",
    "from-scipy-and-networkx.md", "install.md", "live-clusters.md", "my-data.md",
    "names.md", "options.md", "promises.md", "tutorial.md",
)  # fmt: skip


@pytest.mark.parametrize("name", USER_PAGES)
def test_a_page_fits_three_screens(name: str) -> None:
    if not (DOCS / name).exists():
        pytest.skip(f"{name} is not written yet")
    assert len((DOCS / name).read_text().splitlines()) <= 180


HISTORY = re.compile(
    r"\bold and new\b|\b(?:earlier|previous) versions? of mndmst\b|\bversion before\b"
    r"|\bother programs used\b|\ba later run\b",
    re.I,
)


def test_pages_of_users_tell_no_history() -> None:
    pages = [ROOT / "README.md", *ROOT.glob("*/README.md"), *DOCS.glob("*.md")]
    found = [
        f"{page.name}:{number}: {line}"
        for page in pages
        if page.name != "experiments.md"
        for number, line in enumerate(page.read_text().splitlines(), 1)
        if HISTORY.search(line)
    ]
    assert found == []


def test_the_glossary_is_short_and_its_terms_are_in_use() -> None:
    page = (DOCS / "glossary.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| ", page, re.M)[1:]
    assert len(rows) <= 25
    others = " ".join(
        re.sub(r"\s+", " ", path.read_text().lower())
        for path in [
            ROOT / "ARCHITECTURE.md",
            *DOCS.glob("*.md"),
            *(ROOT / "mndmst").rglob("*.py"),
        ]
        if path.name != "glossary.md"
    )
    terms = [term for row in rows for term in row.split(", ")]
    assert [term for term in terms if term not in others] == []


def test_architecture_is_short() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 200


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_paths_of_pages_for_developers_exist(name: str) -> None:
    text = (ROOT / name).read_text()
    named = set(re.findall(r"[\w./]+/[\w.]*|\b\w+\.(?:py|sh|toml)\b", text))
    paths = {
        name for name in named if re.fullmatch(r"[\w./]*(/|\.(py|md|sh|toml))", name)
    }
    assert len(paths) > 40
    missing = {
        name
        for name in paths
        if not ((ROOT / name).exists() or (ROOT / "mndmst" / name).exists())
    }
    assert missing == set()


def test_the_figures_of_the_paper_are_those_of_the_measurements() -> None:
    paper = (ROOT / "paper/paper.md").read_text()
    measured = (DOCS / "measurements.md").read_text()
    table = paper.partition("# Figures")[2].partition("From file to file")[0]
    cells = [line.split("|")[2:5] for line in table.splitlines() if line[:1] == "|"]
    rows = cells[2:]
    assert len(rows) > 5
    for ours, others, command in rows:
        figures = re.findall(r"\d[\d.]* m?s\b", ours + others)
        assert len(figures) > 1
        assert [figure for figure in figures if figure not in measured] == []
        assert command.strip(" `") in measured, "each claim has a command"
    assert f"graph files with {len(NAMES)} suffixes" in " ".join(paper.split())


def test_a_row_of_figures_of_the_readme_is_one_of_the_measurements() -> None:
    section = (ROOT / "README.md").read_text().partition("## How fast")[2]
    rows = section.partition("\n\nA whole command")[0].split("\n|")[3:]
    assert len(rows) > 5
    measured = [
        [float(f"{figure}e{-3 if unit == 'ms' else 0}") for figure, unit in found]
        for row in re.split(r"\n\n|\n(?=\|)", (DOCS / "measurements.md").read_text())
        if (found := re.findall(r"\b(\d[\d.]*) (m?s)\b", row))
    ]
    for row in rows:
        told = re.findall(r"\b(\d+\.?(\d*)) s\b", row)
        assert len(told) > 1
        assert any(
            {figure for figure, decimals in told}
            <= {f"{s:.{len(decimals)}f}" for s in seconds for _, decimals in told}
            for seconds in measured
        ), row


def test_the_paper_cites_what_its_list_has() -> None:
    paper = (ROOT / "paper/paper.md").read_text()
    listed = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper/paper.bib").read_text(), re.M)
    assert sorted(set(re.findall(r"@(\w+\d{4})", paper))) == sorted(listed)


def test_a_checkout_stays_editable() -> None:
    """A copy in place of it would hide changes; an image of a host has no checkout."""
    pages = [ROOT / "README.md", *ROOT.glob("*/README.md"), *DOCS.glob("*.md")]
    copies = [
        line
        for page in pages
        for line in page.read_text().splitlines()
        if re.search(r"pip install (?!-e )['\"]?\.", line) and "/opt/" not in line
    ]
    assert copies == []
