// Residuals interpolated at a map of levels: cost, score and information. The equations are in field/loops.py.
#include <algorithm>
#include <vector>

#include "kernels.h"

namespace LEVEL {
namespace {

constexpr float MOST_COST = 12;     // nats; field/energy.py
constexpr int FIT = 2, AROUND = 3;  // half windows of the best fit, and of the mean of D^2, px
constexpr int ROWS = 32;            // rows of the best fit that are processed together: they stay in the cache

int mirrored(int i, int n) {
    while (i < 0 || i >= n) i = i < 0 ? -i - 1 : 2 * n - 1 - i;
    return i;
}

float cost_of(float half) { return half / (1 + half / MOST_COST); }

// A line with `margin` mirrored values at each end.
class Line {
public:
    Line(int width, int margin) : width(width), margin(margin), values(size_t(width) + 2 * margin) {}
    float* data() { return values.data() + margin; }
    void mirror() {
        for (int i = 0; i < margin; ++i) {
            data()[-1 - i] = data()[mirrored(-1 - i, width)];
            data()[width + i] = data()[mirrored(width + i, width)];
        }
    }

private:
    int width, margin;
    std::vector<float> values;
};

// A ring buffer of rows.
class Ring {
public:
    Ring(int rows, int width) : rows(rows), width(width), values(size_t(rows) * width) {}
    float* row(int y) { return values.data() + size_t(y % rows) * width; }

private:
    int rows, width;
    std::vector<float> values;
};

// Residuals (channels, levels, height, width), the map of levels at which they are interpolated, and their variances.
struct Map {
    In<4> residuals;
    In<2> level, misfit, relative;  // `relative` is 1 everywhere if it is missing
    In<2> knots;                    // tables of noise, (4, count), with `finer` knots per level
    int channels, levels, height, width, count, finer;
    Map(In<4> residuals, In<2> level, In<2> misfit, In<2> relative, In<2> knots)
        : residuals(residuals), level(level), misfit(misfit), relative(relative), knots(knots),
          channels(residuals.shape[0]), levels(residuals.shape[1]), height(residuals.shape[2]),
          width(residuals.shape[3]), count(knots.shape[1]), finer(levels > 1 ? (count - 1) / (levels - 1) : 0) {
        require(levels >= 4 && residuals.size(), "residuals need four levels and a pixel");
        for (const In<2>& each : {level, misfit, relative})
            require(!each.data || each.fits(residuals), "an array has another size than the residuals");
        require(!knots.data || (knots.shape[0] == 4 && finer > 0 && count == finer * (levels - 1) + 1),
                "tables of noise have another size than the residuals");
    }
};

// A row of interpolated residuals, and their variance.
class Row {
public:
    explicit Row(const Map& map)
        : map(map), width(map.width), base(width), u(width), knot(width), part(width), ones(width, 1.0f),
          lines(4, Line(width, 0)) {}

    void go(int row) {
        y = row;
        relative = map.relative.data ? map.relative.data + size_t(y) * width : ones.data();
        const float* level = map.level.data + size_t(y) * width;
        const int levels = map.levels, finer = map.finer, last = map.count - 2;
        #pragma omp simd
        for (int i = 0; i < width; ++i) {
            const int b = std::clamp(int(level[i]), 1, levels - 3), k = std::clamp(int(level[i] * finer), 0, last);
            base[i] = b, u[i] = level[i] - b, knot[i] = k, part[i] = level[i] * finer - k;
        }
    }

    const float* relative = nullptr;  // variance of the noise over its mean

    // Interpolate a table of noise at the map: 0 own, 1 passed, 2 covariance of e and D, 3 variance of D.
    const float* table(int number) {
        const float *table = map.knots.data + size_t(number) * map.count, *share = part.data();
        const int* at = knot.data();
        float* out = lines[number].data();
        #pragma omp simd
        for (int i = 0; i < width; ++i) out[i] = table[at[i]] + share[i] * (table[at[i] + 1] - table[at[i]]);
        return out;
    }

    void variance(float* v) {
        const float *misfit = map.misfit.data + size_t(y) * width, *of = relative, *own = table(0), *passed = table(1);
        #pragma omp simd
        for (int i = 0; i < width; ++i) v[i] = most(misfit[i], of[i] * own[i]) + of[i] * passed[i];
    }

    // Effect of noise on D: its covariance with e over v, and the remaining variance.
    void sensitivity(const float* v, float* share, float* left) {
        const float *of = relative, *covariance = table(2), *variance = table(3);
        #pragma omp simd
        for (int i = 0; i < width; ++i) {
            share[i] = of[i] * covariance[i] / v[i];
            left[i] = of[i] * (variance[i] - covariance[i] * share[i]);
        }
    }

    // Interpolate the residuals of a channel and their slopes by the level.
    void read(int channel, float* value, float* slope) {
        const size_t plane = size_t(map.height) * width;
        const float* from = map.residuals.data + size_t(channel) * map.levels * plane + size_t(y) * width;
        float *before = lines[0].data(), *here = lines[1].data(), *after = lines[2].data(), *last = lines[3].data();
        const float* part = u.data();
        for (int i = 0; i < width; ++i) {
            const float* at = from + (base[i] - 1) * plane + i;
            before[i] = at[0], here[i] = at[plane], after[i] = at[2 * plane], last[i] = at[3 * plane];
            if (i % 16 == 0)  // prefetch the next row, which probably has the same levels
                for (int k = 0; k < 4; ++k) __builtin_prefetch(at + k * plane + width);
        }
        #pragma omp simd
        for (int i = 0; i < width; ++i) {
            const float inside = least(most(part[i], 0), 1), beyond = part[i] - inside;
            const float first = 0.5f * (after[i] - before[i]);
            const float second = before[i] - 2.5f * here[i] + 2 * after[i] - 0.5f * last[i];
            const float third = 0.5f * (last[i] - before[i]) + 1.5f * (here[i] - after[i]);
            const float by_level = first + inside * (2 * second + 3 * inside * third);
            const float bend = beyond < 0 ? before[i] - 2 * here[i] + after[i] : here[i] - 2 * after[i] + last[i];
            value[i] = here[i] + inside * (first + inside * (second + inside * third)) +
                       beyond * (by_level + 0.5f * beyond * bend);
            slope[i] = by_level + beyond * bend;
        }
    }

private:
    const Map& map;
    int width, y = 0;
    std::vector<int> base;
    std::vector<float> u;
    std::vector<int> knot;
    std::vector<float> part, ones;
    std::vector<Line> lines;
};

}  // namespace

// Interpolate all channels, and their slopes by the level, at a map of levels.
void read(In<4> residuals, In<2> level, Out<3> value, Out<3> slope, int start, int stop) {
    const Map map(residuals, level, {}, {}, {});
    for (const Out<3>& out : {value, slope})
        require(out.shape[0] == map.channels && out.fits(residuals), "a result has another size than the residuals");
    require_range(start, stop, map.height);
    Row row(map);
    for (int y = start; y < stop; ++y) {
        row.go(y);
        for (int c = 0; c < map.channels; ++c) {
            const size_t at = (size_t(c) * map.height + y) * map.width;
            row.read(c, value.data + at, slope.data + at);
        }
    }
}

void cost(In<4> residuals, In<2> level, In<2> misfit, In<2> relative, In<2> knots, In<2> weight, Out<2> cost, int start,
          int stop) {
    const Map map(residuals, level, misfit, relative, knots);
    require(weight.fits(residuals) && cost.fits(residuals), "an array has another size than the residuals");
    require_range(start, stop, map.height);
    const int width = map.width;
    Row row(map);
    Line v(width, 0), e(width, 0), slope(width, 0);
    for (int y = start; y < stop; ++y) {
        float* to = cost.data + size_t(y) * width;
        const float* factor = weight.data + size_t(y) * width;
        row.go(y);
        row.variance(v.data());
        std::fill_n(to, width, 0.0f);
        for (int c = 0; c < map.channels; ++c) {
            row.read(c, e.data(), slope.data());
            const float *ec = e.data(), *variance = v.data();
            #pragma omp simd
            for (int i = 0; i < width; ++i) to[i] += factor[i] * cost_of(0.5f * ec[i] * ec[i] / variance[i]);
        }
    }
}

// `result` contains w, g and the mean over the channels of e^2.
void evidence(In<4> residuals, In<2> level, In<2> misfit, In<2> relative, In<2> knots, In<2> factor, In<2> weight,
              Out<3> result, int start, int stop) {
    const Map map(residuals, level, misfit, relative, knots);
    require(factor.fits(residuals) && weight.fits(residuals) && result.fits(residuals) && result.shape[0] == 3,
            "an array has another size than the residuals");
    require_range(start, stop, map.height);
    const int width = map.width, height = map.height, channels = map.channels;
    float *w = result.data, *g = w + level.size(), *power = g + level.size();
    const int size = 2 * AROUND + 1;
    const float share_of = 1.0f / channels;
    Row row(map);
    Ring v(size, width), noise(size, width);
    std::vector<Ring> e(channels, Ring(size, width)), d = e;
    Line share(width, 0), column(width, AROUND);

    const auto prepare = [&](int y) {
        float *vy = v.row(y), *ny = noise.row(y), *s = share.data();
        row.go(y);
        row.variance(vy);
        row.sensitivity(vy, s, ny);
        const float* by_level = factor.data + size_t(y) * width;
        for (int c = 0; c < channels; ++c) {
            float *ec = e[c].row(y), *dc = d[c].row(y);
            row.read(c, ec, dc);
            #pragma omp simd
            for (int i = 0; i < width; ++i) dc[i] = by_level[i] * dc[i] - ec[i] * s[i];
        }
    };

    int ready = std::max(start - AROUND, 0);
    for (int y = start; y < stop; ++y) {
        for (; ready <= std::min(y + AROUND, height - 1); ++ready) prepare(ready);
        const size_t place = size_t(y) * width;
        for (float* out : {w, g, power}) std::fill_n(out + place, width, 0.0f);
        const float *vy = v.row(y), *ny = noise.row(y), *credit = weight.data + place;
        for (int c = 0; c < channels; ++c) {
            float* sum = column.data();
            std::fill_n(sum, width, 0.0f);
            for (int k = -AROUND; k <= AROUND; ++k) {
                const float* dk = d[c].row(mirrored(y + k, height));
                #pragma omp simd
                for (int i = 0; i < width; ++i) sum[i] += dk[i] * dk[i];
            }
            column.mirror();
            const float *ec = e[c].row(y), *dc = d[c].row(y);
            float *wy = w + place, *gy = g + place, *py = power + place;
            #pragma omp simd
            for (int i = 0; i < width; ++i) {
                const float all = sum[i - 3] + sum[i - 2] + sum[i - 1] + sum[i] + sum[i + 1] + sum[i + 2] + sum[i + 3];
                const float mean = all * (1.0f / (size * size));
                const float square = ec[i] * ec[i], down = 1 + 0.5f * square / vy[i] / MOST_COST;
                const float a = 1 - ny[i] / most(mean, ny[i] + 1e-30f);
                const float r = a * credit[i] / (vy[i] * down * down);
                py[i] += square * share_of;
                wy[i] += a * r * dc[i] * dc[i];
                gy[i] += r * ec[i] * dc[i];
            }
        }
    }
}

// Write the minimum over the levels of the mean square residual in a window, times `scale` of that level.
void best_fit(In<4> r, In<1> scale, Out<2> best, int start, int stop) {
    const int channels = r.shape[0], levels = r.shape[1], height = r.shape[2], width = r.shape[3];
    require(r.size() && scale.shape[0] == levels && best.fits(r), "an array has another size than the residuals");
    require_range(start, stop, height);
    Ring squares(2 * FIT + 1, width);
    Line column(width, FIT);
    for (int first = start; first < stop; first += ROWS) {
        const int end = std::min(first + ROWS, stop);
        std::fill(best.data + size_t(first) * width, best.data + size_t(end) * width, 1e30f);
        for (int k = 0; k < levels; ++k) {
            int ready = std::max(first - FIT, 0);
            for (int y = first; y < end; ++y) {
                for (; ready <= std::min(y + FIT, height - 1); ++ready) {
                    float* out = squares.row(ready);
                    std::fill_n(out, width, 0.0f);
                    for (int c = 0; c < channels; ++c) {
                        const float* e = r.data + ((size_t(c) * levels + k) * height + ready) * width;
                        #pragma omp simd
                        for (int i = 0; i < width; ++i) out[i] += e[i] * e[i];
                    }
                }
                const float* s[2 * FIT + 1];
                for (int n = -FIT; n <= FIT; ++n) s[n + FIT] = squares.row(mirrored(y + n, height));
                float *sum = column.data(), *to = best.data + size_t(y) * width;
                #pragma omp simd
                for (int i = 0; i < width; ++i) sum[i] = s[0][i] + s[1][i] + s[2][i] + s[3][i] + s[4][i];
                column.mirror();
                const float factor = scale.data[k] / ((2 * FIT + 1) * (2 * FIT + 1) * channels);
                #pragma omp simd
                for (int i = 0; i < width; ++i)
                    to[i] = least(to[i], factor * (sum[i - 2] + sum[i - 1] + sum[i] + sum[i + 1] + sum[i + 2]));
            }
        }
    }
}

// Limit `best` to the variance of a window: 1 / (information + 1e-6) + bend area. Running sums along the columns.
void window_variance(In<2> w, In<2> mu, int size, Out<2> best) {
    require(w.size() && w.fits(mu) && w.fits(best), "arrays differ in size");
    const int height = w.shape[0], width = w.shape[1];
    const int rows = std::min(size, 2 * height - 1) / 2, columns = std::min(size, 2 * width - 1) / 2;
    const double mean = double(size) * size / ((2.0 * rows + 1) * (2.0 * columns + 1));
    const float bend = float(size) * size / 256;
    // Column sums over the rows of a window, mirrored at both ends, and their running sum.
    std::vector<double> sum(size_t(width) + 2 * columns), along(sum.size() + 1);
    double* column = sum.data() + columns;
    const auto add = [&](int y, double sign) {
        const float* row = w.data + size_t(mirrored(y, height)) * width;
        #pragma omp simd
        for (int i = 0; i < width; ++i) column[i] += sign * row[i];
    };
    for (int y = -rows; y < rows; ++y) add(y, 1);
    for (int y = 0; y < height; ++y) {
        add(y + rows, 1);
        std::reverse_copy(column, column + columns, column - columns);
        std::reverse_copy(column + width - columns, column + width, column + width);
        double run = 0;
        const int length = int(sum.size());
        #pragma omp simd reduction(inscan, + : run)
        for (int i = 0; i < length; ++i) {
            run += sum[i];
            #pragma omp scan inclusive(run)
            along[i + 1] = run;
        }
        const double *low = along.data(), *high = low + 2 * columns + 1;
        const float* stiff = mu.data + size_t(y) * width;
        float* to = best.data + size_t(y) * width;
        #pragma omp simd
        for (int i = 0; i < width; ++i)
            to[i] = least(to[i], 1 / (most(float(mean * (high[i] - low[i])), 0) + 1e-6f) + bend / stiff[i]);
        add(y - rows, -1);
    }
}

}  // namespace LEVEL
