"""An installation without `mndmst/points`: graphs are solved, points refused."""

import shutil
import site
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from processes import ROOT, Run, finish, on_ranks, start

from mndmst.native.cache_dirs import directories

EDGES = "0 1 3\n1 2 1\n0 2 2\n3 4 5\n"
LACKS = "mndmst.points, which this installation lacks"
BUILD = (
    "import os, sys; os.chdir(sys.argv[1]);"
    "from setuptools import build_meta; build_meta.build_wheel(sys.argv[2])"
)
NAME_OF_KERNELS = (
    "from mndmst.native.cache_dirs import best_level, state; print(state(best_level()))"
)


class Installation:
    """A virtual environment with the package but `points`, and a folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        sources, environment = folder / "sources", folder / "environment"
        shutil.copytree(
            ROOT / "mndmst",
            sources / "mndmst",
            ignore=shutil.ignore_patterns("__pycache__", "objects"),
        )
        shutil.rmtree(sources / "mndmst/points")
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, sources)
        line = [sys.executable, "-c", BUILD, str(sources), str(folder)]
        built = finish(start(line), 120)
        assert built.returncode == 0, built
        venv.create(environment, symlinks=True)
        self.interpreter = environment / "bin/python"
        (packages,) = environment.glob("lib/*/site-packages")
        zipfile.ZipFile(next(folder.glob("*.whl"))).extractall(packages)
        # Other packages come from here; Python follows no .pth file of a path in one,
        # so the checkout stays out of reach, however it is installed
        others = "".join(f"{path}\n" for path in site.getsitepackages())
        (packages / "others.pth").write_text(others)
        self.variables = {
            "PYTHONPATH": "",
            "PYTHONSAFEPATH": "1",
            "MNDMST_CACHE_DIR": str(folder / "cache"),
        }
        # A library from PyPI, which mpi4py finds only beside the Python that runs
        for library in Path(sys.prefix, "lib").glob("libmpi.so.*"):
            self.variables["MPI4PY_LIBMPI"] = str(library)
        self._share_kernels()
        (folder / "edges.txt").write_text(EDGES)

    def _share_kernels(self) -> None:
        """Give the installation the compiled kernels of this one.

        Their directories differ by name, because the digest in it covers all kernels,
        those of points too. No kernel outside points calls one of them.
        """
        name = self.python("-c", NAME_OF_KERNELS).stdout.strip()
        into = self.folder / "cache/kernels" / name
        into.mkdir(mode=0o700, parents=True)
        for directory in directories():
            for file in directory.glob("*.o"):
                shutil.copy(file, into)

    def python(self, *words: object, ranks: int = 0) -> Run:
        """Run its Python with some words, by mpirun if `ranks` is given."""
        launcher = on_ranks(ranks)[:-1] if ranks else []
        line = [*launcher, self.interpreter, *words]
        return finish(start(list(map(str, line)), **self.variables), 250)

    def command(self, *words: object, ranks: int = 0) -> str:
        """Run a command that succeeds; return its output."""
        run = self.python("-m", "mndmst", *words, ranks=ranks)
        assert run.returncode == 0, run
        return run.stdout

    def refusal(self, *words: object) -> str:
        """Run a command that fails; return its error, which is one line."""
        run = self.python("-m", "mndmst", *words)
        assert run.returncode > 0, run
        (line,) = run.stderr.splitlines()
        return line


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation(tmp_path_factory.mktemp("without"))


@pytest.fixture(scope="module")
def graph(installation: Installation) -> Path:
    folder = installation.folder / "graph"
    installation.command("partition", installation.folder / "edges.txt", folder)
    return folder


@pytest.fixture(scope="module")
def forest(installation: Installation, graph: Path) -> Path:
    file = installation.folder / "forest.h5"
    installation.command("solve", graph, "-o", file)
    return file


def test_arrays_are_solved_in_python(installation: Installation) -> None:
    code = (
        "import mndmst; print(mndmst.__file__);"
        "print(mndmst.minimum_spanning_forest([0, 1, 0], [1, 2, 2], [3, 1, 2])"
        ".total_weight)"
    )
    run = installation.python("-c", code)
    assert run.returncode == 0, run
    file, weight = run.stdout.splitlines()
    assert Path(file).is_relative_to(installation.folder)
    assert float(weight) == 3


def test_names_for_points_are_refused_in_python(installation: Installation) -> None:
    run = installation.python("-c", "import mndmst; mndmst.HDBSCAN")
    assert f"MissingExtraError: mndmst.HDBSCAN needs {LACKS}" in run.stderr


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_graph_is_solved_and_verified(
    installation: Installation, graph: Path, ranks: int
) -> None:
    file = installation.folder / f"forest-{ranks}.h5"
    assert " weight=8 " in installation.command("solve", graph, "-o", file, ranks=ranks)
    verdict = installation.command("verify", graph, file, ranks=ranks)
    assert verdict.startswith("VERDICT ok n=5 m=4 edges=3 trees=2 weight=8 ")


def test_a_forest_is_updated(
    installation: Installation, graph: Path, forest: Path
) -> None:
    changes = installation.folder / "changes.csv"
    changes.write_text("op,src,dst,weight\ninsert,2,3,4\n")
    after = installation.folder / "after.h5"
    found = installation.command("update", graph, forest, changes, "-o", after)
    assert " weight=12 " in found


@pytest.mark.parametrize("rule", [("--count", 2), ("--threshold", 4)])
def test_a_forest_is_cut(
    installation: Installation, forest: Path, rule: tuple[str, int]
) -> None:
    found = installation.command("cluster", forest, *rule)
    assert found.splitlines()[-1].startswith("RESULT n=5 clusters=")


def test_a_service_answers(installation: Installation, graph: Path) -> None:
    pytest.importorskip("pyarrow")
    code = f"""
import mndmst
with mndmst.Session({str(graph)!r}) as graph:
    print(graph.solve().total_weight, *graph.clusters(count=3))
    graph.clusters(min_size=2)
"""
    run = installation.python("-c", code)
    assert run.stdout.split() == ["8", "0", "0", "0", "1", "2"], run
    assert f"clusters: min_size needs {LACKS}" in run.stderr


def test_the_help_lists_the_commands_that_remain(installation: Installation) -> None:
    text = installation.command("--help")
    assert "    solve " in text
    assert "    hdbscan " not in text
    assert "    linkage " not in text


def test_what_needs_points_is_refused_in_one_line(
    installation: Installation, forest: Path
) -> None:
    points = installation.folder / "points.csv"
    points.write_text("x,y\n0,0\n1,1\n")
    for words in (
        ("hdbscan", points),
        ("linkage", points),
        ("predict", points),
        ("neighbors", points),
        ("cluster", forest, "--min-size", 2),
        ("verify", points, forest),
        ("draw", forest, "--points", points, "-o", installation.folder / "p.svg"),
    ):
        assert LACKS in installation.refusal(*words), words
