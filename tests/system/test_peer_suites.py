"""The tests of other packages pass against mndmst, as the page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from peer_suites import SUITES, failures, unexpected
from processes import ROOT

PAGE = ROOT / "mndmst/docs/from-hdbscan-and-scikit-learn.md"
CLUSTERS = PAGE.with_name("clusters.md")


@pytest.mark.parametrize(("page", "blocks"), [(PAGE, 4), (CLUSTERS, 2)])
def test_the_pages_about_clusters_run(page: Path, blocks: int) -> None:
    pytest.importorskip("pandas", reason="the page needs pandas")
    found = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M)
    assert len(found) == blocks
    script = "\n".join(found)
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=250
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.timeout(900)
@pytest.mark.parametrize("package", SUITES)
def test_tests_of_a_peer_pass(package: str) -> None:
    pytest.importorskip(package, reason=f"needs {package}")
    names, passed = failures(package)
    assert passed >= SUITES[package].least
    assert unexpected(package, names) == []


@pytest.mark.parametrize("package", SUITES)
def test_the_page_names_the_tests_that_do_not_apply(package: str) -> None:
    named = re.findall(r"`(test_\w+)`", PAGE.read_text())
    for pattern, reason in SUITES[package].exceptions.items():
        name = re.split(r"[\[*]", pattern)[0]
        assert any(known.startswith(name.rstrip("_")) for known in named), pattern
        assert reason in PAGE.read_text().replace("\n", " ")
