// The cut between light and heavy edges, estimated from a sample of the arcs.
//
// The cut is a pair (key, smaller end), so that it divides equal keys as well.

// Draws one arc from each of `count` equal stretches; an arc that is outside the
// band (low, high] is marked by the end NOBODY.
extern "C" __global__ void draw_sample(
    const i64* offset, u64 rows, u32 first, const u32* ends, const Key* keys,
    u64 arcs, u32 has_low, Key low, u32 has_high, Key high,
    Key* sample_key, u32* sample_end, u32 count)
{
    u64 i = thread_of_grid();
    if (i >= count) return;
    // A product of 128 bits, taken apart: arcs * (i + random) / count.
    u64 stretch = arcs / count + 1;
    u64 arc = arcs / count * i + arcs % count * i / count + scramble(i) % stretch;
    arc = min(arc, arcs - 1);
    u32 row = first + row_of(offset, 0, rows - 1, arc);
    Key key = keys[arc];
    bool inside = (!has_low || key > low) && (!has_high || key <= high);
    sample_key[i] = key;
    sample_end[i] = inside ? min(row, ends[arc]) : NOBODY;
}

// Finds the sampled arc that has the given share of the others before it.
extern "C" __global__ void choose_cut(
    const Key* sample_key, const u32* sample_end, u32 count, double share, State* state)
{
    u64 i = thread_of_grid();
    if (i >= count) return;
    Key key = sample_key[i];
    u32 end = sample_end[i];
    u32 inside = 0, before = 0;
    for (u32 j = 0; j < count; j++) {
        Key other = sample_key[j];
        u32 other_end = sample_end[j];
        if (other_end == NOBODY) continue;
        inside++;
        bool tie = other == key;
        before += tie && other_end == end ? j < i : tie ? other_end < end : other < key;
    }
    if (end == NOBODY) return;
    if (before == 0) state->least_key = key;
    if (before == inside - 1) state->greatest_key = key;
    if (before == min(u32(share * inside), inside - 1)) {
        state->cut_key = key;
        state->cut_end = end;
    }
}
