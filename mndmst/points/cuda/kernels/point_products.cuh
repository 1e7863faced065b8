// The rows of a search by products, and the lists of their candidates.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;

#define NO_POSITION 0xFFFFFFFFu
#define WARP 0xFFFFFFFFu  // all lanes
#define INFINITE __int_as_float(0x7F800000)
#define NOT_A_NUMBER __int_as_float(0x7FC00000)
#define CAPACITY 512  // candidates that a row's list holds
#define GROUPED 64    // columns of one group: a warp multiplies them together

// Components of the columns; all but `bound` are by position.
struct Components {
  const u32* of_position;
  const double* cores;
  const double* lower_bound;
  u64* bound;  // by component; bits of float64, ordered as positive numbers are
};

// The rows of a launch, and the lists of their candidates. A row has an offset and a
// slack for each group of columns: row `r` of `count` those at group * count + r.
struct Rows {
  const u32* positions;  // of the rows, among the queries
  const u32* component;  // by position among the queries, as `cores`
  const double* cores;
  double* weights;       // of the lightest edges so far, or bounds; by row, as below
  u32* ends;             // positions of their far ends, or NO_POSITION
  float* scores;         // no smaller than the exact ones
  u32* candidates;
  int* counts;
  float* thresholds;
  int* overflowed;
  const float* offsets;  // half of the squared distance from the centre of the group
  const float* slack;    // the part of a row in the width of the bounds of scores
  int columns_too;       // whether the queries are the columns
  int count;
};

// The columns, in groups that lie near a centre each.
struct Columns {
  const float* half;      // by column: less its part of a score
  const u32* position;    // by column: the point, or NO_POSITION
  const u32* group;       // of each GROUPED columns
  const float* slack;     // as of a row, by position
  const u32* group_of;    // by position
};
