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

#define KEPT 256      // candidates that leave room for FEWEST more columns
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
  const u32* source;  // the row of `values` of each place
  const u32* row;    // the user's number of each place
  const double* square;  // squared lengths of the rounded points, by place
  const float* half;     // half of each, less its part of the error bound
  long long dimensions;
  double gamma, absolute, unit;
};
typedef Set<VALUE> Points;
typedef Set<QUERY> Queries;

// ---------------------------------------------------------------- lists

// The list of a block's row.
struct List {
  float score[CAPACITY];
  u32 place[CAPACITY];
  double distance[CAPACITY];
  double tile[WARPS][32][PIECE + 1];
  double own[WARPS][PIECE];
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

// No point within a squared distance of a row has a smaller score.
__device__ float threshold_of(const Points& p, double own_square, double square) {
  double needed = (own_square - square * p.unit * (1 + 1e-15)) / 2;
  return below(needed - p.gamma / 2 * own_square - p.absolute);
}

__device__ float threshold_within(const Points& p, double own_square, double weight) {
  if (weight == INFINITE) return -INFINITE;
  double square = fmin(weight * weight * (1 + 1e-15) + 1e-322, LARGEST);
  return threshold_of(p, own_square, square);
}

// Load a row's list. Return whether it has overflowed: then it starts again.
__device__ bool load_list(List& list, const Rows& rows, int row) {
  int count = rows.counts[row];
  bool overflowed = count > CAPACITY || rows.overflowed[row];
  __syncthreads();  // all have read them
  if (threadIdx.x == 0) {
    if (overflowed) rows.overflowed[row] = 1, rows.counts[row] = 0;
    list.count = overflowed ? 0 : count, list.threshold = rows.thresholds[row];
  }
  for (int i = threadIdx.x; i < count && !overflowed; i += THREADS) {
    list.score[i] = rows.scores[(long long)row * CAPACITY + i];
    list.place[i] = rows.candidates[(long long)row * CAPACITY + i];
  }
  __syncthreads();
  return overflowed;
}

// Keep the candidates from the threshold on, in any order.
__device__ void drop_below(List& list, float threshold) {
  float score[EACH];
  u32 place[EACH];
  int count = list.count;
  for (int i = 0; i < EACH; i++) {
    int at = threadIdx.x + i * THREADS;
    score[i] = at < count ? list.score[at] : -INFINITE;
    place[i] = at < count ? list.place[at] : NONE;
  }
  __syncthreads();
  if (threadIdx.x == 0) list.count = 0, list.threshold = threshold;
  __syncthreads();
  for (int i = 0; i < EACH; i++)
    if (place[i] != NONE && score[i] >= threshold) {
      int at = atomicAdd(&list.count, 1);
      list.score[at] = score[i];
      list.place[at] = place[i];
    }
  __syncthreads();
}

// Return the bits of a float32 so that they ascend with the number.
__device__ u32 ordered(float x) {
  u32 bits = __float_as_uint(x);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ float number_of(u32 bits) {
  return __uint_as_float(bits & 0x80000000u ? bits & 0x7FFFFFFFu : ~bits);
}

// Raise the threshold to what the k-th largest lower bound allows. Its bits are found
// from the highest on: one is set if k candidates are no smaller then.
__device__ void raise_threshold(List& list, const Points& p, double own_square, int k) {
  __shared__ int sums[2][WARPS];
  int count = list.count, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (count < k) return;  // the same for all threads
  u32 low[EACH], found = 0;
  for (int i = 0; i < EACH; i++) {
    int at = threadIdx.x + i * THREADS;
    low[i] = 0;
    if (at < count)
      low[i] = ordered(__double2float_rd(
          list.score[at] - p.gamma * p.square[list.place[at]]));
  }
  for (int bit = 31; bit >= 0; bit--) {
    u32 trial = found | 1u << bit;
    int mine = 0;
    for (int i = 0; i < EACH; i++) mine += low[i] >= trial;
    mine = __reduce_add_sync(NONE, mine);
    if (lane == 0) sums[bit % 2][warp] = mine;
    __syncthreads();
    int all = 0;
    for (int i = 0; i < WARPS; i++) all += sums[bit % 2][i];
    if (all >= k) found = trial;
  }
  double limit = number_of(found);
  float threshold = below(limit - p.gamma * own_square - 2 * p.absolute);
  drop_below(list, fmaxf(threshold, list.threshold));
}

// Compute the float64 distances of all candidates: sums in the order of the dimensions,
// without fused instructions. A warp loads pieces of 32 points side by side, and each
// lane adds up the terms of one point.
__device__ void fill_distances(List& list, const Points& p, const Queries& q, u32 own) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, count = list.count;
  u32 own_index = q.source[own];
  for (int first = 32 * warp; first < count; first += THREADS) {
    int mine = first + lane < count ? first + lane : first;
    u32 index = p.source[list.place[mine]];
    double total = 0;
    for (long long d = 0; d < p.dimensions; d += PIECE) {
      int width = p.dimensions - d < PIECE ? (int)(p.dimensions - d) : PIECE;
      __syncwarp();
      if (lane < width)
        list.own[warp][lane] = coordinate<QUERY_DIVIDED>(q, own_index, d + lane);
      for (int i = lane / PIECE; i < 32; i += 32 / PIECE) {
        u32 other = __shfl_sync(NONE, index, i);
        if (lane % PIECE < width)
          list.tile[warp][i][lane % PIECE] =
              coordinate<DIVIDED>(p, other, d + lane % PIECE);
      }
      __syncwarp();
      for (int c = 0; c < width; c++) {
        double gap = __dsub_rn(list.tile[warp][lane][c], list.own[warp][c]);
        total = __dadd_rn(total, __dmul_rn(gap, gap));
      }
    }
    if (first + lane < count) list.distance[first + lane] = total;
  }
  __syncthreads();
}

// Return how many candidates come before one in the order (distance, number).
__device__ int rank_of(const List& list, const Points& p, int i) {
  double mine = list.distance[i];
  u32 number = p.row[list.place[i]];
  int before = 0;
  for (int j = 0; j < list.count; j++) {
    double other = list.distance[j];
    before += other < mine || (other == mine && p.row[list.place[j]] < number);
  }
  return before;
}

// Keep the k nearest candidates, in order, with their distances.
__device__ void keep_nearest(List& list, const Points& p, const Queries& q, u32 own,
                             int k) {
  fill_distances(list, p, q, own);
  int count = list.count, rank[EACH];
  float score[EACH];
  u32 place[EACH];
  double distance[EACH];
  for (int i = 0; i < EACH; i++) {
    int at = threadIdx.x + i * THREADS;
    rank[i] = at < count ? rank_of(list, p, at) : k;
    score[i] = list.score[at], place[i] = list.place[at];
    distance[i] = list.distance[at];
  }
  __syncthreads();
  for (int i = 0; i < EACH; i++)
    if (rank[i] < k) {
      list.score[rank[i]] = score[i], list.place[rank[i]] = place[i];
      list.distance[rank[i]] = distance[i];
    }
  __syncthreads();
  if (threadIdx.x == 0 && count > k) list.count = k;
  if (threadIdx.x == 0 && count >= k) {
    float limit = threshold_of(p, q.square[own], list.distance[k - 1]);
    list.threshold = fmaxf(list.threshold, limit);
  }
  __syncthreads();
}

// Raise the thresholds of rows, and keep at most KEPT candidates of each.
extern "C" __global__ void __launch_bounds__(THREADS)
    narrow_near(const Points* points, const Queries* queries, const Rows* given, int k) {
  __shared__ List list;
  const Points p = *points;
  const Queries q = *queries;
  const Rows rows = *given;
  int row = blockIdx.x;
  u32 own = rows.places[row];
  if (rows.counts[row] < k || load_list(list, rows, row)) return;
  raise_threshold(list, p, q.square[own], k);
  if (list.count > KEPT) keep_nearest(list, p, q, own, k);
  for (int i = threadIdx.x; i < list.count; i += THREADS) {
    rows.scores[(long long)row * CAPACITY + i] = list.score[i];
    rows.candidates[(long long)row * CAPACITY + i] = list.place[i];
  }
  if (threadIdx.x == 0)
    rows.counts[row] = list.count, rows.thresholds[row] = list.threshold;
}

// Write the nearest neighbours of each row, and their squared distances, at its slot;
// where there are fewer than k within the first threshold, NONE.
extern "C" __global__ void __launch_bounds__(THREADS)
    finish_near(const Points* points, const Queries* queries, const Rows* given, int k,
                const u32* slots, double* distance, u32* neighbour) {
  __shared__ List list;
  const Points p = *points;
  const Queries q = *queries;
  const Rows rows = *given;
  int row = blockIdx.x;
  u32 own = rows.places[row];
  if (load_list(list, rows, row)) return;
  raise_threshold(list, p, q.square[own], k);
  keep_nearest(list, p, q, own, k);
  long long begin = (long long)slots[row] * k;
  for (int i = threadIdx.x; i < k; i += THREADS) {
    bool there = i < list.count;
    distance[begin + i] = there ? list.distance[i] : INFINITE;
    neighbour[begin + i] = there ? list.place[i] : NONE;
  }
}

// Set the thresholds of rows that look for points within squared distances.
extern "C" __global__ void __launch_bounds__(THREADS)
    limit_near(const Points* points, const Queries* queries, const Rows* given,
               int count, const double* limits) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= count) return;
  given->thresholds[row] =
      threshold_of(*points, queries->square[given->places[row]], limits[row]);
}

// The edge from a user's number to one place comes before that to another.
__device__ bool precedes(const Points& p, u32 row, u32 one, u32 other) {
  u32 x = p.row[one], y = p.row[other];
  u32 a = min(x, row), b = min(y, row);
  return a < b || (a == b && max(x, row) < max(y, row));
}

// Lower the weights and far ends of rows by their candidates, and the bounds of their
// components.
extern "C" __global__ void __launch_bounds__(THREADS)
    narrow_leaving(const Points* points, const Queries* queries, const Rows* given,
                   const Components* known) {
  __shared__ List list;
  __shared__ u64 least;
  __shared__ double weight;
  __shared__ u32 other;
  const Points p = *points;
  const Queries q = *queries;
  const Rows rows = *given;
  const Components c = *known;
  int row = blockIdx.x;
  u32 own = rows.places[row], component = rows.component[own];
  double core = rows.cores[own], own_square = q.square[own];
  if (load_list(list, rows, row)) return;
  if (threadIdx.x == 0) {
    least = __double_as_longlong(INFINITE);
    weight = rows.weights[row], other = rows.others[row];
    // Read once: other blocks lower it meanwhile.
    double bound =
        __longlong_as_double(*(volatile long long*)(c.bound + component));
    // All edges within the new bound are still to come: the one found is heavier, and
    // those before it were.
    if (bound < weight) weight = bound, other = NONE;
  }
  __syncthreads();
  int count = list.count;
  if (count) {
    // An upper bound of the lightest edge spares most distances.
    for (int i = threadIdx.x; i < count; i += THREADS) {
      u32 place = list.place[i];
      double error = p.gamma / 2 * own_square + p.absolute;
      double low = list.score[i] - p.gamma * p.square[place] - error;
      double most = fmax((own_square - 2 * low) / p.unit, 0.0) * (1 + 1e-9) + 1e-300;
      double heavy = fmax(sqrt(most) * (1 + 1e-9), fmax(core, c.cores[place]));
      atomicMin(&least, (u64)__double_as_longlong(heavy));
    }
    __syncthreads();
    double heaviest = fmin(weight, __longlong_as_double(least));
    drop_below(list,
               fmaxf(list.threshold, threshold_within(p, own_square, heaviest)));
    fill_distances(list, p, q, own);
  }
  if (threadIdx.x == 0) {
    double best = weight;
    u32 end = other;
    for (int i = 0; i < list.count; i++) {
      u32 place = list.place[i];
      double heavy = fmax(sqrt(list.distance[i]), fmax(core, c.cores[place]));
      if (heavy < best || (heavy == best && (end == NONE ||
                                             precedes(p, q.row[own], place, end))))
        best = heavy, end = place;
    }
    rows.weights[row] = best, rows.others[row] = end, rows.counts[row] = 0;
    rows.thresholds[row] =
        fmaxf(list.threshold, threshold_within(p, own_square, best));
    if (end != NONE) atomicMin(c.bound + component, (u64)__double_as_longlong(best));
  }
}

// Points in the order of their components, as listed pairs name them.
struct Side {
  const u32* places;
  const u32* component;  // of each ORDERED places
  const double* cores;   // by place
};

// Edges by column, of pairs of components.
struct Edges {
  u32* a;
  u32* b;
  double* weight;
  u64* key;
};

// Write the edges of some pairs of points: float64 distances, in the order of the
// dimensions.
extern "C" __global__ void __launch_bounds__(THREADS)
    weigh_pairs(const Queries* queries, const Points* points, const Side* row_side,
                const Side* column_side, const u32* rows, const u32* columns, u32 count,
                const Edges* edges) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Queries q = *queries;
  const Points p = *points;
  u32 one = row_side->places[rows[i]], other = column_side->places[columns[i]];
  double total = 0;
  for (long long d = 0; d < p.dimensions; d++) {
    double gap = __dsub_rn(coordinate<QUERY_DIVIDED>(q, q.source[one], d),
                           coordinate<DIVIDED>(p, p.source[other], d));
    total = __dadd_rn(total, __dmul_rn(gap, gap));
  }
  double core = fmax(row_side->cores[one], column_side->cores[other]);
  u32 number = q.row[one], far = p.row[other];
  edges->a[i] = row_side->component[rows[i] / ORDERED];
  edges->b[i] = column_side->component[columns[i] / ORDERED];
  edges->weight[i] = fmax(sqrt(total), core);
  edges->key[i] = (u64)min(number, far) << 32 | max(number, far);
}
