// A vector of float32 with the largest width of the level. GCC and Clang define + - * / < ?: lane by lane.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

namespace LEVEL {
namespace {

#if defined(__AVX512F__)
constexpr int LANES = 16;
#elif defined(__AVX__)
constexpr int LANES = 8;
#else
constexpr int LANES = 4;  // SSE2, NEON
#endif
typedef float V __attribute__((vector_size(4 * LANES)));

inline V load(const float* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
inline void store(float* p, V v) { std::memcpy(p, &v, sizeof v); }

// Minimum and maximum as of vminps and vmaxps: b if one of them is NaN.
inline V smaller(V a, V b) { return a < b ? a : b; }
inline V larger(V a, V b) { return a > b ? a : b; }

// Lanes d ... d + LANES - 1 of the concatenation of a and b.
template <int d, size_t... l>
inline V later(V a, V b, std::index_sequence<l...>) {
    return __builtin_shufflevector(a, b, int(l) + d...);
}
template <int d>
inline V later(V a, V b) {
    return later<d>(a, b, std::make_index_sequence<LANES>());
}

// Interleave a and b from lane `from` on: a0 b0 a1 b1 ...
template <int from, size_t... l>
inline V mixed(V a, V b, std::index_sequence<l...>) {
    return __builtin_shufflevector(a, b, from + int(l) / 2 + int(l) % 2 * LANES...);
}
template <int from>
inline V mixed(V a, V b) {
    return mixed<from>(a, b, std::make_index_sequence<LANES>());
}

template <class T>
struct Aligned {  // aligned to cache lines: a vector across two lines is read twice
    using value_type = T;
    T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(64))); }
    void deallocate(T* p, size_t) { ::operator delete(p, std::align_val_t(64)); }
    bool operator==(const Aligned&) const { return true; }
};
using Floats = std::vector<float, Aligned<float>>;

}  // namespace
}  // namespace LEVEL
