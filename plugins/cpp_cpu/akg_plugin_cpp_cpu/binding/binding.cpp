// Calls functions of a shared library of kernels by raw pointers, without the GIL. Knows nothing of torch.
#include <dlfcn.h>

#include <cstdint>
#include <string>
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
};

}  // namespace

PYBIND11_MODULE(akg_binding, module) {
    py::class_<Kernel>(module, "Kernel").def("__call__", &Kernel::operator());
    py::class_<Library>(module, "Library").def(py::init<const std::string&>()).def("kernel", &Library::kernel);
}
