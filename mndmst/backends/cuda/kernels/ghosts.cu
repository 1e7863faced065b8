// Ghosts: marked by a bit for every vertex of the graph, and numbered in order.

#include "common.cuh"

// Marks the far ends outside the rows [first, first + num_rows). `inspect_arcs` finds
// ids that are out of range.
extern "C" __global__ void mark_ghosts(
    const u32* ends, u64 arcs, u64 first, u64 num_rows, u64 vertices, u32* bits)
{
    for (u64 arc = thread_of_grid(); arc < arcs; arc += threads_of_grid()) {
        u64 id = ends[arc];
        if (id - first < num_rows || id >= vertices) continue;
        u32* word = &bits[id / 32];
        u32 bit = 1u << id % 32;
        // Most ends are marked by then, and hubs would be fought for
        if (!(*(volatile u32*)word & bit)) atomicOr(word, bit);
    }
}

// Lists the marked vertices; `rank` counts the marks before each word.
extern "C" __global__ void list_ghosts(
    const u32* bits, const u32* rank, u64 words, i64* ghosts)
{
    u64 word = thread_of_grid();
    if (word >= words) return;
    u32 position = rank[word];
    for (u32 marks = bits[word]; marks; marks &= marks - 1)
        ghosts[position++] = word * 32 + __ffs(marks) - 1;
}

// Replaces global ids by local ones, an id out of range by NOBODY. `below` ghosts come
// before the rows.
extern "C" __global__ void to_local(
    u32* ends, u64 arcs, u64 first, u64 num_rows, u64 vertices,
    const u32* bits, const u32* rank, u32 below)
{
    for (u64 arc = thread_of_grid(); arc < arcs; arc += threads_of_grid()) {
        u64 id = ends[arc];
        u32 local = NOBODY;
        if (id - first < num_rows) {
            local = below + (id - first);
        } else if (id < vertices) {
            u32 before = bits[id / 32] & ((1u << id % 32) - 1);
            local = rank[id / 32] + __popc(before) + (id < first ? 0 : num_rows);
        }
        ends[arc] = local;
    }
}
