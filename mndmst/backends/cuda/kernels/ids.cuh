// Local ids as global ones: ghosts below the rows, the rows, ghosts above.

struct Ids {
    u32 first;
    u64 num_rows, first_global;
    const i64* ghosts;  // null: there are none

    __device__ inline u64 global(u32 id) const {
        if (ghosts == nullptr) return first_global + id;
        if (id < first) return ghosts[id];
        if (id - first < num_rows) return first_global + (id - first);
        return ghosts[id - num_rows];
    }
};
