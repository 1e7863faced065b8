"""Optional packages: import them where they are used, or say how to install them."""

from importlib import import_module
from importlib.util import find_spec
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
        If it is not installed, or cannot be loaded, for which memory may be too little.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError)
        if not missing and find_spec(package) is not None:
            reason = " ".join(str(error).split())
            raise MissingExtraError(
                f"{who} {package}, which is installed but cannot be loaded ({reason}). "
                "Allow this process more memory (ulimit -v), or install it again."
            ) from error
        raise MissingExtraError(
            f"{who} {package}, which is not installed. Install it with\n"
            f'    pip install "mndmst[{extra}]"'
        ) from error
