// Rows of a frame interpolated at the positions of an affine motion, with a correction of the exposure.
//
//     out = gain * sum_ij w_i(y) w_j(x) coefficient_ij + offset, with (y, x) = transform (row, column, 1)
//
// The interpolation uses cubic B-splines. Their coefficients are the frame after a short filter along both axes. Every
// pixel is a weighted sum of 4 x 4 coefficients. At half a pixel this adds 0.004 px^2 to s. Cubic convolution subtracts
// 0.04 px^2, and linear interpolation adds 0.18 px^2 (a photograph through a lens of 0.7 px).
#include "kernels.h"

#include <algorithm>

namespace LEVEL {
namespace {

constexpr int PAD = 2;  // margin of coefficients around the frame: the reach of a spline beyond the border

void weights(float t, float (&w)[4]) {
    const float rest = 1 - t;
    w[0] = rest * rest * rest * (1 / 6.0f), w[3] = t * t * t * (1 / 6.0f);
    w[1] = 2 / 3.0f + t * t * (0.5f * t - 1), w[2] = 1 - w[0] - w[1] - w[3];
}

}  // namespace

// `coefficients` are rows of padded columns x channels. The last row of `gain` is used for all rows below it. `out`
// contains the rows of the frame from `top` on.
void warp(In<2> coefficients, Array<const double, 2> transform, In<2> gain, In<1> offset, int top, Out<2> out) {
    const int height = coefficients.shape[0], width = coefficients.shape[1], channels = offset.shape[0],
              size = out.shape[1];
    require(channels > 0 && height > 2 * PAD && size > 0 && top >= 0 && transform.size() == 6 && gain.size() &&
                width == size + 2 * PAD * channels && gain.shape[1] == size,
            "arrays of a warp differ in size");
    const int columns = width / channels, bottom = height - 4, right = columns - 4;
    const double* t = transform.data;
    float* to = out.data;
    for (int y = top; y < top + out.shape[0]; ++y, to += size) {
        const double row = t[0] * y + t[2] + PAD - 1, column = t[3] * y + t[5] + PAD - 1;
        const float* factor = gain.data + std::min(y, gain.shape[0] - 1) * size;
        for (int x = 0; x < columns - 2 * PAD; ++x) {
            // Positions beyond the frame are moved to the nearest one inside.
            const double down = std::min(std::max(row + t[1] * x, 0.0), bottom + 1.0);
            const double across = std::min(std::max(column + t[4] * x, 0.0), right + 1.0);
            const int y0 = std::min(int(down), bottom), x0 = std::min(int(across), right);
            float v[4], w[4];
            weights(float(down - y0), v), weights(float(across - x0), w);
            for (int c = 0; c < channels; ++c) {
                const float* at = coefficients.data + size_t(y0) * width + x0 * channels + c;
                float total = 0;
                for (int i = 0; i < 4; ++i, at += width)
                    total += v[i] * (w[0] * at[0] + w[1] * at[channels] + w[2] * at[2 * channels] +
                                     w[3] * at[3 * channels]);
                to[x * channels + c] = factor[x * channels + c] * total + offset.data[c];
            }
        }
    }
}

}  // namespace LEVEL
