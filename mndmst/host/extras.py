"""Optional packages: import them where they are used, or say how to install them."""

from importlib import import_module
from typing import Any

from .errors import MissingExtraError


def optional(module: str, extra: str, who: str = "This needs") -> Any:
    """Return a module of an optional package.

    Parameters
    ----------
    extra : str
        The extra of mndmst that installs it.
    who : str
        The beginning of what is said if it is missing.

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
            f"{who} {package}, which is not installed. Install it with\n"
            f'    pip install "mndmst[{extra}]"'
        ) from error
