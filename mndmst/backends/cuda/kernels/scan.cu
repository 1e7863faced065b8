// One pass over rows: the lightest arc of each row, and the list of light edges.
//
// The rows are cut by arcs, ITEMS to a thread and TILE to a block, so that a hub
// and a thousand short rows cost the same. A row that crosses threads is put
// together by a segmented scan over the warp; one that crosses warps, in memory.

const u32 ITEMS = 8;
const u32 BLOCK = 256;
const u32 TILE = ITEMS * BLOCK;

// The lightest arc of a stretch of a row, counted from the warp's first arc;
// of equal keys the first arc is the one before in the order of edges.
struct Pick {
    Key key;
    int at;  // -1: none
};

__device__ inline Pick lighter(Pick earlier, Pick later) {
    bool take = later.at >= 0 && (earlier.at < 0 || later.key < earlier.key);
    return take ? later : earlier;
}

// Records a pick of a row; other warps may hold other stretches of the row.
__device__ inline void settle(
    u64* best, const i64* offset, const Key* keys, u32 row, Pick pick, i64 warp_begin)
{
    if (pick.at < 0) return;
    u64 place = warp_begin + pick.at;
    if (offset[row] >= warp_begin && offset[row + 1] <= warp_begin + 32 * ITEMS) {
        best[row] = place;
        return;
    }
    u64 seen = *(volatile u64*)&best[row];
    while (seen == NONE || pick.key < keys[seen]
           || (pick.key == keys[seen] && place < seen)) {
        u64 found = atomicCAS(&best[row], seen, place);
        if (found == seen) return;
        seen = found;
    }
}

// Puts the picks of a warp's threads together. `head` is the stretch of the row
// that a thread begins with, `run` that of the row it ends with; they are one
// stretch, held in `run`, unless a row ends between them (`split`).
__device__ inline void join_warp(
    u64* best, const i64* offset, const Key* keys, i64 warp_begin,
    u32 head_row, Pick head, u32 row, Pick run, bool split)
{
    u32 lane = threadIdx.x % 32;
    u32 row_before = __shfl_up_sync(~0u, row, 1);
    u32 row_after = __shfl_down_sync(~0u, head_row, 1);
    bool follows = lane > 0 && row_before == head_row;
    bool closed = split || !follows;
    for (u32 step = 1; step < 32; step *= 2) {
        Pick other;
        other.key = __shfl_up_sync(~0u, run.key, step);
        other.at = __shfl_up_sync(~0u, run.at, step);
        bool other_closed = __shfl_up_sync(~0u, closed, step);
        if (lane >= step && !closed) {
            run = lighter(other, run);
            closed = other_closed;
        }
    }
    Pick carry;
    carry.key = __shfl_up_sync(~0u, run.key, 1);
    carry.at = __shfl_up_sync(~0u, run.at, 1);
    if (split) {
        if (follows) head = lighter(carry, head);
        settle(best, offset, keys, head_row, head, warp_begin);
    }
    if (lane == 31 || row_after != row)
        settle(best, offset, keys, row, run, warp_begin);
}

// Reads ITEMS consecutive values, aligned to their size, 16 bytes at a time.
template <typename T>
__device__ inline void load(const T* from, T* to) {
    const uint4* pieces = (const uint4*)from;
    #pragma unroll
    for (u32 i = 0; i < ITEMS * sizeof(T) / 16; i++) ((uint4*)to)[i] = pieces[i];
}

// Finds the row of the first arc of each tile, and of the very last arc.
extern "C" __global__ void find_tiles(
    const i64* offset, u64 rows, u64 arcs, u32* tile_row, u64 tiles)
{
    u64 tile = thread_of_grid();
    if (tile > tiles) return;
    tile_row[tile] = row_of(offset, 0, rows - 1, min(tile * TILE, arcs - 1));
}

// Rows are either all rows in order (vertex == nullptr: row r is the vertex
// first + r) or a choice of non-empty ones, whose arcs are counted by `offset` and
// found by `indptr`. An optional result is asked for by its array:
// `best`: the lightest arc of each row, for rows in order;
// `u`, `v`, `list_key`: the edges up to the cut, each once.
// With `label`, arcs inside a component are left out.
extern "C" __global__ void __launch_bounds__(BLOCK) scan_rows(
    const i64* offset, const u32* vertex, const i64* indptr, u64 arcs,
    u32 first, u64 own, const u32* ends, const Key* keys, const u32* tile_row,
    const u32* label, u32 has_low, Key low, u32 has_high, Key high, u32 has_cut,
    u64* best, u32* u, u32* v, Key* list_key, State* state)
{
    i64 begin = i64(blockIdx.x) * TILE + threadIdx.x * ITEMS;
    i64 warp_begin = i64(blockIdx.x) * TILE + threadIdx.x / 32 * 32 * ITEMS;
    u32 last_row = tile_row[blockIdx.x + 1];
    Key cut_key = state->cut_key;
    u32 cut_end = state->cut_end;
    u64 giant = vertex ? state->giant : NONE;

    alignas(16) Key key[ITEMS];
    alignas(16) u32 far[ITEMS];
    u32 near[ITEMS];
    bool whole = !vertex && begin + ITEMS <= i64(arcs);
    if (whole) {
        load(keys + begin, key);
        load(ends + begin, far);
    }
    u32 row = NOBODY, head_row = NOBODY, me = 0;
    i64 end = begin, shift = 0;
    Pick head = {0, -1}, run = {0, -1};
    bool split = false;
    u32 listed = 0;  // one bit for each arc

    #pragma unroll
    for (u32 j = 0; j < ITEMS; j++) {
        i64 arc = begin + j;
        if (arc >= i64(arcs)) continue;
        if (arc == end) {
            // 1. A row begins
            if (j == 0) {
                row = row_of(offset, tile_row[blockIdx.x], last_row, arc);
                head_row = row;
            } else {
                if (split) {
                    if (best) settle(best, offset, keys, row, run, warp_begin);
                } else {
                    head = run;
                }
                split = true;
                run.at = -1;
                row++;
                if (offset[row + 1] <= arc) row = row_of(offset, row, last_row, arc);
            }
            end = offset[row + 1];
            me = vertex ? vertex[row] : first + row;
            shift = vertex ? indptr[me - first] - offset[row] : 0;
        }
        // 2. Look at the arc
        if (!whole) {
            key[j] = keys[arc + shift];
            far[j] = ends[arc + shift];
        }
        near[j] = me;
        bool counts = far[j] != me && (!has_low || key[j] > low)
                      && (!has_high || key[j] <= high);
        if (!counts || (label && label[me] == label[far[j]])) continue;
        run = lighter(run, Pick{key[j], int(arc - warp_begin)});
        // 3. List the edge, unless the row of the other end does
        u64 other = u64(far[j]) - first;
        bool twice = other < own && !(vertex && label[far[j]] == giant);
        u32 smaller = min(me, far[j]);
        bool light = !has_cut || key[j] < cut_key
                     || (key[j] == cut_key && smaller <= cut_end);
        if (light && (me < far[j] || !twice)) listed |= 1u << j;
    }
    if (best)
        join_warp(best, offset, keys, warp_begin, head_row, head, row, run, split);
    if (!u) return;
    u64 place = reserve(__popc(listed), &state->found);
    #pragma unroll
    for (u32 j = 0; j < ITEMS; j++) {
        if (!(listed >> j & 1)) continue;
        if (place < state->capacity) {
            u[place] = min(near[j], far[j]);
            v[place] = max(near[j], far[j]);
            list_key[place] = key[j];
        }
        place++;
    }
}
