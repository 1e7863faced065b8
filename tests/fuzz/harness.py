"""Run one target by libFuzzer: `python -m tests.fuzz.harness TARGET OPTIONS`."""

import sys
from importlib import import_module

import atheris

from mndmst.native.cache_dirs import PACKAGE, kernel_files

# Numba could not compile kernels that call Atheris
KERNELS = [
    ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
    for file in kernel_files(PACKAGE)
]


def main() -> None:
    """Import a target, read its seeds, and mutate them. It does not return.

    The seeds are read first, so that what they import counts coverage, and is compiled
    before an input is timed.
    """
    name, *options = sys.argv[1:]
    with atheris.instrument_imports(include=["mndmst"], exclude=KERNELS):
        target = import_module(f"{__package__}.{name}")
        inputs = import_module(f"{__package__}.inputs")
        for folder in (inputs.CORPUS, inputs.SCRATCH):
            folder.mkdir(exist_ok=True)
        for number, seed in enumerate(target.seeds()):
            (inputs.CORPUS / f"seed-{number}").write_bytes(seed)
            target.one_input(seed)
    atheris.Setup([name, *options], target.one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
