// Magnitudes of points, one thread a point, which decide on scales before a search; and
// copies of some points.
//
// VALUE is the type of the coordinates.

typedef unsigned long long u64;

#define INFINITE __longlong_as_double(0x7FF0000000000000)
#define LEAF 128   // terms that NumPy adds up without halving them
#define DEEPEST 64

// The squares of a point's coordinates, divided by its largest one.
struct Squares {
  const VALUE* row;
  double largest;
  __device__ double at(u64 d) const {
    double x = (double)row[d] / largest;
    return __dmul_rn(x, x);
  }
  __device__ double leaf(u64 begin, u64 count) const;
  __device__ double sum(u64 count) const;
};

// At most LEAF terms: eight sums side by side, and the rest one by one.
__device__ double Squares::leaf(u64 begin, u64 count) const {
  double total = 0;
  u64 done = 0;
  if (count >= 8) {
    double part[8];
    for (int j = 0; j < 8; j++) part[j] = at(begin + j);
    for (done = 8; done + 8 <= count; done += 8)
      for (int j = 0; j < 8; j++) part[j] = __dadd_rn(part[j], at(begin + done + j));
    for (int step = 1; step < 8; step *= 2)
      for (int j = 0; j < 8; j += 2 * step) part[j] = __dadd_rn(part[j], part[j + step]);
    total = part[0];
  }
  for (; done < count; done++) total = __dadd_rn(total, at(begin + done));
  return total;
}

// The sum in NumPy's order: halves, at multiples of eight, until they are leaves. Two
// finished halves of one depth are on top of the stack of sums together.
__device__ double Squares::sum(u64 count) const {
  struct Range {
    u64 begin, count;
    int depth;
  } ranges[DEEPEST];
  double sums[DEEPEST];
  int depths[DEEPEST], waiting = 1, finished = 0;
  ranges[0] = {0, count, 0};
  while (waiting) {
    Range range = ranges[--waiting];
    if (range.count > LEAF) {
      u64 half = range.count / 2 / 8 * 8;
      ranges[waiting++] = {range.begin + half, range.count - half, range.depth + 1};
      ranges[waiting++] = {range.begin, half, range.depth + 1};
      continue;
    }
    double total = leaf(range.begin, range.count);
    int depth = range.depth;
    while (finished && depths[finished - 1] == depth)
      total = __dadd_rn(sums[--finished], total), depth--;
    sums[finished] = total, depths[finished++] = depth;
  }
  return sums[0];
}

// Write the smallest magnitude of a coordinate other than 0 and the largest, INFINITE if
// one is not finite; and the squared length of the point divided by the largest.
extern "C" __global__ void __launch_bounds__(128)
    measure_rows(const VALUE* values, u64 rows, u64 dimensions, double* smallest,
                 double* largest, double* square) {
  u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  const VALUE* row = values + i * dimensions;
  double least = INFINITE, most = 0;
  bool finite = true;
  for (u64 d = 0; d < dimensions; d++) {
    double size = fabs((double)row[d]);
    finite &= size < INFINITE;
    if (size > 0) least = fmin(least, size);
    most = fmax(most, size);
  }
  smallest[i] = least, largest[i] = finite ? most : INFINITE;
  square[i] = finite && most > 0 ? Squares{row, most}.sum(dimensions) : 0;
}

// Copy some rows, one thread a coordinate.
extern "C" __global__ void __launch_bounds__(128)
    take_rows(const VALUE* values, const u64* rows, u64 count, u64 dimensions,
              VALUE* taken) {
  u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count * dimensions) return;
  taken[i] = values[rows[i / dimensions] * dimensions + i % dimensions];
}
