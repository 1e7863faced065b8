"""The small graph that comes with the program."""

from pathlib import Path

from ..host.errors import InputError

SOURCE_TREE = Path(__file__).parents[2]


def demo_graph() -> Path:
    """Return the directory of the shipped graph.

    Raises
    ------
    InputError
        If the program was installed without it.
    """
    for folder in (Path.cwd(), SOURCE_TREE):
        if (folder / "partitions" / "demo").is_dir():
            return folder / "partitions" / "demo"
    raise InputError(
        "partitions/demo: the demonstration graph is part of the source tree and was "
        'not installed. Make a graph with "mndmst generate grid2d grid/ --side 100" '
        'and run "mndmst solve grid/".'
    )
