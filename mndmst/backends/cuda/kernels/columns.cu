// Columns before and after a solve: fill, pack, gather, select.
//
// Kernels of our num_rows, because an array library compiles its kernels when it first
// needs them, which takes longer than many a solve.

#include "common.cuh"
#include "ids.cuh"

// Makes every vertex a vertex without edges.
extern "C" __global__ void number_vertices(u32* parent, u64 vertices) {
    u64 x = thread_of_grid();
    if (x < vertices) parent[x] = x;
}

// Makes level 1 of the stack: a vertex is in its component, or null: alone in one.
extern "C" __global__ void start_components(
    const u32* component, u32* parent, u64 vertices)
{
    u64 x = thread_of_grid();
    if (x >= vertices) return;
    parent[x] = vertices + (component == nullptr ? u32(x) : component[x]);
    parent[vertices + x] = vertices + x;
}

// Widens the range of keys in the state to that of some keys.
extern "C" __global__ void find_key_range(const Key* keys, u64 count, State* state) {
    u64 least = NONE, greatest = 0;
    for (u64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
        u64 key = keys[i];
        least = min(least, key);
        greatest = max(greatest, key);
    }
    for (u32 step = 16; step; step /= 2) {
        least = min(least, __shfl_xor_sync(~0u, least, step));
        greatest = max(greatest, __shfl_xor_sync(~0u, greatest, step));
    }
    if (threadIdx.x % 32) return;
    atomicMin(&state->least_key, least);
    atomicMax(&state->greatest_key, greatest);
}

// Packs edges into words by which they are sorted: by smaller end from `first` on,
// those with one before `first` last. Counts the others.
extern "C" __global__ void pack_ends(
    const u32* u, const u32* v, u64 count, u32 first, u64* words, u64* total)
{
    u64 i = thread_of_grid();
    if (i < count) words[i] = u64(u[i] - first) << 32 | v[i];
    u32 counted = __syncthreads_count(i < count && u[i] >= first);
    if (threadIdx.x == 0 && counted) atomicAdd(total, u64(counted));
}

__device__ inline void write_id(void* ids, u64 position, u64 id, u32 wide) {
    if (wide) ((u64*)ids)[position] = id; else ((u32*)ids)[position] = id;
}

// Writes the first `count` edges of an order, with global ids of 32 or 64 bits.
extern "C" __global__ void gather_edges(
    const i64* order, u64 count, const u32* u, const u32* v, const Key* key,
    u32 first, u64 num_rows, u64 first_global, const i64* ghosts,
    u32 wide, void* to_u, void* to_v, Key* to_key)
{
    u64 i = thread_of_grid();
    if (i >= count) return;
    Ids ids = {first, num_rows, first_global, ghosts};
    u64 edge = order[i];
    write_id(to_u, i, ids.global(u[edge]), wide);
    write_id(to_v, i, ids.global(v[edge]), wide);
    to_key[i] = key[edge];
}

// Writes the marked edges; `position` counts the marks before each.
extern "C" __global__ void select_edges(
    const u8* marks, const u64* position, u64 count,
    const u32* u, const u32* v, const Key* key, u32* to_u, u32* to_v, Key* to_key)
{
    u64 i = thread_of_grid();
    if (i >= count || !marks[i]) return;
    to_u[position[i]] = u[i];
    to_v[position[i]] = v[i];
    to_key[position[i]] = key[i];
}

// Turns weights into keys as `KeyRule` says, and counts the weights that are NaN.
extern "C" __global__ void make_keys(
    Key* bits, u64 count, Key sign, Key above, Key at, Key below, Key largest,
    u64* wrong)
{
    u32 invalid = 0;
    for (u64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
        Key word = bits[i];
        invalid += (word & (sign - 1)) > largest;
        bits[i] = word ^ (word > sign ? above : word == sign ? at : below);
    }
    invalid = __reduce_add_sync(~0u, invalid);
    if (threadIdx.x % 32 == 0 && invalid) atomicAdd(wrong, u64(invalid));
}
