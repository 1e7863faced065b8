// Rounds of Boruvka on a list of edges, all in one launch.
//
// The largest component, if a sample shows one, never picks an edge: the others
// hook onto it anyway, and its slot would be fought for by all threads at once.

#include "live.cuh"

const u32 FEW = 1024;    // components whose slots fit into shared memory
const u32 HOT = 16384;   // components whose slots stay in the first-level cache
const u32 ALONE = 4096;  // one block does the rounds of fewer live edges

// Finds the lightest live edge of every component but the giant one. Few components
// are many threads to a slot: each block then first fills slots in its shared memory.
__device__ void pick(
    Team team, u64* best, u64 size, u32 giant, const Live* list, u64 live,
    const Edges& edges)
{
    __shared__ u64 block_best[FEW];
    bool few = size <= FEW, hot = size <= HOT;
    u64* slots = few ? block_best : best;
    if (few) {
        for (u32 c = threadIdx.x; c < size; c += THREADS) block_best[c] = NONE;
        __syncthreads();
    }
    for (u64 i = team.thread(); i < live; i += team.threads()) {
        Live edge = list[i];
        if (edge.a != giant) lower(&slots[edge.a], edge, i, list, edges, hot);
        if (edge.b != giant) lower(&slots[edge.b], edge, i, list, edges, hot);
    }
    if (!few) return;
    __syncthreads();
    for (u32 c = threadIdx.x; c < size; c += THREADS) {
        if (block_best[c] == NONE) continue;
        u32 position = block_best[c];
        lower(&best[c], list[position], position, list, edges, false);
    }
}

// Hooks every component onto the other end of its lightest edge; of two that have
// picked the same edge the smaller one stays a root, and gets its number on the next
// level. The others' edges are chosen.
__device__ void hook(
    Team team, const u64* best, const Live* list, const Edges& edges,
    u32* parent, u32* fresh, u64 base, u64 size, u32 giant, Chosen chosen)
{
    for (u64 begin = team.block * CHUNK; begin < size; begin += team.blocks * CHUNK) {
        u32 ref[EACH], hooks = 0, roots = 0;
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
            bool root = other == c && (slot != NONE || c == giant);
            hooks |= u32(other != c) << j;
            roots |= u32(root) << j;
            parent[base + c] = base + other;
            if (!root) fresh[c] = NOBODY;
        }
        Positions numbers = reserve(__popc(roots), &team.state->next);
        Positions positions = reserve(__popc(hooks), &team.state->chosen);
        #pragma unroll
        for (u32 j = 0; j < EACH; j++) {
            u64 number = base + size + numbers.take(roots >> j & 1);
            u64 position = positions.take(hooks >> j & 1);
            if (roots >> j & 1) {
                fresh[begin + j * THREADS + threadIdx.x] = number;
                parent[number] = number;
            }
            if (hooks >> j & 1) chosen.add(position, edges, ref[j]);
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
    u64 listed = state->listed;
    if (listed > state->capacity) return;
    u64 base = vertices, size = state->size;
    Key least = state->least_key, spread = state->greatest_key - least;
    u32 shift = sizeof(Key) == 4 ? 0 : max(0, 32 - __clzll(spread));
    Chosen chosen = {mark, chosen_u, chosen_v, chosen_key};
    Team team = whole_grid(state);

    // 1. Relabel the list, and find the component that shall not pick
    keep_live(team, listed, [&](u64 i) {
        return Live{u32(parent[u[i]] - base), u32(parent[v[i]] - base),
                    rank_of(key[i], least, shift), u32(i)};
    }, list, &state->live[0]);
    for (u64 c = team.thread(); c < size; c += team.threads()) best[c] = NONE;
    team.wait();
    u64 live = __ldcg(&state->live[0]);
    if (blockIdx.x == 0) find_hub(state, list, live);
    team.wait();
    u32 giant = __ldcg(&state->giant);

    // 2. Rounds
    u32 turn = 0;
    while (live) {
        if (live <= ALONE) {
            if (blockIdx.x > 0) return;
            team.blocks = 1;
        }
        pick(team, best, size, giant, list, live, edges);
        team.wait();
        if (team.thread() == 0) state->live[1 - turn] = state->again[0] = 0;
        hook(team, best, list, edges, parent, fresh, base, size, giant, chosen);
        team.wait();
        u64 above = base + size, next = __ldcg(&state->next);
        for (u64 c = team.thread(); c < next; c += team.threads()) best[c] = NONE;
        lift(team, parent, fresh, base, size);
        if (team.thread() == 0) state->next = 0;
        turn = 1 - turn;
        keep_live(team, live, [&](u64 i) {
            Live edge = list[i];
            edge.a = parent[base + edge.a] - above;
            edge.b = parent[base + edge.b] - above;
            return edge;
        }, next_list, &state->live[turn]);
        team.wait();
        if (giant != NOBODY) giant = parent[base + giant] - above;
        live = __ldcg(&state->live[turn]);
        Live* other = list;
        list = next_list;
        next_list = other;
        base = above;
        size = next;
    }
    if (team.thread() != 0) return;
    state->level1 = state->size;
    state->top = base + size;
    state->listed = state->next = state->live[0] = state->live[1] = 0;
}
