"""The command line names clusters by their labels, as files and pictures do."""

import numpy as np
import pytest

from mndmst.cli.cluster import print_sizes


def test_clusters_are_named_by_their_labels(capsys: pytest.CaptureFixture[str]) -> None:
    labels = np.repeat([0, 1, 2, -1], [2, 5, 1, 3])
    print_sizes(labels, "point")
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "cluster 1 5 points",
        "cluster 0 2 points",
        "cluster 2 1 point",
        "noise 3 points",
    ]


def test_the_smallest_of_many_clusters_are_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_sizes(np.repeat(np.arange(12), np.arange(1, 13)), "vertex")
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "cluster 11 12 vertices"
    assert lines[9:] == ["cluster 2 3 vertices", "2 others 3 vertices"]


def test_numbers_of_no_cluster_are_not_shown(capsys) -> None:
    """Numbers that stay have gaps after clusters have died."""
    print_sizes(np.array([7, 7, 3, -1]), "point")
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert shown == [
        ["cluster", "7", "2", "points"],
        ["cluster", "3", "1", "point"],
        ["noise", "1", "point"],
    ]
