// The arcs of rows, cut into tiles: ITEMS arcs to a thread, TILE to a block.

#ifndef ITEMS_OF_THREAD
#define ITEMS_OF_THREAD 8
#endif
const u32 ITEMS = ITEMS_OF_THREAD;
const u32 BLOCK = 256;
const u32 TILE = ITEMS * BLOCK;

// Reads ITEMS consecutive values, aligned to their size, 16 bytes at a time.
template <typename T>
__device__ inline void load(const T* from, T* to) {
    const uint4* pieces = (const uint4*)from;
    #pragma unroll
    for (u32 i = 0; i < ITEMS * sizeof(T) / 16; i++) ((uint4*)to)[i] = pieces[i];
}

// Finds the row of each of a thread's arcs. Every row marks where it begins in the
// tile; an arc belongs to the last mark before it.
__device__ inline void find_rows(
    const i64* offset, u32 first_row, u32 last_row, i64 tile_begin, u32* row)
{
    __shared__ alignas(16) u32 marks[TILE];
    __shared__ u32 last_of_warp[BLOCK / 32];
    uint4* mine = (uint4*)(marks + threadIdx.x * ITEMS);
    #pragma unroll
    for (u32 i = 0; i < ITEMS / 4; i++) mine[i] = {0, 0, 0, 0};
    __syncthreads();
    #pragma unroll 1
    for (u64 r = u64(first_row) + 1 + threadIdx.x; r <= last_row; r += BLOCK) {
        i64 begin = offset[r] - tile_begin;
        if (begin < TILE && offset[r + 1] > offset[r]) marks[begin] = r;
    }
    __syncthreads();
    #pragma unroll
    for (u32 i = 0; i < ITEMS / 4; i++) ((uint4*)row)[i] = mine[i];
    u32 last = 0;
    #pragma unroll
    for (u32 j = 0; j < ITEMS; j++) row[j] = last = max(last, row[j]);
    u32 lane = threadIdx.x % 32;
    for (u32 step = 1; step < 32; step *= 2)
        last = max(last, __shfl_up_sync(~0u, last, min(step, lane)));
    if (lane == 31) last_of_warp[threadIdx.x / 32] = last;
    __syncthreads();
    u32 before = __shfl_up_sync(~0u, last, 1);
    if (lane == 0) before = 0;
    before = max(before, first_row);
    #pragma unroll
    for (u32 i = 0; i < BLOCK / 32; i++)
        if (i < threadIdx.x / 32) before = max(before, last_of_warp[i]);
    #pragma unroll
    for (u32 j = 0; j < ITEMS; j++) row[j] = max(row[j], before);
}
