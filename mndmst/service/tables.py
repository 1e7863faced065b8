"""Tables that the command `client` reads and writes."""

from pathlib import Path
from typing import Any

import numpy as np

from ..host.errors import ConfigError, InputError, MndmstError, optional
from ..io.atomic_output import whole_file
from ..io.file_access import check_regular

KINDS = {".csv": "csv", ".parquet": "parquet", ".arrow": "feather"}


def read_array(path: Path) -> np.ndarray:
    """Return the one-dimensional array in an .npy file.

    Raises
    ------
    InputError
        If there is none.
    """
    try:
        check_regular(path)
        array: np.ndarray = np.load(path, allow_pickle=False)
    except MndmstError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is not an .npy file ({error})") from error
    if array.ndim != 1:
        raise InputError(f"{path}: has shape {array.shape}; give one dimension")
    return array


def read_columns(path: Path, names: tuple[str, ...]) -> tuple[np.ndarray, ...]:
    """Return columns of a table.

    Raises
    ------
    InputError
        If it cannot be read, or has others.
    """
    module = _module(path)
    arrow = optional("pyarrow", "serve", "Tables need")
    try:
        check_regular(path)
        read = module.read_csv if path.suffix == ".csv" else module.read_table
        table = read(path)
        return tuple(table[name].to_numpy() for name in names)
    except (OSError, KeyError, arrow.ArrowException) as error:
        raise InputError(
            f"{path}: is not a table with columns {', '.join(names)} ({error})"
        ) from error


def write_table(table: Any, path: Path) -> None:
    """Write a table, whole or not at all.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    module = _module(path)
    names = {".csv": "write_csv", ".parquet": "write_table", ".arrow": "write_feather"}
    with whole_file(path) as file:
        getattr(module, names[path.suffix])(table, file)


def _module(path: Path) -> Any:
    if path.suffix not in KINDS:
        raise ConfigError(f"{path}: give a name that ends in {', '.join(KINDS)}")
    return optional(f"pyarrow.{KINDS[path.suffix]}", "serve", "Tables need")
