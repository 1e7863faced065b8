// CUDA's language on a CPU: the threads of a block are fibers of one thread of the
// host, and the blocks of a grid run one after the other.
//
// A fiber runs until it waits for its block or its warp. So all results are those of a
// device with one block at a time; races between blocks, and between copies and kernels,
// do not show.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __align__(n)
#define __launch_bounds__(...)

struct Index {
    unsigned x;
};
struct uint4 {
    unsigned x, y, z, w;
};
static Index threadIdx, blockIdx, blockDim, gridDim;

namespace emulated {

typedef unsigned int u32;
typedef unsigned long long u64;

struct Barrier {
    u32 present, arrived = 0, passed = 0;
    u64 total[2] = {0, 0};

    void leave() {
        if (--present && arrived == present) pass();
    }
    void pass() { arrived = 0, passed++, total[passed % 2] = 0; }
};

struct Warp {
    Barrier barrier;
    u64 values[2][32];
};

struct Fiber {
    void* stack_pointer = nullptr;
    char* stack = nullptr;
    bool done = false;
};

const size_t STACK = 128 << 10;
static std::vector<Fiber> fibers;
static std::vector<Warp> warps;
static Barrier block;
static void* scheduler;
static u32 current;
static char* dynamic_shared;
static void (*body)(void*);
static void* body_argument;

// Saves the registers that a call keeps, and goes on with another stack.
extern "C" void emulated_switch(void** save, void* next);
asm(R"(
.text
.local emulated_switch
.type emulated_switch, @function
emulated_switch:
    push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp
    ret
)");

static void yield() { emulated_switch(&fibers[current].stack_pointer, scheduler); }

static void wait_at(Barrier& barrier) {
    u32 passed = barrier.passed;
    if (++barrier.arrived == barrier.present) barrier.pass();
    while (barrier.passed == passed) yield();
}

static void enter() {
    body(body_argument);
    fibers[current].done = true;
    warps[current / 32].barrier.leave();
    block.leave();
    yield();
}

static void run_block(u32 threads) {
    if (fibers.size() < threads) fibers.resize(threads);
    warps.assign((threads + 31) / 32, Warp());
    for (u32 i = 0; i < threads; i += 32)
        warps[i / 32].barrier.present = threads - i < 32 ? threads - i : 32;
    block = Barrier(), block.present = threads;
    for (u32 i = 0; i < threads; i++) {
        Fiber& fiber = fibers[i];
        if (!fiber.stack) fiber.stack = (char*)aligned_alloc(64, STACK);
        void** top = (void**)(fiber.stack + STACK) - 2;
        *top = (void*)enter;
        fiber.stack_pointer = top - 6, fiber.done = false;
    }
    for (u32 left = threads; left;)
        for (current = 0; current < threads; current++) {
            if (fibers[current].done) continue;
            threadIdx.x = current;
            emulated_switch(&scheduler, fibers[current].stack_pointer);
            left -= fibers[current].done;
        }
}

// Gives every thread of the warp the values of all.
struct Values {
    u64 of[32];
};

template <typename T>
inline u64 bits_of(T value) {
    u64 bits = 0;
    memcpy(&bits, &value, sizeof(T));
    return bits;
}

template <typename T>
inline T from_bits(u64 bits) {
    T value;
    memcpy(&value, &bits, sizeof(T));
    return value;
}

inline Values exchange(u64 value) {
    Warp& warp = warps[current / 32];
    u64* slots = warp.values[warp.barrier.passed % 2];
    slots[current % 32] = value;
    wait_at(warp.barrier);
    Values values;
    memcpy(values.of, slots, sizeof(values.of));
    return values;
}

inline u64 sum_over_block(u64 value) {
    u64& total = block.total[block.passed % 2];
    total += value;
    wait_at(block);
    return total;
}

// How a kernel takes a parameter: "*" and the pointee's type, or the type.
template <typename T>
constexpr const char* code() {
    typedef std::remove_cv_t<T> U;
    if (std::is_pointer_v<U>) {
        typedef std::remove_cv_t<std::remove_pointer_t<U>> P;
        if (std::is_void_v<P> || std::is_class_v<P>) return "*";
        const bool f = std::is_floating_point_v<P>, i = std::is_signed_v<P>;
        switch (std::is_void_v<P> ? 0 : sizeof(std::conditional_t<std::is_void_v<P>, int, P>)) {
            case 1: return i ? "*i1" : "*u1";
            case 2: return i ? "*i2" : "*u2";
            case 4: return f ? "*f4" : i ? "*i4" : "*u4";
            default: return f ? "*f8" : i ? "*i8" : "*u8";
        }
    }
    const bool f = std::is_floating_point_v<U>, i = std::is_signed_v<U>;
    return sizeof(U) == 4 ? (f ? "f4" : i ? "i4" : "u4") : f ? "f8" : i ? "i8" : "u8";
}

template <typename... P>
struct Kernel {
    template <size_t... I>
    static void call(void (*kernel)(P...), void** arguments, std::index_sequence<I...>) {
        kernel(*(P*)arguments[I]...);
    }
    static void launch(void (*kernel)(P...), u32 grid, u32 threads, void** arguments,
                       u32 shared) {
        auto once = [=] { call(kernel, arguments, std::index_sequence_for<P...>()); };
        auto* held = &once;
        body = [](void* given) { (*(decltype(held))given)(); };
        body_argument = held;
        gridDim.x = grid, blockDim.x = threads;
        dynamic_shared = (char*)aligned_alloc(128, shared + 128);
        for (blockIdx.x = 0; blockIdx.x < grid; blockIdx.x++) run_block(threads);
        free(dynamic_shared);
    }
    static const char* const* codes() {
        static const char* const all[] = {code<P>()..., nullptr};
        return all;
    }
};

template <typename... P>
void launch(void (*kernel)(P...), u32 grid, u32 threads, void** a, u32 shared) {
    Kernel<P...>::launch(kernel, grid, threads, a, shared);
}

template <typename... P>
const char* const* codes(void (*)(P...)) {
    return Kernel<P...>::codes();
}

}  // namespace emulated

#define EMULATE(kernel)                                                              \
    extern "C" void launch_##kernel(unsigned grid, unsigned threads, void** given,   \
                                    unsigned shared) {                               \
        emulated::launch(kernel, grid, threads, given, shared);                      \
    }                                                                                \
    extern "C" const char* const* codes_##kernel() { return emulated::codes(kernel); }

// ---------------------------------------------------------------- functions

inline void __syncthreads() { emulated::wait_at(emulated::block); }
inline int __syncthreads_count(bool x) { return (int)emulated::sum_over_block(x); }
inline int __syncthreads_or(bool x) { return emulated::sum_over_block(x) > 0; }
inline void __syncwarp() { emulated::exchange(0); }
inline void __threadfence() {}

template <typename T>
T __shfl_sync(unsigned, T value, int lane) {
    emulated::Values all = emulated::exchange(emulated::bits_of(value));
    return emulated::from_bits<T>(all.of[lane % 32]);
}
template <typename T>
T __shfl_up_sync(unsigned, T value, unsigned step) {
    unsigned lane = threadIdx.x % 32;
    emulated::Values all = emulated::exchange(emulated::bits_of(value));
    return lane >= step ? emulated::from_bits<T>(all.of[lane - step]) : value;
}
template <typename T>
T __shfl_down_sync(unsigned, T value, unsigned step) {
    unsigned lane = threadIdx.x % 32;
    emulated::Values all = emulated::exchange(emulated::bits_of(value));
    return lane + step < 32 ? emulated::from_bits<T>(all.of[lane + step]) : value;
}
template <typename T>
T __shfl_xor_sync(unsigned, T value, unsigned mask) {
    unsigned lane = threadIdx.x % 32;
    emulated::Values all = emulated::exchange(emulated::bits_of(value));
    return emulated::from_bits<T>(all.of[lane ^ mask]);
}
inline unsigned __ballot_sync(unsigned, bool x) {
    emulated::Values all = emulated::exchange(x);
    unsigned found = 0;
    for (int lane = 0; lane < 32; lane++) found |= unsigned(all.of[lane]) << lane;
    return found;
}
inline bool __all_sync(unsigned mask, bool x) {
    return __ballot_sync(mask, x) == ~0u;
}
inline unsigned __reduce_or_sync(unsigned, unsigned value) {
    emulated::Values all = emulated::exchange(value);
    unsigned found = 0;
    for (int lane = 0; lane < 32; lane++) found |= unsigned(all.of[lane]);
    return found;
}
template <typename T>
T __reduce_add_sync(unsigned, T value) {
    emulated::Values all = emulated::exchange(emulated::bits_of(value));
    T sum = 0;
    for (int lane = 0; lane < 32; lane++) sum += emulated::from_bits<T>(all.of[lane]);
    return sum;
}

template <typename T>
T atomicAdd(T* at, std::common_type_t<T> value) { T old = *at; *at += value; return old; }
template <typename T>
T atomicOr(T* at, std::common_type_t<T> value) { T old = *at; *at |= value; return old; }
template <typename T>
T atomicMin(T* at, std::common_type_t<T> x) { T old = *at; if (x < old) *at = x; return old; }
template <typename T>
T atomicMax(T* at, std::common_type_t<T> x) { T old = *at; if (x > old) *at = x; return old; }
template <typename T>
T atomicCAS(T* at, std::common_type_t<T> seen, std::common_type_t<T> next) {
    T old = *at;
    if (old == seen) *at = next;
    return old;
}
template <typename T>
T __ldcg(const T* at) { return *(const volatile T*)at; }

template <typename A, typename B>
std::common_type_t<A, B> min(A a, B b) {
    std::common_type_t<A, B> x = a, y = b;
    return y < x ? y : x;
}
template <typename A, typename B>
std::common_type_t<A, B> max(A a, B b) {
    std::common_type_t<A, B> x = a, y = b;
    return x < y ? y : x;
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(unsigned x) { return __builtin_ffs(x); }
inline int __clzll(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float __int_as_float(int x) { return emulated::from_bits<float>((unsigned)x); }
inline unsigned __float_as_uint(float x) { return (unsigned)emulated::bits_of(x); }
inline float __uint_as_float(unsigned x) { return emulated::from_bits<float>(x); }
inline long long __double_as_longlong(double x) { return (long long)emulated::bits_of(x); }
inline double __longlong_as_double(long long x) { return emulated::from_bits<double>((unsigned long long)x); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float __double2float_rd(double x) {
    float rounded = (float)x;
    return rounded > x ? std::nextafterf(rounded, -INFINITY) : rounded;
}
inline size_t __cvta_generic_to_shared(const void* p) {
    return (const char*)p - emulated::dynamic_shared;
}
using std::fabs; using std::fmax; using std::fmin; using std::fmaxf; using std::fminf; using std::sqrt;

// ------------------------------------------------- instructions of tensor cores

namespace emulated {

inline float number_of_f16(unsigned short bits) {
    _Float16 x;
    memcpy(&x, &bits, 2);
    return (float)x;
}
inline float number_of_bf16(unsigned short bits) {
    return from_bits<float>((u64)bits << 16);
}

inline void copy_ahead(u32 to, const unsigned short* from, bool there) {
    if (there) memcpy(dynamic_shared + to, from, 16);
    else memset(dynamic_shared + to, 0, 16);
}

// Four matrices of eight rows of 16 bytes; each lane has the address of one row.
inline void load_matrices(u32 (&r)[4], u32 from) {
    u32 lane = threadIdx.x % 32;
    Values rows = exchange(from);
    for (u32 i = 0; i < 4; i++)
        memcpy(&r[i], dynamic_shared + rows.of[8 * i + lane / 4] + lane % 4 * 4, 4);
}

// Sixteen rows times eight columns, of sixteen numbers each.
template <typename Number>
inline void multiply_add(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1, Number number) {
    static float left[64][16][16], right[64][8][16];
    u32 warp = current / 32, lane = threadIdx.x % 32, row = lane / 4, pair = lane % 4 * 2;
    auto spread = [&](u32 bits, float* to) {
        to[0] = number((unsigned short)bits), to[1] = number((unsigned short)(bits >> 16));
    };
    spread(a[0], left[warp][row] + pair), spread(a[1], left[warp][row + 8] + pair);
    spread(a[2], left[warp][row] + pair + 8), spread(a[3], left[warp][row + 8] + pair + 8);
    spread(b0, right[warp][row] + pair), spread(b1, right[warp][row] + pair + 8);
    wait_at(warps[warp].barrier);
    for (u32 j = 0; j < 4; j++) {
        const float *x = left[warp][row + j / 2 * 8], *y = right[warp][pair + j % 2];
        float sum = 0;
        for (u32 k = 0; k < 16; k++) sum += x[k] * y[k];
        c[j] += sum;
    }
    wait_at(warps[warp].barrier);
}

}  // namespace emulated
