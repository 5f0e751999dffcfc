// relblur._kernels: a submodule with the same functions for every level, and the levels that this processor supports.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <vector>

#include "kernels.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace relblur;

// Conversion of arrays for kernels. Arrays that a kernel writes to are never copied.
template <class T, int N>
struct nb::detail::type_caster<relblur::Array<T, N>> {
    using Given = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
    using Taken = relblur::Array<T, N>;
    NB_TYPE_CASTER(Taken, make_caster<Given>::Name)
    make_caster<Given> given;  // keeps the memory alive while the kernel runs
    bool from_python(handle source, uint8_t flags, cleanup_list* cleanup) noexcept {
        if (!std::is_const_v<T>) flags &= ~uint8_t(cast_flags::convert);
        if (!given.from_python(source, flags, cleanup)) return false;
        for (int axis = 0; axis < N; ++axis) value.shape[axis] = int(given.value.shape(axis));
        value.data = value.size() ? given.value.data() : nullptr;
        return true;
    }
};

namespace {

// Return the supported levels, the fastest first.
std::vector<std::string> levels() {
    std::vector<std::string> supported;
#ifdef ALL_LEVELS
    // The newest instructions of -march=x86-64-v4 and -v3.
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    if (v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        supported.push_back("v4");
    if (v3) supported.push_back("v3");
#endif
    supported.push_back("v1");
    return supported;
}

using AnyFrame = nb::ndarray<nb::c_contig, nb::device::cpu, nb::ro>;

Values values_of(const AnyFrame& frame) {
    if (frame.dtype() == nb::dtype<float>()) return static_cast<const float*>(frame.data());
    if (frame.dtype() == nb::dtype<double>()) return static_cast<const double*>(frame.data());
    if (frame.dtype() == nb::dtype<uint8_t>()) return static_cast<const uint8_t*>(frame.data());
    if (frame.dtype() == nb::dtype<uint16_t>()) return static_cast<const uint16_t*>(frame.data());
    throw nb::type_error("frames are float32, float64, uint8 or uint16");
}

void check_size(size_t size, size_t expected) {
    if (size != expected) throw nb::value_error("an array differs in size from the window");
}

// A window with checks of array sizes, which the kernels do not check.
struct BoundWindow {
    size_t pixels, channels;
    std::unique_ptr<Window> window;

    void load(const AnyFrame& first, const AnyFrame& second) {
        check_size(first.size(), pixels * channels), check_size(second.size(), pixels * channels);
        const Values frames[2] = {values_of(first), values_of(second)};
        const nb::gil_scoped_release others;
        window->load(frames);
    }

    nb::tuple summary(int which) const {
        const Summary& s = window->summary(which ? 1 : 0);
        return nb::make_tuple(s.low, s.high, nb::make_tuple(s.on_grid[0], s.on_grid[1], s.on_grid[2]), s.at_top,
                              s.not_finite);
    }

    void fit(Frame frame, Out<2> s, Out<2> stderr_, Array<uint8_t, 2> flags, Array<int8_t, 2> sharper, In<2> invalid,
             In<2> clipped) {
        for (size_t size : {s.size(), stderr_.size(), flags.size(), sharper.size()}) check_size(size, pixels);
        for (const In<2>& distance : {invalid, clipped})
            if (distance.data) check_size(distance.size(), pixels);
        frame.distance[0] = invalid.data, frame.distance[1] = clipped.data;
        frame.s = s.data, frame.stderr_ = stderr_.data, frame.flags = flags.data, frame.sharper = sharper.data;
        const nb::gil_scoped_release others;
        window->fit(frame);
    }
};

using Make = std::unique_ptr<Window> (*)(const Options&);

template <Make make>
BoundWindow make_window(const Options& o) {
    if (o.height < 1 || o.width < 1 || o.channels < 1 || o.window < 3 || o.window % 2 == 0 || o.nodes.size() < 3)
        throw nb::value_error("invalid options of a window");
    return {size_t(o.height) * o.width, size_t(o.channels), make(o)};
}

}  // namespace

#define GUARD nb::call_guard<nb::gil_scoped_release>()
#define BIND(level)                                                                                              \
    {                                                                                                            \
        nb::module_ sub = m.def_submodule(#level);                                                               \
        sub.def("lanes", &level::lanes);                                                                         \
        sub.def("Window", &make_window<level::make_window>, "options"_a);                                        \
        sub.def("warp", &level::warp, GUARD);                                                                    \
        for (const char* name : {"Node", "Options", "Frame"}) sub.attr(name) = m.attr(name);                     \
        sub.def("solve", &level::solve, GUARD);                                                                  \
        sub.def("scan_across", &level::scan_across, GUARD);                                                      \
        sub.def("scan_down", &level::scan_down, GUARD);                                                          \
        sub.def("best_fit", &level::best_fit, GUARD);                                                            \
        sub.def("read", &level::read, GUARD);                                                                    \
        sub.def("cost", &level::cost, GUARD);                                                                    \
        sub.def("evidence", &level::evidence, GUARD);                                                            \
        sub.def("window_variance", &level::window_variance, GUARD);                                              \
    }

NB_MODULE(_kernels, m) {
    m.def("levels", &levels);
    nb::class_<Node>(m, "Node").def(nb::init<int, int, std::vector<float>, std::vector<float>, float, float, float>(),
                                    "kind"_a, "side"_a, "taps"_a, "odd"_a, "weight"_a, "s"_a, "width"_a);
    nb::class_<Options>(m, "Options")
        .def(nb::init<int, int, int, int, int, int, bool, bool, float, std::vector<Node>, std::vector<float>>(),
             "height"_a, "width"_a, "channels"_a, "window"_a, "zero"_a, "probe"_a, "limit_low"_a, "limit_high"_a,
             "spacing"_a, "nodes"_a, "prefilter"_a);
    nb::class_<Frame>(m, "Frame")
        .def(
            "__init__",
            [](Frame* frame, float noise, float flat, float rounded_first, float rounded_second, bool first,
               bool second) {
                new (frame) Frame{noise, flat, {rounded_first, rounded_second}, {first, second}, {}, {}, {}, {}, {}};
            },
            "noise"_a, "flat"_a, "rounded_first"_a, "rounded_second"_a, "texture_first"_a, "texture_second"_a);
    nb::class_<BoundWindow>(m, "Window")
        .def("begin", [](BoundWindow& w) { w.window->begin(); })
        .def("load", &BoundWindow::load, "first"_a, "second"_a)
        .def("summary", &BoundWindow::summary, "which"_a)
        .def(
            "halve", [](BoundWindow& w) { w.window->halve(); }, nb::call_guard<nb::gil_scoped_release>())
        .def("fit", &BoundWindow::fit)
        .def_prop_ro("nbytes", [](const BoundWindow& w) { return w.window->nbytes(); });
    BIND(v1)
#ifdef ALL_LEVELS
    BIND(v3)
    BIND(v4)
#endif
}
