// relblur._kernels: a submodule with the same functions for every level, and the levels that this processor has.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "kernels.h"
#include "solver.h"

namespace nb = nanobind;
using namespace nb::literals;

void bind_solver(nb::module_& m, const Solver& functions);  // solver.cpp

namespace {

// The best comes first.
std::vector<std::string> levels() {
    std::vector<std::string> found;
#ifdef ALL_LEVELS
    // What GCC means by -march=x86-64-v4 and -v3: the youngest of each group.
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    if (v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        found.push_back("v4");
    if (v3) found.push_back("v3");
#endif
    found.push_back("v1");
    return found;
}

}  // namespace

#define BIND(level)                              \
    {                                            \
        nb::module_ sub = m.def_submodule(#level); \
        sub.def("lanes", &level::lanes);         \
        bind_solver(sub, level::solver);         \
    }

NB_MODULE(_kernels, m) {
    m.def("levels", &levels);
    BIND(v1)
#ifdef ALL_LEVELS
    BIND(v3)
    BIND(v4)
#endif
}
