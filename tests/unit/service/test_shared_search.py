"""All ranks search for the points that rank 0 holds; the forest does not show it."""

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the service needs pyarrow")

from thread_ranks import on_ranks

from mndmst.comm.communicator import Comm
from mndmst.host.errors import ConfigError
from mndmst.points.point_forest import PointForest
from mndmst.points.versions.point_version import ForestRule
from mndmst.service.limits import ServiceMemory
from mndmst.service.live_points import shared_search
from mndmst.service.live_points.shared_search import SharedSearch

POINTS = np.round(np.random.default_rng(1).random((100, 3)), 1)  # some are equal
RANKS = 3


def searched(comm: Comm, *counts: int) -> list[PointForest] | None:
    """Search the first points of each count on all ranks."""
    search = SharedSearch(comm, ServiceMemory(0), 1)
    rule = search.rule("manhattan", 4)
    return search.run(lambda: [rule.forest_of(POINTS[:count]) for count in counts])


@pytest.mark.parametrize("ranks", [1, RANKS])
def test_searches_of_all_ranks_find_the_same_forest(ranks: int) -> None:
    counts = (100, 61, 2, 1, 0)
    first, *others = on_ranks(ranks, lambda comm: searched(comm, *counts))
    assert others == [None] * (ranks - 1)
    for found, count in zip(first, counts, strict=True):
        expected = ForestRule("manhattan", 4).forest_of(POINTS[:count]).forest
        for name in ("src", "dst", "weight"):
            columns = getattr(found.forest, name), getattr(expected, name)
            np.testing.assert_array_equal(*columns)


def test_every_rank_searches_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[tuple[int, int]] = []
    real = shared_search.distributed_forest

    def noted(comm: Comm, part: np.ndarray, *given: object, **named: object) -> object:
        parts.append((comm.rank, len(part)))
        return real(comm, part, *given, **named)

    monkeypatch.setattr(shared_search, "distributed_forest", noted)
    on_ranks(RANKS, lambda comm: searched(comm, 100))
    assert sorted(parts) == [(0, 33), (1, 33), (2, 34)]


@pytest.mark.parametrize("searches", [0, 1, 2])
def test_an_error_of_rank_0_ends_the_work_on_all(searches: int) -> None:
    def program(comm: Comm) -> str:
        search = SharedSearch(comm, ServiceMemory(0), 1)

        def work() -> None:
            for _ in range(searches):
                search.rule("euclidean", 2).forest_of(POINTS)
            raise ConfigError("too few points would stay")

        with pytest.raises(ConfigError) as refused:
            search.run(work)
        assert refused.value.ranks == comm.size
        return f"{refused.value}, {len(search.run(lambda: [1]) or [])}"

    found = on_ranks(RANKS, program)
    assert found == [f"too few points would stay, {n}" for n in (1, 0, 0)]


def test_a_rank_without_memory_for_its_share_refuses_the_search() -> None:
    many = np.random.default_rng(2).random((30000, 3))

    def program(comm: Comm) -> str:
        limit = 1 << 20 if comm.rank == 2 else 1 << 40
        search = SharedSearch(comm, ServiceMemory(limit, 1), 1)
        with pytest.raises(ConfigError) as refused:
            search.run(lambda: search.rule("euclidean", 2).forest_of(many))
        return str(refused.value)

    for found in on_ranks(RANKS, program):
        assert "too little for a search of 10,000 points" in found
