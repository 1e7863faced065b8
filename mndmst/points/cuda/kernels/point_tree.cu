// The exact minimum spanning forest of points in few dimensions; point_tree.py has the
// sequence, and points/kernels the same steps on a CPU.
//
// Points lie in the order of a curve that fills space; `leaf_size` consecutive ones are
// a leaf of a complete binary tree. Nodes are numbered as in a heap: the root is 1, the
// children of i are 2 i and 2 i + 1, and the leaves begin at `leaves`, a power of two.
// So a walk needs no stack: a bit for each height says whether the sibling of the
// ancestor there is still to be visited.
//
// VALUE is the type of the coordinates, of which there are DIMENSIONS. MUTUAL is 1 for
// mutual reachability distances, 0 for plain ones. LISTED neighbours of each point are
// kept. The norm is an argument: all points take the same branch, and a module for each
// norm would triple what is compiled ahead.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define NO_POSITION 0xFFFFFFFFu
#define SEVERAL NO_POSITION  // in place of a component: points are in several
#define INFINITE __longlong_as_double(0x7FF0000000000000ll)
#define LARGEST 1.7976931348623157e308
#define MANHATTAN 1  // norms; the third is Chebyshev
#define EUCLIDEAN 2
#define BITS (DIMENSIONS < 2 ? 32 : 64 / DIMENSIONS)  // of a coordinate in a code

struct Tree {
  const VALUE* points;      // by position, as the arrays below
  const u32* point;         // the point at each position
  double* cores;            // core distances
  double* lower_bound;      // of the distances to unlisted points
  u32* listed;              // the nearest neighbours: of all points, then the second ones...
  VALUE* boxes;             // by node: the smallest coordinates, then the largest
  u32* first_point;         // by node: its smallest point
  double* least_core;       // by node
  u32* of_node;             // by node: its component, or SEVERAL
  u64 count, leaves, leaf_size, norm;
};

// The components of points, by position. Components are named by one of their points.
struct Rounds {
  u32* component;
  double* weight;  // of each point's lightest edge; or a lower bound of its edges
  u32* end;        // the far end of that edge, or NO_POSITION
  u64* bound;      // of each component: an upper bound of its lightest edge (float64 bits)
  u64* key;        // the smallest key of its edges of this weight
  u32* chosen;     // the position whose edge it is
  u32* target;     // the component at the far end, or NO_POSITION
  u32* parent;     // links between components; a root is its own parent
  u32* uncertain;  // number of its uncertain points
  u32* queries;    // the positions that search
  u64* counts;     // listed edges of the forest; uncertain points; queries
  double* edge_weight;
  u64* edge_key;
};

__device__ inline u64 thread_of_grid() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }

// ------------------------------------------------------------------ distances

// Returns the reduced distance with some gaps by dimension, as points/kernels/norms.py does.
template <typename Gap>
__device__ inline double reduced_of(u64 norm, Gap gap) {
  double total = 0;
  if (norm == EUCLIDEAN) {
#pragma unroll
    for (int d = 0; d < DIMENSIONS; d++) total = __dadd_rn(total, __dmul_rn(gap(d), gap(d)));
  } else if (norm == MANHATTAN) {
#pragma unroll
    for (int d = 0; d < DIMENSIONS; d++) total = __dadd_rn(total, gap(d));
  } else {
#pragma unroll
    for (int d = 0; d < DIMENSIONS; d++) total = fmax(total, gap(d));
  }
  return total;
}

__device__ inline double distance_of(u64 norm, double reduced) {
  return norm == EUCLIDEAN ? sqrt(reduced) : reduced;
}

// A reduced distance above that of every point within a distance.
__device__ inline double limit_of(u64 norm, double distance) {
  double reduced = norm == EUCLIDEAN ? distance * distance : distance;
  return fmin(reduced * (1 + 1e-15) + 1e-322, LARGEST);
}

struct Point {
  u64 norm;
  double at[DIMENSIONS];

  __device__ Point(const Tree& tree, u64 position) : norm(tree.norm) {
    const VALUE* from = tree.points + position * DIMENSIONS;
#pragma unroll
    for (int d = 0; d < DIMENSIONS; d++) at[d] = from[d];
  }
  __device__ double reduced(const VALUE* other) const {
    return reduced_of(norm, [&](int d) { return fabs(at[d] - other[d]); });
  }
  // No point of the box is nearer: rounding keeps the order of gaps and of their sums.
  __device__ double gap_to(const VALUE* box) const {
    return reduced_of(norm, [&](int d) {
      return fmax(fmax(box[d] - at[d], at[d] - box[DIMENSIONS + d]), 0.0);
    });
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

// Computes indices on Hilbert's curve (Skilling, Programming the Hilbert curve, 2004): of
// the cell of each point, or at a deeper level of its cell inside the cell above.
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

// Writes points and codes in an order. Sets `crowded` if more than `leaf` points have one
// code.
extern "C" __global__ void apply_order(const i64* order, const u64* codes, u64 count, u64 leaf,
                                       u32* point, u64* sorted, u32* crowded) {
  u64 i = thread_of_grid();
  if (i >= count) return;
  u64 p = (u64)order[i], code = codes[p];
  point[i] = (u32)p, sorted[i] = code;
  if (i + leaf < count && codes[order[i + leaf]] == code) *crowded = 1;
}

// Whether element i comes before an element of group `other` and `code`: groups ascend,
// and codes inside a group.
__device__ inline bool precedes(const u64* codes, const u64* group, u64 i, u64 other, u64 code) {
  u64 g = group ? group[i] : 0;
  return g < other || (g == other && codes[i] < code);
}

// Finds the runs of elements with equal groups and codes. The elements ascend by group,
// then code; without `group` all are one group. `start` gets the first element of each
// element's run. `key` gets a sort key by which the elements of runs longer than `leaf`
// come first, in their order; `crowded` gets the number of these elements.
extern "C" __global__ void find_runs(const u64* codes, const u64* group, u64 count, u64 leaf,
                                     u64* start, u64* key, u32* crowded) {
  u64 i = thread_of_grid();
  if (i >= count) return;
  u64 code = codes[i], own = group ? group[i] : 0, low = 0, high = i;
  while (low < high) {
    u64 middle = (low + high) / 2;
    if (precedes(codes, group, middle, own, code)) low = middle + 1;
    else high = middle;
  }
  u64 last = low + leaf;  // of the run, if it has one element more than a leaf
  bool is_long = last < count && codes[last] == code && (group ? group[last] : 0) == own;
  start[i] = low, key[i] = is_long ? i : i | 1ull << 63;
  if (is_long) atomicAdd(crowded, 1u);
}

// Gathers the first `count` elements of `order`, those of long runs: the position of each
// among all points (`above` has it, except at the first level), its point, and as its
// group the first element of its run.
extern "C" __global__ void take_runs(const i64* order, u64 count, const u32* above,
                                     const u64* start, const u32* point, u32* position,
                                     u32* chosen, u64* group) {
  u64 j = thread_of_grid();
  if (j >= count) return;
  u64 i = (u64)order[j];
  u32 p = above ? above[i] : (u32)i;
  position[j] = p, chosen[j] = point[p], group[j] = start[i];
}

extern "C" __global__ void gather_words(const i64* order, u64 count, const u64* words,
                                        u64* gathered) {
  u64 j = thread_of_grid();
  if (j < count) gathered[j] = words[order[j]];
}

// Writes the chosen points of each group in the order of their new codes. `by_code` sorts
// all of them by code, and `by_group` stably sorts the result by group.
extern "C" __global__ void order_runs(const i64* by_code, const i64* by_group, u64 count,
                                      const u32* position, const u32* chosen, const u64* codes,
                                      const u64* group, u32* point, u64* sorted,
                                      u64* sorted_group) {
  u64 j = thread_of_grid();
  if (j >= count) return;
  u64 i = (u64)by_code[by_group[j]];
  point[position[j]] = chosen[i], sorted[j] = codes[i], sorted_group[j] = group[i];
}

extern "C" __global__ void gather_points(const VALUE* values, const u32* point, u64 count,
                                         VALUE* points) {
  u64 i = thread_of_grid();
  if (i >= count * DIMENSIONS) return;
  points[i] = values[(u64)point[i / DIMENSIONS] * DIMENSIONS + i % DIMENSIONS];
}

// ------------------------------------------------------------------ nodes

// Computes the boxes and the smallest points of the leaves. The box of an empty leaf is
// infinitely far from all points.
extern "C" __global__ void box_leaves(const Tree* given) {
  const Tree tree = *given;
  u64 leaf = thread_of_grid();
  if (leaf >= tree.leaves) return;
  u64 begin = leaf * tree.leaf_size, end = min(begin + tree.leaf_size, tree.count);
  VALUE low[DIMENSIONS], high[DIMENSIONS];
  u32 first = NO_POSITION;
#pragma unroll
  for (int d = 0; d < DIMENSIONS; d++) low[d] = INFINITE, high[d] = -INFINITE;
  for (u64 p = begin; p < end; p++) {
    first = min(first, tree.point[p]);
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
  tree.first_point[node] = first;
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
  tree.first_point[node] = min(tree.first_point[2 * node], tree.first_point[2 * node + 1]);
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
  u32 name = begin < end ? component[begin] : SEVERAL;
  for (u64 p = begin + 1; p < end; p++)
    if (component[p] != name) name = SEVERAL;
  tree.of_node[tree.leaves + leaf] = name;
}

extern "C" __global__ void name_nodes(const Tree* given, u64 begin) {
  const Tree tree = *given;
  u64 node = begin + thread_of_grid();
  if (node >= 2 * begin) return;
  u32 left = tree.of_node[2 * node], right = tree.of_node[2 * node + 1];
  bool empty = tree.first_point[2 * node + 1] == NO_POSITION;
  tree.of_node[node] = left == right || empty ? left : SEVERAL;
}

// ------------------------------------------------------------------ walks

// Visits the leaves that a search may need: the leaf of a position, then the subtrees of
// its ancestors' siblings, from the leaf upwards, in each the nearer child first. `gap`
// returns the reduced distance to a node, or infinity if the search can skip the node.
template <typename Search>
__device__ inline void walk(const Tree& tree, u32 position, Search& search) {
  const u32 leaves = (u32)tree.leaves, size = (u32)tree.leaf_size;
  u32 own_leaf = position / size;
  search.visit(leaves + own_leaf, own_leaf * size);
  u32 node = leaves + own_leaf, height = 0, pending = leaves - 1;
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
        second = tree.first_point[2 * node + 1] < tree.first_point[2 * node];
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
  u32 listed[LISTED];   // positions

  __device__ NearestSearch(const Tree& tree, u32 position)
      : tree(tree), point(tree, position), position(position) {
#pragma unroll
    for (int j = 0; j < LISTED; j++) near[j] = INFINITE, listed[j] = NO_POSITION;
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
      listed[j] = before ? listed[j - 1] : here ? p : listed[j];
    }
    if (reduced < near[0]) near[0] = reduced, listed[0] = p;
  }
};

// Lists the nearest neighbours of all points, and computes core distances: the distances
// to neighbour `min_samples`, where the nearest is neighbour 1.
extern "C" __global__ void find_neighbours(const Tree* given, u64 min_samples) {
  const Tree tree = *given;
  u64 position = thread_of_grid();
  if (position >= tree.count) return;
  NearestSearch search(tree, (u32)position);
  walk(tree, (u32)position, search);
  tree.lower_bound[position] = distance_of(tree.norm, search.near[LISTED - 1]);
#pragma unroll  // so that lists stay in registers
  for (int j = 0; j < LISTED; j++) {
    tree.listed[j * tree.count + position] = search.listed[j];
    if (MUTUAL && j + 1 == min_samples)
      tree.cores[position] = distance_of(tree.norm, search.near[j]);
  }
}

// The weight of the edge between two positions.
__device__ inline double weight_of(const Tree& tree, u64 one, u64 other) {
  Point point(tree, one);
  double weight = distance_of(tree.norm, point.reduced(tree.points + other * DIMENSIONS));
  return MUTUAL ? fmax(weight, fmax(tree.cores[one], tree.cores[other])) : weight;
}

__device__ inline u64 bits_of(double x) { return (u64)__double_as_longlong(x); }

__device__ inline void lower(u64* at, u64 to) {
  if (to < *at) atomicMin(at, to);
}

// Finds the first edge, by (weight, far end), from a point to another component. From one
// point this is the order of (weight, smaller point, larger point).
struct LightestSearch {
  const Tree& tree;
  const Rounds& rounds;
  Point point;
  u32 component, end, end_point;  // of the far end: its position, and which point it is
  double core, weight, limit;
  double nearest;  // boxes at least as far have no lighter edge

  __device__ LightestSearch(const Tree& tree, const Rounds& rounds, u32 position)
      : tree(tree), rounds(rounds), point(tree, position),
        component(rounds.component[position]), end(NO_POSITION), end_point(NO_POSITION),
        core(MUTUAL ? tree.cores[position] : 0), nearest(INFINITE) {
    weight = __longlong_as_double(rounds.bound[component]);
    limit = limit_of(tree.norm, weight);
  }
  __device__ double gap(u32 node) const {
    if (tree.of_node[node] == component) return INFINITE;
    double least = MUTUAL ? tree.least_core[node] : 0;
    if (MUTUAL && least > weight) return INFINITE;
    double gap = point.gap_to(tree.boxes + (u64)node * 2 * DIMENSIONS);
    if (gap > limit) return INFINITE;
    bool tied = gap >= nearest || (MUTUAL && fmax(core, least) >= weight);
    return tied && tree.first_point[node] >= end_point ? INFINITE : gap;
  }
  __device__ void visit(u32 node, u32 begin) {
    if (tree.of_node[node] == component) return;
    u64 known = __ldcg(rounds.bound + component);
    if (known < bits_of(weight)) {  // another point of the component has a lighter edge
      weight = __longlong_as_double(known), limit = limit_of(tree.norm, weight);
      end = end_point = NO_POSITION, nearest = INFINITE;
    }
    u32 leaf_end = (u32)min(begin + tree.leaf_size, tree.count);
    bool improved = false;
    for (u32 p = begin; p < leaf_end; p++) {
      if (rounds.component[p] == component) continue;
      double reduced = point.reduced(tree.points + (u64)p * DIMENSIONS);
      if (reduced > limit) continue;
      double distance = distance_of(tree.norm, reduced), this_weight = distance;
      if (MUTUAL) this_weight = fmax(distance, fmax(core, tree.cores[p]));
      u32 this_point = tree.point[p];
      if (this_weight < weight || (this_weight == weight && this_point < end_point)) {
        weight = this_weight, end = p, end_point = this_point, limit = limit_of(tree.norm, weight);
        nearest = distance >= weight ? reduced : INFINITE;
        improved = true;
      }
    }
    if (improved) lower(rounds.bound + component, bits_of(weight));
  }
};

// Searches the first edge of each query.
extern "C" __global__ void walk_lightest(const Tree* given, const Rounds* state) {
  const Tree tree = *given;
  const Rounds rounds = *state;
  u64 i = thread_of_grid();
  if (i >= rounds.counts[2]) return;
  u32 position = rounds.queries[i];
  LightestSearch search(tree, rounds, position);
  walk(tree, position, search);
  rounds.end[position] = search.end;
  // Without an edge within the bound, all edges of the point weigh more.
  u64 least = bits_of(search.weight) + (search.end == NO_POSITION);
  rounds.weight[position] = __longlong_as_double(least);
}

// ------------------------------------------------------------------ Boruvka rounds

// Every point is a component.
extern "C" __global__ void start_rounds(const Tree* given, const Rounds* state) {
  const Rounds rounds = *state;
  u64 p = thread_of_grid();
  if (p >= given->count) return;
  rounds.component[p] = rounds.parent[p] = (u32)p;
  rounds.weight[p] = 0, rounds.end[p] = NO_POSITION;
}

// Begins a round: resets bounds, keys, targets and counts.
extern "C" __global__ void begin_round(const Tree* given, const Rounds* state) {
  const Rounds rounds = *state;
  u64 p = thread_of_grid();
  if (p == 0) rounds.counts[1] = rounds.counts[2] = 0;
  if (p >= given->count || rounds.component[p] != p) return;
  rounds.bound[p] = bits_of(INFINITE), rounds.key[p] = ~0ull;
  rounds.target[p] = NO_POSITION, rounds.uncertain[p] = 0;
}

// Finds the lightest edge of a point to a listed neighbour outside its component. If an
// unlisted point may be as near, only the lower bound is stored.
__device__ inline void look_up(const Tree& tree, const Rounds& rounds, u64 p, u32 component) {
  double lower_bound = tree.lower_bound[p], lightest = INFINITE;
  u32 end = NO_POSITION, end_point = NO_POSITION;
  for (int j = 0; j < LISTED; j++) {
    u32 q = tree.listed[j * tree.count + p];
    if (q == NO_POSITION || rounds.component[q] == component) continue;
    double weight = weight_of(tree, p, q);
    u32 point = tree.point[q];
    if (weight < lightest || (weight == lightest && point < end_point))
      lightest = weight, end = q, end_point = point;
  }
  lower(rounds.bound + component, bits_of(lightest));
  bool certain = lightest < lower_bound;
  rounds.end[p] = certain ? end : NO_POSITION;
  rounds.weight[p] = certain ? lightest : lower_bound;
}

// Lowers the bounds of components to known edges: each point's lightest edge, if its far
// end is still outside; else one to a listed neighbour; and the edge to the next point on
// the curve.
extern "C" __global__ void lower_bounds(const Tree* given, const Rounds* state) {
  const Tree tree = *given;
  const Rounds rounds = *state;
  u64 p = thread_of_grid();
  if (p >= tree.count) return;
  u32 component = rounds.component[p], end = rounds.end[p];
  if (end != NO_POSITION && rounds.component[end] != component)
    lower(rounds.bound + component, bits_of(rounds.weight[p]));
  else if (bits_of(rounds.weight[p]) < bits_of(tree.lower_bound[p]))
    look_up(tree, rounds, p, component);
  else
    rounds.end[p] = NO_POSITION;
  if (p + 1 == tree.count) return;
  u32 next = rounds.component[p + 1];
  if (next == component) return;
  u64 weight = bits_of(weight_of(tree, p, p + 1));
  lower(rounds.bound + component, weight), lower(rounds.bound + next, weight);
}

// Whether a point may have an unknown edge within the bound of its component.
__device__ inline bool is_uncertain(const Rounds& rounds, u64 p, u32 component) {
  return rounds.end[p] == NO_POSITION && bits_of(rounds.weight[p]) <= rounds.bound[component];
}

// Counts the uncertain points, by component and in all.
extern "C" __global__ void count_uncertain(const Tree* given, const Rounds* state) {
  const Rounds rounds = *state;
  u64 p = thread_of_grid();
  u32 component = p < given->count ? rounds.component[p] : NO_POSITION;
  bool counts = p < given->count && is_uncertain(rounds, p, component);
  // Most warps have points of one component, which one addition counts.
  u32 first = __shfl_sync(~0u, component, 0);
  u32 of_first = __ballot_sync(~0u, counts && component == first);
  u32 all = __ballot_sync(~0u, counts);
  if (threadIdx.x % 32 == 0 && of_first) atomicAdd(rounds.uncertain + first, __popc(of_first));
  if (threadIdx.x % 32 == 0 && all) atomicAdd(rounds.counts + 1, (u64)__popc(all));
  if (counts && component != first) atomicAdd(rounds.uncertain + component, 1u);
}

// Returns an index in a list to each thread of the warp that appends to it.
__device__ inline u64 index_in(u64* length, bool appends) {
  u32 appending = __ballot_sync(~0u, appends), lane = threadIdx.x % 32;
  u64 first = 0;
  if (lane == 0 && appending) first = atomicAdd(length, (u64)__popc(appending));
  return __shfl_sync(~0u, first, 0) + __popc(appending & ((1u << lane) - 1));
}

// Lists the queries: the uncertain points of components with at most `most` of them.
extern "C" __global__ void list_uncertain(const Tree* given, const Rounds* state, u64 most) {
  const Rounds rounds = *state;
  u64 p = thread_of_grid();
  u32 component = p < given->count ? rounds.component[p] : NO_POSITION;
  bool searches = p < given->count && rounds.uncertain[component] <= most &&
                  is_uncertain(rounds, p, component);
  u64 i = index_in(rounds.counts + 2, searches);
  if (searches) rounds.queries[i] = (u32)p;
}

// Whether a point's edge has the weight of the lightest edge of its component.
__device__ inline bool is_lightest(const Rounds& rounds, u64 p, u64 most) {
  u32 component = rounds.component[p];
  return rounds.end[p] != NO_POSITION && bits_of(rounds.weight[p]) == rounds.bound[component] &&
         rounds.uncertain[component] <= most;
}

// Edges of equal weight are ordered by their smaller, then by their larger point.
__device__ inline u64 key_of(const Tree& tree, const Rounds& rounds, u64 p) {
  u64 one = tree.point[p], other = tree.point[rounds.end[p]];
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
  u32 component = rounds.component[p];
  if (key_of(tree, rounds, p) != rounds.key[component]) return;
  rounds.chosen[component] = (u32)p, rounds.target[component] = rounds.component[rounds.end[p]];
}

// Links components along their first edges, and lists these. If two components choose the
// same edge, the smaller becomes the root.
extern "C" __global__ void link_components(const Tree* given, const Rounds* state) {
  const Tree tree = *given;
  const Rounds rounds = *state;
  u64 c = thread_of_grid();
  bool links = false;
  if (c < tree.count && rounds.component[c] == c && rounds.target[c] != NO_POSITION) {
    u32 target = rounds.target[c];
    links = c > target || rounds.target[target] != c;
    if (links) rounds.parent[c] = target;
  }
  u64 i = index_in(rounds.counts, links);
  if (!links) return;
  u32 p = rounds.chosen[c];
  rounds.edge_weight[i] = rounds.weight[p];
  rounds.edge_key[i] = key_of(tree, rounds, p);
}

// Relabels each point with the root of its component; shortens the links on the way.
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
