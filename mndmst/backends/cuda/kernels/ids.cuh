// Local ids as global ones: ghosts below the rows, the rows, ghosts above.

struct Ids {
    u32 first;
    u64 own, first_global;
    const i64* ghosts;  // null: there are none

    __device__ inline u64 global(u32 id) const {
        if (ghosts == nullptr) return first_global + id;
        if (id < first) return ghosts[id];
        return id - first < own ? first_global + (id - first) : ghosts[id - own];
    }
};
