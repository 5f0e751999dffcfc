// Residuals read at a map: costs, score and information. field/loops.py has the equations.
#include <algorithm>
#include <vector>

#include "solver.h"

namespace LEVEL {
namespace {

constexpr float MOST_COST = 12;     // nats; field/energy.py
constexpr int FIT = 2, AROUND = 3;  // half windows of the best fit, and of the share of noise in D^2
constexpr int ROWS = 32;            // of the best fit that stay in the cache
constexpr int CELL = 2;

int mirrored(int i, int n) {
    while (i < 0 || i >= n) i = i < 0 ? -i - 1 : 2 * n - 1 - i;
    return i;
}

float cost_of(float half) { return half / (1 + half / MOST_COST); }

// A line with room for `margin` mirrored numbers at each end.
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

// Lines of the last few rows.
class Ring {
public:
    Ring(int rows, int width) : rows(rows), width(width), values(size_t(rows) * width) {}
    float* row(int y) { return values.data() + size_t(y % rows) * width; }

private:
    int rows, width;
    std::vector<float> values;
};

// A row of residuals at a map, and their variance.
class Row {
public:
    explicit Row(const Map& map)
        : map(map), width(map.residuals.width), base(width), u(width), knot(width), part(width), ones(width, 1.0f),
          lines(4, Line(width, 0)) {}

    void go(int row) {
        y = row;
        relative = map.relative ? map.relative + size_t(y) * width : ones.data();
        const float* level = map.level + size_t(y) * width;
        const int levels = map.residuals.levels, finer = map.finer, last = map.count - 2;
        #pragma omp simd
        for (int i = 0; i < width; ++i) {
            const int b = std::clamp(int(level[i]), 1, levels - 3), k = std::clamp(int(level[i] * finer), 0, last);
            base[i] = b, u[i] = level[i] - b, knot[i] = k, part[i] = level[i] * finer - k;
        }
    }

    const float* relative = nullptr;  // variance of the noise over its mean

    // A table of noise at the map: 0 own, 1 passed, 2 covariance of e and D, 3 variance of D.
    const float* table(int number) {
        const float *table = map.knots + size_t(number) * map.count, *share = part.data();
        const int* at = knot.data();
        float* out = lines[number].data();
        #pragma omp simd
        for (int i = 0; i < width; ++i) out[i] = table[at[i]] + share[i] * (table[at[i] + 1] - table[at[i]]);
        return out;
    }

    void variance(float* v) {
        const float *misfit = map.misfit + size_t(y) * width, *of = relative, *own = table(0), *passed = table(1);
        #pragma omp simd
        for (int i = 0; i < width; ++i) v[i] = most(misfit[i], of[i] * own[i]) + of[i] * passed[i];
    }

    // What noise does to D: its covariance with e over v, and the variance that is left.
    void sensitivity(const float* v, float* share, float* left) {
        const float *of = relative, *covariance = table(2), *variance = table(3);
        #pragma omp simd
        for (int i = 0; i < width; ++i) {
            share[i] = of[i] * covariance[i] / v[i];
            left[i] = of[i] * (variance[i] - covariance[i] * share[i]);
        }
    }

    // Residuals of a channel and their slopes by the level.
    void read(int channel, float* value, float* slope) {
        const Residuals& r = map.residuals;
        const size_t plane = size_t(r.height) * width;
        const float* from = r.values + size_t(channel) * r.levels * plane + size_t(y) * width;
        float *before = lines[0].data(), *here = lines[1].data(), *after = lines[2].data(), *last = lines[3].data();
        const float* part = u.data();
        for (int i = 0; i < width; ++i) {
            const float* at = from + (base[i] - 1) * plane + i;
            before[i] = at[0], here[i] = at[plane], after[i] = at[2 * plane], last[i] = at[3 * plane];
            if (i % 16 == 0)  // the next row, which likely has the same levels
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

// Values and slopes by the level of all channels at a map of levels.
void read(const Map& map, float* value, float* slope, int start, int stop) {
    const Residuals& r = map.residuals;
    Row row(map);
    for (int y = start; y < stop; ++y) {
        row.go(y);
        for (int c = 0; c < r.channels; ++c) {
            const size_t at = (size_t(c) * r.height + y) * r.width;
            row.read(c, value + at, slope + at);
        }
    }
}

void cost(const Map& map, const float* weight, float* out, int start, int stop) {
    const int width = map.residuals.width;
    Row row(map);
    Line v(width, 0), e(width, 0), slope(width, 0);
    for (int y = start; y < stop; ++y) {
        float* to = out + size_t(y) * width;
        const float* factor = weight + size_t(y) * width;
        row.go(y);
        row.variance(v.data());
        std::fill_n(to, width, 0.0f);
        for (int c = 0; c < map.residuals.channels; ++c) {
            row.read(c, e.data(), slope.data());
            const float *ec = e.data(), *variance = v.data();
            #pragma omp simd
            for (int i = 0; i < width; ++i) to[i] += factor[i] * cost_of(0.5f * ec[i] * ec[i] / variance[i]);
        }
    }
}

void evidence(const Map& map, const float* factor, const float* weight, float* w, float* g, float* power, int start,
              int stop) {
    const int width = map.residuals.width, height = map.residuals.height, channels = map.residuals.channels;
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
        const float* by_level = factor + size_t(y) * width;
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
        std::fill_n(w + place, width, 0.0f), std::fill_n(g + place, width, 0.0f),
            std::fill_n(power + place, width, 0.0f);
        const float *vy = v.row(y), *ny = noise.row(y), *credit = weight + place;
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

// Mean over the channels of the squared residuals of a row.
void mean_square(const Residuals& r, int level, int y, float* out) {
    const size_t plane = size_t(r.height) * r.width;
    const float share = 1.0f / r.channels;
    std::fill_n(out, r.width, 0.0f);
    for (int c = 0; c < r.channels; ++c) {
        const float* e = r.values + (size_t(c) * r.levels + level) * plane + size_t(y) * r.width;
        #pragma omp simd
        for (int i = 0; i < r.width; ++i) out[i] += e[i] * e[i] * share;
    }
}

void best_fit(const Residuals& r, const float* scale, float* best, int start, int stop) {
    Ring squares(2 * FIT + 1, r.width);
    Line column(r.width, FIT);
    for (int first = start; first < stop; first += ROWS) {
        const int end = std::min(first + ROWS, stop);
        std::fill(best + size_t(first) * r.width, best + size_t(end) * r.width, 1e30f);
        for (int k = 0; k < r.levels; ++k) {
            int ready = std::max(first - FIT, 0);
            for (int y = first; y < end; ++y) {
                for (; ready <= std::min(y + FIT, r.height - 1); ++ready) mean_square(r, k, ready, squares.row(ready));
                const float* s[2 * FIT + 1];
                for (int n = -FIT; n <= FIT; ++n) s[n + FIT] = squares.row(mirrored(y + n, r.height));
                float *sum = column.data(), *to = best + size_t(y) * r.width;
                #pragma omp simd
                for (int i = 0; i < r.width; ++i) sum[i] = s[0][i] + s[1][i] + s[2][i] + s[3][i] + s[4][i];
                column.mirror();
                const float factor = scale[k] / ((2 * FIT + 1) * (2 * FIT + 1));
                #pragma omp simd
                for (int i = 0; i < r.width; ++i) {
                    to[i] = least(to[i], factor * (sum[i - 2] + sum[i - 1] + sum[i] + sum[i + 1] + sum[i + 2]));
                }
            }
        }
    }
}

// Sums over cells of 2 x 2 pixels of the mean over 3 x 3 of each pixel's cost at some levels.
void cell_costs(const Residuals& r, const float* base, const float* scale, const float* weight, float* cells, int start,
                int stop) {
    const size_t plane = size_t(r.height) * r.width;
    const int rows = (r.height + 1) / CELL, columns = (r.width + 1) / CELL;
    Ring costs(2 * CELL, r.width);
    Line column(r.width, 1), triple(r.width, 1);
    for (int k = start; k < stop; ++k) {
        int ready = 0;
        for (int y = 0; y < rows; ++y) {
            for (; ready <= std::min(2 * y + 2, r.height - 1); ++ready) {
                float* to = costs.row(ready);
                const float *v = base + size_t(ready) * r.width, *of = weight + size_t(ready) * r.width;
                std::fill_n(to, r.width, 0.0f);
                for (int c = 0; c < r.channels; ++c) {
                    const float* e = r.values + (size_t(c) * r.levels + k) * plane + size_t(ready) * r.width;
                    #pragma omp simd
                    for (int i = 0; i < r.width; ++i) to[i] += of[i] * cost_of(0.5f * scale[k] * e[i] * e[i] / v[i]);
                }
            }
            const auto line = [&](int row) { return costs.row(mirrored(std::min(row, r.height), r.height)); };
            // Rows of the cell, and those above and below; the last row of an odd image counts twice.
            const int one = 2 * y, two = std::min(2 * y + 1, r.height - 1);
            const float *a = line(one - 1), *b = line(one), *c = line(one + 1), *d = line(two - 1), *e = line(two),
                        *f = line(two + 1);
            float *sum = column.data(), *around = triple.data(), *to = cells + (size_t(k) * rows + y) * columns;
            #pragma omp simd
            for (int i = 0; i < r.width; ++i) sum[i] = a[i] + b[i] + c[i] + d[i] + e[i] + f[i];
            column.mirror();
            #pragma omp simd
            for (int i = 0; i < r.width; ++i) around[i] = (sum[i - 1] + sum[i] + sum[i + 1]) * (1 / 9.0f);
            triple.mirror();
            #pragma omp simd
            for (int i = 0; i < columns; ++i) to[i] = around[2 * i] + around[2 * i + 1];
        }
    }
}

// out = taps[0] centre + sum of taps[k] (one[k] + two[k]), four taps at a time.
void weigh(int width, const float* centre, float* const* one, float* const* two, const float* taps, int radius,
           float* out) {
#pragma omp simd
    for (int i = 0; i < width; ++i) out[i] = taps[0] * centre[i];
    int k = 1;
    for (; k + 3 <= radius; k += 4) {
        const float *a = one[k], *b = one[k + 1], *c = one[k + 2], *d = one[k + 3], *e = two[k], *f = two[k + 1],
                    *g = two[k + 2], *h = two[k + 3];
        const float t0 = taps[k], t1 = taps[k + 1], t2 = taps[k + 2], t3 = taps[k + 3];
        #pragma omp simd
        for (int i = 0; i < width; ++i)
            out[i] += (t0 * (a[i] + e[i]) + t1 * (b[i] + f[i])) + (t2 * (c[i] + g[i]) + t3 * (d[i] + h[i]));
    }
    for (; k <= radius; ++k) {
        const float *a = one[k], *b = two[k], tap = taps[k];
        #pragma omp simd
        for (int i = 0; i < width; ++i) out[i] += tap * (a[i] + b[i]);
    }
}

// A plane filtered along columns and rows by a symmetric kernel, of which taps 0 ... radius are given; mirrored
// borders.
void filter(const float* image, int height, int width, const float* taps, int radius, float* out) {
    Line column(width, radius);
    std::vector<float*> one(radius + 1), two(radius + 1);
    const auto row = [&](int y) { return const_cast<float*>(image) + size_t(mirrored(y, height)) * width; };
    for (int y = 0; y < height; ++y) {
        for (int k = 1; k <= radius; ++k) one[k] = row(y - k), two[k] = row(y + k);
        weigh(width, row(y), one.data(), two.data(), taps, radius, column.data());
        column.mirror();
        for (int k = 1; k <= radius; ++k) one[k] = column.data() - k, two[k] = column.data() + k;
        weigh(width, column.data(), one.data(), two.data(), taps, radius, out + size_t(y) * width);
    }
}

// Make `best` at most the variance of a window: 1 / (its information + 1e-6) + bend area. Sums run down the columns.
void window_variance(const float* w, const float* mu, int height, int width, int size, float* best) {
    const int rows = std::min(size, 2 * height - 1) / 2, columns = std::min(size, 2 * width - 1) / 2;
    const double mean = double(size) * size / ((2.0 * rows + 1) * (2.0 * columns + 1));
    const float bend = float(size) * size / 256;
    // Sums of the columns of a row's window, mirrored at both ends, and their running sum.
    std::vector<double> sum(size_t(width) + 2 * columns), along(sum.size() + 1);
    double* column = sum.data() + columns;
    const auto add = [&](int y, double sign) {
        const float* row = w + size_t(mirrored(y, height)) * width;
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
        const float* stiff = mu + size_t(y) * width;
        float* to = best + size_t(y) * width;
        #pragma omp simd
        for (int i = 0; i < width; ++i)
            to[i] = least(to[i], 1 / (most(float(mean * (high[i] - low[i])), 0) + 1e-6f) + bend / stiff[i]);
        add(y - rows, -1);
    }
}

// The fractional level of least cost in some rows, by equal slopes on both sides of the least.
void sublevel(const float* cost, int levels, int height, int width, float* level, int start, int stop) {
    const size_t plane = size_t(height) * width;
    std::vector<int> at(width);
    std::vector<float> lowest(width);
    for (int y = start; y < stop; ++y) {
        const float* from = cost + size_t(y) * width;
        float* to = level + size_t(y) * width;
        std::fill(at.begin(), at.end(), 0), std::copy_n(from, width, lowest.begin());
        for (int k = 1; k < levels; ++k) {
            const float* here = from + k * plane;
            #pragma omp simd
            for (int i = 0; i < width; ++i) {
                at[i] = here[i] < lowest[i] ? k : at[i];
                lowest[i] = least(here[i], lowest[i]);
            }
        }
        for (int i = 0; i < width; ++i) {
            const int k = std::clamp(at[i], 1, levels - 2);
            const float here = from[k * plane + i], below = from[(k - 1) * plane + i] - here,
                        above = from[(k + 1) * plane + i] - here;
            const float steeper = most(most(below, above), 1e-6f);
            to[i] = k + most(least((below - above) / (2 * steeper), 0.5f), -0.5f);
        }
    }
}

}  // namespace

const Solver solver = {&solve,      &link, &pull, &scan_across, &scan_down, &sublevel,       &best_fit,
                       &cell_costs, &read, &cost, &evidence,    &filter,    &window_variance};

}  // namespace LEVEL
