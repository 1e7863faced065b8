// Rounds of Boruvka on a list of edges, all in one launch.
//
// Components are numbered densely in every round, so that their slots stay in the
// cache. The numbers of all rounds form a stack: parent[x] of a component is its
// number in the next level, or x itself where it has no edge left. Level 0 holds
// the vertices, level 1 begins at `vertices`; levels halve, so that the stack ends
// before 3 * vertices.
//
// The largest component, if a sample shows one, never picks an edge: the others
// hook onto it anyway, and its slot would be fought for by all threads at once.

const u32 THREADS = 512;

struct Live {  // an edge between two components of the current level
    u32 a, b;  // counted from the level's base
    u32 rank;  // the key, or as much of it as 32 bits hold
    u32 ref;   // place in the list of edges
};

struct Edges {
    const u32 *u, *v;
    const Key* key;
    bool in_order;  // the place in the list decides between equal keys
};

// Waits for all blocks; the launch is cooperative, so that all are running.
__device__ inline void barrier(State* state) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        volatile u64* generation = &state->generation;
        u64 mine = *generation;
        if (atomicAdd(&state->arrived, 1) == gridDim.x - 1) {
            state->arrived = 0;
            __threadfence();
            *generation = mine + 1;
        } else {
            while (*generation == mine) {}
        }
        __threadfence();
    }
    __syncthreads();
}

__device__ inline bool before(const Edges& edges, u32 i, u32 j) {
    if (edges.key[i] != edges.key[j]) return edges.key[i] < edges.key[j];
    if (edges.in_order) return i < j;
    if (edges.u[i] != edges.u[j]) return edges.u[i] < edges.u[j];
    if (edges.v[i] != edges.v[j]) return edges.v[i] < edges.v[j];
    return i < j;
}

// Turns a key into 32 bits that never order two keys the wrong way round.
__device__ inline u32 rank_of(Key key, Key least, u32 shift) {
    if (sizeof(Key) == 4) return key;
    if (key <= least) return 0;
    return u32(min((key - least) >> shift, Key(~0u)));
}

// Lowers a slot, a rank and a place in the list of live edges, to this edge. The
// place of no edge is ~0, so an empty slot differs from every rank.
__device__ inline void lower(
    u64* slot, const Live& edge, u32 place, const Live* list, const Edges& edges)
{
    u64 mine = u64(edge.rank) << 32 | place;
    u64 seen = __ldca(slot);  // may be old, but slots only fall
    if (seen != NONE && edge.rank > seen >> 32) return;
    seen = __ldcg(slot);
    while (seen == NONE || edge.rank < seen >> 32
           || (edge.rank == seen >> 32
               && before(edges, edge.ref, list[u32(seen)].ref))) {
        u64 found = atomicCAS(slot, seen, mine);
        if (found == seen) return;
        seen = found;
    }
}

// Makes every hooked component of a level point to its root. A thread takes a
// bounded number of steps at a time: threads shorten each other's ways, so that a
// long chain needs a logarithmic number of passes.
__device__ void jump(State* state, u32* parent, u64 base, u64 size) {
    for (u32 pass = 0;; pass++) {
        if (thread_of_grid() == 0) state->again[(pass + 1) % 3] = 0;
        bool far = false;
        for (u64 c = base + thread_of_grid(); c < base + size; c += threads_of_grid()) {
            u32 old = __ldcg(&parent[c]), p = old, q = __ldcg(&parent[p]);
            for (u32 step = 0; step < 32 && q != p; step++) {
                p = q;
                q = __ldcg(&parent[p]);
            }
            if (p != old) parent[c] = p;
            far |= q != p;
        }
        if (__syncthreads_or(far) && threadIdx.x == 0) state->again[pass % 3] = 1;
        barrier(state);
        if (!__ldcg(&state->again[pass % 3])) return;
    }
}

// Numbers the roots of a level that go on (fresh != NOBODY) and lifts every
// component to its root's number. Returns the size of the next level.
__device__ u64 lift(State* state, u32* parent, u32* fresh, u64 base, u64 size) {
    u64 above = base + size;
    for (u64 c0 = u64(blockIdx.x) * THREADS; c0 < size; c0 += threads_of_grid()) {
        u64 c = c0 + threadIdx.x;
        bool root = c < size && parent[base + c] == base + c && fresh[c] != NOBODY;
        u64 number = above + reserve(root, &state->next);
        if (root) {
            fresh[c] = number;
            parent[number] = number;
        }
    }
    if (thread_of_grid() == 0) for (u32 i = 0; i < 3; i++) state->again[i] = 0;
    barrier(state);
    for (u64 c = thread_of_grid(); c < size; c += threads_of_grid()) {
        u32 number = __ldcg(&fresh[parent[base + c] - base]);
        if (number != NOBODY) parent[base + c] = number;
    }
    u64 next = __ldcg(&state->next);
    barrier(state);
    return next;
}

// Lists the edges between different components of the first level.
__device__ void enliven(
    State* state, const Edges& edges, u64 found, const u32* parent, u64 base,
    Live* list, Key least, u32 shift)
{
    for (u64 i0 = u64(blockIdx.x) * THREADS; i0 < found; i0 += threads_of_grid()) {
        u64 i = i0 + threadIdx.x;
        u32 a = 0, b = 0;
        if (i < found) {
            a = __ldcg(&parent[edges.u[i]]);
            b = __ldcg(&parent[edges.v[i]]);
        }
        u64 place = reserve(a != b, &state->live[0]);
        if (a != b)
            list[place] = {u32(a - base), u32(b - base),
                           rank_of(edges.key[i], least, shift), u32(i)};
    }
}

// Moves the live edges up a level and drops those inside a component.
__device__ void move_up(
    const u32* parent, u64 base, u64 above, const Live* list, u64 live,
    Live* next_list, u64* next_live)
{
    for (u64 i0 = u64(blockIdx.x) * THREADS; i0 < live; i0 += threads_of_grid()) {
        u64 i = i0 + threadIdx.x;
        Live edge = {0, 0, 0, 0};
        if (i < live) {
            edge = list[i];
            edge.a = __ldcg(&parent[base + edge.a]) - above;
            edge.b = __ldcg(&parent[base + edge.b]) - above;
        }
        bool stays = edge.a != edge.b;
        u64 place = reserve(stays, next_live);
        if (stays) next_list[place] = edge;
    }
}

// Hooks every component onto the other end of its lightest edge; of two that have
// picked the same edge the smaller one stays a root.
__device__ void hook(
    State* state, const u64* best, const Live* list, const Edges& edges,
    u32* parent, u32* fresh, u64 base, u64 size, u64 giant,
    u8* mark, u32* chosen_u, u32* chosen_v, Key* chosen_key)
{
    for (u64 c0 = u64(blockIdx.x) * THREADS; c0 < size; c0 += threads_of_grid()) {
        u64 c = c0 + threadIdx.x;
        u64 slot = c < size ? __ldcg(&best[c]) : NONE;
        u32 other = c, ref = 0;
        bool root = true;
        if (slot != NONE) {
            Live edge = list[u32(slot)];
            other = edge.a == c ? edge.b : edge.a;
            ref = edge.ref;
            root = c < other && __ldcg(&best[other]) == slot;
        }
        if (c < size) {
            parent[base + c] = base + (root ? c : other);
            fresh[c] = slot == NONE && base + c != giant ? NOBODY : 0;
        }
        if (mark) {
            if (!root) mark[ref] = 1;
            continue;
        }
        u64 place = reserve(!root, &state->chosen);
        if (!root) {
            chosen_u[place] = edges.u[ref];
            chosen_v[place] = edges.v[ref];
            chosen_key[place] = edges.key[ref];
        }
    }
}

// Takes the stack down to two levels: every vertex points to its component, and
// these are numbered densely from `vertices` on.
__device__ void flatten(
    State* state, u32* parent, u32* fresh, u64 vertices, u64 level1, u64 top)
{
    // 1. Number what is left
    if (thread_of_grid() == 0) state->size = 0;
    barrier(state);
    for (u64 x0 = vertices + u64(blockIdx.x) * THREADS; x0 < top;
         x0 += threads_of_grid()) {
        u64 x = x0 + threadIdx.x;
        bool root = x < top && parent[x] == x;
        u64 number = vertices + reserve(root, &state->size);
        if (root) fresh[x - vertices] = number;
    }
    barrier(state);
    // 2. Level 1 points to the new numbers; no way leads through it from below
    for (u64 x = vertices + thread_of_grid(); x < vertices + level1;
         x += threads_of_grid()) {
        u32 p = x, q = parent[x];
        while (p != q) {
            p = q;
            q = parent[p];
        }
        parent[x] = __ldcg(&fresh[p - vertices]);
    }
    barrier(state);
    // 3. So do the vertices
    for (u64 x = thread_of_grid(); x < vertices; x += threads_of_grid()) {
        u32 p = parent[x];
        if (p >= vertices) parent[x] = __ldcg(&parent[p]);
    }
    barrier(state);
    u64 size = __ldcg(&state->size);
    for (u64 i = thread_of_grid(); i < size; i += threads_of_grid())
        parent[vertices + i] = vertices + i;
    if (thread_of_grid() == 0) state->base = vertices;
}

// Solves the listed edges. With `hooked` the vertices have just been hooked by the
// first round and level 1 does not exist yet.
extern "C" __global__ void __launch_bounds__(THREADS, 2) run_rounds(
    State* state, u32 hooked, u64 vertices, u32* parent, u32* fresh, u64* best,
    Live* list, Live* next_list,
    const u32* u, const u32* v, const Key* key, u32 in_order,
    u8* mark, u32* chosen_u, u32* chosen_v, Key* chosen_key)
{
    Edges edges = {u, v, key, bool(in_order)};
    u64 found = state->found;
    if (found > state->capacity) return;
    u64 base = state->base, size = state->size;
    Key least = state->least_key, spread = state->greatest_key - least;
    u32 shift = sizeof(Key) == 4 ? 0 : max(0, 32 - __clzll(spread));

    // 1. Contract the first round
    if (hooked) {
        jump(state, parent, 0, vertices);
        base = vertices;
        size = lift(state, parent, fresh, 0, vertices);
    }
    u64 level1 = size;

    // 2. Relabel the list, and find the component that shall not pick
    enliven(state, edges, found, parent, base, list, least, shift);
    for (u64 c = thread_of_grid(); c < size; c += threads_of_grid()) best[c] = NONE;
    barrier(state);
    u64 live = __ldcg(&state->live[0]);
    if (blockIdx.x == 0) {
        u64 random = scramble(threadIdx.x);
        u32 end = NOBODY;
        if (live) {
            const Live* edge = &list[random % live];
            end = random >> 63 ? __ldcg(&edge->a) : __ldcg(&edge->b);
        }
        u32 giant = most_frequent(end);
        if (threadIdx.x == 0) {
            state->giant = giant == NOBODY ? NONE : base + giant;
            state->next = 0;
        }
    }
    barrier(state);
    u64 giant = __ldcg(&state->giant);

    // 3. Rounds
    u32 turn = 0;
    while (live) {
        for (u64 i = thread_of_grid(); i < live; i += threads_of_grid()) {
            Live edge = list[i];
            if (base + edge.a != giant) lower(&best[edge.a], edge, i, list, edges);
            if (base + edge.b != giant) lower(&best[edge.b], edge, i, list, edges);
        }
        barrier(state);
        if (thread_of_grid() == 0) state->next = state->live[1 - turn] = 0;
        hook(state, best, list, edges, parent, fresh, base, size, giant,
             mark, chosen_u, chosen_v, chosen_key);
        barrier(state);
        jump(state, parent, base, size);
        u64 next = lift(state, parent, fresh, base, size);
        u64 above = base + size;
        move_up(parent, base, above, list, live, next_list, &state->live[1 - turn]);
        for (u64 c = thread_of_grid(); c < next; c += threads_of_grid()) best[c] = NONE;
        barrier(state);
        if (giant != NONE) giant = __ldcg(&parent[giant]);
        turn = 1 - turn;
        live = __ldcg(&state->live[turn]);
        Live* other = list;
        list = next_list;
        next_list = other;
        base = above;
        size = next;
    }
    flatten(state, parent, fresh, vertices, level1, base + size);
    if (thread_of_grid() == 0) {
        state->found = state->next = 0;
        state->live[0] = state->live[1] = 0;
    }
}
