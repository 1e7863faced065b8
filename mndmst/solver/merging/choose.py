"""The choice of a strategy, by facts that all ranks agree on."""

from collections.abc import Sequence
from functools import partial

from ..contract import ExceptionCondition, lightest_cut_edge
from ..run import Run
from .hosts import MergeOnHosts, ReplicateComponents
from .messages import MergeByMessages, MergeByRounds, MergeInRings
from .peer_devices import MergeOnDevices
from .strategy import Facts, NotSuitableError, Strategy, StrategySetting

AUTO: Sequence[type[Strategy]] = (MergeOnDevices, MergeOnHosts, MergeByMessages)
# The strategies to try, in order, for each value of the option `merge`. The last one
# suits every run.
CANDIDATES: dict[str, Sequence[type[Strategy]]] = {
    "auto": AUTO,
    "devices": AUTO,
    "hosts": (MergeOnHosts, MergeByMessages),
    "replicated": (ReplicateComponents, MergeByMessages),
    "messages": (MergeByMessages,),
    "ring": (MergeInRings,),
    "boruvka": (MergeByRounds,),
}
# Reason in the report if `MergeOnDevices`, once chosen, forwards to the next strategy
GIVEN_UP = "a device has too little memory, or cannot reach another"


def choose(run: Run, exception: ExceptionCondition = lightest_cut_edge) -> Strategy:
    """Return the strategy for a run. Collective.

    The report gets its name, and a reason for each candidate before it.
    """
    with run.report.stage("choose"):
        facts = Facts.of(run, exception)
        return _first(run, facts, exception, CANDIDATES[run.config.merge], {})


def _first(
    run: Run,
    facts: Facts,
    exception: ExceptionCondition,
    kinds: Sequence[type[Strategy]],
    refused: dict[str, str],
) -> Strategy:
    """Return the first strategy that suits a run.

    `refused` has the reasons why earlier candidates did not.
    """
    for number, kind in enumerate(kinds):
        later, given_up = kinds[number + 1 :], refused | {kind.name: GIVEN_UP}
        choose_next = partial(_first, run, facts, exception, later, given_up)
        reason = kind.refuses(facts)
        if reason is None:
            try:
                strategy = kind(StrategySetting(run, facts, exception, choose_next))
            except NotSuitableError as error:
                reason = str(error)
            else:
                _note_choice(run, strategy.name, refused)
                return strategy
        refused = refused | {kind.name: reason}
    raise AssertionError("the last strategy suits every run")


def _note_choice(run: Run, name: str, refused: dict[str, str]) -> None:
    """Record the choice in the report, and print it in a verbose run.

    If the user named a strategy that does not suit, every run prints the choice.
    """
    run.report.facts["strategy"] = {"name": name, "refused": refused}
    reasons = "; ".join(f"{other}: {reason}" for other, reason in refused.items())
    run.report.progress.detail(
        f"merging by {name}" + (f" ({reasons})" if reasons else "")
    )
    wanted = run.config.merge
    if wanted in refused and name != wanted:
        run.report.progress.say(f"merging by {name}: {refused[wanted]}")
