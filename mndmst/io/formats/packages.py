"""The optional packages that some formats need."""

import importlib
from typing import Any

from ...host.errors import optional


def import_extra(*modules: str) -> Any:
    """Import modules of an optional package and return the package.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    for module in modules:
        optional(module, "formats", "This format needs")
    return importlib.import_module(modules[0].partition(".")[0])


def import_scipy() -> Any:
    """Return SciPy with `scipy.io` and `scipy.sparse`; see `import_extra`."""
    return import_extra("scipy.io", "scipy.sparse")
