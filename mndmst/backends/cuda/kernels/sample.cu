// The cut between light and heavy edges, estimated from a sample of the arcs.
//
// The cut is a pair (key, smaller end), so that it divides equal keys as well.

#include "common.cuh"

const double LEAST_SHARE = 0.2;  // of the light edges that an even graph needs

// Draws one arc from each of `count` equal stretches; an arc that is outside the
// band [lowest, highest] is marked by the end NOBODY.
extern "C" __global__ void draw_sample(
    const i64* offset, u64 rows, u32 first, const u32* ends, const Key* keys,
    u64 arcs, Key lowest, Key highest, Key* sample_key, u32* sample_end, u32 count,
    State* state)
{
    u64 i = thread_of_grid();
    if (i >= count) return;
    // A product of 128 bits, taken apart: arcs * (i + random) / count.
    u64 stretch = arcs / count + 1;
    u64 arc = arcs / count * i + arcs % count * i / count + scramble(i) % stretch;
    arc = min(arc, arcs - 1);
    u32 row = row_of(offset, 0, rows - 1, arc);
    Key key = keys[arc];
    bool inside = key >= lowest && key <= highest;
    sample_key[i] = key;
    sample_end[i] = inside ? min(first + row, ends[arc]) : NOBODY;
    atomicAdd(&state->degrees, u64(offset[row + 1] - offset[row]));
}

// Finds the sampled arc that has the given share of the others before it. A warp
// counts for each sampled arc, which costs less than sorting so few. With `mean`,
// the mean degree of a row, the share is for graphs whose degrees are all alike;
// where arcs crowd in hubs, less gives a giant component.
extern "C" __global__ void choose_cut(
    const Key* sample_key, const u32* sample_end, u32 count, double share, double mean,
    u32 cuts, State* state)
{
    u32 i = thread_of_grid() / 32;
    if (i >= count) return;
    Key key = sample_key[i];
    u32 end = sample_end[i];
    u32 inside = 0, before = 0;
    #pragma unroll 4
    for (u32 j = threadIdx.x % 32; j < count; j += 32) {
        Key other = sample_key[j];
        u32 other_end = sample_end[j];
        bool tie = other == key;
        bool less = tie && other_end == end ? j < i : tie ? other_end < end : other < key;
        inside += other_end != NOBODY;
        before += other_end != NOBODY && less;
    }
    inside = __reduce_add_sync(~0u, inside);
    before = __reduce_add_sync(~0u, before);
    if (end == NOBODY || threadIdx.x % 32) return;
    double skew = double(state->degrees) / count / mean;
    if (mean > 0) share *= min(1.0, max(LEAST_SHARE, rsqrt(skew)));
    if (before == 0) state->least_key = key;
    if (before == inside - 1) state->greatest_key = key;
    if (cuts && before == min(u32(share * inside), inside - 1)) {
        state->cut_key = key;
        state->cut_end = end;
    }
}
