// The first round of Boruvka on rows: every vertex with a row takes its lightest
// arc. A ghost takes none, since some of its arcs are elsewhere.

#include "common.cuh"

// Writes the far end of each row's lightest arc, or the row's vertex if it has no arc.
extern "C" __global__ void find_nearest(
    const u64* best, const u32* ends, u32 first, u64 num_rows, u32* nearest)
{
    u64 row = thread_of_grid();
    if (row >= num_rows) return;
    u64 arc = best[row];
    nearest[row] = arc == NONE ? u32(first + row) : ends[arc];
}

// Hooks every vertex onto the far end of its lightest arc. Of two that have picked
// each other the smaller one stays a root, and gets its number on level 1. Every other
// hook is an edge of the forest.
extern "C" __global__ void hook_vertices(
    const u32* nearest, const u64* best, const Key* keys, u32 first, u64 num_rows,
    u32* parent, u32* fresh, u64 vertices,
    u32* chosen_u, u32* chosen_v, Key* chosen_key, State* state)
{
    auto far_end = [&](u32 x) {
        u64 row = u64(x) - first;
        return row < num_rows ? nearest[row] : x;
    };
    u64 x = thread_of_grid();
    bool hooks = false, root = false;
    u32 other = 0;
    if (x < vertices) {
        other = far_end(x);
        hooks = other != x && !(x < other && far_end(other) == x);
        root = !hooks && (other != x || x - first >= num_rows);  // not without an arc
        parent[x] = hooks ? other : u32(x);
    }
    u64 number = vertices + reserve(root, &state->next).take(root);
    if (x < vertices) fresh[x] = root ? u32(number) : NOBODY;
    if (root) parent[number] = number;
    u64 position = reserve(hooks, &state->chosen).take(hooks);
    if (!hooks) return;
    chosen_u[position] = min(u32(x), other);
    chosen_v[position] = max(u32(x), other);
    chosen_key[position] = keys[best[x - first]];
}
