// Labels of trees: the smallest vertex of each.

#include "common.cuh"

extern "C" __global__ void find_smallest(
    const u32* parent, u64 vertices, u32* smallest)
{
    u64 x = thread_of_grid();
    if (x >= vertices || parent[x] < vertices) return;
    u32* slot = &smallest[parent[x] - vertices];
    if (x < *(volatile u32*)slot) atomicMin(slot, u32(x));
}

// A vertex without edges is its own parent and its own label.
extern "C" __global__ void write_labels(
    const u32* parent, u64 vertices, const u32* smallest, u32* label)
{
    u64 x = thread_of_grid();
    if (x >= vertices) return;
    label[x] = parent[x] < vertices ? u32(x) : smallest[parent[x] - vertices];
}
