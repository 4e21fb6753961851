// Updates that many threads join to the elements of one tensor.
#ifndef AKG_UPDATES_HPP
#define AKG_UPDATES_HPP

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#if defined(__linux__)
#include <sched.h>
#endif

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

namespace detail {

// Locks of blocks of memory, several blocks to one. Who holds one waits for nobody but for a second, of a higher number.
struct alignas(64) Lock {
    std::atomic<bool> held{false};

    AKG_INLINE void take() {
        while (held.exchange(true, std::memory_order_acquire)) wait();
    }
    // Who holds it may have lost its core.
    __attribute__((noinline)) void wait() {
        constexpr int LOOKS = 100;
        for (int look = 1; held.load(std::memory_order_relaxed); ++look) {
#if defined(__x86_64__)
            _mm_pause();
#endif
#if defined(__linux__)
            if (look % LOOKS == 0) sched_yield();
#endif
        }
    }
    void give() { held.store(false, std::memory_order_release); }
};
inline constexpr std::uintptr_t LOCKS = 1024, BLOCK_BYTES = 1024;
inline Lock locks[LOCKS];

// Holds the locks of what lies at p, which is no longer than a block.
class Locked {
    Lock *first_, *second_;

public:
    AKG_INLINE Locked(const void* p, std::size_t bytes) {
        const auto begin = reinterpret_cast<std::uintptr_t>(p);
        const auto one = begin / BLOCK_BYTES % LOCKS, other = (begin + bytes - 1) / BLOCK_BYTES % LOCKS;
        first_ = locks + std::min(one, other);
        second_ = one == other ? nullptr : locks + std::max(one, other);
        first_->take();
        if (second_) second_->take();
    }
    AKG_INLINE ~Locked() {
        if (second_) second_->give();
        first_->give();
    }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;
};

}  // namespace detail

// Where updates of two programs may meet; IN_ROWS: anywhere, but all are vectors of elements side by side.
enum class Meet { ANYWHERE, IN_ROWS, NOWHERE };

// The threads of one parallel loop each update a copy of their own, `mine()`, where updates are many for the tensor's
// size, and `join()` adds the copies up; else they update the tensor together, element by element by atomics, or a vector
// at a time under a lock, which beats copies, too, where threads seldom meet in a block of memory. The first thread's is
// the tensor, and so is that of all where they meet nowhere.
// No container of the library: its exceptions bring in, where that is linked statically, what reads files.
template <class T, class F, Meet MEET = Meet::ANYWHERE>
class Updates {
    static constexpr bool OWN = MEET == Meet::NOWHERE;
    static constexpr i64 ALL_COPIES = i64(1) << 28, COPY_OF_ROWS = i64(1) << 20;  // bytes, at most
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
          apart_(count_ == 1 || (work >= size * count_ && size * i64(sizeof(T)) <=
                                                              (MEET == Meet::IN_ROWS ? COPY_OF_ROWS : ALL_COPIES / count_))) {
        copies_ = detail::not_null(static_cast<T**>(calloc(std::size_t(count_), sizeof(T*))));
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
            copy = detail::not_null(static_cast<T*>(malloc(std::size_t(size_ + LANES) * sizeof(T))));
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
        const auto joined = [&] { store(p, F::join(load(p, m, F::template none<T>()), v), m); };
        if (OWN || apart_) return joined();
        if constexpr (MEET == Meet::IN_ROWS) {
            const detail::Locked locked(p, LANES * sizeof(T));
            joined();
        } else {
            lanes(p, iota<i64>(), v, m);
        }
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
