// Products of points by tensor cores; points/search/product_search.py has the bounds.
//
// `filter_near` and `filter_leaving` multiply tiles of rows with tiles of columns, and
// append each score from its row's threshold on to the row's list: products never
// reach the device's memory. `point_products.cu` narrows the lists.
//
// FACTOR is f16 or bf16. PARTS factors that add up to a coordinate lie `width` apart.
// Shared memory holds STAGES stages of a tile.

#include "point_products.cuh"

#define ROWS 128      // of a tile
#define COLUMNS 256
#define DEPTH 64      // factors of a row in one stage: 128 bytes
#define STAGE ((ROWS + COLUMNS) * DEPTH)
#define MULTIPLIERS 256  // threads of a block that multiplies
#define GROUP 8          // tiles of rows that share tiles of columns in the cache

// ---------------------------------------------------------------- products

__device__ u32 shared_address(const void* p) {
  return (u32)__cvta_generic_to_shared(p);
}

// Copy 16 bytes to shared memory asynchronously; zeros for a row beyond the end.
__device__ void copy_ahead(u32 to, const u16* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to),
               "l"(from), "r"(valid ? 16 : 0));
}

__device__ void load_matrices(u32 (&r)[4], u32 from) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(from));
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

__device__ void multiply_add(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32." TEXT(FACTOR) "." TEXT(
                   FACTOR) ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                           "{%0,%1,%2,%3};\n"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Pairs of parts that are multiplied: the other products are below 2^-23 of the sum.
#if PARTS == 1
#define PAIRS 1
__device__ const int PART_OF_ROW[] = {0}, PART_OF_COLUMN[] = {0};
#else
#define PAIRS 6
__device__ const int PART_OF_ROW[] = {0, 0, 1, 1, 0, 2},
                     PART_OF_COLUMN[] = {0, 1, 0, 1, 2, 0};
#endif

// Find the row and column tiles of a tile. GROUP row tiles take a column tile in turn.
__device__ void locate(u32 number, u32 row_tiles, u32 column_tiles, int& row,
                       int& column) {
  u32 each = GROUP * column_tiles, first = number / each * GROUP;
  u32 rest = number % each, rows = min(GROUP, row_tiles - first);
  row = first + rest % rows, column = rest / rows;
}

// The loads of a block, stage by stage, without a break between tiles. A row has eight
// units of 16 bytes in a stage. A thread copies unit `eight` of every 32nd row and
// column to index (`eight` exclusive or row), which spreads a column of eight rows over
// all banks.
struct Loader {
  const u16 *rows, *columns;                // of the launch
  const u16 *thread_rows, *thread_columns;  // of this thread in the tile
  long long stride;
  int row_count, column_count, width;
  const u32* chosen;  // numbers of tiles; null for all
  u32 row_tiles, column_tiles, tiles, tile;
  int row, column, depth, pair;
  u32 shared;

  __device__ u32 number_of(u32 index) const { return chosen ? chosen[index] : index; }

  __device__ void begin() {
    if (tile >= tiles) return;
    locate(number_of(tile), row_tiles, column_tiles, row, column);
    int i = threadIdx.x / 8, eight = threadIdx.x % 8;
    row = row * ROWS + i, column = column * COLUMNS + i;
    thread_rows = rows + row * stride + eight * 8;
    thread_columns = columns + column * stride + eight * 8;
    depth = pair = 0;
  }

  // Begin to load the next stage, if there is one.
  __device__ void load(int stage) {
    if (tile < tiles) {
      const u16* a = thread_rows + PART_OF_ROW[pair] * width + depth;
      const u16* b = thread_columns + PART_OF_COLUMN[pair] * width + depth;
      u32 to = shared + stage * (STAGE * 2);
#pragma unroll
      for (int i = 0; i < ROWS / 32; i++)
        copy_ahead(to + i * 32 * DEPTH * 2, a + i * 32 * stride,
                   row + i * 32 < row_count);
      to += ROWS * DEPTH * 2;
#pragma unroll
      for (int i = 0; i < COLUMNS / 32; i++)
        copy_ahead(to + i * 32 * DEPTH * 2, b + i * 32 * stride,
                   column + i * 32 < column_count);
      depth += DEPTH;
      if (depth == width) {
        depth = 0;
        if (++pair == PAIRS) tile += gridDim.x, begin();
      }
    }
    asm volatile("cp.async.commit_group;\n" ::);
  }
};

// A candidate for a row's neighbours: any point but the row itself.
struct Near {
  const Rows* rows;
  __device__ bool takes(int row, u32 position) const {
    return !rows->columns_too || rows->positions[row] != position;
  }
};

// A candidate for the lightest edge: a point of another component whose edges may be
// light enough.
struct Leaving {
  const Rows* rows;
  const Components* known;
  __device__ bool takes(int row, u32 position) const {
    double weight = rows->weights[row];
    return known->of_position[position] != rows->component[rows->positions[row]] &&
           known->lower_bound[position] <= weight && known->cores[position] <= weight;
  }
};

// The first row and column of a thread's scores.
struct Corner {
  int row, column, row_count, column_count;
};
#define SCORES float (&sum)[4][8][4]
#define SUM(m, n) sum[(m) / 2][(n) / 2][(m) % 2 * 2 + (n) % 2]
#define ROW_OF(m) ((m) / 2 * 16 + (m) % 2 * 8)
#define COLUMN_OF(n) ((n) / 2 * 8 + (n) % 2)

// Appends each score from its row's threshold on to the row's list.
template <typename Candidate>
struct Lists {
  u32 first_column;
  const Columns* of_columns;
  const Rows* of_rows;
  Candidate candidate;

  __device__ __forceinline__ void collect(SCORES, const Corner& at) const;
};

// Multiply all rows with some columns, and collect the products; or only the `count`
// tiles with `chosen` numbers. Blocks take tiles in turn; the loads of the next tile
// begin before the current one is collected.
template <typename Collector>
__device__ __forceinline__ void multiply_tiles(
    const u16* row_factors, const u16* factors, int row_count, int column_count,
    int width, const Collector& collector, const u32* chosen = nullptr, u32 count = 0) {
  extern __shared__ __align__(128) u16 stages[];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int warp_row = warp / 4 * 64, warp_column = warp % 4 * 64;
  int steps = PAIRS * (width / DEPTH);
  u32 shared = shared_address(stages);
  Loader loader;
  loader.rows = row_factors, loader.columns = factors;
  loader.stride = (long long)PARTS * width, loader.width = width;
  loader.row_count = row_count, loader.column_count = column_count;
  loader.row_tiles = (row_count + ROWS - 1) / ROWS;
  loader.column_tiles = (column_count + COLUMNS - 1) / COLUMNS;
  loader.tiles = chosen ? count : loader.row_tiles * loader.column_tiles;
  loader.tile = blockIdx.x, loader.chosen = chosen;
  int i = threadIdx.x / 8;
  loader.shared = shared + i * DEPTH * 2 + (threadIdx.x % 8 ^ i % 8) * 16;
  loader.begin();
  // Offsets of this thread's matrix rows in a stage, before the exclusive or.
  u32 left_rows = (warp_row + lane % 16) * DEPTH * 2;
  u32 right_rows = (ROWS + warp_column + lane % 8 + lane / 16 * 8) * DEPTH * 2;
  u32 left_eight = lane / 16, right_eight = lane / 8 % 2, flip = lane % 8;
  for (int stage = 0; stage < STAGES - 1; stage++) loader.load(stage);
  int stage = 0;
  for (u32 tile = blockIdx.x; tile < loader.tiles; tile += gridDim.x) {
    float sum[4][8][4];
#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
      for (int n = 0; n < 8; n++)
#pragma unroll
        for (int j = 0; j < 4; j++) sum[m][n][j] = 0;
    u32 left[2][4][4], right[2][4][4];
    // Load the matrices for 16 factors of the stage; they are multiplied one step later,
    // so that loads and products overlap.
    auto fetch = [&](int k, u32 (&l)[4][4], u32 (&r)[4][4]) {
      u32 from = shared + stage * (STAGE * 2);
      u32 a = from + left_rows + ((2 * k + left_eight) ^ flip) * 16;
      u32 b = from + right_rows + ((2 * k + right_eight) ^ flip) * 16;
#pragma unroll
      for (int m = 0; m < 4; m++) load_matrices(l[m], a + m * 16 * DEPTH * 2);
#pragma unroll
      for (int n = 0; n < 4; n++) load_matrices(r[n], b + n * 16 * DEPTH * 2);
    };
    asm volatile("cp.async.wait_group %0;\n" ::"n"(STAGES - 2) : "memory");
    __syncthreads();  // all threads have loaded this stage
    fetch(0, left[0], right[0]);
    for (int step = 0; step < steps; step++) {
#pragma unroll
      for (int k = 0; k < DEPTH / 16; k++) {
        if (k == 0) loader.load((stage + STAGES - 1) % STAGES);
        if (k < DEPTH / 16 - 1) {
          fetch(k + 1, left[(k + 1) % 2], right[(k + 1) % 2]);
        } else {
          stage = (stage + 1) % STAGES;
          if (step + 1 < steps) {
            asm volatile("cp.async.wait_group %0;\n" ::"n"(STAGES - 2) : "memory");
            __syncthreads();  // all have loaded the next stage, and read the last one
            fetch(0, left[(k + 1) % 2], right[(k + 1) % 2]);
          }
        }
#pragma unroll
        for (int m = 0; m < 4; m++)
#pragma unroll
          for (int n = 0; n < 8; n++)
            multiply_add(sum[m][n], left[k % 2][m], right[k % 2][n / 2][n % 2 * 2],
                         right[k % 2][n / 2][n % 2 * 2 + 1]);
      }
    }
    int row, column;
    locate(loader.number_of(tile), loader.row_tiles, loader.column_tiles, row, column);
    row = row * ROWS + warp_row + lane / 4;
    column = column * COLUMNS + warp_column + lane % 4 * 2;
    collector.collect(sum, {row, column, row_count, column_count});
  }
}

template <typename Candidate>
__device__ __forceinline__ void Lists<Candidate>::collect(SCORES, const Corner& at) const {
  const Rows& rows = *of_rows;
  const Columns& columns = *of_columns;
  // All columns of the thread are of one group.
  u32 group = columns.group[(first_column + at.column) / GROUPED];
  const float* offsets = rows.offsets + (long long)group * rows.count;
  // All loads come first: the compiler does not move loads across a store.
  float threshold[8], less[16];
#pragma unroll
  for (int m = 0; m < 8; m++) {
    int r = at.row + ROW_OF(m);
    threshold[m] = r < at.row_count ? rows.thresholds[r] + offsets[r] : INFINITE;
  }
#pragma unroll
  for (int n = 0; n < 16; n++) {
    int c = at.column + COLUMN_OF(n);
    less[n] = c < at.column_count ? columns.half[first_column + c] : INFINITE;
  }
#pragma unroll
  for (int m = 0; m < 8; m++) {
    bool any = false;
#pragma unroll
    for (int n = 0; n < 16; n++) any |= SUM(m, n) - less[n] >= threshold[m];
    int r = at.row + ROW_OF(m);
    if (!any || r >= at.row_count) continue;
    float offset = offsets[r];
#pragma unroll
    for (int n = 0; n < 16; n++) {
      float score = SUM(m, n) - less[n];
      int c = at.column + COLUMN_OF(n);
      if (score >= threshold[m] && c < at.column_count) {
        u32 position = columns.position[first_column + c];
        if (position != NO_POSITION && candidate.takes(r, position)) {
          int slot = atomicAdd(rows.counts + r, 1);
          if (slot < CAPACITY) {
            rows.scores[(long long)r * CAPACITY + slot] = score - offset;
            rows.candidates[(long long)r * CAPACITY + slot] = position;
          }
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(MULTIPLIERS, 1)
    filter_near(const u16* row_factors, const u16* factors, int row_count,
                int column_count, int width, u32 first_column, const Columns* columns,
                const Rows* rows) {
  Lists<Near> lists = {first_column, columns, rows, {rows}};
  multiply_tiles(row_factors, factors, row_count, column_count, width, lists);
}

extern "C" __global__ void __launch_bounds__(MULTIPLIERS, 1)
    filter_leaving(const u16* row_factors, const u16* factors, int row_count,
                   int column_count, int width, u32 first_column,
                   const Columns* columns, const Rows* rows, const Components* known) {
  Lists<Leaving> lists = {first_column, columns, rows, {rows, known}};
  multiply_tiles(row_factors, factors, row_count, column_count, width, lists);
}

// ---------------------------------------------------------------- pairs within bounds

// Bounds of pairs by column, and the list of pairs.
struct Within {
  const float* plain;      // see `reach_columns`
  const float* reaching;
  const u32* component;
  const double* least;     // a pair within a smaller bound is not wanted
  u32* rows;               // of listed pairs
  u32* positions;
  u32* count;
  u64 capacity;
};

// Appends pairs of different components within the bound of the row, or within the
// reach of the column's point.
struct PairsInReach {
  const Columns* of_columns;
  const Rows* of_rows;
  const Within* given;

  __device__ __forceinline__ void collect(SCORES, const Corner& at) const {
    const Rows& rows = *of_rows;
    const Columns& columns = *of_columns;
    const Within& w = *given;
    u32 group = columns.group[at.column / GROUPED];
    const float* offsets = rows.offsets + (long long)group * rows.count;
    float threshold[8], offset[8], plain[16], reaching[16];
#pragma unroll
    for (int m = 0; m < 8; m++) {
      int r = at.row + ROW_OF(m);
      offset[m] = r < at.row_count ? offsets[r] : NOT_A_NUMBER;
      threshold[m] = r < at.row_count ? rows.thresholds[r] + offsets[r] : NOT_A_NUMBER;
    }
#pragma unroll
    for (int n = 0; n < 16; n++) {
      int c = at.column + COLUMN_OF(n);
      plain[n] = c < at.column_count ? w.plain[c] : NOT_A_NUMBER;
      reaching[n] = c < at.column_count ? w.reaching[c] : NOT_A_NUMBER;
    }
#pragma unroll
    for (int m = 0; m < 8; m++) {
      bool any = false;
#pragma unroll
      for (int n = 0; n < 16; n++)
        any |= SUM(m, n) - plain[n] >= threshold[m] ||
               SUM(m, n) - reaching[n] >= offset[m];
      if (!any) continue;
      int r = at.row + ROW_OF(m);
#pragma unroll
      for (int n = 0; n < 16; n++) {
        bool of_row = SUM(m, n) - plain[n] >= threshold[m];
        bool of_column = SUM(m, n) - reaching[n] >= offset[m];
        if (!of_row && !of_column) continue;
        int c = at.column + COLUMN_OF(n);
        of_row &= w.least[c] <= rows.weights[r];
        if (!of_row && !of_column) continue;
        if (w.component[c] == rows.component[rows.positions[r]]) continue;
        // Beyond the capacity the count stops, so that it never overflows.
        if (*(volatile u32*)w.count > w.capacity) return;
        u32 slot = atomicAdd(w.count, 1u);
        if (slot < w.capacity)
          w.rows[slot] = rows.positions[r], w.positions[slot] = columns.position[c];
      }
    }
  }
};

// List the tiles with a row whose bound is at least that of a column. `bounds` has the
// largest one of each tile of rows, `least` the smallest one of each tile of columns.
extern "C" __global__ void __launch_bounds__(MULTIPLIERS)
    choose_within(const float* bounds, const float* least, int row_count,
                  int column_count, u32* tiles, u32* tile_count) {
  u32 row_tiles = (row_count + ROWS - 1) / ROWS;
  u32 column_tiles = (column_count + COLUMNS - 1) / COLUMNS;
  u32 tile = blockIdx.x * blockDim.x + threadIdx.x;
  if (tile >= row_tiles * column_tiles) return;
  int row, column;
  locate(tile, row_tiles, column_tiles, row, column);
  if (least[column] <= bounds[row]) tiles[atomicAdd(tile_count, 1u)] = tile;
}

extern "C" __global__ void __launch_bounds__(MULTIPLIERS, 1)
    list_within(const u16* row_factors, const u16* factors, int row_count,
                int column_count, int width, const Columns* columns, const Rows* rows,
                const Within* within, const u32* tiles, const u32* tile_count) {
  PairsInReach pairs = {columns, rows, within};
  multiply_tiles(row_factors, factors, row_count, column_count, width, pairs, tiles,
                 *tile_count);
}

// ---------------------------------------------------------------- pairs of components

#define BLOCK 64  // points: a warp's rows are in one component, and so are its columns

// Points in the order of their components. Each component begins at a multiple of
// BLOCK; entries without a point have infinite terms.
struct Ordered {
  const u16* factors;
  const u32* component;   // of each block of points
  const float* term;      // a squared distance is both terms less twice the product
  const float* core;      // squares of core distances
};

// Bounds of pairs of components, and lists of pairs of points and of tiles.
struct Between {
  float* least;  // by two components: bounds of squared distances
  u32* rows;
  u32* columns;
  u32* count;       // of listed pairs
  u32* tiles;       // those of a launch that may have pairs
  u32* tile_count;
  int components, capacity, width;
};

// The rows and columns of a launch. Both may be the same points.
struct Sides {
  Ordered rows, columns;
  Between between;
  u32 first_row, first_column;

  // The entry of two components, or null if both are one.
  __device__ float* entry_of(u32 row, u32 column) const {
    u32 a = rows.component[row / BLOCK], b = columns.component[column / BLOCK];
    if (a == b) return nullptr;
    return between.least + (long long)min(a, b) * between.components + max(a, b);
  }
};

// The rows and columns of a thread, as far as their scores need them.
struct Terms {
  float row_term[8], row_core[8], column_term[16], column_core[16];

  __device__ Terms(const Sides& s, u32 row, u32 column) {
#pragma unroll
    for (int m = 0; m < 8; m++)
      row_term[m] = s.rows.term[row + ROW_OF(m)],
      row_core[m] = s.rows.core[row + ROW_OF(m)];
#pragma unroll
    for (int n = 0; n < 16; n++)
      column_term[n] = s.columns.term[column + COLUMN_OF(n)],
      column_core[n] = s.columns.core[column + COLUMN_OF(n)];
  }
  __device__ float square(float product, int m, int n) const {
    float plain = row_term[m] + column_term[n] - 2 * product;
    return fmaxf(plain, fmaxf(row_core[m], column_core[n]));
  }
};

// Lowers the bound of the components of a warp's rows and columns.
struct LowerBounds {
  Sides sides;

  __device__ __forceinline__ void collect(SCORES, const Corner& at) const {
    if (at.row >= at.row_count || at.column >= at.column_count) return;
    u32 row = sides.first_row + at.row, column = sides.first_column + at.column;
    float* entry = sides.entry_of(row, column);
    if (!entry) return;
    Terms terms(sides, row, column);
    float least = INFINITE;
#pragma unroll
    for (int m = 0; m < 8; m++)
#pragma unroll
      for (int n = 0; n < 16; n++)
        least = fminf(least, terms.square(SUM(m, n), m, n));
    for (int step = 16; step; step /= 2)
      least = fminf(least, __shfl_xor_sync(WARP, least, step));
    least = fmaxf(least, 0.0f);  // so that its bits have its order
    if (threadIdx.x % 32 == 0 && least < *entry)
      atomicMin((u32*)entry, __float_as_uint(least));
  }
};

// Appends pairs of points within the bound of their components.
struct PairsWithin {
  Sides sides;

  __device__ __forceinline__ void collect(SCORES, const Corner& at) const {
    if (at.row >= at.row_count || at.column >= at.column_count) return;
    u32 row = sides.first_row + at.row, column = sides.first_column + at.column;
    float* entry = sides.entry_of(row, column);
    if (!entry || *entry < 0) return;
    float bound = *entry;
    const Between& o = sides.between;
    Terms terms(sides, row, column);
#pragma unroll
    for (int m = 0; m < 8; m++)
#pragma unroll
      for (int n = 0; n < 16; n++)
        if (terms.square(SUM(m, n), m, n) <= bound) {
          // Beyond the capacity the count stops, so that it never overflows.
          if (*(volatile u32*)o.count > (u32)o.capacity) return;
          u32 slot = atomicAdd(o.count, 1u);
          if (slot < (u32)o.capacity)
            o.rows[slot] = row + ROW_OF(m), o.columns[slot] = column + COLUMN_OF(n);
        }
  }
};

template <typename Collector>
__device__ __forceinline__ void multiply_ordered(const Sides& sides, int row_count,
                                                 int column_count,
                                                 const u32* chosen = nullptr,
                                                 u32 count = 0) {
  int width = sides.between.width;
  long long stride = (long long)PARTS * width;
  multiply_tiles(sides.rows.factors + sides.first_row * stride,
                 sides.columns.factors + sides.first_column * stride, row_count,
                 column_count, width, Collector{sides}, chosen, count);
}

extern "C" __global__ void __launch_bounds__(MULTIPLIERS, 1)
    bound_pairs(const Ordered* rows, const Ordered* columns, const Between* between,
                u32 first_row, int row_count, u32 first_column, int column_count) {
  Sides sides = {*rows, *columns, *between, first_row, first_column};
  multiply_ordered<LowerBounds>(sides, row_count, column_count);
}

// List the tiles with a block of two components that the forest may join.
extern "C" __global__ void __launch_bounds__(MULTIPLIERS)
    choose_tiles(const Ordered* rows, const Ordered* columns, const Between* between,
                 u32 first_row, int row_count, u32 first_column, int column_count) {
  Sides sides = {*rows, *columns, *between, first_row, first_column};
  u32 row_tiles = (row_count + ROWS - 1) / ROWS;
  u32 column_tiles = (column_count + COLUMNS - 1) / COLUMNS;
  u32 tile = blockIdx.x * blockDim.x + threadIdx.x;
  if (tile >= row_tiles * column_tiles) return;
  int row, column;
  locate(tile, row_tiles, column_tiles, row, column);
  row *= ROWS, column *= COLUMNS;
  for (int r = row; r < min(row + ROWS, row_count); r += BLOCK)
    for (int c = column; c < min(column + COLUMNS, column_count); c += BLOCK) {
      float* entry = sides.entry_of(first_row + r, first_column + c);
      if (entry && *entry >= 0) {
        between->tiles[atomicAdd(between->tile_count, 1u)] = tile;
        return;
      }
    }
}

extern "C" __global__ void __launch_bounds__(MULTIPLIERS, 1)
    list_pairs(const Ordered* rows, const Ordered* columns, const Between* between,
               u32 first_row, int row_count, u32 first_column, int column_count) {
  Sides sides = {*rows, *columns, *between, first_row, first_column};
  multiply_ordered<PairsWithin>(sides, row_count, column_count, between->tiles,
                                *between->tile_count);
}
