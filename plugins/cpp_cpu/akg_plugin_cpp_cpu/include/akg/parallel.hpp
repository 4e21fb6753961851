// Threads over a linear grid of programs, per-thread scratch memory, and rendezvous of programs.
#ifndef AKG_PARALLEL_HPP
#define AKG_PARALLEL_HPP

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>
#if defined(__linux__)
#include <sys/mman.h>
#include <time.h>
#endif

#include "akg/lanes.hpp"

namespace akg {

inline constexpr std::size_t HUGE_PAGE = std::size_t(2) << 20;

namespace detail {

// Ends the program, with the reason on standard error: nothing can be thrown on other threads than the caller's.
[[noreturn]] inline void stop(const char* reason) {
    fprintf(stderr, "A kernel stops: %s.\n", reason);
    abort();
}

// Allocated memory, of which there was enough.
template <class T>
inline T* not_null(T* memory) {
    if (!memory) stop("there is no memory left for its scratch");
    return memory;
}

}  // namespace detail

#if defined(__linux__)
// Seconds of the thread's own time, which other programs on its core do not take.
inline double thread_seconds() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}
// Seconds that the first touch of a page takes; what lies there stays.
inline double touched(char* page) {
    const double began = thread_seconds();
    volatile char* byte = page;
    *byte = *byte;
    return thread_seconds() - began;
}
inline bool resident(char* page) {
    unsigned char seen = 0;
    return mincore(page, 1, &seen) == 0 && (seen & 1);
}
#endif

// Ask for huge pages under memory that nobody has touched yet: 512 times fewer page faults at its first touch. Where the
// system has none ready (it compacts memory first, or is a guest whose host has taken them back), one costs more than
// the small pages in its place: all threads touch them, and after the first slow one small ones serve. What came slowly
// once comes fast soon after, so that the next call gets further; where none came fast, some calls do not ask.
// Whether it came fast is the answer: stores past the caches pay where it did, and cost where small pages are made.
inline bool fresh([[maybe_unused]] void* p, [[maybe_unused]] i64 bytes) {
#if defined(__linux__)
    constexpr double SLOW = 8e-4;  // filling two megabytes with zeros takes a fifth of it
    constexpr int PAUSE = 3;
    static std::atomic<int> pause{0};
    const auto begin = (reinterpret_cast<std::uintptr_t>(p) + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    const auto end = (reinterpret_cast<std::uintptr_t>(p) + std::uintptr_t(bytes)) & ~(HUGE_PAGE - 1);
    if (end <= begin) return false;
    char* const first = reinterpret_cast<char*>(begin);
    const std::size_t pages = (end - begin) / HUGE_PAGE;
    if (pages >= 4 && resident(first) && resident(first + pages / 2 * HUGE_PAGE) && resident(first + (pages - 1) * HUGE_PAGE))
        return true;  // memory that has just been given back, and is mapped
    if (pause.load() > 0 && pause.fetch_sub(1) > 0) return false;
    madvise(first, end - begin, MADV_HUGEPAGE);
    if (pages < 4) return false;
    std::atomic<bool> slow{false}, quick{false};
#pragma omp parallel for schedule(static)
    for (i64 page = 0; page < i64(pages); ++page) {
        if (slow.load(std::memory_order_relaxed)) continue;
        if (touched(first + page * i64(HUGE_PAGE)) <= SLOW) {
            quick.store(true, std::memory_order_relaxed);
            continue;
        }
        madvise(first, end - begin, MADV_NOHUGEPAGE);
        slow.store(true, std::memory_order_relaxed);
    }
    if (slow.load() && !quick.load()) pause.store(PAUSE);
    return !slow.load();
#else
    return false;
#endif
}

// ---- scratch memory -------------------------------------------------------------------------------------

// A stack of 64-byte aligned buffers; its blocks are kept for the thread's next program.
class Arena {
    struct Block {
        char* memory;
        std::size_t size;
        Block* next;
    };
    Block* first_ = nullptr;
    Block* block_ = nullptr;
    std::size_t used_ = 0;

    static Block* make(std::size_t bytes) {
        const std::size_t size = (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
        char* memory = detail::not_null(static_cast<char*>(aligned_alloc(HUGE_PAGE, size)));
        fresh(memory, i64(size));
        return new Block{memory, size, nullptr};
    }

public:
    Arena() = default;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() {
        while (first_) {
            Block* next = first_->next;
            free(first_->memory);
            delete first_;
            first_ = next;
        }
    }

    // Uninitialised room for `count` elements and one vector more, so that whole-vector loads may run past the end.
    template <class T>
    T* take(i64 count) {
        const std::size_t bytes = (std::size_t(count) * sizeof(T) + 64 + 63) & ~std::size_t(63);
        while (!block_ || used_ + bytes > block_->size) {
            Block*& next = block_ ? block_->next : first_;
            if (!next) next = make(bytes);
            block_ = next;
            used_ = 0;
        }
        T* p = reinterpret_cast<T*>(block_->memory + used_);
        used_ += bytes;
        return p;
    }

    // Gives back what was taken since it was made.
    class Frame {
        Arena& arena_;
        Block* block_;
        std::size_t used_;

    public:
        explicit Frame(Arena& arena) : arena_(arena), block_(arena.block_), used_(arena.used_) {}
        ~Frame() {
            arena_.block_ = block_ ? block_ : arena_.first_;
            arena_.used_ = block_ ? used_ : 0;
        }
        Frame(const Frame&) = delete;
        Frame& operator=(const Frame&) = delete;
    };
};

inline Arena& scratch() {
    static thread_local Arena arena;
    return arena;
}

// ---- parallel loops ----------------------------------------------------------------------------------------

AKG_INLINE int threads() { return omp_get_max_threads(); }

// Non-temporal stores become visible to other threads in order only after a fence.
AKG_INLINE void finish_streams() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

inline constexpr i64 GRAIN = i64(1) << 17;  // operations on single elements that take longer than to wake a thread

// body(program) for every program of the grid, `chunk` programs at a time to whoever is free.
template <class Body>
AKG_INLINE void parallel_for_dynamic(i64 programs, i64 chunk, const Body& body) {
    if (programs <= chunk || threads() == 1) {
        for (i64 program = 0; program < programs; ++program) body(program);
        return finish_streams();
    }
    std::atomic<i64> next{0};
#pragma omp parallel
    {
        for (i64 first; (first = next.fetch_add(chunk, std::memory_order_relaxed)) < programs;)
            for (i64 program = first; program < programs && program < first + chunk; ++program) body(program);
        finish_streams();
    }
}

// The same in a few consecutive shares a thread, of which there is one more where a core is slow or a program short.
// `work`: operations on single elements in a program; one thread does what is little.
template <class Body>
AKG_INLINE void parallel_for(i64 programs, i64 work, const Body& body) {
    constexpr i64 SHARES = 8;
    const bool little = programs < GRAIN && programs * work < GRAIN;
    parallel_for_dynamic(programs, little ? programs : programs / (SHARES * threads()) + 1, body);
}
template <class Body>
AKG_INLINE void parallel_for(i64 programs, const Body& body) { parallel_for(programs, GRAIN, body); }

namespace detail {
inline thread_local bool sharing = false;  // whether all threads are at the same loops, one after the other
}

// The same where threads may be at it together already: each does its share, and waits for the others.
template <class Body>
AKG_INLINE void shared_for(i64 programs, i64 work, const Body& body) {
    if (!detail::sharing) return parallel_for(programs, work, body);
    const i64 members = omp_get_num_threads(), member = omp_get_thread_num();
    const i64 end = programs * (member + 1) / members;
    for (i64 program = programs * member / members; program < end; ++program) body(program);
    finish_streams();
#pragma omp barrier
}

// ---- programs that meet ---------------------------------------------------------------------------------------

// The members of one group, each on a thread of its own. all_reduce_* combines `count` values over the members, in their order;
// what each wrote before a barrier, all can read after it.
class Team {
    char* shared_ = nullptr;
    std::size_t capacity_ = 0;
    i64 members_;

    template <class T, class F>
    void meet(i64 member, T* values, i64 count, F combine) {
        const std::size_t bytes = std::size_t(members_ * count) * sizeof(T);
#pragma omp barrier
        if (member == 0 && bytes > capacity_) {
            free(shared_);
            shared_ = detail::not_null(static_cast<char*>(malloc(bytes)));
            capacity_ = bytes;
        }
#pragma omp barrier
        T* slots = reinterpret_cast<T*>(shared_);
        for (i64 i = 0; i < count; ++i) slots[member * count + i] = values[i];
#pragma omp barrier
        for (i64 i = 0; i < count; ++i) {
            auto total = slots[i];
            for (i64 m = 1; m < members_; ++m) total = combine(total, slots[m * count + i]);
            values[i] = total;
        }
    }

public:
    explicit Team(i64 members) : members_(members) {}
    ~Team() { free(shared_); }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    void barrier() {
#pragma omp barrier
    }
    template <class T>
    void all_reduce_sum(i64 member, T* values, i64 count) {
        meet(member, values, count, [](T a, T b) { return T(a + b); });
    }
    template <class T>
    void all_reduce_max(i64 member, T* values, i64 count) {
        meet(member, values, count, [](T a, T b) { return a > b || a != a ? a : b; });
    }
    template <class T>
    void all_reduce_min(i64 member, T* values, i64 count) {
        meet(member, values, count, [](T a, T b) { return a < b || a != a ? a : b; });
    }
};

// body(group, member, team): the members of a group run at the same time, group after group.
template <class Body>
void together_for(i64 groups, i64 members, const Body& body) {
    Team team(members);
#pragma omp parallel num_threads(int(members))
    {
        if (omp_get_num_threads() != int(members)) detail::stop("it got fewer threads than have to meet");
        for (i64 group = 0; group < groups; ++group) body(group, i64(omp_get_thread_num()), team);
        finish_streams();
    }
}

}  // namespace akg

#endif
