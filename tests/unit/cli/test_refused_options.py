"""Options that do not go together, or not with a file, are refused in one line."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from processes import ROOT

from mndmst.__main__ import main

GOLDEN = ROOT / "tests/data/golden"
FOREST, CLUSTERS, MAXIMUM = "towns.forest.h5", "towns.clusters.h5", "shared.forest.h5"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (f"cluster {FOREST} --count 2 --points p.csv",
         "--points is for the picture of --plot; give both"),
        (f"cluster {FOREST} --count 2 --plot p.png --picture clusters",
         "--picture clusters needs points; give them by --points"),
        (f"cluster {MAXIMUM} --min-size 2", f"{MAXIMUM}: is a maximum spanning forest"),
        (f"convert {FOREST} out.csv --dendrogram",
         "--dendrogram goes with a name in .nwk"),
        (f"convert {CLUSTERS} out.h5",
         f"out.h5: {CLUSTERS} has clusters, which convert writes as .csv"),
        (f"convert {CLUSTERS} out.csv --graph towns",
         f"--graph goes with a forest, and {CLUSTERS} has clusters"),
        (f"root {FOREST} --root Atlantis",
         f'--root Atlantis: no vertex of {FOREST} is named "Atlantis"'),
        ("solve towns --from correlation",
         "--from takes a matrix; give --metric precomputed, too"),
        ("solve m.npy --metric precomputed --ratio 0.5",
         "--ratio takes a graph, and m.npy is a matrix of distances; leave it out"),
        ("solve m.npy --metric precomputed -o a.h5 -o b.csv",
         "-o: the forest of a matrix goes to one file"),
        ("serve a/b=towns", "a/b=towns: 'a/b' is not a valid name of graphs; write"),
        ("serve a=towns a=shared", "a=shared: two graphs are named a; write"),
        ("partition towns.csv out --source x.csv",
         "towns.csv: --source needs a recipe, a .toml file"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    message: str,
) -> None:
    for name in ("towns", "shared", FOREST, CLUSTERS, MAXIMUM):
        copy = shutil.copytree if (GOLDEN / name).is_dir() else shutil.copy
        copy(GOLDEN / name, tmp_path / name)
    np.save(tmp_path / "m.npy", np.ones((3, 3)) - np.eye(3))
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert main([*command.split(), "-q"]) == 1
    *notes, said = capsys.readouterr().err.splitlines()
    assert message in said
    # Where a test before has loaded Arrow, serve cannot bound its memory
    assert all("the memory of Arrow has no bound here" in note for note in notes)
    assert sorted(tmp_path.rglob("*")) == before
