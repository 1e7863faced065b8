"""Files of options (`--config`) and recipes of graphs, both TOML."""

from mndmst.host.errors import MndmstError
from mndmst.host.memory import Budget
from mndmst.io.partitioner.graph_recipe import load_recipe, open_recipe
from mndmst.solver.config import Config

from .inputs import ROOT, check_refusal, scratch_file

# A recipe may ask for a large graph, which is not generated here
MOST_VERTICES = 1 << 12
MEMORY = Budget(1 << 30)


def one_input(data: bytes) -> None:
    """Read options, or a recipe and its graph; or refuse the file."""
    path = scratch_file("input.toml", data)
    try:
        Config.load(path, {}, {})
    except MndmstError as error:
        check_refusal(error, path.name)
    try:
        recipe = load_recipe(path)
        graph = open_recipe(recipe, budget=MEMORY)
        if graph.num_vertices is not None and graph.num_vertices <= MOST_VERTICES:
            assert graph.name
    except MndmstError as error:
        check_refusal(error, path.name)


def seeds() -> list[bytes]:
    """Return options of each type, and recipes of the repository."""
    recipes = (ROOT / "partitions").glob("*.toml")
    small = sorted(recipes, key=lambda path: path.stat().st_size)[:6]
    options = (
        b'backend = "cpu"\nratio = 0.5\nthreads = 2\nmemory = "4GiB"\n',
        b'merge = "ring"\ngroup_size = 2\nlight_edges = 0.4\ntimeout = 5\n',
    )
    return [*options, *(path.read_bytes() for path in small)]
