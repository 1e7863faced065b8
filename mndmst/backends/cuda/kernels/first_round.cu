// The first round of Boruvka on rows: every vertex with a row takes its lightest
// arc. A ghost takes none, since some of its arcs are elsewhere.

#include "common.cuh"

// Finds the vertex at the far end of each vertex's lightest arc, or itself.
extern "C" __global__ void find_nearest(
    const u64* best, const u32* ends, u32 first, u64 own, u32* nearest, u64 vertices)
{
    u64 x = thread_of_grid();
    if (x >= vertices) return;
    u64 place = x - first < own ? best[x - first] : NONE;
    nearest[x] = place == NONE ? u32(x) : ends[place];
}

// Hooks every vertex onto its nearest. Of two that have picked each other the
// smaller one stays a root. Every other hook is an edge of the forest.
extern "C" __global__ void hook_vertices(
    const u32* nearest, const u64* best, const Key* keys, u32 first, u64 own,
    u32* parent, u32* fresh, u64 vertices,
    u32* chosen_u, u32* chosen_v, Key* chosen_key, State* state)
{
    u64 x = thread_of_grid();
    u32 other = x < vertices ? nearest[x] : u32(x);
    bool root = other == x || (x < other && nearest[other] == x);
    if (x < vertices) {
        bool lonely = other == x && x - first < own;
        parent[x] = root ? u32(x) : other;
        fresh[x] = lonely ? NOBODY : 0;
    }
    bool hooks = x < vertices && !root;
    u64 place = reserve(hooks, &state->chosen).take(hooks);
    if (!hooks) return;
    chosen_u[place] = min(u32(x), other);
    chosen_v[place] = max(u32(x), other);
    chosen_key[place] = keys[best[x - first]];
}
