// The stack of components before and after the rounds on a list.

#include "components.cuh"

// Lifts the vertices that the first round has hooked to level 1.
extern "C" __global__ void __launch_bounds__(THREADS, 4) contract(
    State* state, u32* parent, u32* fresh, u64 vertices)
{
    lift(whole_grid(state), parent, fresh, 0, vertices);
    if (thread_of_grid() != 0) return;
    state->size = state->next;
    state->next = 0;
}

// Reduces the stack to two levels: every vertex points to its component, and
// components are numbered from `vertices` on without gaps.
extern "C" __global__ void __launch_bounds__(THREADS, 4) flatten(
    State* state, u32* parent, u32* fresh, u64 vertices)
{
    if (state->listed) return;  // the list was too long: nothing was solved
    Team team = whole_grid(state);
    u64 level1 = state->level1, top = state->top;

    // 1. Number the roots
    for (u64 begin = vertices + blockIdx.x * CHUNK; begin < top;
         begin += gridDim.x * CHUNK) {
        u32 roots = 0;
        #pragma unroll
        for (u32 j = 0; j < EACH; j++) {
            u64 x = begin + j * THREADS + threadIdx.x;
            roots |= u32(x < top && parent[x] == x) << j;
        }
        Positions positions = reserve(__popc(roots), &state->next);
        #pragma unroll
        for (u32 j = 0; j < EACH; j++) {
            u64 number = vertices + positions.take(roots >> j & 1);
            if (roots >> j & 1)
                fresh[begin + j * THREADS + threadIdx.x - vertices] = number;
        }
    }
    team.wait();
    // 2. Level 1 points to the new numbers; no way leads through it from below
    for (u64 x = vertices + thread_of_grid(); x < vertices + level1;
         x += threads_of_grid()) {
        u32 p = x, q = parent[x];
        while (p != q) {
            p = q;
            q = parent[p];
        }
        parent[x] = fresh[p - vertices];
    }
    team.wait();
    // 3. So do the vertices
    for (u64 x = thread_of_grid(); x < vertices; x += threads_of_grid()) {
        u32 p = parent[x];
        if (p >= vertices) parent[x] = parent[p];
    }
    team.wait();
    u64 size = state->next;
    for (u64 i = thread_of_grid(); i < size; i += threads_of_grid())
        parent[vertices + i] = vertices + i;
    team.wait();
    if (thread_of_grid() != 0) return;
    state->size = state->level1 = size;
    state->top = vertices + size;
    state->next = 0;
}
