// One pass over rows: the lightest arc of each row, and the list of light edges.
//
// The rows are cut by arcs, ITEMS to a thread and TILE to a block, so that a hub
// and a thousand short rows cost the same. A row that crosses threads is put
// together by a segmented scan over the warp; one that crosses warps, in memory.

#include "common.cuh"
#include "tiles.cuh"

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

// The lightest arc, or NONE, of a stretch of a row that may go on in other warps.
struct Stretch {
    u32 row;
    u64 arc;
};

// Puts the arc of a stretch into the slot of its row, which has held `seen`, unless a
// lighter arc is there.
__device__ inline void settle(u64* best, const Key* keys, Stretch stretch, u64 seen) {
    while (seen != NONE && (keys[stretch.arc] < keys[seen]
           || (keys[stretch.arc] == keys[seen] && stretch.arc < seen))) {
        u64 previous = atomicCAS(&best[stretch.row], seen, stretch.arc);
        if (previous == seen) return;
        seen = previous;
    }
}

// Puts the arc of a stretch into an empty slot; returns what else the slot holds.
__device__ inline u64 claim(u64* best, Stretch stretch) {
    if (stretch.arc == NONE) return NONE;
    return atomicCAS(&best[stretch.row], NONE, stretch.arc);
}

// Puts the picks of a warp's threads together. `head` is the stretch of the row
// that a thread begins with, `run` that of the row it ends with; they are one
// stretch, held in `run`, unless a row ends between them (`split`). Returns the stretch
// whose slot the thread still has to fill, if any.
__device__ inline Stretch join_warp(
    u64* best, const Key* keys, i64 warp_begin,
    u32 head_row, Pick head, u32 row, Pick run, bool split)
{
    u32 lane = threadIdx.x % 32;
    u32 row_before = __shfl_up_sync(~0u, row, 1);
    u32 row_after = __shfl_down_sync(~0u, head_row, 1);
    bool follows = lane > 0 && row_before == head_row;
    bool closed = split || !follows;
    for (u32 step = 1; step < 32 && !__all_sync(~0u, closed); step *= 2) {
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
    // Only the first and the last row of a warp can go on in others.
    u32 first_row = __shfl_sync(~0u, head_row, 0);
    u32 last_row = __shfl_sync(~0u, row, 31);
    Stretch unsettled = {0, NONE};
    auto record = [&](u32 of, Pick pick) {
        if (pick.at < 0) return;
        Stretch stretch = {of, u64(warp_begin + pick.at)};
        if (of != first_row && of != last_row) {
            best[of] = stretch.arc;
            return;
        }
        settle(best, keys, unsettled, claim(best, unsettled));
        unsettled = stretch;
    };
    if (split) record(head_row, follows ? lighter(carry, head) : head);
    if (lane == 31 || row_after != row) record(row, run);
    return unsettled;
}

// Finds the row of the first arc of each tile, and of the very last arc.
extern "C" __global__ void find_tiles(
    const i64* offset, u64 rows, u64 arcs, u32* tile_row, u64 tiles)
{
    u64 tile = thread_of_grid();
    if (tile > tiles) return;
    tile_row[tile] = row_of(offset, 0, rows - 1, min(tile * TILE, arcs - 1));
}

// Rows are either all rows in order (row r is the vertex first + r) or, if CHOSEN,
// a choice of non-empty ones, whose arcs are counted by `offset` and found by
// `indptr`, or lie side by side if that is null. The rows of [low, low + num_rows) are
// scanned in this launch or in others. The edges of keys [lowest, highest] and up to
// the cut are listed, each once. If FIRST, the lightest arc of each row goes to
// `best`; otherwise arcs inside a component are left out.
template <bool FIRST, bool CHOSEN>
__device__ void scan_tile(
    const i64* offset, const u32* vertex, const i64* indptr, u64 arcs,
    u32 first, u32 low, u64 num_rows, const u32* ends, const Key* keys,
    const u32* tile_row, const u32* label, Key lowest, Key highest,
    u64* best, u32* u, u32* v, Key* list_key, State* state)
{
    i64 tile_begin = i64(blockIdx.x) * TILE;
    i64 begin = tile_begin + threadIdx.x * ITEMS;
    i64 warp_begin = tile_begin + threadIdx.x / 32 * 32 * ITEMS;
    Key cut_key = state->cut_key;
    u32 cut_end = state->cut_end;
    u32 giant = CHOSEN ? state->giant : NOBODY;

    // 1. Read the arcs
    alignas(16) Key key[ITEMS];
    alignas(16) u32 far[ITEMS], row[ITEMS];
    bool whole = !CHOSEN && begin + ITEMS <= i64(arcs);
    if (whole) {
        load(keys + begin, key);
        load(ends + begin, far);
    }
    find_rows(offset, tile_row[blockIdx.x], tile_row[blockIdx.x + 1], tile_begin, row);
    auto near = [&](u32 j) { return CHOSEN ? vertex[row[j]] : first + row[j]; };
    if (!whole) {
        #pragma unroll
        for (u32 j = 0; j < ITEMS; j++) {
            i64 arc = begin + j;
            far[j] = near(j);  // beyond the end: a loop, which does not count
            if (arc >= i64(arcs)) continue;
            if (CHOSEN && indptr) arc += indptr[near(j) - first] - offset[row[j]];
            key[j] = keys[arc];
            far[j] = ends[arc];
        }
    }

    // 2. Find the lightest arc of each row, and mark the edges to list
    Pick head = {0, -1}, run = {0, -1};
    bool split = false;
    u32 listed = 0;  // one bit for each arc that may be listed
    #pragma unroll
    for (u32 j = 0; j < ITEMS; j++) {
        if (FIRST && j > 0 && row[j] != row[j - 1]) {
            if (!split) head = run;
            else if (run.at >= 0) best[row[j - 1]] = warp_begin + run.at;
            split = true;
            run.at = -1;
        }
        bool counts = far[j] != near(j) && key[j] >= lowest && key[j] <= highest;
        if (!FIRST && counts) counts = label[near(j)] != label[far[j]];
        bool take = FIRST && counts && (run.at < 0 || key[j] < run.key);
        run.key = take ? key[j] : run.key;
        run.at = take ? int(threadIdx.x % 32 * ITEMS + j) : run.at;
        listed |= u32(counts && key[j] <= cut_key) << j;
    }
    Stretch stretch = {0, NONE};
    if (FIRST)
        stretch = join_warp(
            best, keys, warp_begin, row[0], head, row[ITEMS - 1], run, split);
    u64 seen = claim(best, stretch);  // is used last: other work hides the latency

    // 3. Of the edges, leave those after the cut and those listed by the other row
    #pragma unroll
    for (u32 j = 0; j < ITEMS; j++) {
        if (!(listed >> j & 1)) continue;
        u32 x = near(j), y = far[j];
        bool heavy = key[j] == cut_key && min(x, y) > cut_end;
        bool twice = u64(y) - low < num_rows && !(CHOSEN && label[y] == giant);
        if (heavy || (x > y && twice)) listed ^= 1u << j;
    }

    // 4. Write the others
    Positions positions = reserve(__popc(listed), &state->listed);
    u64 capacity = state->capacity;
    u32 listed_in_warp = __reduce_or_sync(~0u, listed);
    #pragma unroll
    for (u32 j = 0; j < ITEMS; j++) {
        if (!(listed_in_warp >> j & 1)) continue;
        u64 position = positions.take(listed >> j & 1);
        if (!(listed >> j & 1) || position >= capacity) continue;
        u[position] = min(near(j), far[j]);
        v[position] = max(near(j), far[j]);
        list_key[position] = key[j];
    }
    settle(best, keys, stretch, seen);
}

// At least BLOCKS blocks fit on a multiprocessor: more hide its latency better, but a
// thread then has fewer registers.
#define SCAN(name, FIRST, CHOSEN, BLOCKS)                                            \
    extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS) name(                \
        const i64* offset, const u32* vertex, const i64* indptr, u64 arcs,           \
        u32 first, u32 low, u64 num_rows, const u32* ends, const Key* keys,          \
        const u32* tile_row, const u32* label, Key lowest, Key highest,              \
        u64* best, u32* u, u32* v, Key* list_key, State* state)                      \
    {                                                                                \
        scan_tile<FIRST, CHOSEN>(offset, vertex, indptr, arcs, first, low, num_rows, \
            ends, keys, tile_row, label, lowest, highest, best, u, v, list_key,      \
            state);                                                                  \
    }

SCAN(scan_first, true, false, 5)
SCAN(scan_all, false, false, 5)
SCAN(scan_chosen, false, true, 4)
