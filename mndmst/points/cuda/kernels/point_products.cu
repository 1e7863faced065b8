// Nearest neighbours and lightest edges among the candidates that `point_multiply.cu`
// lists; points/kernels/product_filter.py has the same steps on a CPU.
//
// Between two launches of products, which see more and more columns, `narrow_near` and
// `narrow_leaving` raise the thresholds of rows, one block a row. A list that overflows
// makes its row start again, with fewer columns at a time.
//
// VALUE is the type of the coordinates of columns, QUERY that of rows; with DIVIDED
// those of columns are quotients by `largest` and then `length` of their point, with
// QUERY_DIVIDED those of rows.

#include "point_products.cuh"

#define LARGEST 1.7976931348623157e308

#define KEPT 256      // candidates that stay: CAPACITY - KEPT more columns fit
#define THREADS 128   // of a block that narrows a list
#define WARPS (THREADS / 32)
#define EACH (CAPACITY / THREADS)
#define PIECE 8       // coordinates of 32 candidates that a warp loads at once
#define ORDERED 64    // points of one component, as in point_multiply.cu

// A set of points: those of the columns, or those of the rows.
template <typename T>
struct Set {
  const T* values;
  const double* largest;
  const double* length;
  const u32* source;     // the row of `values` at each position
  const u32* point;      // the point at each position
  long long dimensions;
  double unit;           // scores are halves of squared distances times `unit`
};
typedef Set<VALUE> Points;
typedef Set<QUERY> Queries;

// ---------------------------------------------------------------- lists

// The list of a block's row.
struct List {
  float score[CAPACITY];
  u32 position[CAPACITY];
  double distance[CAPACITY];
  double tile[WARPS][32][PIECE + 1];
  double query[WARPS][PIECE];
  int count;
  float threshold;
};

template <bool divided, typename T>
__device__ double coordinate(const Set<T>& p, u32 index, long long d) {
  double x = (double)p.values[(long long)index * p.dimensions + d];
  return divided ? x / p.largest[index] / p.length[index] : x;
}

__device__ float below(double limit) {
  return __double2float_rd(limit - fabs(limit) * 1e-12);
}

// No point within a squared distance has a smaller score.
__device__ float threshold_of(double unit, double square) {
  return below(-square * unit * (1 + 1e-15) / 2);
}

__device__ float threshold_within(double unit, double weight) {
  if (weight == INFINITE) return -INFINITE;
  return threshold_of(unit, fmin(weight * weight * (1 + 1e-15) + 1e-322, LARGEST));
}

// Return a lower bound of a candidate's exact score.
__device__ double least_score(const Rows& rows, const Columns& columns, int row,
                              float score, u32 position) {
  long long group = columns.group_of[position];
  return (double)score - columns.slack[position] - rows.slack[group * rows.count + row];
}

// Load a row's list. If it has overflowed, empty it and return true.
__device__ bool load_list(List& list, const Rows& rows, int row) {
  int count = rows.counts[row];
  bool overflowed = count > CAPACITY || rows.overflowed[row];
  __syncthreads();  // all threads have read both
  if (threadIdx.x == 0) {
    if (overflowed) rows.overflowed[row] = 1, rows.counts[row] = 0;
    list.count = overflowed ? 0 : count, list.threshold = rows.thresholds[row];
  }
  for (int i = threadIdx.x; i < count && !overflowed; i += THREADS) {
    list.score[i] = rows.scores[(long long)row * CAPACITY + i];
    list.position[i] = rows.candidates[(long long)row * CAPACITY + i];
  }
  __syncthreads();
  return overflowed;
}

// Keep the candidates whose scores reach the threshold, in any order.
__device__ void drop_below(List& list, float threshold) {
  float score[EACH];
  u32 position[EACH];
  int count = list.count;
  for (int i = 0; i < EACH; i++) {
    int at = threadIdx.x + i * THREADS;
    score[i] = at < count ? list.score[at] : -INFINITE;
    position[i] = at < count ? list.position[at] : NO_POSITION;
  }
  __syncthreads();
  if (threadIdx.x == 0) list.count = 0, list.threshold = threshold;
  __syncthreads();
  for (int i = 0; i < EACH; i++)
    if (position[i] != NO_POSITION && score[i] >= threshold) {
      int at = atomicAdd(&list.count, 1);
      list.score[at] = score[i];
      list.position[at] = position[i];
    }
  __syncthreads();
}

// Return bits of a float32 that are ordered as the numbers are.
__device__ u32 ordered(float x) {
  u32 bits = __float_as_uint(x);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ float number_of(u32 bits) {
  return __uint_as_float(bits & 0x80000000u ? bits & 0x7FFFFFFFu : ~bits);
}

// Raise the threshold to what the k-th largest lower bound allows. The bits of this
// bound are set from the highest on: each is 1 if k candidates reach the result.
__device__ void raise_threshold(List& list, const Rows& rows, const Columns& columns,
                                int row, int k) {
  __shared__ int sums[2][WARPS];
  int count = list.count, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (count < k) return;  // the same for all threads
  u32 low[EACH], bits = 0;
  for (int i = 0; i < EACH; i++) {
    int at = threadIdx.x + i * THREADS;
    low[i] = 0;
    if (at < count)
      low[i] = ordered(__double2float_rd(
          least_score(rows, columns, row, list.score[at], list.position[at])));
  }
  for (int bit = 31; bit >= 0; bit--) {
    u32 trial = bits | 1u << bit;
    int mine = 0;
    for (int i = 0; i < EACH; i++) mine += low[i] >= trial;
    mine = __reduce_add_sync(WARP, mine);
    if (lane == 0) sums[bit % 2][warp] = mine;
    __syncthreads();
    int all = 0;
    for (int i = 0; i < WARPS; i++) all += sums[bit % 2][i];
    if (all >= k) bits = trial;
  }
  drop_below(list, fmaxf(number_of(bits), list.threshold));
}

// Compute the float64 distances of all candidates: sums in the order of the dimensions,
// without fused instructions. A warp loads pieces of 32 points side by side, and each
// lane adds up the terms of one point.
__device__ void fill_distances(List& list, const Points& p, const Queries& q, u32 query) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, count = list.count;
  u32 query_index = q.source[query];
  for (int first = 32 * warp; first < count; first += THREADS) {
    int mine = first + lane < count ? first + lane : first;
    u32 index = p.source[list.position[mine]];
    double total = 0;
    for (long long d = 0; d < p.dimensions; d += PIECE) {
      int width = p.dimensions - d < PIECE ? (int)(p.dimensions - d) : PIECE;
      __syncwarp();
      if (lane < width)
        list.query[warp][lane] = coordinate<QUERY_DIVIDED>(q, query_index, d + lane);
      for (int i = lane / PIECE; i < 32; i += 32 / PIECE) {
        u32 other = __shfl_sync(WARP, index, i);
        if (lane % PIECE < width)
          list.tile[warp][i][lane % PIECE] =
              coordinate<DIVIDED>(p, other, d + lane % PIECE);
      }
      __syncwarp();
      for (int c = 0; c < width; c++) {
        double gap = __dsub_rn(list.tile[warp][lane][c], list.query[warp][c]);
        total = __dadd_rn(total, __dmul_rn(gap, gap));
      }
    }
    if (first + lane < count) list.distance[first + lane] = total;
  }
  __syncthreads();
}

// Return how many candidates precede candidate i in the order (distance, point).
__device__ int rank_of(const List& list, const Points& p, int i) {
  double mine = list.distance[i];
  u32 point = p.point[list.position[i]];
  int before = 0;
  for (int j = 0; j < list.count; j++) {
    double other = list.distance[j];
    before += other < mine || (other == mine && p.point[list.position[j]] < point);
  }
  return before;
}

// Keep the k nearest candidates, in order, with their distances.
__device__ void keep_nearest(List& list, const Points& p, const Queries& q, u32 query,
                             int k) {
  fill_distances(list, p, q, query);
  int count = list.count, rank[EACH];
  float score[EACH];
  u32 position[EACH];
  double distance[EACH];
  for (int i = 0; i < EACH; i++) {
    int at = threadIdx.x + i * THREADS;
    rank[i] = at < count ? rank_of(list, p, at) : k;
    score[i] = list.score[at], position[i] = list.position[at];
    distance[i] = list.distance[at];
  }
  __syncthreads();
  for (int i = 0; i < EACH; i++)
    if (rank[i] < k) {
      list.score[rank[i]] = score[i], list.position[rank[i]] = position[i];
      list.distance[rank[i]] = distance[i];
    }
  __syncthreads();
  if (threadIdx.x == 0 && count > k) list.count = k;
  if (threadIdx.x == 0 && count >= k) {
    float limit = threshold_of(p.unit, list.distance[k - 1]);
    list.threshold = fmaxf(list.threshold, limit);
  }
  __syncthreads();
}

// Raise the thresholds of rows, and keep at most KEPT candidates of each.
extern "C" __global__ void __launch_bounds__(THREADS)
    narrow_near(const Points* points, const Queries* queries, const Columns* columns,
                const Rows* given, int k) {
  __shared__ List list;
  const Points p = *points;
  const Queries q = *queries;
  const Rows rows = *given;
  int row = blockIdx.x;
  u32 query = rows.positions[row];
  if (rows.counts[row] < k || load_list(list, rows, row)) return;
  raise_threshold(list, rows, *columns, row, k);
  if (list.count > KEPT) keep_nearest(list, p, q, query, k);
  for (int i = threadIdx.x; i < list.count; i += THREADS) {
    rows.scores[(long long)row * CAPACITY + i] = list.score[i];
    rows.candidates[(long long)row * CAPACITY + i] = list.position[i];
  }
  if (threadIdx.x == 0)
    rows.counts[row] = list.count, rows.thresholds[row] = list.threshold;
}

// Write the nearest neighbours of each row, and their squared distances, at its slot;
// NO_POSITION if fewer than k are within the first threshold.
extern "C" __global__ void __launch_bounds__(THREADS)
    finish_near(const Points* points, const Queries* queries, const Columns* columns,
                const Rows* given, int k, const u32* slots, double* distance,
                u32* neighbour) {
  __shared__ List list;
  const Points p = *points;
  const Queries q = *queries;
  const Rows rows = *given;
  int row = blockIdx.x;
  u32 query = rows.positions[row];
  if (load_list(list, rows, row)) return;
  raise_threshold(list, rows, *columns, row, k);
  keep_nearest(list, p, q, query, k);
  long long begin = (long long)slots[row] * k;
  for (int i = threadIdx.x; i < k; i += THREADS) {
    bool listed = i < list.count;
    distance[begin + i] = listed ? list.distance[i] : INFINITE;
    neighbour[begin + i] = listed ? list.position[i] : NO_POSITION;
  }
}

// Set the thresholds of rows that search within squared distances.
extern "C" __global__ void __launch_bounds__(THREADS)
    limit_near(const Points* points, const Rows* given, const double* limits) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < given->count) given->thresholds[row] = threshold_of(points->unit, limits[row]);
}

// The order of edges of equal weight between two points.
__device__ u64 edge_key(u32 one, u32 other) {
  return (u64)min(one, other) << 32 | max(one, other);
}

// Lower the weights of rows and the bounds of their components to the lightest edges to
// candidates, and set the far ends.
extern "C" __global__ void __launch_bounds__(THREADS)
    narrow_leaving(const Points* points, const Queries* queries, const Columns* columns,
                   const Rows* given, const Components* known) {
  __shared__ List list;
  __shared__ u64 least;
  __shared__ double weight;
  __shared__ u32 end;
  const Points p = *points;
  const Queries q = *queries;
  const Rows rows = *given;
  const Components c = *known;
  int row = blockIdx.x;
  u32 query = rows.positions[row], component = rows.component[query];
  u32 point = q.point[query];
  double core = rows.cores[query];
  if (load_list(list, rows, row)) return;
  if (threadIdx.x == 0) {
    least = __double_as_longlong(INFINITE);
    weight = rows.weights[row], end = rows.ends[row];
    // Read once: other blocks lower it meanwhile.
    double bound =
        __longlong_as_double(*(volatile long long*)(c.bound + component));
    // All edges seen so far are heavier than the new bound.
    if (bound < weight) weight = bound, end = NO_POSITION;
  }
  __syncthreads();
  int count = list.count;
  if (count) {
    // An upper bound of the lightest edge spares most distances.
    for (int i = threadIdx.x; i < count; i += THREADS) {
      u32 position = list.position[i];
      double low = least_score(rows, *columns, row, list.score[i], position);
      double most = fmax(-2 * low / p.unit, 0.0) * (1 + 1e-9) + 1e-300;
      double heavy = fmax(sqrt(most) * (1 + 1e-9), fmax(core, c.cores[position]));
      atomicMin(&least, (u64)__double_as_longlong(heavy));
    }
    __syncthreads();
    double heaviest = fmin(weight, __longlong_as_double(least));
    drop_below(list,
               fmaxf(list.threshold, threshold_within(p.unit, heaviest)));
    fill_distances(list, p, q, query);
  }
  if (threadIdx.x == 0) {
    double best = weight;
    for (int i = 0; i < list.count; i++) {
      u32 position = list.position[i];
      double heavy = fmax(sqrt(list.distance[i]), fmax(core, c.cores[position]));
      if (heavy < best ||
          (heavy == best && (end == NO_POSITION || edge_key(point, p.point[position]) <
                                                       edge_key(point, p.point[end]))))
        best = heavy, end = position;
    }
    rows.weights[row] = best, rows.ends[row] = end, rows.counts[row] = 0;
    rows.thresholds[row] =
        fmaxf(list.threshold, threshold_within(p.unit, best));
    if (end != NO_POSITION) atomicMin(c.bound + component, (u64)__double_as_longlong(best));
  }
}

// Points in the order of their components, of which listed pairs are indices.
struct Side {
  const u32* positions;
  const u32* component;  // of each ORDERED entries of `positions`
  const double* cores;   // by position
};

// Edges by column, of pairs of components.
struct Edges {
  u32* a;
  u32* b;
  double* weight;
  u64* key;
};

// Return the squared float64 distance of a row and a column: a sum in the order of the
// dimensions.
__device__ double square_between(const Queries& q, u32 one, const Points& p, u32 other) {
  u32 row = q.source[one], column = p.source[other];
  double total = 0;
  for (long long d = 0; d < p.dimensions; d++) {
    double gap = __dsub_rn(coordinate<QUERY_DIVIDED>(q, row, d),
                           coordinate<DIVIDED>(p, column, d));
    total = __dadd_rn(total, __dmul_rn(gap, gap));
  }
  return total;
}

// Write the squared distances of listed pairs of a row and a column.
extern "C" __global__ void __launch_bounds__(THREADS)
    square_pairs(const Queries* queries, const Points* points, const u32* rows,
                 const u32* positions, u32 count, double* square) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) square[i] = square_between(*queries, rows[i], *points, positions[i]);
}

// Write the edges of some pairs of points.
extern "C" __global__ void __launch_bounds__(THREADS)
    weigh_pairs(const Queries* queries, const Points* points, const Side* row_side,
                const Side* column_side, const u32* rows, const u32* columns, u32 count,
                const Edges* edges) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Queries q = *queries;
  const Points p = *points;
  u32 one = row_side->positions[rows[i]], other = column_side->positions[columns[i]];
  double core = fmax(row_side->cores[one], column_side->cores[other]);
  edges->a[i] = row_side->component[rows[i] / ORDERED];
  edges->b[i] = column_side->component[columns[i] / ORDERED];
  edges->weight[i] = fmax(sqrt(square_between(q, one, p, other)), core);
  edges->key[i] = edge_key(q.point[one], p.point[other]);
}
