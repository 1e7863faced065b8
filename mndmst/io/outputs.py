"""Refuse results that would replace what they are made of, before any work is done."""

from collections.abc import Iterable
from pathlib import Path

from ..host.errors import OutputError
from .layout import INDEX_NAME, writing


def check_outputs(
    inputs: Iterable[str | Path | None], outputs: Iterable[Path | None]
) -> None:
    """Make sure that no output replaces an input, a graph's file or another output.

    Parameters
    ----------
    inputs, outputs : iterable of path or None
        None stands for one that was not asked for.

    Raises
    ------
    OutputError
        If one would. Names are compared without links and dots in them.
    """
    read = {Path(path).resolve() for path in inputs if path is not None}
    written: set[Path] = set()
    for path in outputs:
        if path is None:
            continue
        with writing(path):
            place = path.resolve()
            beside_parts = (place.parent / INDEX_NAME).exists()
        if place in read:
            raise OutputError(
                f"{path}: is read by this command, and would be replaced. Give the "
                "output another name."
            )
        if place in written:
            raise OutputError(
                f"{path}: two outputs would be written there. Give each a name of its "
                "own."
            )
        if beside_parts:
            raise OutputError(
                f"{path}: lies in the directory of a graph, whose files it might "
                "replace. Give a path outside it."
            )
        written.add(place)
