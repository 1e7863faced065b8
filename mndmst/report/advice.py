"""Advice on a run: its slowest part, and a remedy."""

from collections import defaultdict

from ..host.formatting import counted
from .record import Record, seconds_by_kind, stage_rows

# A share of the time that is worth a word.
MUCH = 0.35
START_SECONDS = 2.0
MOST_CORES = 1 << 14  # of a host; a damaged report may say more


def advice(record: Record) -> list[str]:
    """Return sentences about a run, the most useful first; there is at least one.

    Shares are means over the ranks; time in which a rank waits for others counts
    apart.
    """
    sentences = [*_crowded(record)]
    shares = spent(record)
    name = max(shares, key=shares.__getitem__)
    percent = f"{shares[name]:.0%}".replace("%", " %")
    remedy = _REMEDIES[name] if shares[name] >= MUCH else ""
    if name == "start" and _compiled(record) >= START_SECONDS:
        remedy = (
            f"{_compiled(record):.0f} s of it compiled kernels, which the next run on "
            "this machine has already (mndmst compile does it ahead)"
        )
    if name == "wait" and record["num_ranks"] > 1:
        remedy = f"rank {_last(record)} kept the others waiting longest; {remedy}"
    text = f"{percent} of the time {_NAMES[name]}"
    return [*sentences, f"{text}: {remedy}." if remedy else f"{text}."]


_NAMES = {
    "start": "was start-up",
    "read": "was reading",
    "compute": "was computing",
    "merge": "was merging",
    "write": "was writing the result",
    "wait": "ranks waited for each other",
}
_REMEDIES = {
    "start": "a larger graph, or several in one Python program (mndmst.solve), would "
    "make more of it",
    "read": "a faster disk, or ranks on more hosts, would help",
    "compute": "more cores would help, or a GPU",
    "merge": "fewer ranks with more threads each would merge less",
    "write": "leave --labels out if it was given, or write to a faster disk",
    "wait": "fewer ranks, or a network that is faster, would help",
}


def spent(record: Record) -> dict[str, float]:
    """Return the share of the run's time for each kind of stage, and for waiting."""
    ranks = [seconds_by_kind(rank) for rank in record["ranks"]]
    whole = max(record["seconds"], 1e-9) * max(1, len(ranks))
    return {name: sum(rank[name] for rank in ranks) / whole for name in _NAMES}


def _crowded(record: Record) -> list[str]:
    """Return a sentence for each host with fewer cores than threads of ranks."""
    hosts = defaultdict(list)
    for rank in record["ranks"]:
        if rank.get("cores"):
            hosts[rank["host"]].append(rank)
    sentences: dict[str, None] = {}
    for ranks in hosts.values():
        cores = len(set().union(*(_numbers(rank["cores"]) for rank in ranks)))
        threads = sum(rank.get("threads", 1) for rank in ranks)
        if len(ranks) > cores:
            text = f"{len(ranks)} ranks on {counted(cores, 'core')}: {cores} would be"
            sentences[f"{text} faster."] = None
        elif threads > cores:
            each = max(1, cores // len(ranks))
            text = f"{threads} threads of {counted(len(ranks), 'rank')} on "
            text += f"{counted(cores, 'core')}: --threads {each} would be faster."
            sentences[text] = None
    return list(sentences)


def _numbers(ranges: str) -> set[int]:
    """Return the numbers that `comm.placement.ranges` has written."""
    numbers: set[int] = set()
    for run in ranges.split(","):
        first, _, last = run.partition("-")
        begin, end = int(first), int(last or first) + 1
        numbers |= set(range(begin, min(end, begin + MOST_CORES)))
    return numbers


def _compiled(record: Record) -> float:
    """Return the longest time that a rank took for its kernels."""
    rows = {row.name: row.most for row in stage_rows(record)}
    return rows.get("kernels", 0.0)


def _last(record: Record) -> int:
    """Return the rank that waited least."""

    def waited(rank: Record) -> float:
        return sum(e.get("seconds_waited", 0.0) for e in rank["stages"])

    return int(min(record["ranks"], key=waited)["rank"])
