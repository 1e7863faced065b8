"""Which way to merge is predicted to be fastest, on which network."""

import pytest

from mndmst.comm.network import LOCAL, Network
from mndmst.merging.costs import FIRST, HALF, Costs, Left

FAST = Network(latency=2e-6, bandwidth=10e9)
SLOW = Network(latency=5e-5, bandwidth=2e6)
FAR = Network(latency=2e-2, bandwidth=100e6)
PATHS = {"leader", "levels", "round"}


def left(edges: float, components: float | None = None) -> Left:
    return Left(edges, 30 * edges, edges if components is None else components)


def best(network: Network, edges: float, ranks: int = 16, share: float = FIRST) -> str:
    seconds = Costs(network, ranks, 4).predict(left(edges), ranks, share)
    assert seconds.keys() == PATHS
    return Costs.cheapest(seconds)


def test_the_path_follows_the_network() -> None:
    """A slow link speaks for rounds, a long way for the leader."""
    assert best(FAST, 10_000) == "leader"
    assert best(SLOW, 10_000) == "round"
    assert best(FAR, 200_000) == "leader"
    assert best(FAST, 2_000_000) == "round"


@pytest.mark.parametrize("network", [FAST, SLOW, FAR, LOCAL])
def test_few_edges_go_to_the_leader_and_many_do_not(network: Network) -> None:
    assert best(network, 10) == "leader"
    assert best(network, 1e9) == "round"


def test_a_round_that_gains_nothing_is_never_chosen() -> None:
    for network in (FAST, SLOW, FAR, LOCAL):
        assert best(network, 1e6, share=1.0) != "round"


def test_levels_pay_where_forests_of_the_same_components_meet() -> None:
    costs = Costs(SLOW, 64, 4)
    apart = costs.predict(left(1e6), 64, HALF)
    assert apart["leader"] < apart["levels"]
    alike = costs.predict(left(1e6, components=2e4), 64, HALF)
    assert alike["levels"] < alike["leader"] == apart["leader"]


def test_one_group_is_the_leader() -> None:
    seconds = Costs(FAST, 4, 4).predict(left(1e5), 4, HALF)
    assert seconds.keys() == {"leader", "round"}


def test_ranks_of_a_host_merge_through_its_memory() -> None:
    """And one of them alone has the whole link of its host."""
    spread = Costs(SLOW, 16, 4).predict(left(1e5), 16, HALF)
    packed = Costs(SLOW._replace(ranks_per_host=4), 16, 4)
    assert packed.predict(left(1e5), 16, HALF)["levels"] < spread["levels"] / 3
