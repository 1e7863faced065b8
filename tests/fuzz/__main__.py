"""Run fuzz targets; see the package's text."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from . import TARGETS

ROOT = Path(__file__).parents[2]
# An input may take this long, and a process this memory
MOST_SECONDS, MOST_MEGABYTES = 60, 3000
FAULT_LINES = 40
FAULT = "fault-"  # begins the names that libFuzzer gives inputs of faults


class Ended(NamedTuple):
    """The end of a target: its inputs, the code that they reached, and its fault."""

    inputs: int
    reached: int
    fault: str  # empty without one


def run(target: str, options: list[str], faults: Path) -> Ended:
    """Run a target in a process and a folder of its own; keep only inputs of faults."""
    search = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    with tempfile.TemporaryDirectory(prefix="mndmst-fuzz-") as folder:
        command = [
            sys.executable, "-m", f"{__package__}.harness", target, *options,
            f"-timeout={MOST_SECONDS}", f"-rss_limit_mb={MOST_MEGABYTES}",
            f"-artifact_prefix={folder}/{FAULT}", "-print_final_stats=1",
        ]  # fmt: skip
        done = subprocess.run(
            command, cwd=folder, env=os.environ | {"PYTHONPATH": search},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", check=False,
        )  # fmt: skip
        kept = []
        for found in Path(folder).glob(f"{FAULT}*"):
            faults.mkdir(parents=True, exist_ok=True)
            name = f"{target}-{found.name.removeprefix(FAULT)}"
            kept.append(f"kept: {shutil.copyfile(found, faults / name)}")
    inputs = re.findall(r"number_of_executed_units: (\d+)", done.stdout)
    reached = re.findall(r" cov: (\d+) ", done.stdout)
    lines = done.stdout.splitlines()[-FAULT_LINES:] + kept
    fault = "\n".join(lines) * bool(done.returncode)
    return Ended(int((inputs or "0")[-1]), int((reached or "0")[-1]), fault)


def main() -> int:
    """Fuzz targets side by side; return 1 if one has found a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=24.0, help="for each target")
    parser.add_argument("--jobs", type=int, default=2, help="targets at a time")
    parser.add_argument("--input", type=Path, help="read this input alone")
    parser.add_argument(
        "--faults", type=Path, default=Path("faults"), help="folder for their inputs"
    )
    given = parser.parse_args()
    unknown = set(given.targets) - set(TARGETS)
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    if find_spec("atheris") is None:
        parser.error("needs atheris: pip install atheris")
    if given.input is None:
        options = ["corpus", f"-max_total_time={max(1, round(given.seconds))}"]
    else:
        options = [str(given.input.resolve())]
    status = 0
    targets = given.targets or TARGETS
    with ThreadPoolExecutor(given.jobs) as pool:
        results = pool.map(lambda name: run(name, options, given.faults), targets)
        for target, ended in zip(targets, results, strict=True):
            print(f"{target}: {ended.inputs} inputs, {ended.reached} places reached")
            if ended.fault:
                print(ended.fault)
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
