// Rows of a frame read where an affine motion says, and brought to another exposure.
//
//     out = gain * sum_ij w_i(y) w_j(x) coefficient_ij + offset, with (y, x) = transform (row, column, 1)
//
// Cubic B-splines: the coefficients are a short filter of the frame along both axes, and every pixel is a sum of 4 x 4
// of them. At half a pixel this adds 0.004 px^2 to s, where cubic convolution takes away 0.04 and linear interpolation
// adds 0.18 (a photograph through a lens of 0.7 px).
#include "kernels.h"

#include <algorithm>

namespace LEVEL {
namespace {

constexpr int PAD = 2;  // coefficients around the frame: as far as a spline reaches beyond a pixel at the border

void weights(float t, float (&w)[4]) {
    const float rest = 1 - t;
    w[0] = rest * rest * rest * (1 / 6.0f), w[3] = t * t * t * (1 / 6.0f);
    w[1] = 2 / 3.0f + t * t * (0.5f * t - 1), w[2] = 1 - w[0] - w[1] - w[3];
}

}  // namespace

void warp(const relblur::Warp& o, int top, int rows, float* out) {
    const int columns = o.width / o.channels, bottom = o.height - 4, right = columns - 4,
              size = (columns - 2 * PAD) * o.channels;
    for (int y = top; y < top + rows; ++y, out += size) {
        const double row = o.transform[0] * y + o.transform[2] + PAD - 1,
                     column = o.transform[3] * y + o.transform[5] + PAD - 1;
        const float* gain = o.gain + std::min(y, o.gain_rows - 1) * size;
        for (int x = 0; x < columns - 2 * PAD; ++x) {
            // Beyond the frame the nearest place in it counts.
            const double down = std::min(std::max(row + o.transform[1] * x, 0.0), bottom + 1.0);
            const double across = std::min(std::max(column + o.transform[4] * x, 0.0), right + 1.0);
            const int y0 = std::min(int(down), bottom), x0 = std::min(int(across), right);
            float v[4], w[4];
            weights(float(down - y0), v), weights(float(across - x0), w);
            for (int c = 0; c < o.channels; ++c) {
                const float* at = o.coefficients + size_t(y0) * o.width + x0 * o.channels + c;
                float total = 0;
                for (int i = 0; i < 4; ++i, at += o.width)
                    total += v[i] * (w[0] * at[0] + w[1] * at[o.channels] + w[2] * at[2 * o.channels] +
                                     w[3] * at[3 * o.channels]);
                out[x * o.channels + c] = gain[x * o.channels + c] * total + o.offset[c];
            }
        }
    }
}

}  // namespace LEVEL
