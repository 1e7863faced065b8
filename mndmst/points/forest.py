"""The exact minimum spanning forest of points.

Every point's nearest neighbours give a first forest. An edge of it is certain if all
points of a component that it leaves know all their edges that are as light. Boruvka
rounds replace the others (`rounds`).
"""

import os

import numpy as np

from ..api.forest import Forest
from ..graph.order import weights_to_keys
from ..kernels.sorting import sort_positions
from ..kernels.threads import Threads
from .kernels.edges import Edges, certify, list_edges, weigh
from .kernels.nearest import nearest
from .rounds import Search
from .tree import build_tree, leaf_ranges
import time
T0=[0]
def tick(name):
    t=time.perf_counter(); 
    if name: print(f"   {name} {t-T0[0]:.3f}")
    T0[0]=t
EXTRA=5
VERBOSE=False
def points_forest(points, min_samples=0, manhattan=False, threads=0, neighbours=0):
    threads = Threads(threads or len(os.sched_getaffinity(0)))
    n=len(points)
    tick("")
    tree = build_tree(points, manhattan, threads)
    tick("build")
    k = min(n-1, neighbours or max(min_samples+EXTRA, 8))
    distances = np.empty((n, k)); places=np.empty((n,k),np.uint32)
    threads.map(lambda f,l: nearest(tree,f,l,distances,places), leaf_ranges(tree))
    tick("nearest")
    if not manhattan: threads.map(lambda b,e: np.sqrt(distances[b:e],out=distances[b:e]), threads.ranges(n))
    cores = distances[:, min_samples-1].copy() if min_samples else np.zeros(n)
    reach = distances[:,-1].copy() if k<n-1 else np.full(n,np.inf)
    if min_samples: threads.map(lambda b,e: weigh(distances,places,cores,b,e), threads.ranges(n))
    tick("weigh")
    parts = threads.map(lambda b,e: list_edges(distances,places,tree.rows,b,e), threads.ranges(n))
    from ..api.arrays import minimum_spanning_forest
    a,b,w = map(np.concatenate, zip(*parts))
    tick("list %d"%len(a))
    near = minimum_spanning_forest(tree.rows[a], tree.rows[b], w, n, threads=threads.count)
    tick("msf")
    place_of = np.empty(n, np.uint32); place_of[tree.rows]=np.arange(n,dtype=np.uint32)
    edges = Edges(place_of[near.src], place_of[near.dst], near.weight)
    order = sort_positions(weights_to_keys(near.weight.copy()), threads)
    tick("sort")
    parent=np.arange(n,dtype=np.uint32); kind=np.zeros(len(edges.a),np.int8)
    certify(order, edges, parent, reach.copy(), kind)
    tick("certify")
    sure = Edges(*(c[kind==2] for c in edges)); known = Edges(*(c[kind==1] for c in edges))
    parent=np.arange(n,dtype=np.uint32)
    from .kernels.rounds import join
    e=np.arange(len(sure.a)); join(sure, e, np.ones(len(e),bool), parent)
    tick("join %d certain %d"%(len(sure.a), len(known.a)))
    s=Search(tree,cores,reach,threads)
    found=[sure,*s.finish(parent,known)]
    tick("rounds %d searches %d"%(len(found),s.searches))
    all_=Edges(*map(np.concatenate, zip(*found)))
    u,v = tree.rows[all_.a].astype(np.int64), tree.rows[all_.b].astype(np.int64)
    src,dst=np.minimum(u,v),np.maximum(u,v)
    o=sort_positions(src.astype(np.uint64)<<np.uint64(32)|dst.astype(np.uint64),threads)
    f=Forest(src[o],dst[o],all_.weight[o],np.zeros(n,np.int64))
    tick("forest")
    return f
