// Functions that module.cpp binds. Each is compiled once for each level of x86-64, in its own namespace, and checks the
// sizes of its arrays. Functions with `start` and `stop` write these rows or columns only.
#pragma once

#include <memory>
#include <stdexcept>

#include "window.h"

namespace relblur {

// A contiguous array from Python; empty if the argument is missing.
template <class T, int N>
struct Array {
    T* data = nullptr;
    int shape[N] = {};
    template <class Other>
    bool fits(const Other& other) const {  // whether the last two axes are as long as those of another array
        return shape[N - 2] == other.shape[Other::axes - 2] && shape[N - 1] == other.shape[Other::axes - 1];
    }
    size_t size() const {
        size_t n = 1;
        for (int length : shape) n *= length;
        return n;
    }
    static constexpr int axes = N;
};
template <int N>
using In = Array<const float, N>;
template <int N>
using Out = Array<float, N>;

inline void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

inline void require_range(int start, int stop, int end) {
    require(0 <= start && start <= stop && stop <= end, "a range exceeds the array");
}

}  // namespace relblur

#define DECLARE(level)                                                                                                 \
    namespace level {                                                                                                  \
    using namespace relblur;                                                                                           \
    void solve(In<3> weight, In<3> right, In<3> down, In<3> b, Out<3> x, int steps, In<2> tie_right, In<2> tie_down,   \
               float half, In<3> guess);                                                                               \
    void scan_across(In<3> cost, Out<3> total, float small, float large, int start, int stop);                         \
    void scan_down(In<3> cost, Out<3> total, float small, float large, int start, int stop);                           \
    void best_fit(In<4> residuals, In<1> scale, Out<2> best, int start, int stop);                                     \
    void read(In<4> residuals, In<2> level, Out<3> value, Out<3> slope, int start, int stop);                          \
    void cost(In<4> residuals, In<2> map, In<2> misfit, In<2> relative, In<2> knots, In<2> weight, Out<2> cost,        \
              int start, int stop);                                                                                    \
    void evidence(In<4> residuals, In<2> map, In<2> misfit, In<2> relative, In<2> knots, In<2> factor, In<2> weight,   \
                  Out<3> result, int start, int stop);                                                                 \
    void window_variance(In<2> w, In<2> mu, int size, Out<2> best);                                                    \
    void warp(In<2> coefficients, Array<const double, 2> transform, In<2> gain, In<1> offset, int top, Out<2> out);    \
    std::unique_ptr<Window> make_window(const Options&);                                                               \
    int lanes();                                                                                                       \
    }

#ifdef LEVEL  // a kernel file
DECLARE(LEVEL)
namespace LEVEL {
// Arguments by value, because GCC does not vectorise loops with std::min and std::max, which take references.
inline float least(float a, float b) { return a < b ? a : b; }
inline float most(float a, float b) { return a > b ? a : b; }
}  // namespace LEVEL
#else
DECLARE(v1)
#ifdef ALL_LEVELS
DECLARE(v3)
DECLARE(v4)
#endif
#endif
