// Points as factors of products: less a centre, times a power of two, and rounded to
// numbers of 16 bits; points/cuda/device_products.py has the bounds.
//
// Columns are in groups; each has a centre of its own.
//
// VALUE is the type of the coordinates. Those of `divided` points are quotients by
// `largest` and then `length` of their point, as in point_products.cu.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;

#define NO_POSITION 0xFFFFFFFFu
#define WARP 0xFFFFFFFFu  // all lanes
#define BLOCK 256
#define WARPS (BLOCK / 32)
#define INFINITE __int_as_float(0x7F800000)
#define NOT_A_NUMBER __int_as_float(0x7FC00000)
#define LARGEST 1.7976931348623157e308
#define GROUPED 64  // columns of one group, as in point_products.cuh
// Bounds of the relative roundings of half squared lengths, and of their sum with a
// product, to float32.
#define ROUNDINGS 9.5367431640625e-07  // 2^-20

// Points before they become factors, by position.
struct Given {
  const VALUE* values;
  const double* largest;
  const double* length;
  const u32* source;  // the row of `values` of each position
  u64 count, dimensions, divided;

  __device__ double at(u64 position, u64 d) const {
    u64 index = source[position];
    double x = (double)values[index * dimensions + d];
    return divided ? x / largest[index] / length[index] : x;
  }
};

__device__ double largest_of_warp(double x) {
  for (int step = 16; step; step /= 2) x = fmax(x, __shfl_xor_sync(WARP, x, step));
  return x;
}

__device__ double sum_of_warp(double x) {
  for (int step = 16; step; step /= 2) x += __shfl_xor_sync(WARP, x, step);
  return x;
}

// Raise a number to at least x, which is not negative: bits are ordered as numbers are.
__device__ void raise(u64* number, double x) {
  atomicMax(number, (u64)__double_as_longlong(x));
}

// Write the mean of all points; each block takes 32 dimensions, each warp some points.
extern "C" __global__ void __launch_bounds__(BLOCK)
    find_centre(const Given* given, double* centre) {
  __shared__ double sums[WARPS][32];
  const Given g = *given;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u64 d = 32ull * blockIdx.x + lane;
  double sum = 0;
  for (u64 position = warp; position < g.count && d < g.dimensions; position += WARPS)
    sum += g.at(position, d);
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp || d >= g.dimensions) return;
  for (int other = 1; other < WARPS; other++) sum += sums[other][lane];
  centre[d] = sum / g.count;
}

// Raise `extent` to the largest difference of a coordinate from the centre's; a warp
// takes a point at a time.
extern "C" __global__ void __launch_bounds__(BLOCK)
    find_extent(const Given* given, const double* centre, u64* extent) {
  const Given g = *given;
  u64 thread = (u64)blockIdx.x * BLOCK + threadIdx.x;
  double most = 0;
  for (u64 position = thread / 32; position < g.count; position += (u64)gridDim.x * WARPS)
    for (u64 d = thread % 32; d < g.dimensions; d += 32)
      most = fmax(most, fabs(g.at(position, d) - centre[d]));
  most = largest_of_warp(most);
  if (thread % 32 == 0) raise(extent, most);
}

// Return the bits of the nearest float16 of a number below 2^15; set `rounded` to it.
__device__ u16 half_of(double x, double& rounded) {
  float size = fabsf((float)x);
  u32 bits;
  if (size < 6.103515625e-05f) {  // 2^-14; below, float16 has the last position of 0.5f
    bits = __float_as_uint(size + 0.5f) - 0x3F000000u;
    rounded = bits * 5.9604644775390625e-08;  // 2^-24
  } else {
    u32 whole = __float_as_uint(size);
    whole = (whole + 0xFFF + (whole >> 13 & 1)) & ~0x1FFFu;
    bits = (whole - 0x38000000u) >> 13;
    rounded = __uint_as_float(whole);
  }
  if (x < 0) bits |= 0x8000, rounded = -rounded;
  return (u16)bits;
}

// Return the bits of the nearest bfloat16; set `rounded` to it.
__device__ u16 bfloat_of(double x, double& rounded) {
  u32 bits = __float_as_uint((float)x);
  bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u;
  rounded = __uint_as_float(bits);
  return (u16)(bits >> 16);
}

// Centres of groups, each relative to that of all points as rows see it.
struct Groups {
  const double* centres;   // of all groups, one after the other
  const double* spread;    // typical length of a column in typical lengths of rows
  const double* distance;  // of the centre from that of all points
  const double* least;     // shorter columns count as this long
  u64 count;
};

// The columns of launches.
struct Columns {
  const u32* position;  // NO_POSITION between two groups
  const u32* group;     // of each GROUPED columns
  u64 count;
};

// Round the coordinates of a point, less a centre: a float16 each, or the sum of three
// bfloat16. Lanes of a warp take coordinates in turn; they return the sums of all.
struct Rounded {
  double length, residue;  // squares: of the rounded point, and of the difference
  double half;  // of the exact squared length, plus the product with `from` to `centre`

  __device__ Rounded(const Given& g, u32 position, const double* from,
                     const double* centre, double factor, int parts, u64 width,
                     u16* factors) {
    length = residue = half = 0;
    for (u64 d = threadIdx.x % 32; d < width; d += 32) {
      bool inside = d < g.dimensions;
      double exact = inside ? (g.at(position, d) - centre[d]) * factor : 0;
      double rest = exact;
      for (int part = 0; part < parts; part++) {
        double rounded;
        factors[part * width + d] =
            parts == 1 ? half_of(rest, rounded) : bfloat_of(rest, rounded);
        rest -= rounded;
      }
      length += (exact - rest) * (exact - rest), residue += rest * rest;
      if (inside) half += exact * (exact / 2 + (centre[d] - from[d]) * factor);
    }
    length = sum_of_warp(length), residue = sum_of_warp(residue);
    half = sum_of_warp(half);
  }
};

// Write each point as factors, the squared length of the rounded point, and half of that
// of the exact one. Raise extremes[0] to the largest fraction of its length that a point
// loses, extremes[1] to the largest squared length.
extern "C" __global__ void __launch_bounds__(BLOCK)
    round_points(const Given* given, const double* centre, double factor, int parts,
                 u64 width, u16* factors, double* square, double* half, u64* extremes) {
  const Given g = *given;
  u64 thread = (u64)blockIdx.x * BLOCK + threadIdx.x;
  double lost = 0, most = 0;
  for (u64 position = thread / 32; position < g.count; position += (u64)gridDim.x * WARPS) {
    Rounded point(g, position, centre, centre, factor, parts, width,
                  factors + position * parts * width);
    if (thread % 32 == 0) square[position] = point.length, half[position] = point.half;
    if (point.residue > 0) lost = fmax(lost, sqrt(point.residue) / sqrt(point.length));
    most = fmax(most, point.length);
  }
  if (thread % 32 == 0) raise(extremes, lost), raise(extremes + 1, most);
}

// Write each column as factors less its group's centre; the squared length of the
// rounded column, at least that of `least`; and half of the squared distance of the
// point at `centre` less what columns of the group have in common. Raise `extreme` to
// the largest fraction of its length that a column loses.
extern "C" __global__ void __launch_bounds__(BLOCK)
    round_columns(const Given* given, const Columns* columns, const Groups* groups,
                  const double* centre, double factor, int parts, u64 width,
                  u16* factors, double* square, double* half, u64* extreme) {
  const Given g = *given;
  u64 thread = (u64)blockIdx.x * BLOCK + threadIdx.x;
  double lost = 0;
  for (u64 i = thread / 32; i < columns->count; i += (u64)gridDim.x * WARPS) {
    u32 position = columns->position[i], group = columns->group[i / GROUPED];
    u16* to = factors + i * parts * width;
    if (position == NO_POSITION) {
      for (u64 d = threadIdx.x % 32; d < parts * width; d += 32) to[d] = 0;
      continue;
    }
    Rounded column(g, position, centre, groups->centres + group * g.dimensions, factor,
                   parts, width, to);
    double least = groups->least[group], length = fmax(column.length, least * least);
    if (thread % 32 == 0) square[i] = length, half[i] = column.half;
    if (column.residue > 0) lost = fmax(lost, sqrt(column.residue) / sqrt(length));
  }
  if (thread % 32 == 0) raise(extreme, lost);
}

// Write half of the squared length of each column, less its part of the bound of
// scores, by column; and twice this part, by position.
extern "C" __global__ void __launch_bounds__(BLOCK)
    bound_columns(const Columns* columns, const Groups* groups, double gamma,
                  double absolute, const double* square, const double* exact,
                  float* half, float* slack) {
  u64 i = (u64)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= columns->count) return;
  u32 position = columns->position[i], group = columns->group[i / GROUPED];
  half[i] = INFINITE;
  if (position == NO_POSITION) return;
  double length = sqrt(square[i]) * 1.01;
  double part = gamma / 2 / groups->spread[group] * square[i] + absolute +
                ROUNDINGS * length * (length + groups->distance[group]);
  half[i] = __double2float_rd(exact[i] - part);
  slack[position] = -__double2float_rd(-2 * part);
}

// Which pairs with columns are wanted; see `PairColumns` in devices/point_products.py.
struct Wanted {
  const u32* vertex;
  const double* least;
  const u32* of_vertex;
  const double* least_of_vertex;
  const double* reach;
};

// Bounds of pairs, by column. No product less NaN reaches a threshold.
struct Within {
  float* plain;     // less than a product by a row's threshold for its own bound
  float* reaching;  // and by that for the distance 0, for the reach of the column
  u32* component;
  double* least;
  u64* key;  // the group, and the bits of the least bound within which a pair is wanted
};

// Write the bounds of pairs with columns.
extern "C" __global__ void __launch_bounds__(BLOCK)
    reach_columns(const Columns* columns, const float* half, const Wanted* wanted,
                  double unit, const Within* within) {
  u64 i = (u64)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= columns->count) return;
  u32 position = columns->position[i], component = 0;
  float plain = NOT_A_NUMBER, reaching = NOT_A_NUMBER;
  double least = INFINITE, first = INFINITE;
  if (position != NO_POSITION) {
    u32 vertex = wanted->vertex[position];
    component = wanted->of_vertex[vertex];
    least = first = fmax(wanted->least[position], wanted->least_of_vertex[vertex]);
    double reach = wanted->reach[component];
    if (least < INFINITE) plain = half[i];
    if (least < INFINITE && least <= reach) {
      // As `threshold_within` in point_products.cu. The subtraction from a product
      // rounds this part of the threshold, too.
      double square = fmin(reach * reach * (1 + 1e-15) + 1e-322, LARGEST);
      reaching = __double2float_rd(half[i] - square * unit / 2 * (1 + ROUNDINGS));
      first = 0;
    }
  }
  within->component[i] = component, within->least[i] = least;
  within->plain[i] = plain, within->reaching[i] = reaching;
  u32 bits = __float_as_uint(fmaxf(__double2float_rd(first), 0.0f));
  within->key[i] = (u64)columns->group[i / GROUPED] << 32 | bits;
}

// Write the bounds of columns in the order of their keys, and the least bound of each
// BLOCK of them, which are the columns of a tile.
extern "C" __global__ void __launch_bounds__(BLOCK)
    order_bounds(const Columns* columns, const Within* within, const long long* order,
                 const Within* to, u32* position, u32* group, u32* column,
                 float* least) {
  __shared__ u32 first;
  u64 i = (u64)blockIdx.x * BLOCK + threadIdx.x;
  if (threadIdx.x == 0) first = ~0u;
  __syncthreads();
  if (i < columns->count) {
    u64 from = order[i];
    to->plain[i] = within->plain[from], to->reaching[i] = within->reaching[from];
    to->component[i] = within->component[from], to->least[i] = within->least[from];
    position[i] = columns->position[from], column[i] = from;
    if (i % GROUPED == 0) group[i / GROUPED] = columns->group[from / GROUPED];
    atomicMin(&first, (u32)within->key[from]);
  }
  __syncthreads();
  if (threadIdx.x == 0) least[blockIdx.x] = __uint_as_float(first);
}

// Return half of the squared distance of a point from a centre; lanes return the same.
__device__ double half_distance(const Given& g, u32 position, const double* centre,
                                double factor) {
  double sum = 0;
  for (u64 d = threadIdx.x % 32; d < g.dimensions; d += 32) {
    double gap = (g.at(position, d) - centre[d]) * factor;
    sum += gap * gap;
  }
  return sum_of_warp(sum) / 2;
}

// Write the offset and the slack of each row for each group of columns.
extern "C" __global__ void __launch_bounds__(BLOCK)
    offset_rows(const Given* given, const u32* positions, u64 rows, const Groups* groups,
                double factor, double gamma, const double* square, float* offset,
                float* slack) {
  const Given g = *given;
  u64 thread = (u64)blockIdx.x * BLOCK + threadIdx.x;
  for (u64 row = thread / 32; row < rows; row += (u64)gridDim.x * WARPS) {
    u32 position = positions[row];
    for (u64 group = 0; group < groups->count; group++) {
      const double* centre = groups->centres + group * g.dimensions;
      double exact = half_distance(g, position, centre, factor);
      double part = gamma / 2 * groups->spread[group] * square[position] +
                    2 * ROUNDINGS * exact;
      if (thread % 32) continue;
      offset[group * rows + row] = __double2float_rd(exact - part);
      slack[group * rows + row] = -__double2float_rd(-2 * part);
    }
  }
}

// Write the group with the nearest centre for each point.
extern "C" __global__ void __launch_bounds__(BLOCK)
    nearest_centres(const Given* given, const double* centres, u64 count, u32* group) {
  const Given g = *given;
  u64 thread = (u64)blockIdx.x * BLOCK + threadIdx.x;
  for (u64 position = thread / 32; position < g.count; position += (u64)gridDim.x * WARPS) {
    double least = 0;
    u32 nearest = 0;
    for (u32 i = 0; i < count; i++) {
      double distance = half_distance(g, position, centres + i * g.dimensions, 1);
      if (i == 0 || distance < least) least = distance, nearest = i;
    }
    if (thread % 32 == 0) group[position] = nearest;
  }
}

// Fill an array with a number.
extern "C" __global__ void __launch_bounds__(BLOCK)
    fill_floats(float* numbers, u64 count, float number) {
  u64 i = (u64)blockIdx.x * BLOCK + threadIdx.x;
  if (i < count) numbers[i] = number;
}

// Copy the factors at some positions, `pieces` pieces of 16 bytes each; position 0 stands
// in for NO_POSITION.
extern "C" __global__ void __launch_bounds__(BLOCK)
    gather_factors(const uint4* factors, const u32* positions, u64 count, u64 pieces,
                   uint4* gathered) {
  u64 i = (u64)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= count * pieces) return;
  u32 position = positions[i / pieces];
  if (position == NO_POSITION) position = 0;
  gathered[i] = factors[position * pieces + i % pieces];
}

// Copy the coordinates of points at some positions to some rows.
extern "C" __global__ void __launch_bounds__(BLOCK)
    copy_points(const Given* given, const u32* positions, const u32* rows, u64 count,
                double* points) {
  const Given g = *given;
  u64 i = (u64)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= count * g.dimensions) return;
  u64 point = i / g.dimensions, d = i % g.dimensions;
  points[rows[point] * g.dimensions + d] = g.at(positions[point], d);
}

// Write the terms of squared distances, and squared core distances, at some positions;
// infinite terms for NO_POSITION.
extern "C" __global__ void __launch_bounds__(BLOCK)
    order_terms(const u32* positions, u64 count, const double* square, const double* cores,
                double square_factor, double added, double core_factor, float* term,
                float* core) {
  u64 i = (u64)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= count) return;
  u32 position = positions[i];
  bool valid = position != NO_POSITION;
  if (!valid) position = 0;
  term[i] = valid ? (float)(square[position] * square_factor + added) : INFINITE;
  core[i] = (float)(cores[position] * cores[position] * core_factor);
}
