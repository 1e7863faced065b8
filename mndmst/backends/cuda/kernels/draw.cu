// Arcs of random graphs.
//
// R-MAT (Chakrabarti, Zhan and Faloutsos 2004): every bit of an edge's ends comes from
// one of four quadrants, which have given probabilities; with equal ones the ends are
// uniform. Edge i is a function of i, so that the arcs of any vertices can be drawn by
// themselves, without memory for the others' arcs.

#include "common.cuh"

// Appends the arcs with tails in [low, high), (tail, head) in one word, loops left out.
// The first quadrants together have the shares `a`, `ab` and `abc`, in 65536ths.
extern "C" __global__ void draw_arcs(
    u64 edges, u32 levels, u32 a, u32 ab, u32 abc, u64 low, u64 high,
    u64* arcs, u64 capacity, u64* count)
{
    u64 i = thread_of_grid(), u = 0, v = 0, random = 0;
    for (u32 level = 0; level < levels; level++) {
        random = level % 4 ? random >> 16 : scramble(i << 4 | level / 4);
        u32 x = random & 0xffff;
        u = u << 1 | (x >= ab);
        v = v << 1 | ((x >= a && x < ab) || x >= abc);
    }
    bool counts = i < edges && u != v;
    bool there = counts && u - low < high - low, back = counts && v - low < high - low;
    Positions positions = reserve(there + back, count);
    u64 position = positions.take(there), other = positions.take(back);
    if (there && position < capacity) arcs[position] = u << 32 | v;
    if (back && other < capacity) arcs[other] = v << 32 | u;
}
