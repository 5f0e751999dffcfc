// What module.cpp binds. Every function here exists once for each level of x86-64, in a namespace of its own.
#pragma once

#include "window.h"

namespace relblur {

struct Warp {                   // what is the same in every row
    const float* coefficients;  // (height, width), width in values: padded columns x channels
    int height, width, channels, gain_rows;
    const double* transform;     // 2 x 3
    const float *gain, *offset;  // (gain_rows, columns x channels), the last row counts for those below; (channels,)
};

}  // namespace relblur

#define DECLARE(level)                                                     \
    namespace level {                                                      \
    int lanes();                                                           \
    std::unique_ptr<relblur::Window> make_window(const relblur::Options&); \
    void warp(const relblur::Warp&, int top, int rows, float* out);        \
    }

DECLARE(v1)
#ifdef ALL_LEVELS
DECLARE(v3)
DECLARE(v4)
#endif
#undef DECLARE
