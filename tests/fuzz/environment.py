"""Values of variables of the environment: lines NAME=VALUE."""

from pathlib import Path

from mndmst.host.caches import weak_ancestor
from mndmst.host.errors import MndmstError
from mndmst.solver.config import DEFAULTS, Config

from .inputs import check_refusal

NAMES = [f"MNDMST_{name.upper()}" for name in DEFAULTS]


def one_input(data: bytes) -> None:
    """Read options and folders from variables, or refuse them."""
    for line in data.decode(errors="surrogateescape").split("\n"):
        name, _, value = line.partition("=")
        if "\0" in value or not name:  # no variable has such a value
            continue
        if name in ("MNDMST_CACHE_DIR", "MNDMST_KERNELS"):
            try:
                weak_ancestor(Path(value))
            except OSError:
                continue
        else:
            try:
                Config.load(None, {}, {name: value})
            except MndmstError as error:
                check_refusal(error, f"{name}=")


def seeds() -> list[bytes]:
    """Return a value of each option."""
    values = {"backend": "cpu", "merge": "ring", "memory": "4GiB", "ratio": "1:2"}
    lines = [f"MNDMST_{n.upper()}={values.get(n, DEFAULTS[n])}" for n in DEFAULTS]
    folders = ["MNDMST_CACHE_DIR=/tmp/../var/./x", "MNDMST_KERNELS=a:b"]
    return [line.encode() for line in (*lines, *folders)]
