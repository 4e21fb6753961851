// Threads, scratch memory and programs that meet.
#include "akg/akg.hpp"
namespace akg {

extern "C" void visit(i64* seen, i64 programs, i64 chunk) {
    if (chunk) parallel_for_dynamic(programs, chunk, [=](i64 p) { atomic_add(seen + p, 1); });
    else parallel_for(programs, [=](i64 p) { atomic_add(seen + p, 1); });
}

// 1 when several threads shared the programs.
extern "C" int shared(i64 programs, i64 work) {
    std::atomic<int> seen{0};
    parallel_for(programs, work, [&](i64) { seen |= omp_in_parallel(); });
    return seen.load();
}

extern "C" int asked(void* p, i64 bytes) { return fresh(p, bytes); }

// values[group][member][count] become the sums (maxima, minima) over the members.
extern "C" void meet(f32* values, i64 groups, i64 members, i64 count, i64 kind) {
    together_for(groups, members, [=](i64 group, i64 member, Team& team) {
        f32* mine = values + (group * members + member) * count;
        if (kind == 0) team.all_reduce_sum(member, mine, count);
        if (kind == 1) team.all_reduce_max(member, mine, count);
        if (kind == 2) team.all_reduce_min(member, mine, count);
    });
}

// 1 when buffers are aligned, disjoint, survive growth, and are given back by the frame.
extern "C" int arena() {
    Arena& arena = scratch();
    f32* first;
    {
        Arena::Frame frame(arena);
        first = arena.take<f32>(100);
        f32* second = arena.take<f32>(1);
        for (int i = 0; i < 100; ++i) first[i] = f32(i);
        *second = -1;
        {
            Arena::Frame inner(arena);
            char* big = arena.take<char>(i64(HUGE_PAGE) * 3);  // a block of its own
            for (i64 i = 0; i < i64(HUGE_PAGE) * 3; i += 4096) big[i] = 1;
        }
        if (arena.take<f32>(1) == second || reinterpret_cast<std::uintptr_t>(second) % 64) return 0;
        for (int i = 0; i < 100; ++i)
            if (first[i] != f32(i)) return 0;
    }
    Arena::Frame frame(arena);
    return arena.take<f32>(100) == first;
}

// Takes scratch memory of so many bytes.
extern "C" void take(i64 bytes) {
    Arena& arena = scratch();
    Arena::Frame frame(arena);
    arena.take<char>(bytes);
}

}  // namespace akg
