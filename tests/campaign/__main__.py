"""See the package's text."""

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from mndmst.comm.mpi_library import remove_leftovers

from . import (
    clouds,
    damages,
    disks,
    files,
    ids,
    kills,
    marks,
    maxima,
    solves,
    tables,
    version_files,
)
from .case import Case
from .commands import Commands
from .results import MINUTE, Results
from .stock import make_stock

# The share of the time that each kind of cases gets
SHARES = {
    "solves": 0.2, "kills": 0.12, "damages": 0.12, "disks": 0.08, "services": 0.18,
    "ids": 0.1, "maxima": 0.04, "tables": 0.04, "marks": 0.02, "clouds": 0.02,
    "files": 0.03, "versions": 0.05,
}  # fmt: skip


class Campaign:
    """Does cases of all kinds in turn.

    Parameters
    ----------
    seed : int
    folder : Path
        Where files are kept that several cases need.
    commands : Commands
    """

    def __init__(self, seed: int, folder: Path, commands: Commands) -> None:
        self.results = Results(seed)
        self._commands = commands
        self._stock = folder / "stock"

    def run(self, minutes: float, kinds: list[str]) -> None:
        """Do cases until the minutes are over; then the last one comes to its end."""
        kinds = [kind for kind in kinds if kind != "services" or has_services()]
        spent, number = dict.fromkeys(kinds, 0.0), dict.fromkeys(kinds, 0)
        end = time.monotonic() + MINUTE * minutes
        while (begin := time.monotonic()) < end:
            kind = min(kinds, key=lambda kind: spent[kind] / SHARES[kind])
            if kind == "solves":
                number[kind] = solves.run_many(self.results, number[kind], end - begin)
            else:
                self.run_one(Case(self.results.seed, kind, number[kind]))
                number[kind] += 1
            spent[kind] += time.monotonic() - begin

    def run_one(self, case: Case) -> None:
        """Do one case alone."""
        run = self._runners().get(case.kind)
        if run is None:
            sys.exit(f"there is no kind {case.kind}; give one of {', '.join(SHARES)}")
        run(case)

    def _runners(self) -> dict[str, Callable[[Case], None]]:
        return {
            "solves": lambda case: solves.run_one(self.results, case),
            "tables": lambda case: self.results.judge(case, tables.check),
            "marks": lambda case: self.results.judge(case, marks.check),
            "clouds": lambda case: self.results.judge(case, clouds.check),
            "files": lambda case: self.results.judge(case, files.check),
            "versions": lambda case: self.results.judge(
                case,
                lambda draw, folder: version_files.check(draw, folder, self._commands),
            ),
            "maxima": lambda case: self.results.judge(case, maxima.check),
            "ids": lambda case: self.results.judge(
                case, lambda draw, folder: ids.check(draw, folder, self._commands)
            ),
            "kills": lambda case: kills.run_one(self.results, case),
            "services": lambda case: run_service(self.results, case),
            "damages": lambda case: damages.run_one(
                self.results, case, self._commands, self.stock()
            ),
            "disks": lambda case: disks.run_one(
                self.results, case, self._commands, self.stock()
            ),
        }

    def stock(self) -> Path:
        """Return the folder of whole files, made when it is needed first."""
        if not self._stock.exists():
            self._stock.mkdir()
            make_stock(self._stock, self._commands)
        return self._stock


def has_services() -> bool:
    """Return whether the package that services need is installed."""
    return find_spec("pyarrow") is not None


def run_service(results: Results, case: Case) -> None:
    """Do a case of services, whose modules need an optional package."""
    from . import service_cases

    service_cases.run_one(results, case)


def main() -> int:
    """Run a campaign, or one case; return 1 if there was a failure."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--kinds", nargs="+", choices=list(SHARES), default=list(SHARES)
    )
    parser.add_argument("--case", help="KIND-NUMBER: repeat this one alone")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        stack.callback(remove_leftovers, age=0)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        commands = stack.enter_context(Commands(folder))
        campaign = Campaign(arguments.seed, folder, commands)
        if arguments.case:
            kind, _, number = arguments.case.rpartition("-")
            campaign.run_one(Case(arguments.seed, kind, int(number)))
        else:
            campaign.run(arguments.minutes, arguments.kinds)
        campaign.results.tell()
    return int(bool(campaign.results.failures))


if __name__ == "__main__":
    sys.exit(main())
