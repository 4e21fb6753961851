// A product of matrices in tiles, as the emitter makes it.
#include "akg/nest.hpp"
namespace akg {

extern "C" int row_block() { return Gemm<f32>::MR; }
extern "C" int column_block() { return Gemm<f32>::NR; }

// c = a b with one tile; k in chunks of `step`.
template <class T, class C>
void tile(const T* a, const T* b, C* c, i64 m, i64 n, i64 k, i64 am, i64 ak, i64 bk, i64 bn, i64 ldc, i64 step) {
    using G = Gemm<C>;
    Arena& arena = scratch();
    Arena::Frame frame(arena);
    C* pa = arena.take<C>(G::size_a(m, step));
    C* pb = arena.take<C>(G::size_b(step, n));
    for (i64 p = 0; p < k; p += step) {
        const i64 part = k - p < step ? k - p : step;
        G::pack_a(pa, a + p * ak, am, ak, m, part);
        G::pack_b(pb, b + p * bk, bk, bn, part, n);
        G::multiply(c, ldc, pa, pb, m, n, part, p > 0);
    }
}
#define TILE(T, C) \
    extern "C" void tile_##T(const T* a, const T* b, C* c, i64 m, i64 n, i64 k, i64 am, i64 ak, i64 bk, i64 bn, i64 ldc, i64 step) { \
        tile<T, C>(a, b, c, m, n, k, am, ak, bk, bn, ldc, step); \
    }
TILE(f32, f32) TILE(f64, f64) TILE(f16, f32) TILE(bf16, f32) TILE(i64, i64) TILE(i32, i32) TILE(u8, i64)

// The same as kernels have it done, which leaves B where it is where there are few rows of A.
extern "C" void contract_f32(const f32* a, const f32* b, f32* c, i64 m, i64 n, i64 k, i64 am, i64 ak, i64 bk, i64 bn, i64 ldc, i64 accumulate) {
    contract({c}, ldc, a, am, ak, {b}, bk, bn, m, n, k, accumulate != 0);
}

// Two products of one A, of which c becomes 2 a b + a d by an epilogue, element by element, each once.
extern "C" void followed(const f32* a, const f32* b, const f32* d, f32* c, i64 m, i64 n, i64 k, i64 bk, i64 bn, i64 accumulate) {
    Arena& arena = scratch();
    Arena::Frame frame(arena);
    f32* const first = arena.take<f32>(m * n);
    f32* const second = arena.take<f32>(m * n);
    fill(first, m * n, accumulate ? 1.0f : 77.0f);
    fill(second, m * n, accumulate ? 1.0f : 77.0f);
    contract({first, second}, n, a, k, 1, {b, d}, bk, bn, m, n, k, accumulate != 0,
             [=](i64 i_from, i64 i_to, i64 j_from, i64 j_to, i64 ld, const f32* left, const f32* right) {
                 for (i64 i = i_from; i < i_to; ++i)
                     for (i64 j = j_from; j < j_to; ++j) {
                         const i64 at = (i - i_from) * ld + j - j_from;
                         c[i * n + j] += 2 * left[at] + right[at];
                     }
             });
}

extern "C" void functors(const f32* a, const f32* b, f32* c, i64 m, i64 n, i64 k) {
    using G = Gemm<f32>;
    Arena& arena = scratch();
    Arena::Frame frame(arena);
    f32* pa = arena.take<f32>(G::size_a(m, k));
    f32* pb = arena.take<f32>(G::size_b(k, n));
    G::pack_a(pa, m, k, [=](i64 i, i64 p) { return a[i * k + p]; });
    G::pack_b(pb, k, n, [=](i64 p, i64 j) { return b[p * n + j]; });
    G::multiply(c, n, pa, pb, m, n, k, false);
}

// Tiles of 256 x 256 x 256 of a large product, on one thread.
extern "C" void large(const f32* a, const f32* b, f32* c, i64 m, i64 n, i64 k) {
    for (i64 i = 0; i < m; i += 256)
        for (i64 j = 0; j < n; j += 256)
            tile<f32, f32>(a + i * k, b + j, c + i * n + j, m - i < 256 ? m - i : 256, n - j < 256 ? n - j : 256, k, k, 1, n, 1, n, 256);
}

}  // namespace akg
