// Components as a stack of levels, and how the blocks of a grid work on it together.
//
// Level 0 holds the vertices. A round numbers the components that go on densely,
// so that their slots stay in the cache, and puts these numbers on the stack as the
// next level: parent[x] is the number of x's component there, or x itself where it
// has no edge left. Level 1 begins at `vertices`; levels halve, so that the stack
// ends before 3 * vertices.

#include "common.cuh"

const u32 THREADS = 512;
const u32 EACH = 4;  // what a thread handles at a time
const u64 CHUNK = THREADS * EACH;

// Waits for all blocks; the launch is cooperative, so that all are running.
__device__ inline void barrier(State* state) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        volatile u64* generation = &state->generation;
        u64 mine = *generation;
        if (atomicAdd(&state->arrived, 1) == gridDim.x - 1) {
            state->arrived = 0;
            __threadfence();
            *generation = mine + 1;
        } else {
            while (*generation == mine) {}
        }
        __threadfence();
    }
    __syncthreads();
}

// Makes every hooked component of a level point to its root. A thread takes a
// bounded number of steps at a time: threads shorten each other's ways, so that a
// long chain needs a logarithmic number of passes.
__device__ void jump(State* state, u32* parent, u64 base, u64 size) {
    for (u32 pass = 0;; pass++) {
        if (thread_of_grid() == 0) state->again[(pass + 1) % 3] = 0;
        bool far = false;
        for (u64 c = base + thread_of_grid(); c < base + size; c += threads_of_grid()) {
            u32 old = __ldcg(&parent[c]), p = old, q = __ldcg(&parent[p]);
            for (u32 step = 0; step < 32 && q != p; step++) {
                p = q;
                q = __ldcg(&parent[p]);
            }
            if (p != old) parent[c] = p;
            far |= q != p;
        }
        if (__syncthreads_or(far) && threadIdx.x == 0) state->again[pass % 3] = 1;
        barrier(state);
        if (!__ldcg(&state->again[pass % 3])) return;
    }
}

// Numbers the roots of a level that go on (fresh != NOBODY) and lifts every
// component to its root's number. Returns the size of the next level.
__device__ u64 lift(State* state, u32* parent, u32* fresh, u64 base, u64 size) {
    u64 above = base + size;
    for (u64 begin = blockIdx.x * CHUNK; begin < size; begin += gridDim.x * CHUNK) {
        u32 roots = 0;
        #pragma unroll
        for (u32 j = 0; j < EACH; j++) {
            u64 c = begin + j * THREADS + threadIdx.x;
            bool root = c < size && parent[base + c] == base + c && fresh[c] != NOBODY;
            roots |= u32(root) << j;
        }
        Places places = reserve(__popc(roots), &state->next);
        #pragma unroll
        for (u32 j = 0; j < EACH; j++) {
            u64 number = above + places.take(roots >> j & 1);
            if (!(roots >> j & 1)) continue;
            fresh[begin + j * THREADS + threadIdx.x] = number;
            parent[number] = number;
        }
    }
    if (thread_of_grid() == 0) for (u32 i = 0; i < 3; i++) state->again[i] = 0;
    barrier(state);
    for (u64 c = thread_of_grid(); c < size; c += threads_of_grid()) {
        u32 number = fresh[parent[base + c] - base];
        if (number != NOBODY) parent[base + c] = number;
    }
    u64 next = __ldcg(&state->next);
    barrier(state);
    return next;
}

