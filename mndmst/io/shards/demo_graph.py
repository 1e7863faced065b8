"""The demo graph that is installed with the program."""

import sysconfig
from pathlib import Path

from ...host.errors import InputError

# The checkout, if the package is imported from one.
CHECKOUT = Path(__file__).parents[3]
# Below where an installation puts data; see pyproject.toml.
INSTALLED = Path("share", "mndmst", "demo")


def demo_graph() -> Path:
    """Return the directory of the shipped graph.

    Raises
    ------
    InputError
        If the program was installed without it.
    """
    places = [folder / "partitions" / "demo" for folder in (Path.cwd(), CHECKOUT)]
    places.append(Path(sysconfig.get_path("data")) / INSTALLED)
    places.append(
        Path(sysconfig.get_path("data", sysconfig.get_preferred_scheme("user")))
        / INSTALLED
    )
    for place in places:
        if place.is_dir():
            return place
    raise InputError(
        "partitions/demo: the demonstration graph is neither here nor where the "
        'program was installed. Make a graph with "mndmst generate grid2d grid/ '
        '--side 100" and run "mndmst solve grid/".'
    )
