// One pass over all arcs of rows: faults, distinct edges, and symmetry.
//
// The sums are the same as in `kernels/arc_inspection.py`, which says why.

#include "common.cuh"
#include "ids.cuh"
#include "tiles.cuh"

struct Facts {
    u64 wrong, edges, balance;
};

// Returns 64 mixed bits of an edge, as `mix` does.
__device__ inline u64 mix(u64 low, u64 high, u64 key) {
    u64 word = low * 0x9E3779B1ull + high * 0xC2B2AE3D27D4EB4Full
             + key * 0xC2B2AE3Dull + 0x27D4EB2F165667C5ull;
    u64 product = (word & 0xFFFFFFFFull) * (word >> 32);
    return word + (product << 32 | product >> 32);
}

__device__ inline u64 sum_of_warp(u64 value) {
    for (u32 step = 16; step; step /= 2) value += __shfl_down_sync(~0u, value, step);
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK) inspect_arcs(
    const i64* offset, u64 arcs, u32 first, u64 num_rows, u64 first_global,
    const i64* ghosts, u64 num_vertices, const u32* ends, const Key* keys,
    const u32* tile_row, Facts* facts)
{
    i64 tile_begin = i64(blockIdx.x) * TILE;
    i64 begin = tile_begin + threadIdx.x * ITEMS;
    Ids ids = {first, num_rows, first_global, ghosts};
    alignas(16) u32 row[ITEMS];
    find_rows(offset, tile_row[blockIdx.x], tile_row[blockIdx.x + 1], tile_begin, row);

    Facts mine = {0, 0, 0};
    u32 before = begin > 0 && begin < i64(arcs) ? ends[begin - 1] : 0;
    #pragma unroll
    for (u32 j = 0; j < ITEMS; j++) {
        i64 arc = begin + j;
        if (arc >= i64(arcs)) break;
        u32 near = first + row[j], far = ends[arc];
        bool follows = arc > offset[row[j]];  // another arc of its row
        // Without ghosts an id is not converted, so one out of range is detected here.
        // With ghosts `to_local` converts such an id to NOBODY.
        u64 head = far == NOBODY ? NONE : ids.global(far), tail = ids.global(near);
        bool upward = far > near, loop = far == near;
        mine.wrong += head >= num_vertices || (follows && far < before);
        mine.edges += upward && !(follows && far == before);
        u64 word = mix(upward ? tail : head, upward ? head : tail, keys[arc]);
        mine.balance += loop ? 0 : upward ? word : 0 - word;
        before = far;
    }
    u64 wrong = sum_of_warp(mine.wrong);
    u64 edges = sum_of_warp(mine.edges);
    u64 balance = sum_of_warp(mine.balance);
    if (threadIdx.x % 32) return;
    if (wrong) atomicAdd(&facts->wrong, wrong);
    atomicAdd(&facts->edges, edges);
    atomicAdd(&facts->balance, balance);
}
