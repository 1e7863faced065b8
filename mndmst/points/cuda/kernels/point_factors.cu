// Points as factors of products: less a centre, times a power of two, and rounded to
// numbers of 16 bits; points/cuda/device_products.py has the bounds.
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

// Write each point as a float16, or as the sum of three bfloat16, and the squared length
// of the rounded point. Raise extremes[0] to the largest fraction of its length that a
// point loses, extremes[1] to the largest squared length.
extern "C" __global__ void __launch_bounds__(BLOCK)
    round_points(const Given* given, const double* centre, double factor, int parts,
                 u64 width, u16* factors, double* square, u64* extremes) {
  const Given g = *given;
  u64 thread = (u64)blockIdx.x * BLOCK + threadIdx.x;
  double lost = 0, most = 0;
  for (u64 position = thread / 32; position < g.count; position += (u64)gridDim.x * WARPS) {
    double length = 0, residue = 0;
    for (u64 d = thread % 32; d < width; d += 32) {
      double exact = d < g.dimensions ? (g.at(position, d) - centre[d]) * factor : 0;
      double rest = exact;
      for (int part = 0; part < parts; part++) {
        double rounded;
        u16 bits = parts == 1 ? half_of(rest, rounded) : bfloat_of(rest, rounded);
        factors[(position * parts + part) * width + d] = bits;
        rest -= rounded;
      }
      length += (exact - rest) * (exact - rest), residue += rest * rest;
    }
    length = sum_of_warp(length), residue = sum_of_warp(residue);
    if (thread % 32 == 0) square[position] = length;
    if (residue > 0) lost = fmax(lost, sqrt(residue) / sqrt(length));
    most = fmax(most, length);
  }
  if (thread % 32 == 0) raise(extremes, lost), raise(extremes + 1, most);
}

// Write half of each squared length, times a factor.
extern "C" __global__ void __launch_bounds__(BLOCK)
    halve_squares(const double* square, u64 count, double factor, float* half) {
  u64 i = (u64)blockIdx.x * BLOCK + threadIdx.x;
  if (i < count) half[i] = (float)(square[i] / 2 * factor);
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
  term[i] = valid ? (float)(square[position] * square_factor + added)
                  : __int_as_float(0x7F800000);
  core[i] = (float)(cores[position] * cores[position] * core_factor);
}
