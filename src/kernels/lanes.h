// A vector of float32: the widest that the level has. GCC and Clang give it + - * / < ?: lane by lane.
#pragma once

#include <cstring>

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

inline V load(const float* p) { V v; std::memcpy(&v, p, sizeof v); return v; }
inline void store(float* p, V v) { std::memcpy(p, &v, sizeof v); }

}  // namespace
}  // namespace LEVEL
