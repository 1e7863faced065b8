"""Optional packages: import them where they are used, or say how to install them."""

from importlib import import_module
from typing import Any

from .errors import MissingExtraError


def optional(module: str, extra: str) -> Any:
    """Return a module of an optional package.

    Parameters
    ----------
    extra : str
        The extra of mndmst that installs it.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"this needs {package}, which is not installed; "
            f"pip install 'mndmst[{extra}]'"
        ) from error
