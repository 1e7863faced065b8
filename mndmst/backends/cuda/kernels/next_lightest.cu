// The lightest arc of a row after a given one; a block for each row.

#include "common.cuh"

const u32 WIDTH = 128;

__device__ inline bool precedes(Key key, u32 end, Key other_key, u32 other_end) {
    return key < other_key || (key == other_key && end < other_end);
}

// `after_end` and `next_end` are global ids.
extern "C" __global__ void __launch_bounds__(WIDTH) find_next(
    const i64* indptr, const u32* ends, const Key* keys, u32 first, u64 own,
    i64 first_global, const i64* ghosts, const i64* row, const Key* after_key,
    const i64* after_end, u8* found, Key* next_key, i64* next_end)
{
    __shared__ Key shared_key[WIDTH];
    __shared__ u32 shared_end[WIDTH];
    i64 r = row[blockIdx.x];
    Key limit = after_key[blockIdx.x];
    Key best_key = 0;
    u32 best_end = NOBODY;
    for (i64 arc = indptr[r] + threadIdx.x; arc < indptr[r + 1]; arc += WIDTH) {
        Key key = keys[arc];
        u32 end = ends[arc];
        if (key < limit || end == first + r) continue;
        if (key == limit && global_of(end, first, own, first_global, ghosts)
                            <= after_end[blockIdx.x]) continue;
        if (best_end != NOBODY && !precedes(key, end, best_key, best_end)) continue;
        best_key = key;
        best_end = end;
    }
    shared_key[threadIdx.x] = best_key;
    shared_end[threadIdx.x] = best_end;
    for (u32 half = WIDTH / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x >= half) continue;
        Key key = shared_key[threadIdx.x + half];
        u32 end = shared_end[threadIdx.x + half];
        if (end == NOBODY) continue;
        if (shared_end[threadIdx.x] != NOBODY
            && !precedes(key, end, shared_key[threadIdx.x], shared_end[threadIdx.x]))
            continue;
        shared_key[threadIdx.x] = key;
        shared_end[threadIdx.x] = end;
    }
    if (threadIdx.x) return;
    bool any = shared_end[0] != NOBODY;
    found[blockIdx.x] = any;
    next_key[blockIdx.x] = shared_key[0];
    next_end[blockIdx.x] =
        any ? global_of(shared_end[0], first, own, first_global, ghosts) : 0;
}
