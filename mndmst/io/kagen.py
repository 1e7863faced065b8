"""Random graphs made by KaGen [1], which makes them whole, in one process.

[1] Funke, Lamm, Meyer, Penschuck, Sanders, Schulz, Strash and von Looz:
Communication-free massively distributed graph generation. JPDC 131, 2019.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..graph.order import id_dtype
from ..host.errors import ConfigError, MissingExtraError, MndmstError
from .random_edges import RandomEdges

# Each kind with its parameters and their defaults; None must be given.
KAGEN_KINDS: dict[str, dict[str, Any]] = {
    "rgg2d": {"n": None, "degree": 16.0},
    "rgg3d": {"n": None, "degree": 16.0},
    "rhg": {"n": None, "degree": 16.0, "gamma": 2.8},
    "grid2d": {"side": None, "keep": 1.0},
    "grid3d": {"side": None, "keep": 1.0},
}


class KaGenEdges(RandomEdges):
    """What KaGen makes of some parameters; made when it is read."""

    seekable = False
    rereadable = False

    def __init__(
        self, kind: str, seed: int, dtype: np.dtype, parameters: dict[str, Any]
    ) -> None:
        super().__init__(kind, seed, dtype, parameters)
        self.kagen = import_kagen()
        self.length = 1

    def ends(self, begin: int, end: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the ends of all edges."""
        kagen = self.kagen.KaGen()
        kagen.use_edge_list_representation()
        kagen.set_seed(self.seed)
        try:
            graph = _make(kagen, self.kind, **self.parameters)
        except MndmstError:
            raise
        except (ValueError, RuntimeError, TypeError, OverflowError) as error:
            raise ConfigError(
                f"KaGen cannot make {self.kind} of {self.parameters}: {error}"
            ) from error
        self.num_vertices = graph.num_vertices()
        ends = graph.edges().reshape(-1, 2)
        for low in range(0, max(1, len(ends)), self.PIECE):
            piece = ends[low : low + self.PIECE].astype(id_dtype(self.num_vertices))
            yield piece[:, 0].copy(), piece[:, 1].copy()


def _make(kagen: Any, kind: str, **given: Any) -> Any:
    if kind in ("rgg2d", "rgg3d"):
        maker = getattr(kagen, f"generate_{kind}_nm")
        return maker(given["n"], round(given["n"] * given["degree"] / 2))
    if kind == "rhg":
        return kagen.generate_rhg(given["gamma"], given["n"], given["degree"])
    sides = [given["side"]] * int(kind[4])
    return getattr(kagen, f"generate_{kind}")(*sides, given["keep"])


def import_kagen() -> Any:
    """Return KaGen.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        import kagen
    except ImportError as error:
        raise MissingExtraError(
            f"Graphs of the kinds {', '.join(KAGEN_KINDS)} need KaGen, which is not "
            'installed. Install it with\n    pip install "mndmst[generate]"'
        ) from error
    return kagen
