// Products of tiles: operands packed into panels, then a register-blocked micro-kernel over them (as in BLIS, van Zee and van de Geijn 2015).
#ifndef AKG_GEMM_HPP
#define AKG_GEMM_HPP

#include "akg/memory.hpp"
#include "akg/parallel.hpp"

namespace akg {

// C is the accumulator's type: f32, f64, i32 or i64. Operands of any type are converted while they are packed.
//
// Packed A: panels of MR rows, then one of the even rest and one of an odd row; in a panel element (i, p) is at [p * rows + i].
// Packed B: panels of NR columns, the last filled up with zeros; in a panel element (p, j) is at [p * NR + j].
template <class C>
struct Gemm {
    static constexpr int VECTOR = AKG_VECTOR_BYTES / int(sizeof(C));  // lanes of one machine vector
    static constexpr int NR = 2 * VECTOR;
    static constexpr int MR = AKG_AVX512 ? 14 : AKG_AVX2 ? 6 : 4;  // at most LANES; 2 MR sums and what feeds them fill the registers
    typedef detail::raw<C, AKG_VECTOR_BYTES> V;

    // Elements to allocate for a packed tile. Packing may write one vector past the last panel, which `Arena::take` allows for.
    static constexpr i64 size_a(i64 m, i64 k) { return m * k + LANES; }
    static constexpr i64 size_b(i64 k, i64 n) { return k * ((n + NR - 1) / NR * NR) + LANES; }

    // ---- packing --------------------------------------------------------------------------------------------

    // A[m x k], element (i, p) at a[i * row + p * column].
    template <class T>
    static void pack_a(C* to, const T* a, i64 row, i64 column, i64 m, i64 k) {
        if (row == 1 && column != 1) {  // along memory: panel by panel, every line of it would be fetched again for its neighbours
            for (i64 p = 0; p < k; ++p)
                for_panels(m, [&](i64 i, auto rows) {
                    constexpr int R = decltype(rows)::value;
                    store(to + i * k + p * R, convert<C>(load(a + i + p * column, i64(R))), i64(R));
                });
            return;
        }
        for_panels(m, [&](i64 i, auto rows) { pack_panel<decltype(rows)::value>(to + i * k, a + i * row, row, column, k); });
    }
    // A from a functor of (i, p), element by element.
    template <class F>
    static void pack_a(C* to, i64 m, i64 k, const F& element) {
        for_panels(m, [&](i64 i, auto rows) {
            constexpr int R = decltype(rows)::value;
            for (i64 p = 0; p < k; ++p)
                for (int r = 0; r < R; ++r) to[i * k + p * R + r] = convert<C>(element(i + r, p));
        });
    }

    // B[k x n], element (p, j) at b[p * row + j * column].
    template <class T>
    static void pack_b(C* to, const T* b, i64 row, i64 column, i64 k, i64 n) {
        for (i64 j = 0; j < n; j += NR) {
            const i64 columns = n - j < NR ? n - j : NR;
            const T* from = b + j * column;
            C* panel = to + j * k;
            if (column == 1 && columns == NR) {
                for (i64 p = 0; p < k; ++p)
                    for (int v = 0; v < NR; v += LANES) store(panel + p * NR + v, convert<C>(load(from + p * row + v)));
            } else if (column == 1) {
                for (i64 p = 0; p < k; ++p)
                    for (int v = 0; v < NR; v += LANES) store(panel + p * NR + v, convert<C>(load(from + p * row + v, columns - v)));
            } else if (row == 1) {
                for (int v = 0; v < NR; v += LANES) {
                    i64 p = 0;
                    for (; p + LANES <= k; p += LANES) {
                        Vec<C> block[LANES];
                        for (int r = 0; r < LANES; ++r) block[r] = v + r < columns ? convert<C>(load(from + (v + r) * column + p)) : Vec<C>(C(0));
                        transpose(block);
                        for (int q = 0; q < LANES; ++q) store(panel + (p + q) * NR + v, block[q]);
                    }
                    for (; p < k; ++p)
                        for (int r = 0; r < LANES; ++r) panel[p * NR + v + r] = v + r < columns ? convert<C>(from[(v + r) * column + p]) : C(0);
                }
            } else {
                for (i64 p = 0; p < k; ++p)
                    for (int r = 0; r < NR; ++r) panel[p * NR + r] = r < columns ? convert<C>(from[p * row + r * column]) : C(0);
            }
        }
    }
    // B from a functor of (p, j), element by element.
    template <class F>
    static void pack_b(C* to, i64 k, i64 n, const F& element) {
        for (i64 j = 0; j < n; j += NR)
            for (i64 p = 0; p < k; ++p)
                for (int r = 0; r < NR; ++r) to[j * k + p * NR + r] = j + r < n ? convert<C>(element(p, j + r)) : C(0);
    }

    // ---- product --------------------------------------------------------------------------------------------

    // acc[i * ld + j] += sum over p < k of A[i, p] B[p, j], or `=` unless it is to accumulate, for i < m and j < n.
    static void multiply(C* acc, i64 ld, const C* packed_a, const C* packed_b, i64 m, i64 n, i64 k, bool accumulate = true) {
        for (i64 j = 0; j < n; j += NR)
            for_panels(m, [&](i64 i, auto rows) {
                block<decltype(rows)::value, NR>(acc + i * ld + j, ld, packed_a + i * k, packed_b + j * k, NR, n - j, k, accumulate);
            });
    }

    // The same for columns of B where they are, element (p, j) at b[p * row + j], of which there are a multiple of NR.
    // Few rows of A use a column too seldom for packing it to pay.
    static constexpr i64 FEW_ROWS = 2 * MR;
    static void multiply_in_place(C* acc, i64 ld, const C* packed_a, const C* b, i64 row, i64 m, i64 n, i64 k, bool accumulate) {
        for (i64 j = 0; j < n; j += NR)
            for_panels(m, [&](i64 i, auto rows) {
                block<decltype(rows)::value, 0>(acc + i * ld + j, ld, packed_a + i * k, b + j, row, NR, k, accumulate);
            });
    }

    // The same of N products of one A, none of which is stored: epilogue(row, end, column, end, ld, sums...) takes each
    // block of them, of which element (i, j) is sums[(i - row) * ld + j - column].
    template <std::size_t N, class Epilogue>
    static void multiply_into(const Epilogue& epilogue, const C* packed_a, const C* const (&packed_b)[N], i64 m, i64 n, i64 k) {
        alignas(64) C sums[N][MR * NR + LANES];
        for (i64 j = 0; j < n; j += NR)
            for_panels(m, [&](i64 i, auto rows) {
                for (std::size_t q = 0; q < N; ++q) block<decltype(rows)::value, NR>(sums[q], NR, packed_a + i * k, packed_b[q] + j * k, NR, n - j, k, false);
                hand_on(epilogue, i, i + rows, j, n - j < NR ? n : j + NR, NR, sums, std::make_index_sequence<N>{});
            });
    }

    // Hands a block of sums to an epilogue: one copy of it in the program, whatever the number of rows.
    template <class Epilogue, class Sums, std::size_t... Q>
    static __attribute__((noinline)) void hand_on(const Epilogue& epilogue, i64 row, i64 row_end, i64 column, i64 column_end, i64 ld, const Sums& sums, std::index_sequence<Q...>) {
        epilogue(row, row_end, column, column_end, ld, sums[Q]...);
    }

private:
    template <int R>
    using Rows = std::integral_constant<int, R>;

    // body(first row, number of rows as a constant) for each panel of A.
    template <class F>
    static AKG_INLINE void for_panels(i64 m, const F& body) {
        i64 i = 0;
        for (; i + MR <= m; i += MR) body(i, Rows<MR>{});
        const i64 even = (m - i) & ~i64(1);
        [&]<int... HALF>(std::integer_sequence<int, HALF...>) {
            (void)((even == 2 * (HALF + 1) && (body(i, Rows<2 * (HALF + 1)>{}), true)) || ...);
        }(std::make_integer_sequence<int, (MR - 1) / 2>{});
        if (i + even < m) body(i + even, Rows<1>{});
    }

    template <int R, class T>
    static __attribute__((noinline)) void pack_panel(C* panel, const T* from, i64 row, i64 column, i64 k) {
        i64 p = 0;
        if (column == 1)
            for (; p + LANES <= k; p += LANES) {
                Vec<C> block[LANES];
                for (int r = 0; r < LANES; ++r) block[r] = r < R ? convert<C>(load(from + r * row + p)) : Vec<C>(C(0));
                transpose(block);
                for (int q = 0; q < LANES; ++q) put<R>(panel + (p + q) * R, block[q]);
            }
        for (; p < k; ++p)
            for (int r = 0; r < R; ++r) panel[p * R + r] = convert<C>(from[r * row + p * column]);
    }

    // The first R lanes; lanes beyond are overwritten by what is packed next.
    template <int R>
    static AKG_INLINE void put(C* to, Vec<C> v) {
        if constexpr (R > LANES / 2) store(to, v);
        else store(to, v, i64(R));
    }

    // R x NR sums in registers over the whole of k. Rows of B are ROW elements apart, `row` where that is 0.
    template <int R, i64 ROW>
    static __attribute__((noinline)) void block(C* acc, i64 ld, const C* a, const C* b, i64 row, i64 columns, i64 k, bool accumulate) {
        const i64 step = ROW ? ROW : row;
        V sum[R][2] = {};
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) __builtin_prefetch(acc + i * ld, 1);
#pragma GCC unroll 1
        for (i64 p = 0; p < k; ++p, a += R, b += step) {
            const V left = reinterpret_cast<const detail::Unaligned<V>*>(b)->value;
            const V right = reinterpret_cast<const detail::Unaligned<V>*>(b + VECTOR)->value;
            __builtin_prefetch(b + 8 * step);
            if (!ROW) __builtin_prefetch(b + 8 * step + VECTOR);  // else the next turn asks for it, or the core by itself
#pragma GCC unroll 16
            for (int i = 0; i < R; ++i) {
                const V x = a[i] - V{};
                sum[i][0] += x * left;
                sum[i][1] += x * right;
            }
        }
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) write(acc + i * ld, sum[i], columns, accumulate);
    }

    static AKG_INLINE void write(C* to, const V (&sum)[2], i64 columns, bool accumulate) {
        constexpr int PARTS = Vec<C>::PARTS;
        for (int v = 0; v < 2 / PARTS; ++v) {
            Vec<C> r;
            for (int i = 0; i < PARTS; ++i) r.part[i] = sum[v * PARTS + i];
            C* at = to + v * LANES;
            const i64 n = columns - v * LANES;
            if (n >= LANES) store(at, accumulate ? r + load(at) : r);
            else store(at, accumulate ? r + load(at, n) : r, n);
        }
    }
};

}  // namespace akg

#endif
