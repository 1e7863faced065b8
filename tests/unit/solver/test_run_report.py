"""The software that a report names: versions, and the commit of a checkout."""

import os
import subprocess
from pathlib import Path

import pytest

from mndmst.host import __version__
from mndmst.solver.run_report import commit, provenance

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C"]


def git(folder: Path, *words: str) -> str:
    """Run Git without the user's settings; return what it prints."""
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        [*GIT, str(folder), *words],
        env=os.environ | alone, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_a_report_names_its_versions_and_its_date() -> None:
    facts = provenance()
    assert facts["versions"]["mndmst"] == __version__
    assert facts["date"].endswith("+00:00")
    assert facts["system"]


@pytest.mark.slow
def test_the_commit_of_a_checkout_says_whether_files_have_changed(
    tmp_path: Path,
) -> None:
    git(tmp_path, "init", "-q")
    file = tmp_path / "file"
    file.write_text("1")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-q", "-m", "one")
    git(tmp_path, "tag", "v1")
    known = git(tmp_path, "rev-parse", "HEAD")
    assert commit(tmp_path) == known
    file.write_text("2")
    assert commit(tmp_path) == f"{known}-dirty"


def test_without_a_checkout_the_commit_is_that_of_pip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "mndmst-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: mndmst\nVersion: 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert commit(tmp_path) == ""
    origin = info / "direct_url.json"
    origin.write_text('{"url": "file:///somewhere", "dir_info": {}}')
    assert commit(tmp_path) == ""
    origin.write_text('{"url": "https://x", "vcs_info": {"commit_id": "0a1b"}}')
    assert commit(tmp_path) == "0a1b"
