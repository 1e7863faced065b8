"""The site of the documentation is built strictly: one bad link fails the build."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from processes import ROOT

import mndmst

pytest.importorskip("mkdocs", reason="the site needs the extra docs")


def build(root: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a checkout as a reader would."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(site),
         "-f", str(root / "launch/mkdocs.yml")],
        capture_output=True, text=True, timeout=280, check=False, cwd=root,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_of_the_repository_is_on_the_site(site: Path) -> None:
    found = [
        *ROOT.glob("*.md"),
        *ROOT.glob("[!.]*/*.md"),
        *ROOT.glob("mndmst/docs/*.md"),
    ]
    pages = [page for page in found if page.parent.name != "paper"]  # is for a journal
    pages.append(ROOT / "launch/packages/README.md")
    missing = [
        str(page.relative_to(ROOT))
        for page in pages
        if not (site / rendered(page.relative_to(ROOT)) / "index.html").exists()
    ]
    assert missing == []


def rendered(page: Path) -> Path:
    return page.parent if page.name == "README.md" else page.with_suffix("")


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    text = (site / "api/index.html").read_text()
    described = set(re.findall(r'id="mndmst\.(\w+)"', text))
    assert set(mndmst.__all__) - {"__version__"} == described


def test_classes_that_users_hold_are_in_the_reference(site: Path) -> None:
    text = (site / "api/index.html").read_text()
    held = set(re.findall(r'id="mndmst(?:\.\w+)+\.([A-Z]\w+)"', text))
    held_by_name = {"Service", "Graph", "RemoteForest", "NamedRemoteForest"}
    held_by_name |= {"ForestChanges"}
    held_by_name |= {"Summary", "Components", "Verdict", "ForestIndex"}
    assert held_by_name <= held
    for method in ("Service.list", "Graph.path_max", "Graph.solve", "Graph.wait"):
        assert f'id="mndmst.service.client.{method}"' in text


def test_parameters_of_the_reference_are_read_from_the_docstrings(site: Path) -> None:
    text = (site / "api/index.html").read_text()
    section = text[text.index('id="mndmst.minimum_spanning_forest"') :]
    assert "num_vertices" in section and "Raises:" in section


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    page = (site / "index.html").read_text()
    loaded = re.findall(
        r'<(?:script|link|img)[^>]*(?:src|href)="(https?://[^"]+)', page
    )
    assert [address for address in loaded if "doi.org" not in address] == []


@pytest.mark.parametrize("target", ["no-such-page.md", "install.md#no-such-section"])
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path, target: str) -> None:
    copy = tmp_path / "checkout"
    names = subprocess.run(
        ["git", "ls-files", "*.md", "*.png", "launch", "mndmst/*.py"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if names.returncode:
        pytest.skip("not a git checkout")
    for name in names.stdout.splitlines():
        if (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    with (copy / "mndmst/docs/tutorial.md").open("a") as page:
        page.write(f"\n[nowhere]({target})\n")
    done = build(copy, tmp_path / "site")
    assert done.returncode == 1
    assert target.rpartition("#")[2] in done.stdout + done.stderr
