// What Python sees of solver.h: arrays are checked for their size here, and nowhere below.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>

#include "solver.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace relblur;

namespace {

template <int N> using In = nb::ndarray<const float, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <int N> using Out = nb::ndarray<float, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <int N> using Maybe = std::optional<In<N>>;

void require(bool right, const char* what) {
    if (!right) throw nb::value_error(what);
}

// An array's numbers, if they are rows of (height, width).
template <class Array> auto plane(const Array& a, const Residuals& r) {
    require(a.ndim() == 2 && int(a.shape(0)) == r.height && int(a.shape(1)) == r.width,
            "an array has another size than the residuals");
    return a.data();
}

Residuals volume(const In<4>& a) {
    require(a.shape(1) >= 4 && a.size(), "residuals need four levels and a pixel");
    return {a.data(), int(a.shape(0)), int(a.shape(1)), int(a.shape(2)), int(a.shape(3))};
}

Map map_of(const In<4>& residuals, const In<2>& level, const In<2>& misfit, const Maybe<2>& relative,
           const In<2>& knots) {
    const Residuals r = volume(residuals);
    const int count = int(knots.shape(1)), finer = (count - 1) / (r.levels - 1);
    require(knots.shape(0) == 4 && finer > 0 && count == finer * (r.levels - 1) + 1,
            "tables of noise have another size than the residuals");
    return {r, plane(level, r), plane(misfit, r), relative ? plane(*relative, r) : nullptr, knots.data(), count, finer};
}

Prior prior(const In<2>& z, const In<3>& slope) {
    require(z.size() && slope.shape(0) == 2 && slope.size() == 2 * z.size(), "slopes have another size than the map");
    return {int(z.shape(0)), int(z.shape(1)), z.data(), slope.data()};
}

// Edges of a map: one row or one column less.
template <class Array> auto edges(const Array& a, const Prior& p, int down, int right) {
    require(int(a.shape(0)) == p.height - down && int(a.shape(1)) == p.width - right,
            "edges have another size than the map");
    return a.data();
}

void require_range(int start, int stop, int end) {
    require(0 <= start && start <= stop && stop <= end, "a range is not inside");
}

void scan(Scan* function, bool rows, const In<3>& cost, const Out<3>& total, float small, float large, int start,
          int stop) {
    const int levels = int(cost.shape(0)), height = int(cost.shape(1)), width = int(cost.shape(2));
    for (int n = 0; n < 3; ++n) require(cost.shape(n) == total.shape(n), "total has another size than cost");
    require_range(start, stop, rows ? height : width);
    nb::gil_scoped_release others;
    function(cost.data(), levels, height, width, small, large, total.data(), start, stop);
}

}  // namespace

void bind_solver(nb::module_& m, const Solver& f) {
    m.def(
        "solve",
        [&f](In<3> weight, In<3> right, In<3> down, In<3> b, Out<3> x, int steps, int workers, Maybe<2> tie_right,
             Maybe<2> tie_down, float half, Maybe<3> guess) {
            const size_t n = b.shape(0), h = b.shape(1), w = b.shape(2);
            require(b.size() && workers > 0, "b is empty, or workers < 1");
            for (const size_t size : {weight.size(), x.size(), guess ? guess->size() : b.size()})
                require(size == b.size(), "an array has another size than b");
            require(right.size() == n * h * (w - 1) && down.size() == n * (h - 1) * w,
                    "edges have another size than b");
            require(bool(tie_right) == bool(tie_down), "ties have two directions");
            if (tie_right)
                require(n == 3 && tie_right->size() == h * (w - 1) && tie_down->size() == (h - 1) * w,
                        "ties have another size than b");
            const System system{int(n),
                                int(h),
                                int(w),
                                weight.data(),
                                right.data(),
                                down.data(),
                                tie_right ? tie_right->data() : nullptr,
                                tie_down ? tie_down->data() : nullptr,
                                half};
            nb::gil_scoped_release others;
            f.solve(system, b.data(), guess ? guess->data() : nullptr, steps, workers, x.data());
        },
        "weight"_a, "right"_a, "down"_a, "b"_a, "x"_a.noconvert(), "steps"_a, "workers"_a, "tie_right"_a = nb::none(),
        "tie_down"_a = nb::none(), "half"_a = 0.0f, "guess"_a = nb::none());
    m.def(
        "link",
        [&f](In<2> z, In<3> slope, In<2> tau2, float cut, Out<2> d_down, Out<2> d_right, Out<2> h_down, Out<2> h_right,
             int start, int stop) {
            const Prior p = prior(z, slope);
            const float* t = edges(tau2, p, 0, 0);
            float *d[2] = {edges(d_down, p, 1, 0), edges(d_right, p, 0, 1)},
                  *h[2] = {edges(h_down, p, 1, 0), edges(h_right, p, 0, 1)};
            require_range(start, stop, p.height);
            nb::gil_scoped_release others;
            f.link(p, t, cut, d[0], d[1], h[0], h[1], start, stop);
        },
        "z"_a, "slope"_a, "tau2"_a, "cut"_a, "d_down"_a.noconvert(), "d_right"_a.noconvert(), "h_down"_a.noconvert(),
        "h_right"_a.noconvert(), "start"_a, "stop"_a);
    m.def(
        "pull",
        [&f](In<2> z, In<3> slope, In<2> lambda, In<2> h_down, In<2> h_right, Out<2> c_down, Out<2> c_right,
             Out<2> force) {
            const Prior p = prior(z, slope);
            const float *l = edges(lambda, p, 0, 0), *h[2] = {edges(h_down, p, 1, 0), edges(h_right, p, 0, 1)};
            float *c[2] = {edges(c_down, p, 1, 0), edges(c_right, p, 0, 1)}, *to = edges(force, p, 0, 0);
            nb::gil_scoped_release others;
            f.pull(p, l, h[0], h[1], c[0], c[1], to);
        },
        "z"_a, "slope"_a, "lambda"_a, "h_down"_a, "h_right"_a, "c_down"_a.noconvert(), "c_right"_a.noconvert(),
        "force"_a.noconvert());
    m.def(
        "scan_across",
        [&f](In<3> cost, Out<3> total, float small, float large, int start, int stop) {
            scan(f.scan_across, true, cost, total, small, large, start, stop);
        },
        "cost"_a, "total"_a.noconvert(), "small"_a, "large"_a, "start"_a, "stop"_a);
    m.def(
        "scan_down",
        [&f](In<3> cost, Out<3> total, float small, float large, int start, int stop) {
            scan(f.scan_down, false, cost, total, small, large, start, stop);
        },
        "cost"_a, "total"_a.noconvert(), "small"_a, "large"_a, "start"_a, "stop"_a);
    m.def("best_fit", [&f](In<4> residuals, In<1> scale, Out<2> best, int start, int stop) {
        const Residuals r = volume(residuals);
        require(int(scale.size()) == r.levels, "scale needs a number for each level");
        require_range(start, stop, r.height);
        float* to = plane(best, r);
        nb::gil_scoped_release others;
        f.best_fit(r, scale.data(), to, start, stop);
    }, "residuals"_a, "scale"_a, "best"_a.noconvert(), "start"_a, "stop"_a);
    m.def(
        "cell_costs",
        [&f](In<4> residuals, In<2> base, In<1> scale, In<2> weight, Out<3> cells, int start, int stop) {
            const Residuals r = volume(residuals);
            const float *v = plane(base, r), *of = plane(weight, r);
            require(int(scale.size()) == r.levels && int(cells.shape(0)) == r.levels,
                    "scale and cells need all levels");
            require(int(cells.shape(1)) == (r.height + 1) / 2 && int(cells.shape(2)) == (r.width + 1) / 2,
                    "cells have 2 x 2 pixels");
            require_range(start, stop, r.levels);
            nb::gil_scoped_release others;
            f.cell_costs(r, v, scale.data(), of, cells.data(), start, stop);
        },
        "residuals"_a, "base"_a, "scale"_a, "weight"_a, "cells"_a.noconvert(), "start"_a, "stop"_a);
    m.def("read", [&f](In<4> residuals, In<2> level, Out<3> value, Out<3> slope, int start, int stop) {
        const Residuals r = volume(residuals);
        const float no_noise[2] = {};
        const Map map{r, plane(level, r), nullptr, nullptr, no_noise, 2, 1};
        for (const Out<3>& out : {value, slope})
            require(int(out.shape(0)) == r.channels && int(out.shape(1)) == r.height && int(out.shape(2)) == r.width,
                    "a result has another size than the residuals");
        require_range(start, stop, r.height);
        nb::gil_scoped_release others;
        f.read(map, value.data(), slope.data(), start, stop);
    }, "residuals"_a, "level"_a, "value"_a.noconvert(), "slope"_a.noconvert(), "start"_a, "stop"_a);
    m.def(
        "cost",
        [&f](In<4> residuals, In<2> level, In<2> misfit, Maybe<2> relative, In<2> knots, In<2> weight, Out<2> cost,
             int start, int stop) {
            const Map map = map_of(residuals, level, misfit, relative, knots);
            const float* of = plane(weight, map.residuals);
            float* to = plane(cost, map.residuals);
            require_range(start, stop, map.residuals.height);
            nb::gil_scoped_release others;
            f.cost(map, of, to, start, stop);
        },
        "residuals"_a, "level"_a, "misfit"_a, "relative"_a.none(), "knots"_a, "weight"_a, "cost"_a.noconvert(),
        "start"_a, "stop"_a);
    m.def(
        "evidence",
        [&f](In<4> residuals, In<2> level, In<2> misfit, Maybe<2> relative, In<2> knots, In<2> factor, In<2> weight,
             Out<3> found, int start, int stop) {
            const Map map = map_of(residuals, level, misfit, relative, knots);
            const Residuals& r = map.residuals;
            const float *by_level = plane(factor, r), *of = plane(weight, r);
            const size_t size = level.size();
            require(found.shape(0) == 3 && found.size() == 3 * size, "found has w, g and the power");
            require_range(start, stop, r.height);
            float* to = found.data();
            nb::gil_scoped_release others;
            f.evidence(map, by_level, of, to, to + size, to + 2 * size, start, stop);
        },
        "residuals"_a, "level"_a, "misfit"_a, "relative"_a.none(), "knots"_a, "factor"_a, "weight"_a,
        "found"_a.noconvert(), "start"_a, "stop"_a);
    m.def(
        "sublevel",
        [&f](In<3> cost, Out<2> level, int start, int stop) {
            require(cost.shape(0) >= 3 && cost.shape(1) == level.shape(0) && cost.shape(2) == level.shape(1),
                    "level has another size than cost");
            require_range(start, stop, int(cost.shape(1)));
            nb::gil_scoped_release others;
            f.sublevel(cost.data(), int(cost.shape(0)), int(cost.shape(1)), int(cost.shape(2)), level.data(), start,
                       stop);
        },
        "cost"_a, "level"_a.noconvert(), "start"_a, "stop"_a);
    m.def(
        "filter",
        [&f](In<2> image, In<1> taps, Out<2> out) {
            require(image.size() && taps.size() && image.shape(0) == out.shape(0) && image.shape(1) == out.shape(1),
                    "out has another size than the image");
            nb::gil_scoped_release others;
            f.filter(image.data(), int(image.shape(0)), int(image.shape(1)), taps.data(), int(taps.size()) - 1,
                     out.data());
        },
        "image"_a, "taps"_a, "out"_a.noconvert());
    m.def(
        "window_variance",
        [&f](In<2> w, In<2> mu, int size, Out<2> best) {
            for (int n = 0; n < 2; ++n)
                require(w.size() && w.shape(n) == mu.shape(n) && w.shape(n) == best.shape(n), "arrays differ in size");
            nb::gil_scoped_release others;
            f.window_variance(w.data(), mu.data(), int(w.shape(0)), int(w.shape(1)), size, best.data());
        },
        "w"_a, "mu"_a, "size"_a, "best"_a.noconvert());
}
