// A loop whose turns launch the same functions on tensors that begin elsewhere, as far on each time.
#ifndef AKG_TURNS_HPP
#define AKG_TURNS_HPP

#include <algorithm>
#include <cstdint>

#include "akg/parallel.hpp"

namespace akg {

// function(tensors, sizes) in each turn; in turn t tensor i begins at first[i] + t * apart[i].
struct Launch {
    void (*function)(void* const*, const i64*);
    i64 tensors;
    const std::uintptr_t* first;
    const i64* apart;
    const i64* sizes;
};

// All launches, turn by turn. `together`: they share their programs by `shared_for` alone, so that threads are woken once.
inline void turns(i64 count, i64 number, const Launch* launches, bool together) {
    i64 most = 0;
    for (i64 i = 0; i < number; ++i) most = std::max(most, launches[i].tensors);
    const auto all = [=] {
        Arena& arena = scratch();
        Arena::Frame frame(arena);
        void** const tensors = arena.take<void*>(most);
        for (i64 turn = 0; turn < count; ++turn)
            for (const Launch* launch = launches; launch < launches + number; ++launch) {
                for (i64 i = 0; i < launch->tensors; ++i)
                    tensors[i] = reinterpret_cast<void*>(launch->first[i] + std::uintptr_t(turn * launch->apart[i]));
                launch->function(tensors, launch->sizes);
            }
    };
    if (!together || threads() == 1) return all();
#pragma omp parallel
    {
        detail::sharing = true;
        all();
        detail::sharing = false;
    }
}

}  // namespace akg

#endif
