"""Some random tables of the campaign: the right numbers, or one line that asks."""

import sys

from processes import ROOT

sys.path.insert(0, str(ROOT))

from tests.campaign import tables
from tests.campaign.case import Case
from tests.campaign.results import Results


def test_random_tables() -> None:
    results = Results(1)
    for number in range(250):
        tables.run_one(results, Case(results.seed, "tables", number))
    assert results.failures == []
