// Components as a stack of levels, and how the blocks of a grid work on it together.
//
// Level 0 holds the vertices. A round numbers the components that go on densely,
// so that their slots stay in the cache, and puts these numbers on the stack as the
// next level: parent[x] is the number of x's component there, or x itself where it
// has no edge left. Level 1 begins at `vertices`; levels halve, so that the stack
// ends before 3 * vertices.

#include "common.cuh"

const u32 THREADS = 512;
const u32 EACH = 4;  // elements of a thread at a time
const u64 CHUNK = THREADS * EACH;

const u64 FLIPPED = 1ull << 63;

// The threads that work together: of all blocks of a cooperative launch, or,
// once so little is left that waiting for the others would take longer, of one.
struct Team {
    State* state;
    u32 block, blocks;

    __device__ inline u64 thread() const { return u64(block) * THREADS + threadIdx.x; }
    __device__ inline u64 threads() const { return u64(blocks) * THREADS; }

    // Waits for all threads. The arrival of the last block flips the first bit of
    // the counter and leaves the others as they were.
    __device__ inline void wait() const {
        __syncthreads();
        if (blocks == 1) return;
        if (threadIdx.x == 0) {
            __threadfence();
            u64 mine = block == 0 ? FLIPPED - (blocks - 1) : 1;
            u64 before = atomicAdd(&state->arrived, mine);
            while (!((before ^ *(volatile u64*)&state->arrived) & FLIPPED)) {}
            __threadfence();
        }
        __syncthreads();
    }
};

__device__ inline Team whole_grid(State* state) {
    return {state, blockIdx.x, gridDim.x};
}

// Lifts every component of a level to the number of its root on the next level, which
// the root has in `fresh`. A thread takes a bounded number of steps at a time and
// leaves behind how far it came: threads shorten each other's ways, so that a long
// chain needs a logarithmic number of passes.
__device__ void lift(
    Team team, u32* parent, const u32* fresh, u64 base, u64 size)
{
    u64 above = base + size;
    for (u32 pass = 0;; pass++) {
        if (team.thread() == 0) team.state->again[(pass + 1) % 3] = 0;
        bool far = false;
        for (u64 c = base + team.thread(); c < above; c += team.threads()) {
            u32 old = __ldcg(&parent[c]), p = old;
            bool going = p < above;
            for (u32 step = 0; step < 32 && going; step++) {
                u32 q = __ldcg(&parent[p]);
                going = q < above && q != p;
                if (q == p && fresh[p - base] != NOBODY) q = fresh[p - base];
                p = q;
            }
            if (p != old) parent[c] = p;
            far |= going;
        }
        if (__syncthreads_or(far) && threadIdx.x == 0) team.state->again[pass % 3] = 1;
        team.wait();
        if (!__ldcg(&team.state->again[pass % 3])) return;
    }
}
