// The rows of a search by products, and the lists of their candidates.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;

#define NONE 0xFFFFFFFFu
#define INFINITE __int_as_float(0x7F800000)
#define CAPACITY 512  // candidates that a row's list holds

struct Components {
  const u32* of_place;
  const double* cores;
  const double* reach;
  u64* bound;  // bits of float64, which order positive numbers alike
};

// The rows of a launch, and the lists of their candidates.
struct Rows {
  const u32* places;     // of the rows among the queries
  const u32* component;  // by place among the queries, as `cores`
  const double* cores;
  double* weights;       // of the lightest edges so far, by row; or bounds
  u32* others;           // their far ends, or NONE
  float* scores;
  u32* candidates;
  int* counts;
  float* thresholds;
  int* overflowed;
  int columns_too;       // whether the queries are the columns
};
