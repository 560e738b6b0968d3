// The sweeps of a slice on a GPU: the twins of windows.py and slices.py, one launch per layer.
//
// A block takes one state and its threads the cells of that state's window, so that neighbouring threads read
// neighbouring cells. CuPy compiles this file for the device it finds. Without one, a C++ compiler takes it, too: then
// each kernel comes with a function `host_<name>` that runs all blocks and threads one after the other, which is how
// the tests hold it to the other kernels wherever a compiler is found.
//
// Sums go in the order of slices.py, outcomes three at a time, and nothing may be fused (--fmad=false, or
// -ffp-contract=off): then all devices get the same bits, and a policy breaks ties as the bounds did.

typedef long long int64;
typedef unsigned char byte_t;

#ifdef __CUDACC__
#define KERNEL(name, parameters, arguments) extern "C" __global__ void name parameters
#else
struct Dim { int x, y; };
static Dim blockIdx, threadIdx, blockDim, gridDim;
template <class T> static void atomicMin(T* at, T x) { if (x < *at) *at = x; }
template <class T> static void atomicMax(T* at, T x) { if (x > *at) *at = x; }
extern "C" void set_grid(int blocks, int rows, int threads) {
  gridDim = {blocks, rows};
  blockDim = {threads, 1};
}
#define KERNEL(name, parameters, arguments)                                              \
  static void name parameters;                                                           \
  extern "C" void host_##name parameters {                                               \
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x)                           \
      for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y)                         \
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) name arguments;   \
  }                                                                                      \
  static void name parameters
#endif

static const int NEVER = 1 << 30;  // beyond any index: no state is reached with such a return

// One layer of windows.reachable: one thread for each state. `here` is layer h, `there` layer h + 1.
KERNEL(reach_layer,
       (int S, int is_last, const int64* pair_start, const int64* outcome_start, const int* next_state,
        const int* jump, const double* part, const int64* most_left, const int* first, const int* last,
        int* first_there, int* last_there, int64* lead_there, int64* end_first, int64* end_last, int64* end_lead),
       (S, is_last, pair_start, outcome_start, next_state, jump, part, most_left, first, last, first_there, last_there,
        lead_there, end_first, end_last, end_lead)) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= S || first[s] > last[s]) return;
  bool ends = false;
  int64 low_end = 0, up_end = 0, left_end = 0;
  for (int64 o = outcome_start[pair_start[s]]; o < outcome_start[pair_start[s + 1]]; ++o) {
    int low = first[s] + jump[o], up = last[s] + jump[o] + (part[o] > 0.0 ? 1 : 0);
    int64 left = most_left[s] - jump[o];
    int t = next_state[o];
    if (t == S || is_last) {
      if (!ends || low < low_end) low_end = low;
      if (!ends || up > up_end) up_end = up;
      if (!ends || left > left_end) left_end = left;
      ends = true;
    } else {
      atomicMin(first_there + t, low);
      atomicMax(last_there + t, up);
      atomicMax(lead_there + t, left);
    }
  }
  if (ends) {
    atomicMin(end_first, low_end);
    atomicMax(end_last, up_end);
    atomicMax(end_lead, left_end);
  }
}

// windows.windows for all steps and states: one thread for each. `beaten` is from where on m is beaten with nothing
// left to gain. `count` gets the cells of each state, those before its window included if `padded`.
KERNEL(window_cells,
       (int64 n, const int* first, const int* last, const int64* most_left, const int64* lead, int shift_low,
        int shift_high, int64 beaten, int padded, int* low, int* pad, int* high, int* count),
       (n, first, last, most_left, lead, shift_low, shift_high, beaten, padded, low, pad, high, count)) {
  int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int64 least = (int64)first[i] + shift_low;
  int64 from = beaten - most_left[i], before = beaten - lead[i];
  if (from > NEVER) from = NEVER;
  if (before > NEVER) before = NEVER;
  low[i] = (int)(from > least ? from : least);
  pad[i] = (int)(before > least ? before : least);
  high[i] = last[i] + shift_high;
  int cells = high[i] - (padded ? pad[i] : low[i]) + 1;
  count[i] = cells > 0 ? cells : 0;
}

// slices.whole_layer: value and slope of B slices at once. `cheap` is what it costs to finish from each state. Where
// choices are recorded, idle cells have the choice "nothing".
KERNEL(whole_layer,
       (int B, const int64* pair_start, const int64* outcome_start, const int* next_state, const double* prob,
        const double* cost, const double* cheap, int abandon, const int* jump, const int* low, const int* pad,
        const int* high, const int64* place, const int64* place_there, const double* idle_value,
        const double* idle_slope, double* value, double* slope, byte_t* choice, int records),
       (B, pair_start, outcome_start, next_state, prob, cost, cheap, abandon, jump, low, pad, high, place, place_there,
        idle_value, idle_slope, value, slope, choice, records)) {
  int s = blockIdx.x;
  int begin = pad[s], window = low[s];
  int64 cells = ((int64)high[s] - begin + 1) * B;
  for (int64 k = threadIdx.x + (int64)blockIdx.y * blockDim.x; k < cells; k += (int64)blockDim.x * gridDim.y) {
    int b = (int)(k % B), g = begin + (int)(k / B);
    double best = idle_value[b] - cheap[s], rise = idle_slope[b];
    byte_t taken = 255;
    if (g >= window) {
      for (int64 row = pair_start[s]; row < pair_start[s + 1]; ++row) {
        double v = 0.0 - cost[row], w = 0.0;
        for (int64 o = outcome_start[row]; o < outcome_start[row + 1];) {
          double v3 = 0.0, w3 = 0.0;
          for (int i = 0; i < 3 && o < outcome_start[row + 1]; ++i, ++o) {
            int64 x = (place_there[next_state[o]] + g + jump[o]) * B + b;
            v3 += prob[o] * value[x];
            w3 += prob[o] * slope[x];
          }
          v += v3;
          w += w3;
        }
        if (row == pair_start[s] || v > best) {
          best = v;
          rise = w;
          taken = (byte_t)(row - pair_start[s]);
        }
      }
      if (abandon && idle_value[b] > best) {
        best = idle_value[b];
        rise = idle_slope[b];
        taken = 255;
      }
    }
    int64 x = (place[s] + g) * B + b;
    value[x] = best;
    slope[x] = rise;
    if (records) choice[x] = taken;
  }
}

// The runs of equal choices of a layer, for B slices side by side: one thread for each slice and state. First they are
// counted, [B, S]; then each is written before `end`, the sum of all counts up to its own.
KERNEL(count_runs,
       (int S, int B, const int* pad, const int* high, const int64* place, const byte_t* choice, int* count),
       (S, B, pad, high, place, choice, count)) {
  int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= (int64)S * B) return;
  int s = (int)(i / B), b = (int)(i % B);
  int found = pad[s] <= high[s];
  const byte_t* of_slice = choice + place[s] * B + b;
  for (int64 g = (int64)pad[s] + 1; g <= high[s]; ++g) found += of_slice[g * B] != of_slice[(g - 1) * B];
  count[(int64)b * S + s] = found;
}

KERNEL(find_runs,
       (int S, int B, const int* pad, const int* high, const int64* place, const byte_t* choice, const int* count,
        const int64* end, int* first, byte_t* row),
       (S, B, pad, high, place, choice, count, end, first, row)) {
  int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= (int64)S * B) return;
  int s = (int)(i / B), b = (int)(i % B);
  int64 at = end[(int64)b * S + s] - count[(int64)b * S + s];
  const byte_t* of_slice = choice + place[s] * B + b;
  for (int64 g = pad[s]; g <= high[s]; ++g) {
    if (g == pad[s] || of_slice[g * B] != of_slice[(g - 1) * B]) {
      first[at] = (int)g;
      row[at++] = of_slice[g * B];
    }
  }
}

// What stands for no row: the rollout is idle, or given up.
template <class Choice>
static
#ifdef __CUDACC__
    __device__
#endif
    Choice nothing() {
  return (Choice)(sizeof(Choice) < 4 ? -1 : 0x7fffffff);
}

template <class Choice>
static
#ifdef __CUDACC__
    __device__
#endif
    void decide(const int64* pair_start, const int64* outcome_start, const int* next_state, const double* prob,
                const double* cost, const double* cheap, int abandon, const int* jump, const int* low, const int* pad,
                const int* high, const int64* place, const int64* place_there, const int64* choice_place, double idle,
                double* value, Choice* choice) {
  int s = blockIdx.x;
  int begin = pad[s], window = low[s], end = high[s];
  for (int64 k = threadIdx.x + (int64)blockIdx.y * blockDim.x; k <= (int64)end - begin;
       k += (int64)blockDim.x * gridDim.y) {
    int g = begin + (int)k;
    double best = idle - cheap[s];
    if (g >= window) {
      int64 taken = pair_start[s];
      for (int64 row = pair_start[s]; row < pair_start[s + 1]; ++row) {
        double v = 0.0 - cost[row];
        for (int64 o = outcome_start[row]; o < outcome_start[row + 1];) {
          double v3 = 0.0;
          for (int i = 0; i < 3 && o < outcome_start[row + 1]; ++i, ++o)
            v3 += prob[o] * value[place_there[next_state[o]] + g + jump[o]];
          v += v3;
        }
        if (row == pair_start[s] || v > best) {
          best = v;
          taken = row;
        }
      }
      bool given_up = abandon && idle > best;
      if (given_up) best = idle;
      choice[choice_place[s] + g] = given_up ? nothing<Choice>() : (Choice)(taken - pair_start[s]);
    }
    value[place[s] + g] = best;
  }
}

// slices.decide_layer, with choices of one, two and four bytes.
#define DECIDE(name, Choice)                                                                                          \
  KERNEL(name,                                                                                                        \
         (const int64* pair_start, const int64* outcome_start, const int* next_state, const double* prob,             \
          const double* cost, const double* cheap, int abandon, const int* jump, const int* low, const int* pad,      \
          const int* high, const int64* place, const int64* place_there, const int64* choice_place, double idle,      \
          double* value, Choice* choice),                                                                             \
         (pair_start, outcome_start, next_state, prob, cost, cheap, abandon, jump, low, pad, high, place,             \
          place_there, choice_place, idle, value, choice)) {                                                          \
    decide(pair_start, outcome_start, next_state, prob, cost, cheap, abandon, jump, low, pad, high, place,            \
           place_there, choice_place, idle, value, choice);                                                           \
  }
DECIDE(decide_layer_1, byte_t)
DECIDE(decide_layer_2, unsigned short)
DECIDE(decide_layer_4, int)

// The first entry of rising x[0 .. n) that is not below `at`.
static
#ifdef __CUDACC__
    __device__
#endif
    int not_below(const double* x, int n, double at) {
  int low = 0;
  while (low < n) {
    int middle = (low + n) / 2;
    if (x[middle] < at) low = middle + 1; else n = middle;
  }
  return low;
}

template <class Choice>
static
#ifdef __CUDACC__
    __device__
#endif
    void bound(int S, int is_last, const int64* pair_start, const int64* outcome_start, const int* next_state,
               const double* prob, const double* reward, const double* cost, const double* cheap, int abandon,
               const int* jump, const double* part, const int* low, const int* pad, const int* high,
               const int64* place, const int64* place_there, double kappa, double phase, int64 drift,
               double m, double idle_upper, double idle_lower, double idle_slope, int n_lines, const double* line_end,
               const double* line_height, const double* line_slope, int n_points, const double* point,
               const double* point_value, double* upper, double* lower, double* slope_g, double* slope_m,
               Choice* choice, int keeps) {
  int s = blockIdx.x;
  int begin = pad[s], window = low[s], last = high[s];
  for (int64 k = threadIdx.x + (int64)blockIdx.y * blockDim.x; k <= (int64)last - begin;
       k += (int64)blockDim.x * gridDim.y) {
    int g = begin + (int)k;
    double most = idle_upper - cheap[s], best = idle_lower - cheap[s], best_g = 0.0, best_m = idle_slope;
    Choice taken = nothing<Choice>();
    if (g >= window) {
      for (int64 row = pair_start[s]; row < pair_start[s + 1]; ++row) {
        double u = 0.0 - cost[row], l = 0.0 - cost[row], in_g = 0.0, in_m = 0.0;
        for (int64 o = outcome_start[row]; o < outcome_start[row + 1]; ++o) {
          double p = prob[o];
          int t = next_state[o];
          if (t == S || is_last) {  // the return is known: the curves are evaluated
            double x = kappa * (double)(g + drift) + phase + reward[o];
            if (x <= m) {
              u += p * idle_upper;
              l += p * idle_lower;
              in_m += p * idle_slope;
            } else {
              int line = not_below(line_end, n_lines - 1, x);
              l += p * (line_height[line] + line_slope[line] * x);
              in_g += p * line_slope[line];
              int after = not_below(point, n_points, x);
              if (after == 0) {
                u += p * point_value[0];
              } else if (after == n_points) {
                u += p * (x > point_value[after - 1] ? x : point_value[after - 1]);
              } else {
                double share = (x - point[after - 1]) / (point[after] - point[after - 1]);
                u += p * ((1.0 - share) * point_value[after - 1] + share * point_value[after]);
              }
            }
            continue;
          }
          int64 x = place_there[t] + g + jump[o];
          double theta = part[o];
          if (theta == 0.0) {
            u += p * upper[x];
            l += p * lower[x];
            in_g += p * slope_g[x];
            in_m += p * slope_m[x];
            continue;
          }
          u += p * ((1.0 - theta) * upper[x] + theta * upper[x + 1]);
          double from_below = lower[x] + slope_g[x] * (kappa * theta);
          double from_above = lower[x + 1] - slope_g[x + 1] * (kappa * (1.0 - theta));
          bool below = from_below >= from_above;
          int64 y = below ? x : x + 1;
          l += p * (below ? from_below : from_above);
          in_g += p * slope_g[y];
          in_m += p * slope_m[y];
        }
        if ((row == pair_start[s] && !abandon) || u > most) most = u;
        if (l > best) {
          best = l;
          best_g = in_g;
          best_m = in_m;
          taken = (Choice)(row - pair_start[s]);
        }
      }
    }
    int64 x = place[s] + g;
    upper[x] = most;
    lower[x] = best;
    slope_g[x] = best_g;
    slope_m[x] = best_m;
    if (keeps) choice[x] = taken;
  }
}

// slices.bound_layer; a cell of step h has the return kappa * (g + drift) + phase. Rows are kept if `keeps`.
#define BOUND(name, Choice)                                                                                           \
  KERNEL(name,                                                                                                        \
         (int S, int is_last, const int64* pair_start, const int64* outcome_start, const int* next_state,             \
          const double* prob, const double* reward, const double* cost, const double* cheap, int abandon,             \
          const int* jump, const double* part, const int* low, const int* pad, const int* high, const int64* place,   \
          const int64* place_there, double kappa, double phase, int64 drift, double m, double idle_upper,             \
          double idle_lower, double idle_slope, int n_lines, const double* line_end, const double* line_height,       \
          const double* line_slope, int n_points, const double* point, const double* point_value, double* upper,      \
          double* lower, double* slope_g, double* slope_m, Choice* choice, int keeps),                                \
         (S, is_last, pair_start, outcome_start, next_state, prob, reward, cost, cheap, abandon, jump, part, low,     \
          pad, high, place, place_there, kappa, phase, drift, m, idle_upper, idle_lower, idle_slope, n_lines,         \
          line_end, line_height, line_slope, n_points, point, point_value, upper, lower, slope_g, slope_m, choice,    \
          keeps)) {                                                                                                   \
    bound(S, is_last, pair_start, outcome_start, next_state, prob, reward, cost, cheap, abandon, jump, part, low,     \
          pad, high, place, place_there, kappa, phase, drift, m, idle_upper, idle_lower, idle_slope, n_lines,         \
          line_end, line_height, line_slope, n_points, point, point_value, upper, lower, slope_g, slope_m, choice,    \
          keeps);                                                                                                     \
  }
BOUND(bound_layer_1, byte_t)
BOUND(bound_layer_2, unsigned short)
BOUND(bound_layer_4, int)
