"""Write a Matplotlib figure to a file that carries mndmst's mark."""

from pathlib import Path
from typing import Any

from .atomic_output import AtomicOutput
from .file_suffixes import Kind
from .overwrite_rule import text_mark

# Where each format has the name of the program.
_PLACES = {"png": "Software", "svg": "Creator", "pdf": "Creator"}


def write_picture_file(
    figure: Any, files: AtomicOutput, path: Path, kind: Kind, **how: Any
) -> None:
    """Write a figure to a file that becomes `path` with the other files.

    Parameters
    ----------
    path : Path
        Its suffix, .png, .svg or .pdf, chooses the format.
    **how
        Further arguments of `savefig`.
    """
    suffix = path.suffix[1:]
    mark = {_PLACES[suffix]: text_mark(kind)}
    with files.file(path, kind) as temporary:
        figure.savefig(temporary, format=suffix, metadata=mark, **how)
