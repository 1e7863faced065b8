"""The example of the page on consistency runs as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from graphs import simple_path, write_graph
from processes import ROOT

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

pytestmark = pytest.mark.mpi


def test_the_example_runs(tmp_path: Path) -> None:
    page = (ROOT / "mndmst/docs/consistency.md").read_text()
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
    write_graph(tmp_path / "city", simple_path(30))
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "belong to version 0 of graph, and the graph has version 1" in done.stdout
