// What all kernels share: types, the state of a run, and the collective helpers.
//
// Vertices are 32-bit local ids on the device. They rise with the global ids, so
// that the order of edges (key, smaller end, larger end) is the same in both.
// Positions in arcs and in lists are 64-bit.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#if KEY_BITS == 64
typedef u64 Key;
#else
typedef u32 Key;
#endif

const u32 NOBODY = ~0u;   // no vertex
const u64 NONE = ~0ull;   // no position

// Counters and bounds that kernels pass to each other without the host.
// solver.py mirrors the order of the fields.
struct State {
    u64 listed;                    // edges to list; the list lacks those over capacity
    u64 capacity;                  // positions in the list
    u64 chosen;                    // forest edges written
    u64 size;                      // components of level 1 at the start of the rounds
    u64 level1, top;               // their number, and the end of the stack, after them
    u64 next;                      // components of the next level
    u64 live[2];                   // lengths of the two lists of live edges
    u64 giant;                     // a component that holds much of the graph, or NOBODY
    u64 again[3];                  // whether components must be lifted once more
    u64 arrived;                   // the barrier of the grid
    u64 cut_key, cut_end;          // the last edge that is listed: key, smaller end
    u64 least_key, greatest_key;   // of the sampled arcs
    u64 degrees;                   // sum of the sampled arcs' rows' degrees
    u64 outside;                   // rows outside the giant component
};

__device__ inline u64 thread_of_grid() {
    return u64(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ inline u64 threads_of_grid() { return u64(gridDim.x) * blockDim.x; }

// Free positions of a list, of which the threads of a warp take consecutive ones.
struct Positions {
    u64 next;

    // Returns a position for each thread that wants one; the whole warp takes part.
    __device__ inline u64 take(bool wanted) {
        u32 takers = __ballot_sync(~0u, wanted);
        u64 position = next + __popc(takers & ((1u << threadIdx.x % 32) - 1));
        next += __popc(takers);
        return position;
    }
};

// Reserves `count` positions for every thread; all threads of the block take part.
__device__ inline Positions reserve(u32 count, u64* length) {
    __shared__ u64 begins[32];
    u32 lane = threadIdx.x % 32, warps = blockDim.x / 32;
    u32 sum = __reduce_add_sync(~0u, count);
    if (lane == 0) begins[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        u32 of_warp = lane < warps ? u32(begins[lane]) : 0;
        u32 up_to = of_warp;
        for (u32 step = 1; step < 32; step *= 2) {
            u32 other = __shfl_up_sync(~0u, up_to, step);
            if (lane >= step) up_to += other;
        }
        u64 begin = 0;
        if (lane == 31 && up_to) begin = atomicAdd(length, u64(up_to));
        begin = __shfl_sync(~0u, begin, 31);
        begins[lane] = begin + up_to - of_warp;
    }
    __syncthreads();
    Positions positions = {begins[threadIdx.x / 32]};
    __syncthreads();
    return positions;
}

// Returns the most frequent id among one per thread, or NOBODY if none has at
// least a thirty-second of them. All threads of the block take part.
__device__ inline u32 most_frequent(u32 id) {
    __shared__ u32 ids[1024];
    __shared__ u64 best;
    ids[threadIdx.x] = id;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    u32 count = 0;
    for (u32 i = 0; i < blockDim.x; i++) count += ids[i] == id;
    if (id != NOBODY) atomicMax(&best, u64(count) << 32 | id);
    __syncthreads();
    u64 winner = best;
    __syncthreads();
    return (winner >> 32) * 32 >= blockDim.x ? u32(winner) : NOBODY;
}

// A number that looks random, for sampling.
__device__ inline u64 scramble(u64 x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

// Returns the row of an arc: the last of [low, high] that begins at or before it.
__device__ inline u32 row_of(const i64* offset, u32 low, u32 high, i64 arc) {
    while (low < high) {
        u32 middle = high - (high - low) / 2;
        if (offset[middle] <= arc) low = middle; else high = middle - 1;
    }
    return low;
}
