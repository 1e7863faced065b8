"""A reduced graph on its way between ranks: ids as differences, in few bytes."""

from collections.abc import Sequence

import numpy as np

from ..graph.model import EdgeList, ReducedGraph
from ..kernels.wire import decode_ascending, decode_near, encode_ascending, encode_near

_START = np.zeros(1, np.int64)


def pack(graph: ReducedGraph) -> list[np.ndarray]:
    """Return a reduced graph as arrays to be sent, about 20 bytes an edge."""
    edges, count = graph.edges, np.array([len(graph.labels)])
    return [
        count,
        encode_ascending(graph.labels, count, _START)[0],
        np.packbits(graph.own),
        encode_ascending(edges.u, np.array([len(edges)]), _START)[0],
        encode_near(edges.v, edges.u, np.array([len(edges)]))[0],
        edges.key,
        graph.a,
        graph.b,
    ]


def unpack(arrays: Sequence[np.ndarray], ids: np.dtype) -> ReducedGraph:
    """Return the reduced graph that `pack` has taken apart.

    Parameters
    ----------
    ids : dtype
        The type of the edges' original ends.
    """
    count, labels, own, u, v, key, a, b = arrays
    labels = decode_ascending(labels, count, _START)
    own = np.unpackbits(own, count=len(labels)).view(np.bool_)
    u = decode_ascending(u, np.array([len(key)]), _START).astype(ids, copy=False)
    v = decode_near(v, u).astype(ids, copy=False)
    return ReducedGraph(EdgeList(u, v, key), a, b, labels, own)
