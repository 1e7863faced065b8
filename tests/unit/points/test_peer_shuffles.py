"""Clusters equal those of hdbscan and scikit-learn that no order of rows changes."""

import warnings

import pytest

pytest.importorskip("sklearn")

from peer_shuffles import METHODS, agreement, data_sets, of_mndmst, survivors

SETS = dict(data_sets())


@pytest.mark.parametrize("package", ["hdbscan", "sklearn"])
@pytest.mark.parametrize("name", ["iris", "wine", "moons", "clouds 8", "blobs"])
def test_what_survives_shuffles_is_equal(package: str, name: str) -> None:
    pytest.importorskip(package)
    points, compared = SETS[name][:250], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in METHODS:
            for samples in (1, 4):
                first, there = survivors(package, points, samples, method, 5)
                ours = agreement(of_mndmst(points, samples, method), first)
                for part, survives in there.items():
                    assert ours[part] or not survives, (method, samples, part)
                    compared += survives
    assert compared > 3
