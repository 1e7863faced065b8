// Nearest neighbours and lightest edges from tiles of inner products; see
// points/product_search.py for the bounds, and points/kernels/product_filter.py for the
// same steps on a CPU. One block looks at one row of a tile.
//
// VALUE is the type of the coordinates that distances take; with DIVIDED they are
// quotients by `largest` and then `length` of their point.

typedef unsigned int u32;
typedef unsigned long long u64;

#define THREADS 128
#define WARPS (THREADS / 32)
#define STEP (4 * THREADS)  // columns of one step: four for each thread
#define ROOM 1024           // candidates in shared memory; one step adds at most STEP
#define KEPT (ROOM - STEP)  // candidates that leave room for a step
#define BATCH (8 * STEP)     // columns between two looks at the list, while it has room
#define COLUMNS 8           // coordinates of 32 candidates that a warp loads at once
#define NONE 0xFFFFFFFFu
#define INFINITE __int_as_float(0x7F800000)

struct Points {
  const VALUE* values;
  const double* largest;
  const double* length;
  const u32* number;     // the row of `values` of each place
  const double* square;  // squared lengths of the rounded points, by place
  const float* half;     // half of each, less its part of the error bound
  long long dimensions;
  double gamma, absolute, unit;
};

__device__ double coordinate(const Points& p, u32 row, long long d) {
  double x = (double)p.values[(long long)row * p.dimensions + d];
#if DIVIDED
  x = x / p.largest[row] / p.length[row];
#endif
  return x;
}

// The list of a block's candidates.
struct List {
  float score[ROOM];
  u32 place[ROOM];
  double distance[ROOM];
  double tile[WARPS][32][COLUMNS + 1];
  double own[WARPS][COLUMNS];
  int count;
  float threshold;
};

__device__ float below(double limit) {
  return __double2float_rd(limit - fabs(limit) * 1e-12);
}

// No point within a squared distance of a place has a smaller score.
__device__ float threshold_of(const Points& p, u32 own, double square) {
  double needed = (p.square[own] - square * p.unit * (1 + 1e-15)) / 2;
  return below(needed - p.gamma / 2 * p.square[own] - p.absolute);
}

// Keep the candidates from the threshold on, in any order.
__device__ void drop_below(List& list, float threshold) {
  float score[ROOM / THREADS];
  u32 place[ROOM / THREADS];
  int count = list.count;
  for (int i = 0; i < ROOM / THREADS; i++) {
    int at = threadIdx.x + i * THREADS;
    score[i] = at < count ? list.score[at] : -INFINITE;
    place[i] = at < count ? list.place[at] : NONE;
  }
  __syncthreads();
  if (threadIdx.x == 0) list.count = 0, list.threshold = threshold;
  __syncthreads();
  for (int i = 0; i < ROOM / THREADS; i++)
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
__device__ void raise_threshold(List& list, const Points& p, u32 own, int k) {
  __shared__ int sums[2][WARPS];
  int count = list.count, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (count < k) return;  // the same for all threads
  u32 low[ROOM / THREADS], found = 0;
  for (int i = 0; i < ROOM / THREADS; i++) {
    int at = threadIdx.x + i * THREADS;
    low[i] = 0;
    if (at < count)
      low[i] = ordered(__double2float_rd(
          list.score[at] - p.gamma * p.square[list.place[at]]));
  }
  for (int bit = 31; bit >= 0; bit--) {
    u32 trial = found | 1u << bit;
    int mine = 0;
    for (int i = 0; i < ROOM / THREADS; i++) mine += low[i] >= trial;
    mine = __reduce_add_sync(NONE, mine);
    if (lane == 0) sums[bit % 2][warp] = mine;
    __syncthreads();
    int all = 0;
    for (int i = 0; i < WARPS; i++) all += sums[bit % 2][i];
    if (all >= k) found = trial;
  }
  double limit = number_of(found);
  float threshold = below(limit - p.gamma * p.square[own] - 2 * p.absolute);
  drop_below(list, fmaxf(threshold, list.threshold));
}

// Compute the float64 distances of all candidates: sums in the order of the dimensions,
// without fused instructions. A warp loads pieces of 32 points side by side, and each
// lane adds up the terms of one point.
__device__ void fill_distances(List& list, const Points& p, u32 own) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, count = list.count;
  u32 own_row = p.number[own];
  for (int first = 32 * warp; first < count; first += THREADS) {
    int mine = first + lane < count ? first + lane : first;
    u32 row = p.number[list.place[mine]];
    double total = 0;
    for (long long d = 0; d < p.dimensions; d += COLUMNS) {
      int width = p.dimensions - d < COLUMNS ? (int)(p.dimensions - d) : COLUMNS;
      __syncwarp();
      if (lane < width) list.own[warp][lane] = coordinate(p, own_row, d + lane);
      for (int i = lane / COLUMNS; i < 32; i += 32 / COLUMNS) {
        u32 other = __shfl_sync(NONE, row, i);
        if (lane % COLUMNS < width)
          list.tile[warp][i][lane % COLUMNS] =
              coordinate(p, other, d + lane % COLUMNS);
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
  u32 number = p.number[list.place[i]];
  int before = 0;
  for (int j = 0; j < list.count; j++) {
    double other = list.distance[j];
    before += other < mine ||
              (other == mine && p.number[list.place[j]] < number);
  }
  return before;
}

// Keep the k nearest candidates, in order, with their distances.
__device__ void keep_nearest(List& list, const Points& p, u32 own, int k) {
  fill_distances(list, p, own);
  int count = list.count, rank[ROOM / THREADS];
  float score[ROOM / THREADS];
  u32 place[ROOM / THREADS];
  double distance[ROOM / THREADS];
  for (int i = 0; i < ROOM / THREADS; i++) {
    int at = threadIdx.x + i * THREADS;
    rank[i] = at < count ? rank_of(list, p, at) : k;
    score[i] = list.score[at], place[i] = list.place[at];
    distance[i] = list.distance[at];
  }
  __syncthreads();
  for (int i = 0; i < ROOM / THREADS; i++)
    if (rank[i] < k) {
      list.score[rank[i]] = score[i], list.place[rank[i]] = place[i];
      list.distance[rank[i]] = distance[i];
    }
  __syncthreads();
  if (threadIdx.x == 0 && count >= k) {
    float limit = threshold_of(p, own, list.distance[k - 1]);
    list.count = k, list.threshold = fmaxf(list.threshold, limit);
  }
  __syncthreads();
}

__device__ void load_list(List& list, const float* score, const u32* place, int count,
                          float threshold) {
  for (int i = threadIdx.x; i < count; i += THREADS)
    list.score[i] = score[i], list.place[i] = place[i];
  if (threadIdx.x == 0) list.count = count, list.threshold = threshold;
  __syncthreads();
}

// Add the columns of a tile to the candidates of each row for its k nearest neighbours.
extern "C" __global__ void __launch_bounds__(THREADS)
    filter_near(const float* product, int columns, long long stride, u32 first_row,
                u32 first_column, const Points* given, int k, float* scores, u32* places,
                int* counts, float* thresholds) {
  __shared__ List list;
  const Points p = *given;
  long long row = blockIdx.x;
  u32 own = first_row + blockIdx.x;
  product += row * stride;
  const float* half = p.half + first_column;
  load_list(list, scores + row * KEPT, places + row * KEPT, counts[row],
            thresholds[row]);
  // Many columns at once, as long as their candidates fit; else step by step.
  for (int begin = 0, width = BATCH; begin < columns;) {
    int before = list.count, end = min(begin + width, columns);
    float threshold = list.threshold;
    __syncthreads();
    for (int step = begin; step < end; step += STEP) {
      float score[4];
      for (int i = 0; i < 4; i++) {
        int c = step + threadIdx.x + i * THREADS;
        score[i] = c < end ? product[c] - half[c] : -INFINITE;
      }
      for (int i = 0; i < 4; i++) {
        int c = step + threadIdx.x + i * THREADS;
        if (score[i] >= threshold && c < end && first_column + c != own) {
          int at = atomicAdd(&list.count, 1);
          if (at < ROOM) list.score[at] = score[i], list.place[at] = first_column + c;
        }
      }
    }
    __syncthreads();
    int found = list.count;
    __syncthreads();
    if (found > ROOM) {  // not all have been kept: look again, at fewer columns
      if (threadIdx.x == 0) list.count = before;
      __syncthreads();
      width = STEP;
      continue;
    }
    if (found > KEPT) {
      raise_threshold(list, p, own, k);
      if (list.count > KEPT) keep_nearest(list, p, own, k);
    }
    begin = end;
    width = BATCH;
  }
  if (list.count > KEPT / 2) raise_threshold(list, p, own, k);
  for (int i = threadIdx.x; i < list.count; i += THREADS)
    scores[row * KEPT + i] = list.score[i], places[row * KEPT + i] = list.place[i];
  if (threadIdx.x == 0) counts[row] = list.count, thresholds[row] = list.threshold;
}

// Write the k nearest neighbours of each row, and their squared distances.
extern "C" __global__ void __launch_bounds__(THREADS)
    finish_near(u32 first_row, const Points* given, int k, const float* scores,
                const u32* places, const int* counts, const float* thresholds,
                double* distance, u32* neighbour) {
  __shared__ List list;
  const Points p = *given;
  long long row = blockIdx.x;
  u32 own = first_row + blockIdx.x;
  load_list(list, scores + row * KEPT, places + row * KEPT, counts[row],
            thresholds[row]);
  raise_threshold(list, p, own, k);
  keep_nearest(list, p, own, k);
  for (int i = threadIdx.x; i < k; i += THREADS) {
    distance[(long long)own * k + i] = list.distance[i];
    neighbour[(long long)own * k + i] = list.place[i];
  }
}

struct Components {
  const u32* of_place;
  const double* cores;
  const double* reach;
  u64* bound;  // bits of float64, which order positive numbers alike
};

__device__ float threshold_within(const Points& p, u32 own, double weight) {
  if (weight == INFINITE) return -INFINITE;
  double square = fmin(weight * weight * (1 + 1e-15) + 1e-322, 1.7976931348623157e308);
  return threshold_of(p, own, square);
}

// The edge from a place to one comes before that to another.
__device__ bool precedes(const Points& p, u32 own, u32 one, u32 other) {
  u32 row = p.number[own], x = p.number[one], y = p.number[other];
  u32 a = min(x, row), b = min(y, row);
  return a < b || (a == b && max(x, row) < max(y, row));
}

// Of the candidates keep the first edge: lower `weight` and `other` to it.
__device__ void take_lightest(List& list, const Points& p, const Components& c, u32 own,
                              double& weight, u32& other) {
  __shared__ u64 least;
  double core = c.cores[own];
  if (threadIdx.x == 0) least = __double_as_longlong(INFINITE);
  __syncthreads();
  // An upper bound of the lightest edge spares most distances.
  for (int i = threadIdx.x; i < list.count; i += THREADS) {
    u32 place = list.place[i];
    double error = p.gamma / 2 * p.square[own] + p.absolute;
    double low = list.score[i] - p.gamma * p.square[place] - error;
    double most = fmax((p.square[own] - 2 * low) / p.unit, 0.0) * (1 + 1e-9) + 1e-300;
    double heavy = fmax(sqrt(most) * (1 + 1e-9), fmax(core, c.cores[place]));
    atomicMin(&least, (u64)__double_as_longlong(heavy));
  }
  __syncthreads();
  double heaviest = fmin(weight, __longlong_as_double(least));
  drop_below(list, fmaxf(list.threshold, threshold_within(p, own, heaviest)));
  fill_distances(list, p, own);
  __shared__ double best_weight;
  __shared__ u32 best;
  if (threadIdx.x == 0) {
    best_weight = weight, best = other;
    for (int i = 0; i < list.count; i++) {
      u32 place = list.place[i];
      double heavy = fmax(sqrt(list.distance[i]), fmax(core, c.cores[place]));
      if (heavy < best_weight ||
          (heavy == best_weight &&
           (best == NONE || precedes(p, own, place, best))))
        best_weight = heavy, best = place;
    }
    list.count = 0;
    list.threshold = fmaxf(list.threshold, threshold_within(p, own, best_weight));
  }
  __syncthreads();
  weight = best_weight, other = best;
}

// Lower the lightest edges that leave components of some places by the columns of a
// tile. Row r is that of asked[first + r].
extern "C" __global__ void __launch_bounds__(THREADS)
    filter_leaving(const float* product, int columns, long long stride,
                   long long first, const u32* asked, u32 first_column, const Points* given,
                   const Components* known, double* weights, u32* others) {
  __shared__ List list;
  const Points p = *given;
  const Components c = *known;
  long long at = first + blockIdx.x;
  u32 own = asked[at], component = c.of_place[own];
  product += (long long)blockIdx.x * stride;
  const float* half = p.half + first_column;
  double weight = weights[at];
  u32 other = others[at];
  __shared__ double shared_bound;
  if (threadIdx.x == 0)  // once: other blocks lower it meanwhile
    shared_bound =
        __longlong_as_double(*(volatile long long*)(c.bound + component));
  __syncthreads();
  if (shared_bound < weight) weight = shared_bound, other = NONE;
  if (threadIdx.x == 0)
    list.count = 0, list.threshold = threshold_within(p, own, weight);
  __syncthreads();
  for (int begin = 0, width = BATCH; begin < columns;) {
    int before = list.count, end = min(begin + width, columns);
    float threshold = list.threshold;
    __syncthreads();
    for (int step = begin; step < end; step += STEP) {
      float score[4];
      for (int i = 0; i < 4; i++) {
        int column = step + threadIdx.x + i * THREADS;
        score[i] = column < end ? product[column] - half[column] : -INFINITE;
      }
      for (int i = 0; i < 4; i++) {
        int column = step + threadIdx.x + i * THREADS;
        u32 place = first_column + column;
        if (score[i] >= threshold && column < end &&
            c.of_place[place] != component && c.reach[place] <= weight &&
            c.cores[place] <= weight) {
          int slot = atomicAdd(&list.count, 1);
          if (slot < ROOM) list.score[slot] = score[i], list.place[slot] = place;
        }
      }
    }
    __syncthreads();
    int found = list.count;
    __syncthreads();
    if (found > ROOM) {  // not all have been kept: look again, at fewer columns
      if (threadIdx.x == 0) list.count = before;
      __syncthreads();
      width = STEP;
      continue;
    }
    if (found > KEPT) take_lightest(list, p, c, own, weight, other);
    begin = end;
    width = BATCH;
  }
  if (list.count) take_lightest(list, p, c, own, weight, other);
  if (threadIdx.x == 0) {
    weights[at] = weight, others[at] = other;
    if (other != NONE)
      atomicMin(c.bound + component, (u64)__double_as_longlong(weight));
  }
}
