// Updates that many threads join to the elements of one tensor.
#ifndef AKG_UPDATES_HPP
#define AKG_UPDATES_HPP

#include <algorithm>
#include <cstdlib>

#include "akg/memory.hpp"
#include "akg/parallel.hpp"

namespace akg {

// What combines an update, or a vector of them, with what is there.
struct Add {
    template <class T>
    static T none() { return T(0); }
    template <class T>
    AKG_INLINE static T join(T a, T b) { return T(a + b); }
    template <class T>
    AKG_INLINE static void together(T* p, T v) { atomic_add(p, v); }
};
struct Max {
    template <class T>
    static T none() { return LOWEST<T>; }
    template <class T>
    AKG_INLINE static T join(T a, T b) { return maximum(a, b); }
    template <class T>
    AKG_INLINE static void together(T* p, T v) { atomic_max(p, v); }
};
struct Min {
    template <class T>
    static T none() { return HIGHEST<T>; }
    template <class T>
    AKG_INLINE static T join(T a, T b) { return minimum(a, b); }
    template <class T>
    AKG_INLINE static void together(T* p, T v) { atomic_min(p, v); }
};

// The threads of one parallel loop each update a copy of their own, `mine()`, where updates are many for the tensor's
// size, and `join()` adds the copies up; else they update the tensor together, by atomics. The first thread's is the tensor,
// and so is that of all of them where no two programs update the same place (`OWN`).
// No container of the library: its exceptions bring in, where that is linked statically, what reads files.
template <class T, class F, bool OWN = false>
class Updates {
    T* tensor_;
    i64 size_;
    const int count_;
    const bool apart_;
    T** copies_ = nullptr;  // by thread

public:
    explicit Updates(T* tensor)
        requires OWN
        : tensor_(tensor), size_(0), count_(0), apart_(true) {}

    // `work`: operations of the whole loop, of which some are updates.
    Updates(T* tensor, i64 size, i64 work)
        : tensor_(tensor), size_(size), count_(threads()),
          apart_(count_ == 1 || (work >= size * count_ && size * count_ * i64(sizeof(T)) <= i64(1) << 28)) {
        copies_ = detail::given(static_cast<T**>(calloc(std::size_t(count_), sizeof(T*))));
    }
    ~Updates() {
        for (int thread = 0; thread < count_; ++thread) free(copies_[thread]);
        free(copies_);
    }
    Updates(const Updates&) = delete;
    Updates& operator=(const Updates&) = delete;

    T* mine() {
        const int thread = omp_get_thread_num();
        if (OWN || !apart_ || thread == 0) return tensor_;
        T*& copy = copies_[thread];
        if (!copy) {
            copy = detail::given(static_cast<T*>(malloc(std::size_t(size_ + LANES) * sizeof(T))));
            std::fill_n(copy, size_, F::template none<T>());
        }
        return copy;
    }

    // One element; a vector of them side by side; one a lane, of which any may be the same.
    AKG_INLINE void one(T* p, T v) const {
        if (OWN || apart_) *p = F::join(*p, v);
        else F::together(p, v);
    }
    AKG_INLINE void row(T* p, Vec<T> v, Mask m) const {
        if (OWN || apart_) store(p, F::join(load(p, m, F::template none<T>()), v), m);
        else lanes(p, iota<i64>(), v, m);
    }
    template <class I>
    AKG_INLINE void lanes(T* p, Vec<I> at, Vec<T> v, Mask m) const {
        alignas(64) I places[LANES];
        alignas(64) T values[LANES];
        store(places, at);
        store(values, v);
        if (all(m)) {
            for (int i = 0; i < LANES; ++i) one(p + places[i], values[i]);
            return;
        }
        for (int i = 0; i < LANES; ++i)
            if (lane(m, i)) one(p + places[i], values[i]);
    }

    void join() {
        constexpr i64 BLOCK = 4096;
        int made = 0;
        for (int thread = 0; thread < count_; ++thread) made += copies_[thread] != nullptr;
        if (!made) return;
        parallel_for((size_ + BLOCK - 1) / BLOCK, BLOCK * i64(made), [&](i64 block) {
            const i64 end = std::min<i64>((block + 1) * BLOCK, size_);
            for (int thread = 0; thread < count_; ++thread)
                if (const T* copy = copies_[thread])
                    for (i64 i = block * BLOCK; i < end; ++i) tensor_[i] = F::join(tensor_[i], copy[i]);
        });
    }
};

}  // namespace akg

#endif
