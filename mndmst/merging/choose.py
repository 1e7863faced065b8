"""The choice of a strategy, by facts that all ranks agree on."""

from collections.abc import Sequence
from functools import partial

from ..run.run import Run
from ..steps.boruvka import ExceptionCondition, lightest_cut_edge
from .devices import Devices
from .hosts import HostsFirst
from .messages import Messages
from .strategy import Facts, NotSuitableError, Setting, Strategy

# The first one that does not refuse is taken; the last one never does.
STRATEGIES: Sequence[type[Strategy]] = (Devices, HostsFirst, Messages)
# Why a strategy that was taken has let others take over: only devices do.
GIVEN_UP = "a device has too little memory, or cannot reach another"


def choose(run: Run, exception: ExceptionCondition = lightest_cut_edge) -> Strategy:
    """Return the strategy for a run. Collective.

    The report gets its name, and why each strategy before it was not taken.

    Parameters
    ----------
    exception : callable
        The exception condition (`strategy.py`).
    """
    with run.report.stage("choose"):
        return _first(run, Facts.of(run, exception), exception, STRATEGIES, {})


def _first(
    run: Run,
    facts: Facts,
    exception: ExceptionCondition,
    kinds: Sequence[type[Strategy]],
    refused: dict[str, str],
) -> Strategy:
    """Return the first strategy that suits a run, after others have refused."""
    for number, kind in enumerate(kinds):
        later, given_up = kinds[number + 1 :], refused | {kind.name: GIVEN_UP}
        others = partial(_first, run, facts, exception, later, given_up)
        reason = kind.refuses(run.config.merge, facts)
        if reason is None:
            try:
                strategy = kind(Setting(run, facts, exception, others))
            except NotSuitableError as error:
                reason = str(error)
            else:
                _tell(run, strategy.name, refused)
                return strategy
        refused = refused | {kind.name: reason}
    raise AssertionError("the last strategy never refuses")


def _tell(run: Run, name: str, refused: dict[str, str]) -> None:
    """Note the choice in the report, and print it in a verbose run."""
    run.report.facts["strategy"] = {"name": name, "refused": refused}
    reasons = "; ".join(f"{other}: {reason}" for other, reason in refused.items())
    run.report.progress.detail(
        f"merging by {name}" + (f" ({reasons})" if reasons else "")
    )
    if run.config.merge == Devices.name and name != Devices.name:
        run.report.progress.say(f"merging by {name}: {refused[Devices.name]}")
