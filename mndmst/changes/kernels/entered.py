"""The edges that have entered a forest, which are kept in the order of pairs."""

from ...native.kernel import kernel


@kernel
def merge_entered(some, stays, others, merged):
    """Merge edges; all are in the order of pairs.

    Parameters
    ----------
    some, others : PlacedEdges
    stays : ndarray of bool
        Which of `some` are taken.
    merged : PlacedEdges
        Filled in.
    """
    pair, more = some.edges.pair, others.edges.pair
    j, place = 0, 0
    for i in range(len(pair)):
        if stays[i]:
            while j < len(more) and more[j] < pair[i]:
                _copy(others, j, merged, place)
                j, place = j + 1, place + 1
            _copy(some, i, merged, place)
            place += 1
    for rest in range(j, len(more)):
        _copy(others, rest, merged, place)
        place += 1


@kernel
def _copy(edges, i, merged, place):
    merged.edges.pair[place] = edges.edges.pair[i]
    merged.edges.key[place] = edges.edges.key[i]
    for end in range(2):
        merged.places[end, place] = edges.places[end, i]
        merged.tops[end, place] = edges.tops[end, i]
