// Exclusive prefix sums: of marks, of the bits of words, and of degrees.
//
// Three launches: the sum of each tile, their prefix sums by one block, and the prefix
// sums of the items of each tile. A tile is SCANNED items of a block of 256 threads.

#include "common.cuh"

const u32 EACH = 16;  // consecutive items of a thread
const u32 SCANNED = 256 * EACH;

__device__ inline u64 amount(const u8* marks, u64 i) { return marks[i]; }
__device__ inline u64 amount(const u32* words, u64 i) { return __popc(words[i]); }
__device__ inline u64 amount(const i64* degrees, u64 i) { return degrees[i]; }

// Returns the sum of the values of the threads before this one; `total` gets the sum
// of all. All threads of the block take part.
__device__ inline u64 sum_before(u64 value, u64* total) {
    __shared__ u64 of_warp[32];
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    u64 up_to = value;
    for (u32 step = 1; step < 32; step *= 2) {
        u64 other = __shfl_up_sync(~0u, up_to, step);
        if (lane >= step) up_to += other;
    }
    __syncthreads();  // the sums of the call before have been read
    if (lane == 31) of_warp[warp] = up_to;
    __syncthreads();
    u64 before = 0, all = 0;
    for (u32 i = 0; i < warps; i++) {
        if (i == warp) before = all;
        all += of_warp[i];
    }
    *total = all;
    return before + up_to - value;
}

template <typename T>
__device__ void sum_tile(const T* items, u64 count, u64* sums) {
    u64 begin = u64(blockIdx.x) * SCANNED, sum = 0, total;
    for (u32 j = 0; j < EACH; j++) {
        u64 i = begin + j * 256 + threadIdx.x;
        if (i < count) sum += amount(items, i);
    }
    sum_before(sum, &total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

template <typename T, typename Sum>
__device__ void scan_tile(const T* items, u64 count, const u64* sums, Sum* prefix) {
    u64 begin = u64(blockIdx.x) * SCANNED + threadIdx.x * EACH, sum = 0, total;
    u64 value[EACH];
    #pragma unroll
    for (u32 j = 0; j < EACH; j++) {
        value[j] = begin + j < count ? amount(items, begin + j) : 0;
        sum += value[j];
    }
    u64 before = sums[blockIdx.x] + sum_before(sum, &total);
    #pragma unroll
    for (u32 j = 0; j < EACH; j++) {
        if (begin + j < count) prefix[begin + j] = before;
        before += value[j];
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) prefix[count] = sums[gridDim.x];
}

// Replaces the sums of tiles by their prefix sums, with the sum of all behind them.
// One block.
extern "C" __global__ void scan_sums(u64* sums, u64 tiles) {
    u64 done = 0;
    for (u64 begin = 0; begin < tiles; begin += blockDim.x) {
        u64 i = begin + threadIdx.x, total;
        u64 before = sum_before(i < tiles ? sums[i] : 0, &total);
        if (i < tiles) sums[i] = done + before;
        done += total;
    }
    if (threadIdx.x == 0) sums[tiles] = done;
}

extern "C" __global__ void sum_marks(const u8* items, u64 count, u64* sums) {
    sum_tile(items, count, sums);
}

extern "C" __global__ void scan_marks(
    const u8* items, u64 count, const u64* sums, u64* prefix)
{
    scan_tile(items, count, sums, prefix);
}

extern "C" __global__ void sum_bits(const u32* items, u64 count, u64* sums) {
    sum_tile(items, count, sums);
}

extern "C" __global__ void scan_bits(
    const u32* items, u64 count, const u64* sums, u32* prefix)
{
    scan_tile(items, count, sums, prefix);
}

extern "C" __global__ void sum_degrees(const i64* items, u64 count, u64* sums) {
    sum_tile(items, count, sums);
}

extern "C" __global__ void scan_degrees(
    const i64* items, u64 count, const u64* sums, i64* prefix)
{
    scan_tile(items, count, sums, prefix);
}
