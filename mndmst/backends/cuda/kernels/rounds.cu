// Rounds of Boruvka on a list of edges, all in one launch.
//
// The largest component, if a sample shows one, never picks an edge: the others
// hook onto it anyway, and its slot would be fought for by all threads at once.

#include "components.cuh"

const u32 FEW = 1024;   // so many components have their slots in shared memory
const u32 HOT = 16384;  // the slots of so many stay in the first level of the cache

struct alignas(16) Live {  // an edge between two components of the current level
    u32 a, b;  // counted from the level's base
    u32 rank;  // the key, or as much of it as 32 bits hold
    u32 ref;   // place in the list of edges
};

struct Edges {
    const u32 *u, *v;
    const Key* key;
    bool in_order;  // the place in the list decides between equal keys
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

// Lowers a slot, a rank and a place in the list of live edges, to this edge. The
// place of no edge is ~0, so an empty slot differs from every rank. Where slots are
// `hot`, most edges are turned away by the first level of the cache: what it holds
// may be old, but slots only fall.
__device__ inline void lower(
    u64* slot, const Live& edge, u32 place, const Live* list, const Edges& edges,
    bool hot)
{
    u64 mine = u64(edge.rank) << 32 | place;
    if (hot && edge.rank > *slot >> 32) return;
    u64 seen = *(volatile u64*)slot;
    while (seen == NONE || edge.rank < seen >> 32
           || (edge.rank == seen >> 32
               && before(edges, edge.ref, list[u32(seen)].ref))) {
        u64 found = atomicCAS(slot, seen, mine);
        if (found == seen) return;
        seen = found;
    }
}

// Finds the lightest live edge of every component but the giant one. Few components
// are many threads to a slot: each block then begins with slots of its own.
__device__ void pick(
    u64* best, u64 size, u32 giant, const Live* list, u64 live, const Edges& edges)
{
    __shared__ u64 own[FEW];
    bool few = size <= FEW, hot = size <= HOT;
    u64* slots = few ? own : best;
    if (few) {
        for (u32 c = threadIdx.x; c < size; c += THREADS) own[c] = NONE;
        __syncthreads();
    }
    for (u64 i = thread_of_grid(); i < live; i += threads_of_grid()) {
        Live edge = list[i];
        if (edge.a != giant) lower(&slots[edge.a], edge, i, list, edges, hot);
        if (edge.b != giant) lower(&slots[edge.b], edge, i, list, edges, hot);
    }
    if (!few) return;
    __syncthreads();
    for (u32 c = threadIdx.x; c < size; c += THREADS) {
        if (own[c] == NONE) continue;
        u32 place = own[c];
        lower(&best[c], list[place], place, list, edges, false);
    }
}

// Hooks every component onto the other end of its lightest edge; of two that have
// picked the same edge the smaller one stays a root. The others' edges are chosen.
__device__ void hook(
    State* state, const u64* best, const Live* list, const Edges& edges,
    u32* parent, u32* fresh, u64 base, u64 size, u32 giant,
    u8* mark, u32* chosen_u, u32* chosen_v, Key* chosen_key)
{
    for (u64 begin = blockIdx.x * CHUNK; begin < size; begin += gridDim.x * CHUNK) {
        u32 ref[EACH], hooks = 0;
        #pragma unroll
        for (u32 j = 0; j < EACH; j++) {
            u64 c = begin + j * THREADS + threadIdx.x;
            if (c >= size) continue;
            u64 slot = best[c];
            u32 other = c;
            if (slot != NONE) {
                Live edge = list[u32(slot)];
                other = edge.a == c ? edge.b : edge.a;
                ref[j] = edge.ref;
                if (c < other && best[other] == slot) other = c;
            }
            if (other != c) hooks |= 1u << j;
            parent[base + c] = base + other;
            fresh[c] = slot == NONE && c != giant ? NOBODY : 0;
        }
        Places places = reserve(__popc(hooks), &state->chosen);
        #pragma unroll
        for (u32 j = 0; j < EACH; j++) {
            u64 place = places.take(hooks >> j & 1);
            if (!(hooks >> j & 1)) continue;
            if (mark) {
                mark[ref[j]] = 1;
            } else {
                chosen_u[place] = edges.u[ref[j]];
                chosen_v[place] = edges.v[ref[j]];
                chosen_key[place] = edges.key[ref[j]];
            }
        }
    }
}

// Appends the edges that have their ends in different components to a list.
// `edge_at(i)` returns the i-th edge, with both ends alike if it is to be dropped.
template <typename EdgeAt>
__device__ void keep_live(u64 count, EdgeAt edge_at, Live* list, u64* length) {
    for (u64 begin = blockIdx.x * CHUNK; begin < count; begin += gridDim.x * CHUNK) {
        Live edge[EACH];
        u32 stays = 0;
        #pragma unroll
        for (u32 j = 0; j < EACH; j++) {
            u64 i = begin + j * THREADS + threadIdx.x;
            if (i >= count) continue;
            edge[j] = edge_at(i);
            if (edge[j].a != edge[j].b) stays |= 1u << j;
        }
        Places places = reserve(__popc(stays), length);
        #pragma unroll
        for (u32 j = 0; j < EACH; j++) {
            u64 place = places.take(stays >> j & 1);
            if (stays >> j & 1) list[place] = edge[j];
        }
    }
}

// Looks for a component that a sample of the live edges leads to; one block.
__device__ void find_hub(State* state, const Live* list, u64 live) {
    u64 random = scramble(threadIdx.x);
    u32 end = NOBODY;
    if (live) {
        Live edge = list[random % live];
        end = random >> 63 ? edge.a : edge.b;
    }
    u32 hub = most_frequent(end);
    if (threadIdx.x == 0) state->giant = hub;
}

// Solves the listed edges.
extern "C" __global__ void __launch_bounds__(THREADS, 2) run_rounds(
    State* state, u64 vertices, u32* parent, u32* fresh, u64* best,
    Live* list, Live* next_list,
    const u32* u, const u32* v, const Key* key, u32 in_order,
    u8* mark, u32* chosen_u, u32* chosen_v, Key* chosen_key)
{
    Edges edges = {u, v, key, bool(in_order)};
    u64 found = state->found;
    if (found > state->capacity) return;
    u64 base = vertices, size = state->size;
    Key least = state->least_key, spread = state->greatest_key - least;
    u32 shift = sizeof(Key) == 4 ? 0 : max(0, 32 - __clzll(spread));

    // 1. Relabel the list, and find the component that shall not pick
    keep_live(found, [&](u64 i) {
        return Live{u32(parent[u[i]] - base), u32(parent[v[i]] - base),
                    rank_of(key[i], least, shift), u32(i)};
    }, list, &state->live[0]);
    for (u64 c = thread_of_grid(); c < size; c += threads_of_grid()) best[c] = NONE;
    barrier(state);
    u64 live = __ldcg(&state->live[0]);
    if (blockIdx.x == 0) find_hub(state, list, live);
    barrier(state);
    u32 giant = __ldcg(&state->giant);

    // 2. Rounds
    u32 turn = 0;
    while (live) {
        pick(best, size, giant, list, live, edges);
        barrier(state);
        if (thread_of_grid() == 0) state->next = state->live[1 - turn] = 0;
        hook(state, best, list, edges, parent, fresh, base, size, giant,
             mark, chosen_u, chosen_v, chosen_key);
        barrier(state);
        jump(state, parent, base, size);
        u64 next = lift(state, parent, fresh, base, size);
        u64 above = base + size;
        turn = 1 - turn;
        keep_live(live, [&](u64 i) {
            Live edge = list[i];
            edge.a = parent[base + edge.a] - above;
            edge.b = parent[base + edge.b] - above;
            return edge;
        }, next_list, &state->live[turn]);
        for (u64 c = thread_of_grid(); c < next; c += threads_of_grid()) best[c] = NONE;
        barrier(state);
        if (giant != NOBODY) giant = parent[base + giant] - above;
        live = __ldcg(&state->live[turn]);
        Live* other = list;
        list = next_list;
        next_list = other;
        base = above;
        size = next;
    }
    if (thread_of_grid() != 0) return;
    state->level1 = state->size;
    state->top = base + size;
    state->found = state->next = state->live[0] = state->live[1] = 0;
}
