// Vectors of every dtype: arithmetic, memory, lanes, conversions, reductions, random numbers.
#include "akg/akg.hpp"
#include "akg/nest.hpp"
namespace akg {

extern "C" int lane_count() { return LANES; }

#define PER_TYPE(T) \
    extern "C" void arithmetic_##T(const T* a, const T* b, T* y) { \
        const Vec<T> u = load(a), v = load(b); \
        store(y, u + v), store(y + LANES, u - v), store(y + 2 * LANES, u * v), store(y + 3 * LANES, maximum(u, v)); \
        store(y + 4 * LANES, minimum(u, v)), store(y + 5 * LANES, select(u < v, u, v)), store(y + 6 * LANES, sign(v)); \
        store(y + 7 * LANES, abs(v)), store(y + 8 * LANES, select(u == v, T(1), select(u >= v, Vec<T>(T(2)), Vec<T>(T(3))))); \
    } \
    extern "C" void memory_##T(const T* x, T* y, i64 n, i64 stride) { \
        store(y, load(x, n), n); \
        store(y + 64, load(x, first_lanes(n), T(5))); \
        store(y + 128, load_strided(x, stride, n)); \
        store(y + 192, gather(x, reverse(iota<i64>()), first_lanes(n), T(7))); \
        store(y + 256, gather(x, reverse(iota<i32>()))); \
        store_strided(y + 320, 2, load(x), n); \
        scatter(y + 384, reverse(iota<i64>()), load(x), first_lanes(n)); \
        stream(y + 448, load(x, n), n); \
        store(y + 512, load(x), first_lanes(n)); \
    } \
    extern "C" void near_##T(const T* x, const i64* at, T* y, i64 n) { \
        const Vec<i64> places = load(at, n); \
        store(y, load_between(x, places, FirstLanes{n}), n); \
        store(y + 64, load_run(x, at[0], at[n - 1], FirstLanes{n}, [&] { return places; }), n); \
    } \
    extern "C" void lanes_##T(const T* x, T* y) { \
        const Vec<T> v = load(x); \
        store(y, shift_up<1>(v, T(9))), store(y + LANES, shift_up<2>(v, T(9))), store(y + 2 * LANES, shift_down<1>(v, T(9))); \
        store(y + 3 * LANES, reverse(v)), store(y + 4 * LANES, iota<T>(T(3))), store(y + 5 * LANES, with_lane(v, 1, T(1))); \
        store(y + 6 * LANES, scan_sum(v)), store(y + 7 * LANES, scan_max(v)), store(y + 8 * LANES, scan_min_reverse(v)); \
        store(y + 9 * LANES, scan_sum_reverse(v)), store(y + 10 * LANES, -v); \
        y[11 * LANES] = reduce_sum(v), y[11 * LANES + 1] = reduce_max(v), y[11 * LANES + 2] = reduce_min(v), y[11 * LANES + 3] = lane(v, 2); \
    } \
    extern "C" void transpose_##T(const T* x, T* y) { \
        Vec<T> rows[LANES]; \
        for (int i = 0; i < LANES; ++i) rows[i] = load(x + i * LANES); \
        transpose(rows); \
        for (int i = 0; i < LANES; ++i) store(y + i * LANES, rows[i]); \
    } \
    extern "C" i64 argmax_##T(const T* x, i64 n) { \
        Best<T> best = Best<T>::lowest(); \
        for (i64 j = 0; j < n; j += LANES) argmax_step(best, load(x + j, n - j), iota<i64>(j), first_lanes(n - j)); \
        return argmax(best); \
    } \
    extern "C" i64 argmin_##T(const T* x, i64 n) { \
        Best<T> best = Best<T>::highest(); \
        for (i64 j = 0; j < n; j += LANES) argmin_step(best, load(x + j, n - j), iota<i64>(j), first_lanes(n - j)); \
        return argmin(best); \
    } \
    extern "C" void add_at_##T(T* y, const i64* at, const T* x, i64 n) { \
        parallel_for((n + LANES - 1) / LANES, [=](i64 p) { scatter_add(y, load(at + p * LANES, n - p * LANES), load(x + p * LANES, n - p * LANES), first_lanes(n - p * LANES)); }); \
    }

// Each of three ways in which updates reach a tensor, in copies of threads (`work` is much) or together.
#define UPDATE(T, F) \
    extern "C" void update_##T##_##F(T* tensor, i64 size, i64 work, const i64* at, const T* x, i64 n) { \
        Updates<T, F> updates(tensor, size, work); \
        parallel_for(n / LANES, [&](i64 p) { \
            T* const mine = updates.mine(); \
            const T* const own = x + p * LANES; \
            updates.lanes(mine, load(at + p * LANES), load(own), Mask(true)); \
            updates.row(mine + size - LANES, load(own), first_lanes(LANES - 1)); \
            updates.one(mine + p % size, own[0]); \
        }); \
        updates.join(); \
    }
// The same of vectors side by side alone, at any places.
#define UPDATE_ROWS(T, F) \
    extern "C" void update_rows_##T##_##F(T* tensor, i64 size, i64 work, const i64* at, const T* x, i64 n) { \
        Updates<T, F, Meet::IN_ROWS> updates(tensor, size, work); \
        parallel_for(n / LANES, [&](i64 p) { \
            T* const mine = updates.mine(); \
            const Vec<T> own = load(x + p * LANES); \
            updates.row(mine + at[p], own, Mask(true)); \
            updates.row(mine + size - LANES, own, first_lanes(LANES - 1)); \
        }); \
        updates.join(); \
    }
#define UPDATES_OF_ROWS(T) UPDATE_ROWS(T, Add) UPDATE_ROWS(T, Max) UPDATE_ROWS(T, Min)
UPDATES_OF_ROWS(f64) UPDATES_OF_ROWS(f32) UPDATES_OF_ROWS(i64) UPDATES_OF_ROWS(i32)
#define UPDATES(T) UPDATE(T, Add) UPDATE(T, Max) UPDATE(T, Min)
UPDATES(f64) UPDATES(f32) UPDATES(i64) UPDATES(i32)

#define CONVERT(A, B) \
    extern "C" void convert_##A##_##B(const A* x, B* y, i64 n) { \
        for (i64 i = 0; i < n; i += LANES) store(y + i, convert<B>(load(x + i, n - i)), n - i); \
    } \
    extern "C" void scalar_##A##_##B(const A* x, B* y, i64 n) { \
        for (i64 i = 0; i < n; ++i) y[i] = convert<B>(x[i]); \
    }
#define FROM(A) \
    CONVERT(A, f64) CONVERT(A, f32) CONVERT(A, f16) CONVERT(A, bf16) CONVERT(A, i64) CONVERT(A, i32) CONVERT(A, i16) CONVERT(A, i8) \
    CONVERT(A, u8) CONVERT(A, bool)

PER_TYPE(f64) PER_TYPE(f32) PER_TYPE(f16) PER_TYPE(bf16) PER_TYPE(i64) PER_TYPE(i32) PER_TYPE(i16) PER_TYPE(i8) PER_TYPE(u8)
FROM(f64) FROM(f32) FROM(f16) FROM(bf16) FROM(i64) FROM(i32) FROM(i16) FROM(i8) FROM(u8) FROM(bool)

// Rows of LANES truth values: compared, moved across lanes, stored in part and past the caches, transposed.
extern "C" void masks(const bool* a, const bool* b, bool* y, i64 n) {
    const Mask p = load(a), q = load(b);
    const Mask made[] = {p == q, p != q, p < q, p <= q, p > q, p >= q, maximum(p, q), minimum(p, q), p < true, false >= q,
                         select(p, q, !q), shift_up<1>(p, true), shift_down<2>(p, true), reverse(p), with_lane(p, 1, lane(q, 0))};
    for (const Mask m : made) store(y, m), y += LANES;
    store(y, p, n), y += LANES;
    stream(y, p, n), y += LANES;
    Mask rows[LANES];
    for (int i = 0; i < LANES; ++i) rows[i] = load(a + i * LANES);
    transpose(rows);
    for (int i = 0; i < LANES; ++i) stream(y + i * LANES, rows[i]);
}
extern "C" i64 argmax_bool(const bool* x, i64 n) {
    Best<bool> best = Best<bool>::lowest();
    for (i64 j = 0; j < n; j += LANES) argmax_step(best, load(x + j, n - j), iota<i64>(j), first_lanes(n - j));
    return argmax(best);
}
extern "C" i64 argmin_bool(const bool* x, i64 n) {
    Best<bool> best = Best<bool>::highest();
    for (i64 j = 0; j < n; j += LANES) argmin_step(best, load(x + j, n - j), iota<i64>(j), first_lanes(n - j));
    return argmin(best);
}

extern "C" void draw(i64 seed, const i64* at, f32* y, i64 n) {
    for (i64 i = 0; i < n; i += LANES) store(y + i, rand(seed, load(at + i, n - i)), n - i);
}
extern "C" void to_tf32(const f32* x, f32* y, i64 n) {
    for (i64 i = 0; i < n; i += LANES) store(y + i, round_to<tf32>(load(x + i, n - i)), n - i);
}

}  // namespace akg
