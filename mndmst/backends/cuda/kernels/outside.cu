// The giant component, and the rows outside it.
//
// Once the light edges are solved, every remaining edge has an end outside the
// giant component (outside any one component, in fact), so that only the rows
// outside have to be read for heavier edges.

#include "common.cuh"

// Finds the component that most sampled arcs lead to. One block.
extern "C" __global__ void find_giant(
    const u32* ends, u64 arcs, const u32* parent, State* state)
{
    u32 giant = most_frequent(parent[ends[scramble(threadIdx.x) % arcs]]);
    if (threadIdx.x == 0) {
        state->giant = giant;
        state->outside = 0;
    }
}

// Lists the vertices outside the giant component that can still have edges.
extern "C" __global__ void list_outside(
    const i64* indptr, u32 first, u64 num_rows, const u32* parent, u64 vertices,
    u32* vertex, i64* degree, State* state)
{
    u64 row = thread_of_grid();
    u32 x = first + row;
    i64 arcs = 0;
    if (row < num_rows && parent[x] >= vertices && parent[x] != state->giant)
        arcs = indptr[row + 1] - indptr[row];
    u64 position = reserve(arcs > 0, &state->outside).take(arcs > 0);
    if (arcs == 0) return;
    vertex[position] = x;
    degree[position] = arcs;
}
