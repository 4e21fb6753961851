// Calls functions of a shared library of kernels by raw pointers, without the GIL. Knows nothing of torch.
#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace {

using Function = void (*)(void* const*, const std::int64_t*);

struct Kernel {
    Function function;

    void operator()(const std::vector<std::uintptr_t>& tensors, const std::vector<std::int64_t>& sizes) const {
        py::gil_scoped_release release;
        function(reinterpret_cast<void* const*>(tensors.data()), sizes.data());
    }
};

// A launch as akg/turns.hpp has it.
struct Launch {
    Function function;
    std::int64_t tensors;
    const std::uintptr_t* first;
    const std::int64_t* apart;
    const std::int64_t* sizes;
};

using Given = std::vector<std::tuple<Kernel, std::vector<std::uintptr_t>, std::vector<std::int64_t>>>;

struct Library {
    void* handle;

    explicit Library(const std::string& path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (!handle) throw py::import_error(dlerror());
    }
    Kernel kernel(const std::string& name) const {
        void* symbol = dlsym(handle, name.c_str());
        if (!symbol) throw py::attribute_error("the library has no function " + name);
        return {reinterpret_cast<Function>(symbol)};
    }
    // The launches of all turns, of which `turn` gives those of the first two. `together`: see akg/turns.hpp.
    void turns(const py::sequence& numbers, const py::function& turn, bool together) const {
        const std::size_t count = numbers.size();
        if (count == 0) return;
        const auto first = turn(numbers[0]).cast<Given>(), second = turn(numbers[count > 1]).cast<Given>();
        if (first.size() != second.size()) throw py::value_error("two turns have as many launches");
        std::vector<std::vector<std::int64_t>> apart;
        std::vector<Launch> launches;
        apart.reserve(first.size());  // addresses of its items stay
        for (std::size_t i = 0; i < first.size(); ++i) {
            const auto& [kernel, begin, sizes] = first[i];
            const auto& then = std::get<1>(second[i]);
            if (begin.size() != then.size()) throw py::value_error("a launch has as many tensors in each turn");
            auto& steps = apart.emplace_back();
            for (std::size_t k = 0; k < begin.size(); ++k) steps.push_back(std::int64_t(then[k] - begin[k]));
            launches.push_back({kernel.function, std::int64_t(begin.size()), begin.data(), steps.data(), sizes.data()});
        }
        const auto all = reinterpret_cast<void (*)(std::int64_t, std::int64_t, const Launch*, std::int64_t)>(
            reinterpret_cast<void*>(kernel("all_turns").function));
        py::gil_scoped_release release;
        all(std::int64_t(count), std::int64_t(launches.size()), launches.data(), together);
    }
};

}  // namespace

PYBIND11_MODULE(akg_binding, module) {
    py::class_<Kernel>(module, "Kernel").def("__call__", &Kernel::operator());
    py::class_<Library>(module, "Library").def(py::init<const std::string&>()).def("kernel", &Library::kernel).def("turns", &Library::turns);
}
