// Hooks of rows along their lightest arcs, and the edges that lead elsewhere.

#include "common.cuh"
#include "ids.cuh"

// Writes the far end of each row's lightest arc, as a local and as a global id, and its
// key. A row without an arc hooks to itself, and its key is 0.
extern "C" __global__ void hook_rows(
    const u64* best, const u32* ends, const Key* keys,
    u32 first, u64 num_rows, u64 first_global, const i64* ghosts,
    u32* far, u32* hook, Key* hook_key)
{
    u64 row = thread_of_grid();
    if (row >= num_rows) return;
    u64 arc = best[row];
    bool some = arc != NONE;
    Ids ids = {first, num_rows, first_global, ghosts};
    u32 end = some ? ends[arc] : u32(first + row);
    far[row] = end;
    hook[row] = u32(ids.global(end));
    hook_key[row] = some ? keys[arc] : Key(0);
}

// Marks the edges whose smaller end is a row that does not hook along them.
extern "C" __global__ void mark_others(
    const u32* u, const u32* v, u64 count, u32 first, const u32* far, u8* marks)
{
    u64 i = thread_of_grid();
    if (i < count) marks[i] = u[i] >= first && v[i] != far[u[i] - first];
}
