"""What a report says of a run in words."""

import pytest

pytest.importorskip("matplotlib", reason="needs matplotlib")

from test_report_page import run

from mndmst.report.advice import advice, spent
from mndmst.report.record import command, meanings, options


def test_commands_are_those_of_any_machine() -> None:
    record = {"command": ["/a/b/mndmst", "solve", "x"], "num_ranks": 1}
    assert command(record) == "mndmst solve x"
    record = {"command": ["/a/b/program.py", "x"], "num_ranks": 2}
    assert command(record) == "mpirun -n 2 python program.py x"
    assert options({"config": {"memory": 3 << 30, "leader_edges": 1000000}}) == {
        "--memory": "3,072 MiB",
        "--set leader_edges": "1,000,000",
    }
    assert meanings()["ring"] == "members of a group pass segments on and contract"


@pytest.mark.parametrize(
    ("cores", "threads", "said"),
    [
        ("0-1", 1, "3 ranks on 2 cores: 2 would be faster."),
        ("4-5,9", 2, "6 threads of 3 ranks on 3 cores: --threads 1 would be faster."),
        ("0-5", 2, None),
        (None, 9, None),
    ],
)
def test_advice_on_cores(cores: str | None, threads: int, said: str | None) -> None:
    record = run()
    for rank in record["ranks"]:
        rank |= {"threads": threads, "cores": cores}
    first = advice(record)[0]
    assert first == said if said else "cores" not in first


@pytest.mark.parametrize(
    ("stage", "seconds", "waited", "said"),
    [
        ("import", 9, 0, "was start-up: a larger graph"),
        ("kernels", 9, 0, "9 s of it compiled kernels"),
        ("read", 9, 0, "was reading: a faster disk"),
        ("indComp", 9, 0, "was computing: more cores"),
        ("leaders", 9, 0, "was merging: fewer ranks"),
        ("write", 9, 0, "was writing the result"),
        ("ring", 9, 8, "ranks waited for each other: rank 2 kept the others waiting"),
    ],
)
def test_advice_is_on_what_took_longest(
    stage: str, seconds: float, waited: float, said: str
) -> None:
    record = run()
    for rank in record["ranks"]:
        late = waited - rank["rank"] / 10
        rank["stages"].append(
            {"stage": stage, "begin": 2.6, "seconds": seconds, "seconds_waited": late}
        )
    record["seconds"] = 2.6 + seconds
    assert said in advice(record)[-1]
    assert sum(spent(record).values()) == pytest.approx(1)
