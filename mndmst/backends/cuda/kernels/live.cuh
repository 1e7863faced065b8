// The list of edges that a round of Boruvka works on.

#include "components.cuh"

struct alignas(16) Live {  // an edge between two components of the current level
    u32 a, b;  // counted from the level's base
    u32 rank;  // the key, or as much of it as 32 bits hold
    u32 ref;   // position in the list of edges
};

struct Edges {
    const u32 *u, *v;
    const Key* key;
    bool in_order;  // the position in the list decides between equal keys
};

// Where edges of the forest go: they are marked, or copied.
struct Chosen {
    u8* mark;
    u32 *u, *v;
    Key* key;

    __device__ inline void add(u64 position, const Edges& edges, u32 ref) const {
        if (mark) {
            mark[ref] = 1;
        } else {
            u[position] = edges.u[ref];
            v[position] = edges.v[ref];
            key[position] = edges.key[ref];
        }
    }
};

__device__ inline bool before(const Edges& edges, u32 i, u32 j) {
    if (edges.key[i] != edges.key[j]) return edges.key[i] < edges.key[j];
    if (edges.in_order) return i < j;
    if (edges.u[i] != edges.u[j]) return edges.u[i] < edges.u[j];
    if (edges.v[i] != edges.v[j]) return edges.v[i] < edges.v[j];
    return i < j;
}

// Turns a key into 32 bits that never order two keys the wrong way round.
__device__ inline u32 rank_of(Key key, Key least, u32 shift) {
    if (sizeof(Key) == 4) return key;
    if (key <= least) return 0;
    return u32(min((key - least) >> shift, Key(~0u)));
}

// Lowers a slot, a rank and a position in the list of live edges, to this edge. The
// position of no edge is ~0, so an empty slot differs from every rank. Where slots are
// `hot`, the first-level cache turns most edges away: a cached slot may be old, but
// slots only fall.
__device__ inline void lower(
    u64* slot, const Live& edge, u32 position, const Live* list, const Edges& edges,
    bool hot)
{
    u64 mine = u64(edge.rank) << 32 | position;
    if (hot && edge.rank > *slot >> 32) return;
    u64 seen = *(volatile u64*)slot;
    while (seen == NONE || edge.rank < seen >> 32
           || (edge.rank == seen >> 32
               && before(edges, edge.ref, list[u32(seen)].ref))) {
        u64 previous = atomicCAS(slot, seen, mine);
        if (previous == seen) return;
        seen = previous;
    }
}

// Appends the edges that have their ends in different components to a list.
// `edge_at(i)` returns the i-th edge, with both ends alike if it is to be dropped.
template <typename EdgeAt>
__device__ void keep_live(
    Team team, u64 count, EdgeAt edge_at, Live* list, u64* length)
{
    for (u64 begin = team.block * CHUNK; begin < count; begin += team.blocks * CHUNK) {
        Live edge[EACH];
        u32 stays = 0;
        #pragma unroll
        for (u32 j = 0; j < EACH; j++) {
            u64 i = begin + j * THREADS + threadIdx.x;
            if (i >= count) continue;
            edge[j] = edge_at(i);
            if (edge[j].a != edge[j].b) stays |= 1u << j;
        }
        Positions positions = reserve(__popc(stays), length);
        #pragma unroll
        for (u32 j = 0; j < EACH; j++) {
            u64 position = positions.take(stays >> j & 1);
            if (stays >> j & 1) list[position] = edge[j];
        }
    }
}
