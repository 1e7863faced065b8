// The exact minimum spanning forest of points in few dimensions; point_tree.py has the
// sequence, and points/kernels the same steps on a CPU.
//
// Points lie in the order of a curve that fills space; `leaf_size` consecutive ones are
// a leaf of a complete binary tree. Nodes are numbered as in a heap: the root is 1, the
// children of i are 2 i and 2 i + 1, and the leaves begin at `leaves`, a power of two.
// So a walk needs no stack: a bit for each height says whether the sibling of the
// ancestor there is still to be visited.
//
// VALUE is the type of the coordinates, of which there are DIMENSIONS. NORM is 1, 2 or
// 3: Manhattan, Euclidean, Chebyshev. MUTUAL is 1 for mutual reachability distances, 0 for
// plain ones. LISTED neighbours of each point are kept.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define NOBODY 0xFFFFFFFFu
#define MIXED NOBODY  // the component of a node with points of several
#define INFINITE __longlong_as_double(0x7FF0000000000000ll)
#define LARGEST 1.7976931348623157e308
#define BITS (DIMENSIONS < 2 ? 32 : 64 / DIMENSIONS)  // of a coordinate in a code

struct Tree {
  const VALUE* points;      // by position, as the arrays below
  const u32* rows;          // the user's number of each point
  double* cores;            // core distances
  double* reach;            // no point that is not listed is nearer
  u32* listed;              // the nearest neighbours: first all points' nearest, and so on
  VALUE* boxes;             // of each node: the smallest coordinates, then the largest
  u32* first_row;           // of each node: the smallest number of its points
  double* least_core;       // of each node
  u32* of_node;             // the component of each node
  u64 count, leaves, leaf_size;
};

// The components of points, by position. Components are named by one of their points.
struct Rounds {
  u32* component;
  double* weight;  // of each point's lightest edge; or a bound that all of them reach
  u32* other;      // the far end of that edge, or NOBODY
  u64* bound;      // of each component: no lightest edge weighs more (bits of float64)
  u64* key;        // the smallest key of the edges of this weight
  u32* chosen;     // the point whose edge it is
  u32* target;     // the component at the far end, or NOBODY
  u32* parent;     // links to the component that takes over
  u32* asking;     // how many points of the component may have to search
  u32* queries;    // the points that do
  u64* counts;     // edges of the forest that are listed; points that may search, and do
  double* edge_weight;
  u64* edge_key;
};

__device__ inline u64 thread_of_grid() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }

// ------------------------------------------------------------------ distances

// A reduced distance with the gap of one more dimension, as in points/kernels/norms.py.
__device__ inline double add_gap(double total, double gap) {
#if NORM == 2
  return __dadd_rn(total, __dmul_rn(gap, gap));
#elif NORM == 1
  return __dadd_rn(total, gap);
#else
  return fmax(total, gap);
#endif
}

__device__ inline double distance_of(double reduced) { return NORM == 2 ? sqrt(reduced) : reduced; }

// A reduced distance above that of every point within a distance.
__device__ inline double limit_of(double distance) {
  double reduced = NORM == 2 ? distance * distance : distance;
  return fmin(reduced * (1 + 1e-15) + 1e-322, LARGEST);
}

struct Point {
  double at[DIMENSIONS];

  __device__ explicit Point(const VALUE* from) {
#pragma unroll
    for (int d = 0; d < DIMENSIONS; d++) at[d] = from[d];
  }
  __device__ double reduced(const VALUE* other) const {
    double total = 0;
#pragma unroll
    for (int d = 0; d < DIMENSIONS; d++) total = add_gap(total, fabs(at[d] - other[d]));
    return total;
  }
  // No point of the box is nearer: rounding keeps the order of gaps and of their sums.
  __device__ double gap_to(const VALUE* box) const {
    double total = 0;
#pragma unroll
    for (int d = 0; d < DIMENSIONS; d++)
      total = add_gap(total, fmax(fmax(box[d] - at[d], at[d] - box[DIMENSIONS + d]), 0.0));
    return total;
  }
};

// ------------------------------------------------------------------ the order of points

// Bits whose unsigned order is that of float64.
__device__ inline u64 ordered(double x) {
  u64 bits = (u64)__double_as_longlong(x);
  return bits >> 63 ? ~bits : bits | 1ull << 63;
}

// Finds the smallest and the largest coordinate of each dimension, as `ordered` bits.
extern "C" __global__ void find_extent(const VALUE* points, u64 count, u64* extent) {
  double low[DIMENSIONS], high[DIMENSIONS];
#pragma unroll
  for (int d = 0; d < DIMENSIONS; d++) low[d] = INFINITE, high[d] = -INFINITE;
  for (u64 i = thread_of_grid(); i < count; i += (u64)gridDim.x * blockDim.x)
#pragma unroll
    for (int d = 0; d < DIMENSIONS; d++) {
      double x = points[i * DIMENSIONS + d];
      low[d] = fmin(low[d], x), high[d] = fmax(high[d], x);
    }
#pragma unroll
  for (int d = 0; d < DIMENSIONS; d++) {
    for (int step = 16; step; step /= 2) {
      low[d] = fmin(low[d], __shfl_xor_sync(~0u, low[d], step));
      high[d] = fmax(high[d], __shfl_xor_sync(~0u, high[d], step));
    }
    if (threadIdx.x % 32 == 0) {
      atomicMin(extent + d, ordered(low[d]));
      atomicMax(extent + DIMENSIONS + d, ordered(high[d]));
    }
  }
}

// Computes places on Hilbert's curve (Skilling, Programming the Hilbert curve, 2004): of
// the cell of each point, or at a deeper level of the part of the cell that it is in.
// `frame` has the smallest coordinates and the cells per unit of length.
extern "C" __global__ void make_codes(const VALUE* points, const u32* chosen, u64 count,
                                      const double* frame, int level, u64* codes) {
  u64 i = thread_of_grid();
  if (i >= count) return;
  const VALUE* point = points + (u64)(chosen ? chosen[i] : (u32)i) * DIMENSIONS;
  u32 x[DIMENSIONS];
  const double cells = (double)(1ull << BITS);
#pragma unroll
  for (int d = 0; d < DIMENSIONS; d++) {
    double at = fmax((point[d] - frame[d]) * frame[DIMENSIONS], 0.0);
    for (int deeper = 0; deeper < level; deeper++) at = (at - floor(at)) * cells;
    x[d] = (u32)(u64)fmin(at, cells - 1);
  }
  for (u32 bit = 1u << (BITS - 1); bit > 1; bit >>= 1) {
    u32 below = bit - 1;
#pragma unroll
    for (int d = 0; d < DIMENSIONS; d++)
      if (x[d] & bit) {
        x[0] ^= below;
      } else {
        u32 both = (x[0] ^ x[d]) & below;
        x[0] ^= both, x[d] ^= both;
      }
  }
#pragma unroll
  for (int d = 1; d < DIMENSIONS; d++) x[d] ^= x[d - 1];
  u32 flipped = 0;
  for (u32 bit = 1u << (BITS - 1); bit > 1; bit >>= 1)
    if (x[DIMENSIONS - 1] & bit) flipped ^= bit - 1;
  u64 code = 0;
  for (int b = BITS - 1; b >= 0; b--)
#pragma unroll
    for (int d = 0; d < DIMENSIONS; d++) code = code << 1 | ((x[d] ^ flipped) >> b & 1);
  codes[i] = code;
}

// Puts numbers and codes of points in an order, and notes whether more than `leaf` points
// have one code.
extern "C" __global__ void apply_order(const i64* order, const u64* codes, u64 count, u64 leaf,
                                       u32* rows, u64* sorted, u32* crowded) {
  u64 i = thread_of_grid();
  if (i >= count) return;
  u64 row = (u64)order[i], code = codes[row];
  rows[i] = (u32)row, sorted[i] = code;
  if (i + leaf < count && codes[order[i + leaf]] == code) *crowded = 1;
}

extern "C" __global__ void gather_points(const VALUE* values, const u32* rows, u64 count,
                                         VALUE* points) {
  u64 i = thread_of_grid();
  if (i >= count * DIMENSIONS) return;
  points[i] = values[(u64)rows[i / DIMENSIONS] * DIMENSIONS + i % DIMENSIONS];
}

// ------------------------------------------------------------------ nodes

// Computes the boxes and the smallest numbers of the leaves. An empty leaf has no room.
extern "C" __global__ void box_leaves(const Tree* given) {
  const Tree tree = *given;
  u64 leaf = thread_of_grid();
  if (leaf >= tree.leaves) return;
  u64 begin = leaf * tree.leaf_size, end = min(begin + tree.leaf_size, tree.count);
  VALUE low[DIMENSIONS], high[DIMENSIONS];
  u32 first = NOBODY;
#pragma unroll
  for (int d = 0; d < DIMENSIONS; d++) low[d] = INFINITE, high[d] = -INFINITE;
  for (u64 p = begin; p < end; p++) {
    first = min(first, tree.rows[p]);
#pragma unroll
    for (int d = 0; d < DIMENSIONS; d++) {
      VALUE x = tree.points[p * DIMENSIONS + d];
      low[d] = min(low[d], x), high[d] = max(high[d], x);
    }
  }
  u64 node = tree.leaves + leaf;
  VALUE* box = tree.boxes + node * 2 * DIMENSIONS;
#pragma unroll
  for (int d = 0; d < DIMENSIONS; d++) box[d] = low[d], box[DIMENSIONS + d] = high[d];
  tree.first_row[node] = first;
}

// The same for the nodes [begin, 2 begin), one level, from their children.
extern "C" __global__ void box_nodes(const Tree* given, u64 begin) {
  const Tree tree = *given;
  u64 node = begin + thread_of_grid();
  if (node >= 2 * begin) return;
  VALUE* box = tree.boxes + node * 2 * DIMENSIONS;
  const VALUE *left = tree.boxes + node * 4 * DIMENSIONS, *right = left + 2 * DIMENSIONS;
#pragma unroll
  for (int d = 0; d < DIMENSIONS; d++) {
    box[d] = min(left[d], right[d]);
    box[DIMENSIONS + d] = max(left[DIMENSIONS + d], right[DIMENSIONS + d]);
  }
  tree.first_row[node] = min(tree.first_row[2 * node], tree.first_row[2 * node + 1]);
}

extern "C" __global__ void least_core_of_leaves(const Tree* given) {
  const Tree tree = *given;
  u64 leaf = thread_of_grid();
  if (leaf >= tree.leaves) return;
  u64 begin = leaf * tree.leaf_size, end = min(begin + tree.leaf_size, tree.count);
  double least = INFINITE;
  for (u64 p = begin; p < end; p++) least = fmin(least, tree.cores[p]);
  tree.least_core[tree.leaves + leaf] = least;
}

extern "C" __global__ void least_core_of_nodes(const Tree* given, u64 begin) {
  const Tree tree = *given;
  u64 node = begin + thread_of_grid();
  if (node >= 2 * begin) return;
  tree.least_core[node] = fmin(tree.least_core[2 * node], tree.least_core[2 * node + 1]);
}

extern "C" __global__ void name_leaves(const Tree* given, const u32* component) {
  const Tree tree = *given;
  u64 leaf = thread_of_grid();
  if (leaf >= tree.leaves) return;
  u64 begin = leaf * tree.leaf_size, end = min(begin + tree.leaf_size, tree.count);
  u32 name = begin < end ? component[begin] : MIXED;
  for (u64 p = begin + 1; p < end; p++)
    if (component[p] != name) name = MIXED;
  tree.of_node[tree.leaves + leaf] = name;
}

extern "C" __global__ void name_nodes(const Tree* given, u64 begin) {
  const Tree tree = *given;
  u64 node = begin + thread_of_grid();
  if (node >= 2 * begin) return;
  u32 left = tree.of_node[2 * node], right = tree.of_node[2 * node + 1];
  bool empty = tree.first_row[2 * node + 1] == NOBODY;
  tree.of_node[node] = left == right || empty ? left : MIXED;
}

// ------------------------------------------------------------------ walks

// Visits the leaves that a search may need, from the leaf of a position on upwards:
// first each sibling of an ancestor, below it the nearer child. `gap` returns the reduced
// distance to a node, or infinity for one that the search can do without.
template <typename Search>
__device__ inline void walk(const Tree& tree, u32 position, Search& search) {
  const u32 leaves = (u32)tree.leaves, size = (u32)tree.leaf_size;
  u32 own = position / size;
  search.visit(leaves + own, own * size);
  u32 node = leaves + own, height = 0, pending = leaves - 1;
  while (pending) {
    u32 up = __ffs(pending) - 1;
    pending &= pending - 1;
    node = node >> (up - height) ^ 1, height = up;
    bool needed = search.gap(node) < INFINITE;
    while (needed && height) {
      height--;
      double left = search.gap(2 * node), right = search.gap(2 * node + 1);
      bool second = right < left;
      if (left == right && left < INFINITE)
        second = tree.first_row[2 * node + 1] < tree.first_row[2 * node];
      node = 2 * node + second;
      needed = fmin(left, right) < INFINITE;
      if (fmax(left, right) < INFINITE) pending |= 1u << height;
    }
    if (needed) search.visit(node, (node - leaves) * size);
  }
}

struct NearestSearch {
  const Tree& tree;
  Point point;
  u32 position;
  double near[LISTED];  // reduced distances, ascending
  u32 found[LISTED];

  __device__ NearestSearch(const Tree& tree, u32 position)
      : tree(tree), point(tree.points + (u64)position * DIMENSIONS), position(position) {
#pragma unroll
    for (int j = 0; j < LISTED; j++) near[j] = INFINITE, found[j] = NOBODY;
  }
  __device__ double gap(u32 node) const {
    double gap = point.gap_to(tree.boxes + (u64)node * 2 * DIMENSIONS);
    return gap < near[LISTED - 1] ? gap : INFINITE;
  }
  __device__ void visit(u32, u32 begin) {
    u32 end = (u32)min(begin + tree.leaf_size, tree.count);
    for (u32 p = begin; p < end; p++) {
      double reduced = point.reduced(tree.points + (u64)p * DIMENSIONS);
      if (p != position && reduced < near[LISTED - 1]) insert(reduced, p);
    }
  }
  __device__ void insert(double reduced, u32 p) {
#pragma unroll
    for (int j = LISTED - 1; j > 0; j--) {
      bool before = reduced < near[j - 1], here = reduced < near[j];
      near[j] = before ? near[j - 1] : here ? reduced : near[j];
      found[j] = before ? found[j - 1] : here ? p : found[j];
    }
    if (reduced < near[0]) near[0] = reduced, found[0] = p;
  }
};

// Lists the nearest neighbours of all points, and computes their core distances: those to
// neighbour `min_samples`, the nearest being 1.
extern "C" __global__ void find_neighbours(const Tree* given, u64 min_samples) {
  const Tree tree = *given;
  u64 position = thread_of_grid();
  if (position >= tree.count) return;
  NearestSearch search(tree, (u32)position);
  walk(tree, (u32)position, search);
  tree.reach[position] = distance_of(search.near[LISTED - 1]);
#pragma unroll  // so that lists stay in registers
  for (int j = 0; j < LISTED; j++) {
    tree.listed[j * tree.count + position] = search.found[j];
    if (MUTUAL && j + 1 == min_samples) tree.cores[position] = distance_of(search.near[j]);
  }
}

// The weight of the edge between two positions.
__device__ inline double weight_of(const Tree& tree, u64 one, u64 other) {
  Point point(tree.points + one * DIMENSIONS);
  double weight = distance_of(point.reduced(tree.points + other * DIMENSIONS));
  return MUTUAL ? fmax(weight, fmax(tree.cores[one], tree.cores[other])) : weight;
}

__device__ inline u64 bits_of(double x) { return (u64)__double_as_longlong(x); }

__device__ inline void lower(u64* at, u64 to) {
  if (to < *at) atomicMin(at, to);
}

// The first edge, by (weight, row of the far end), from a point to another component.
// For one point this is the order of (weight, smaller row, larger row).
struct LightestSearch {
  const Tree& tree;
  const Rounds& rounds;
  Point point;
  u32 own, other, other_row;
  double core, weight, limit;
  double nearest;  // boxes at least as far have no lighter edge

  __device__ LightestSearch(const Tree& tree, const Rounds& rounds, u32 position)
      : tree(tree), rounds(rounds), point(tree.points + (u64)position * DIMENSIONS),
        own(rounds.component[position]), other(NOBODY), other_row(NOBODY),
        core(MUTUAL ? tree.cores[position] : 0), nearest(INFINITE) {
    weight = __longlong_as_double(rounds.bound[own]);
    limit = limit_of(weight);
  }
  __device__ double gap(u32 node) const {
    if (tree.of_node[node] == own) return INFINITE;
    double least = MUTUAL ? tree.least_core[node] : 0;
    if (MUTUAL && least > weight) return INFINITE;
    double gap = point.gap_to(tree.boxes + (u64)node * 2 * DIMENSIONS);
    if (gap > limit) return INFINITE;
    bool tied = gap >= nearest || (MUTUAL && fmax(core, least) >= weight);
    return tied && tree.first_row[node] >= other_row ? INFINITE : gap;
  }
  __device__ void visit(u32 node, u32 begin) {
    if (tree.of_node[node] == own) return;
    u64 known = __ldcg(rounds.bound + own);
    if (known < bits_of(weight)) {  // an edge of the component is lighter than all here
      weight = __longlong_as_double(known), limit = limit_of(weight);
      other = other_row = NOBODY, nearest = INFINITE;
    }
    u32 end = (u32)min(begin + tree.leaf_size, tree.count);
    bool found = false;
    for (u32 p = begin; p < end; p++) {
      if (rounds.component[p] == own) continue;
      double reduced = point.reduced(tree.points + (u64)p * DIMENSIONS);
      if (reduced > limit) continue;
      double distance = distance_of(reduced), at = distance;
      if (MUTUAL) at = fmax(at, fmax(core, tree.cores[p]));
      u32 row = tree.rows[p];
      if (at < weight || (at == weight && row < other_row)) {
        weight = at, other = p, other_row = row, limit = limit_of(at);
        nearest = distance >= at ? reduced : INFINITE;
        found = true;
      }
    }
    if (found) lower(rounds.bound + own, bits_of(weight));
  }
};

// Searches the first edge of all listed points.
extern "C" __global__ void walk_lightest(const Tree* given, const Rounds* state) {
  const Tree tree = *given;
  const Rounds rounds = *state;
  u64 i = thread_of_grid();
  if (i >= rounds.counts[2]) return;
  u32 position = rounds.queries[i];
  LightestSearch search(tree, rounds, position);
  walk(tree, position, search);
  rounds.other[position] = search.other;
  // Without an edge up to the bound, all edges of the point weigh more.
  u64 more = bits_of(search.weight) + (search.other == NOBODY);
  rounds.weight[position] = __longlong_as_double(more);
}

// ------------------------------------------------------------------ Boruvka rounds

// Every point is a component.
extern "C" __global__ void start_rounds(const Tree* given, const Rounds* state) {
  const Rounds rounds = *state;
  u64 p = thread_of_grid();
  if (p >= given->count) return;
  rounds.component[p] = rounds.parent[p] = (u32)p;
  rounds.weight[p] = 0, rounds.other[p] = NOBODY;
}

// Begins a round: components know nothing.
extern "C" __global__ void forget(const Tree* given, const Rounds* state) {
  const Rounds rounds = *state;
  u64 p = thread_of_grid();
  if (p == 0) rounds.counts[1] = rounds.counts[2] = 0;
  if (p >= given->count || rounds.component[p] != p) return;
  rounds.bound[p] = bits_of(INFINITE), rounds.key[p] = ~0ull;
  rounds.target[p] = NOBODY, rounds.asking[p] = 0;
}

// Finds the lightest edge of a point to a listed neighbour outside its component. If
// others, which are not listed, may be as light, the edge is but a bound.
__device__ inline void look_up(const Tree& tree, const Rounds& rounds, u64 p, u32 own) {
  double reach = tree.reach[p], lightest = INFINITE;
  u32 other = NOBODY, other_row = NOBODY;
  for (int j = 0; j < LISTED; j++) {
    u32 q = tree.listed[j * tree.count + p];
    if (q == NOBODY || rounds.component[q] == own) continue;
    double weight = weight_of(tree, p, q);
    u32 row = tree.rows[q];
    if (weight < lightest || (weight == lightest && row < other_row))
      lightest = weight, other = q, other_row = row;
  }
  lower(rounds.bound + own, bits_of(lightest));
  bool certain = lightest < reach;
  rounds.other[p] = certain ? other : NOBODY, rounds.weight[p] = certain ? lightest : reach;
}

// Lowers the bounds of components by edges that are known: the lightest of a point, if
// the far end is still outside, or another of its list, and those to the next point on
// the curve.
extern "C" __global__ void offer(const Tree* given, const Rounds* state) {
  const Tree tree = *given;
  const Rounds rounds = *state;
  u64 p = thread_of_grid();
  if (p >= tree.count) return;
  u32 own = rounds.component[p], other = rounds.other[p];
  if (other != NOBODY && rounds.component[other] != own)
    lower(rounds.bound + own, bits_of(rounds.weight[p]));
  else if (bits_of(rounds.weight[p]) < bits_of(tree.reach[p]))
    look_up(tree, rounds, p, own);
  else
    rounds.other[p] = NOBODY;
  if (p + 1 == tree.count) return;
  u32 next = rounds.component[p + 1];
  if (next == own) return;
  u64 weight = bits_of(weight_of(tree, p, p + 1));
  lower(rounds.bound + own, weight), lower(rounds.bound + next, weight);
}

// Whether a point may have an edge within the bound of its component that is not known.
__device__ inline bool may_search(const Rounds& rounds, u64 p, u32 own) {
  return rounds.other[p] == NOBODY && bits_of(rounds.weight[p]) <= rounds.bound[own];
}

// Counts the points that may search, by components and in all.
extern "C" __global__ void count_asking(const Tree* given, const Rounds* state) {
  const Rounds rounds = *state;
  u64 p = thread_of_grid();
  u32 own = p < given->count ? rounds.component[p] : NOBODY;
  bool asks = p < given->count && may_search(rounds, p, own);
  // Most warps have points of one component: one addition for all of them.
  u32 first = __shfl_sync(~0u, own, 0);
  u32 together = __ballot_sync(~0u, asks && own == first), all = __ballot_sync(~0u, asks);
  if (threadIdx.x % 32 == 0 && together) atomicAdd(rounds.asking + first, __popc(together));
  if (threadIdx.x % 32 == 0 && all) atomicAdd(rounds.counts + 1, (u64)__popc(all));
  if (asks && own != first) atomicAdd(rounds.asking + own, 1u);
}

// Returns a place in a list for each thread of the warp that adds to it.
__device__ inline u64 place_in(u64* length, bool adds) {
  u32 adding = __ballot_sync(~0u, adds), lane = threadIdx.x % 32;
  u64 place = 0;
  if (lane == 0 && adding) place = atomicAdd(length, (u64)__popc(adding));
  return __shfl_sync(~0u, place, 0) + __popc(adding & ((1u << lane) - 1));
}

// Lists the points that search: those of components of which at most `most` may.
extern "C" __global__ void list_asking(const Tree* given, const Rounds* state, u64 most) {
  const Rounds rounds = *state;
  u64 p = thread_of_grid();
  u32 own = p < given->count ? rounds.component[p] : NOBODY;
  bool asks = p < given->count && rounds.asking[own] <= most && may_search(rounds, p, own);
  u64 place = place_in(rounds.counts + 2, asks);
  if (asks) rounds.queries[place] = (u32)p;
}

// Whether a point's edge has the weight of the lightest edge of its component.
__device__ inline bool is_lightest(const Rounds& rounds, u64 p, u64 most) {
  u32 own = rounds.component[p];
  return rounds.other[p] != NOBODY && bits_of(rounds.weight[p]) == rounds.bound[own] &&
         rounds.asking[own] <= most;
}

// Edges of one weight are ordered by the numbers of their ends, the smaller one first.
__device__ inline u64 key_of(const Tree& tree, const Rounds& rounds, u64 p) {
  u64 one = tree.rows[p], other = tree.rows[rounds.other[p]];
  return min(one, other) << 32 | max(one, other);
}

extern "C" __global__ void find_keys(const Tree* given, const Rounds* state, u64 most) {
  const Tree tree = *given;
  const Rounds rounds = *state;
  u64 p = thread_of_grid();
  if (p >= tree.count || !is_lightest(rounds, p, most)) return;
  lower(rounds.key + rounds.component[p], key_of(tree, rounds, p));
}

extern "C" __global__ void choose_edges(const Tree* given, const Rounds* state, u64 most) {
  const Tree tree = *given;
  const Rounds rounds = *state;
  u64 p = thread_of_grid();
  if (p >= tree.count || !is_lightest(rounds, p, most)) return;
  u32 own = rounds.component[p];
  if (key_of(tree, rounds, p) != rounds.key[own]) return;
  rounds.chosen[own] = (u32)p, rounds.target[own] = rounds.component[rounds.other[p]];
}

// Links components along their first edges and lists these. Two components may choose
// the same edge: the smaller then keeps its name.
extern "C" __global__ void link_components(const Tree* given, const Rounds* state) {
  const Tree tree = *given;
  const Rounds rounds = *state;
  u64 c = thread_of_grid();
  bool links = false;
  if (c < tree.count && rounds.component[c] == c && rounds.target[c] != NOBODY) {
    u32 target = rounds.target[c];
    links = c > target || rounds.target[target] != c;
    if (links) rounds.parent[c] = target;
  }
  u64 place = place_in(rounds.counts, links);
  if (!links) return;
  u32 p = rounds.chosen[c];
  rounds.edge_weight[place] = rounds.weight[p];
  rounds.edge_key[place] = key_of(tree, rounds, p);
}

// Follows the links of each point's component to their end, and shortens them.
extern "C" __global__ void rename_points(const Tree* given, const Rounds* state) {
  const Rounds rounds = *state;
  u64 p = thread_of_grid();
  if (p >= given->count) return;
  volatile u32* parent = rounds.parent;
  u32 before = rounds.component[p], name = parent[before], above = parent[name];
  while (above != name) {
    parent[before] = above;
    before = name, name = above, above = parent[name];
  }
  rounds.component[p] = name;
}

extern "C" __global__ void gather_edges(const i64* order, const double* weight, const u64* key,
                                        u64 count, double* sorted_weight, u64* sorted_key) {
  u64 i = thread_of_grid();
  if (i >= count) return;
  sorted_weight[i] = weight[order[i]], sorted_key[i] = key[order[i]];
}
