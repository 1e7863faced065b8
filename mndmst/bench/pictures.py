"""How threads of the kernel scale, as a picture."""

from pathlib import Path
from typing import Any

from ..host.errors import optional
from ..io.atomic_output import AtomicOutput
from ..io.file_suffixes import BENCH_PICTURE
from ..io.picture_file import write_picture_file
from .results import Case


def plot_threads(cases: list[Case], path: Path, files: AtomicOutput) -> None:
    """Draw the speed-up of the kernel, and the share of the floor, over threads.

    Parameters
    ----------
    cases : list of Case
        Each is a line; those measured with one number of threads are left out.
    path : Path
        Ends with .svg, .png or .pdf.
    files : AtomicOutput
        Names the picture.

    Raises
    ------
    MissingExtraError
        If Matplotlib is not installed.
    OutputError
        If the picture cannot be written.
    """
    figure_of: Any = optional("matplotlib.figure", "plot", "Plots need").Figure
    figure = figure_of(figsize=(7.2, 3.4), layout="constrained")
    speed, floor = figure.subplots(1, 2)
    most = 1
    for case in cases:
        kernels = case.results[: len(case.floors)]
        threads = [measured.threads for measured in case.floors]
        if len(threads) > 1:
            name, most = f"{case.graph}, {case.weights}, {case.order}", max(threads)
            speed.plot(threads, [case.speedup(k) for k in kernels], "o-", label=name)
            floor.plot(threads, [k.floor for k in kernels], "o-", label=name)
    speed.plot([1, most], [1, most], color="grey", linestyle=":", label="ideal")
    for axes in (speed, floor):
        axes.set_xscale("log", base=2)
        axes.set_xlabel("threads")
    speed.set_yscale("log", base=2)
    speed.set_ylabel("times as fast as one")
    floor.set_ylabel("floor, as a share of the time")
    speed.legend(fontsize=7)
    write_picture_file(figure, files, path, BENCH_PICTURE, dpi=110)
