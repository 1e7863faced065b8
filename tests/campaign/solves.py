"""Many solves in one job: starting ranks takes longer than a small graph."""

import json
import tempfile
from typing import Any

import pytest
from processes import finish, on_ranks, start

from .case import Case, CaseError
from .results import Results

# Ranks of the jobs, one after the other; a job has at most so many cases.
RANKS = (3, 2, 16, 4, 1)
CASES = 100
# Seconds for a job's cases, and beyond them for one that compiles kernels.
SECONDS, LONGEST = 30, 240


def run_many(results: Results, first: int, seconds: float) -> int:
    """Do cases from a number on; return the number of the next job's first."""
    case = Case(results.seed, "solves", first)
    run_job(results, case, CASES - first % CASES, min(SECONDS, int(seconds) + 1))
    return (first // CASES + 1) * CASES


def run_one(results: Results, case: Case) -> None:
    """Do one case alone."""
    run_job(results, case, 1, SECONDS)


def run_job(results: Results, case: Case, count: int, seconds: int) -> None:
    """Do so many cases in one job; a case that ends it is a failure."""
    ranks = RANKS[case.number // CASES % len(RANKS)]
    program = ("-m", "mpi4py", "-m", "tests.campaign.solve_program")
    numbers = case.seed, case.number, count, seconds
    begun = case
    with tempfile.TemporaryDirectory() as folder:
        command = on_ranks(ranks, *program, folder, *numbers)
        try:
            run = finish(start(command), seconds + LONGEST)
            lines, problem = run.stdout.splitlines(), run.stderr
        except pytest.fail.Exception as error:  # it went on for too long
            run, problem = None, str(error)
            lines = problem.splitlines()
    for line in map(_read, lines):
        if "begin" in line:
            begun = case._replace(number=line["begin"])
        elif "outcome" in line:
            results.add(begun, f"{line['outcome']} ({ranks} ranks)")
        elif "problem" in line:
            results.add(begun, "failed", CaseError(line["problem"]))
    if run is None or run.returncode:
        results.add(begun, "failed", CaseError(problem[-2000:]))


def _read(line: str) -> dict[str, Any]:
    return json.loads(line) if line.startswith("{") else {}
