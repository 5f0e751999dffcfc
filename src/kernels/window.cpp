// The local estimate in real time: s and its standard error at every pixel of two frames in float32.
//
//     e(s) = second - G_s * first  for s >= 0,    e(s) = G_-s * second - first  for s < 0,
//     s = argmin over s of the sum of e(s)^2 over a window,
//
// at nodes evenly spaced in t = asinh(s / c). Between nodes e is quadratic in t. The results must agree with
// relblur/blur/window/method.py. Blurs are separable. Along lines several nodes are computed together, because they
// read the same pixels; along columns two rows are. Blurs of several px^2 use a half-size copy of the image.
//
// A tile is a strip of rows, processed CHUNK at a time, of as many columns as stay in the cache with all nodes. Every
// pixel uses all nodes on its side of zero, so the result does not depend on the tiles.
#include "kernels.h"
#include "lanes.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>

using namespace relblur;

namespace LEVEL {
namespace {

constexpr int CHUNK = 32;   // rows that are completed together
constexpr int STRIP = 128;  // largest number of rows of a tile: two threads share VGA evenly
constexpr int SPAN = 256;   // largest number of columns of a tile's residuals, for windows up to 33 px
constexpr int ROWS = 16;    // rows of a frame that a thread processes at a time
constexpr int LINE = 16;    // float32 numbers in a cache line
// Pixels of a line, and pairs of rows, that are filtered together: eight sums hide the latency of the adders, but AVX2
// has registers for four with their operands.
constexpr int PAIR = 2 * LANES, FOUR = 4 * LANES, GROUP = LANES == 16 ? 2 : 1;
constexpr float INF = std::numeric_limits<float>::infinity(), NAN_ = std::numeric_limits<float>::quiet_NaN();
constexpr float ROUNDING = 2e-7f;  // rounding error of a variance in float32, relative to the mean square

int up(int n, int step) { return (n + step - 1) / step * step; }
int odd_lines(int n) { return (up(n, LINE) / LINE | 1) * LINE; }  // stride: spreads columns over cache sets

int mirror(int i, int n) {
    i = ((i % (2 * n)) + 2 * n) % (2 * n);
    return std::min(i, 2 * n - 1 - i);
}

struct Image {  // planes of padded rows
    int rows, stride;
    Floats values;
    Image(int channels, int rows, int stride)
        : rows(rows), stride(stride), values(size_t(channels) * rows * stride + 4 * PAIR) {}
    float* at(int channel, int y, int x) { return &values[(size_t(channel) * rows + y) * stride + x]; }
};

struct Layout {
    int half, lead;          // half a window; the same rounded up to even, the margin of residuals before their tile
    int tile, span;          // columns of a tile and of its residuals
    int reach, half_reach;   // largest number of taps of a FULL and of a HALF node
    int above, pad;          // rows and columns of the padded images before the frame
    int rows, stride;        // size of the padded images
    int filled;              // columns of a padded row that are read
    std::vector<int> shown;  // column of the frame for each column of a padded row
    explicit Layout(const Options& o) {
        half = o.window / 2, lead = up(half, 2);
        const int beside = lead + half, most = std::max(SPAN, up(4 * o.window, LINE)) - beside;
        const int across = (o.width + most - 1) / most;
        tile = up((o.width + across - 1) / across, 2), span = std::max(up(tile + beside, LANES), PAIR);
        reach = half_reach = 1;
        for (const Node& n : o.nodes) {
            int& longest = n.kind == HALF ? half_reach : reach;
            longest = std::max(longest, int(n.taps.size()));
        }
        // Support of a pixel. The half-size copy has no values within the reach of its filter from the border.
        above = up(lead + half + std::max(reach, 2 * half_reach + 2 + int(o.prefilter.size())) + 2, 4);
        pad = up(above, 2 * LINE);
        rows = up(o.height, CHUNK) + 2 * above, filled = pad + o.width + above;
        stride = odd_lines(pad + up(o.width, tile) + span - tile + pad + 4 * PAIR);
        for (int j = 0; j < stride; ++j) shown.push_back(mirror(j - pad, o.width));
    }
};

// The memory of one thread for a tile, and the steps to process it.
class Tile {
public:
    Tile(const Options& o, const Layout& lay, Image (&images)[2], Image (&halves)[2])
        : o(o), lay(lay), images(images), halves(halves), count(int(o.nodes.size())), stride(odd_lines(lay.span + 1)),
          e_rows(up(CHUNK + lay.lead + lay.half, 4)), e_size((e_rows - CHUNK + STRIP) * stride + LINE),
          lines_size((e_rows - CHUNK + STRIP + 2 * std::max(lay.reach, lay.half_reach)) * stride + LINE),
          sums_size(CHUNK * stride + LINE), lines(size_t(count) * o.channels * lines_size + 4 * PAIR),
          e(size_t(count) * o.channels * e_size + 4 * PAIR), a(count * sums_size + PAIR), b(a.size()), c(a.size()),
          columns_sums(16 * (stride + 2 * PAIR)), planes(6 * sums_size + 5 * stride), made(count), 
          first(count), last(count), b_first(count), b_last(count), lowest(stride), highest(stride), taps(2 * count),
          side_by_side(8 * std::max(lay.reach, lay.half_reach)), flags_(stride), sharper_(stride) {
        side = &planes[0], best = side + sums_size, others = best + sums_size;
        texture[0] = others + sums_size, texture[1] = texture[0] + sums_size, power = texture[1] + sums_size;
        for (int i = 0; i < 5; ++i) table[i] = power + sums_size + i * stride;
        for (int k = 0; k < count; ++k)
            for (int odd : {0, 1}) {
                taps[2 * k + odd] = odd ? o.nodes[k].odd : o.nodes[k].taps;
                taps[2 * k + odd].resize(std::max(lay.reach, lay.half_reach));
            }
    }

    void run(int x0, int y0, int y1, const Frame& frame) {
        columns = std::min(lay.tile, o.width - x0), width = std::max(up(columns + lay.lead + lay.half, LANES), PAIR);
        std::fill(made.begin(), made.end(), 0), top = lay.above + y0 - lay.lead, left = lay.pad + x0 - lay.lead;
        samples = float(o.window * o.window * o.channels), noise2 = frame.noise * frame.noise;
        for (int y = y0; y < y1; y += CHUNK) {
            here = y - y0, rows = std::min(CHUNK, y1 - y);
            make_nodes();
            choose();
            products();
            for (int i : {0, 1}) measure_texture(images[i], frame.texture[i], texture[i]);
            for (int row = 0; row < rows; ++row) solve(row, frame, size_t(y + row) * o.width + x0);
        }
    }

    size_t nbytes() const {
        return sizeof(float) * (lines.size() + e.size() + 3 * a.size() + columns_sums.size() + planes.size());
    }

private:
    const Options& o;
    const Layout& lay;
    Image (&images)[2];
    Image (&halves)[2];
    const int count, stride, e_rows, e_size, lines_size, sums_size;
    Floats lines, e;  // images blurred along their lines, and residuals, of every node
    Floats a, b, c;   // window sums of e_k^2, e_k e_k+1, e_k-1 e_k+1
    Floats columns_sums, planes;
    std::vector<int> made;  // for every node: number of rows of the strip with residuals
    std::vector<int> first, last, b_first, b_last;  // columns in which a node is best, and in which b is computed
    std::vector<int> lowest, highest;               // lowest and highest best node in the columns of a vector
    std::vector<std::vector<float>> taps;
    Floats side_by_side;  // taps of the nodes that are computed together, interleaved
    float *side, *best, *others, *texture[2], *power, *table[5];
    std::vector<int> flags_, sharper_;
    int top, left, columns, width;  // first row and column of residuals in the images; columns of tile, of residuals
    int here, rows;                 // chunk: first row in the strip, and number of rows
    int low_end, high_end;          // chunk: the nodes low_end ... high_end - 1 may be best
    bool both_sides;                // chunk: whether it has pixels on both sides of zero
    float samples, noise2;

    float* lines_of(int k, int channel) { return &lines[size_t(k * o.channels + channel) * lines_size]; }
    float* residual_of(int k, int channel) { return &e[size_t(k * o.channels + channel) * e_size]; }

    // ---- nodes --------------------------------------------------------------------------------------------------

    // Compute the residuals of all nodes that a pixel may need, and their sums of squares.
    void make_nodes() {
        low_end = 0, high_end = count, both_sides = false;
        if (!(o.limit_low && o.limit_high)) return make(0, count);
        const int higher = o.zero + o.probe, lower = o.zero - o.probe;
        make(lower, lower + 1);
        make(higher, higher + 1);
        const V floor = V{} + samples * noise2, up = V{} + o.nodes[higher].weight, down = V{} + o.nodes[lower].weight;
        V any_up = {}, any_down = {};
        for (int row = 0; row < rows; ++row)
            for (int j = row * stride; j < row * stride + columns; j += LANES) {
                const auto positive =
                    (load(&a[higher * sums_size + j]) + floor) * up <= (load(&a[lower * sums_size + j]) + floor) * down;
                store(side + j, positive ? V{} + 1 : V{} - 1);
                any_up += positive ? V{} + 1 : V{}, any_down += positive ? V{} : V{} + 1;
            }
        float is_up = 0, is_down = 0;
        for (int l = 0; l < LANES; ++l) is_up += any_up[l], is_down += any_down[l];
        both_sides = is_up > 0 && is_down > 0;
        if (!is_down) low_end = o.zero - 1;
        if (!is_up) high_end = o.zero + 2;
        make(low_end, high_end);
    }

    // Compute the residuals of nodes begin ... end - 1 and the window sums of their squares.
    void make(int begin, int end) {
        for (int way : {1, -1})
            for (const bool begun : {false, true}) {
                const auto is_due = [&](int k, Kind kind) {
                    return made[k] < here + e_rows && o.nodes[k].kind == kind && o.nodes[k].side == way &&
                           (made[k] > here) == begun;
                };
                for (const Kind kind : {FULL, HALF}) {
                    int batch[4], n = 0;
                    const auto flush = [&] {
                        if (n == 1) kind == FULL ? blur<FULL, 1>(batch) : blur<HALF, 1>(batch);
                        if (n == 2) kind == FULL ? blur<FULL, 2>(batch) : blur<HALF, 2>(batch);
                        if (n == 3) kind == FULL ? blur<FULL, 3>(batch) : blur<HALF, 3>(batch);
                        if (n == 4) kind == FULL ? blur<FULL, 4>(batch) : blur<HALF, 4>(batch);
                        n = 0;
                    };
                    for (int k = begin; k < end; ++k)
                        if (is_due(k, kind)) {
                            batch[n++] = k;
                            if (n == 4) flush();
                        }
                    flush();
                }
            }
        for (int k = begin; k < end; ++k)
            if (made[k] < here + e_rows) {
                if (o.nodes[k].kind == SAME) subtract(k);
                made[k] = here + e_rows;
                const float* one = residual_of(k, 0) + here * stride;
                sum_windows<1>(
                    [=, this](int ch, int at, V(&v)[1]) {
                        const V x = load(one + ch * e_size + at);
                        v[0] = x * x;
                    },
                    stride, o.channels, {&a[k * sums_size]}, 0, columns);
            }
    }

    // Blur along the lines for N nodes that read the same pixels.
    template <Kind kind, int N>
    void blur(const int* nodes) {
        Image& image = (kind == HALF ? halves : images)[o.nodes[nodes[0]].side < 0];
        constexpr int scale = kind == HALF ? 2 : 1;
        const int reach = kind == HALF ? lay.half_reach : lay.reach, end = (here + e_rows) / scale + 2 * reach;
        const int begin = made[nodes[0]] > here ? made[nodes[0]] / scale + 2 * reach : here / scale;
        int n = 0;
        for (int k = 0; k < N; ++k) n = std::max(n, int(o.nodes[nodes[k]].taps.size()));
        for (int i = 0; i < n; ++i)
            for (int k = 0; k < 2 * N; ++k) side_by_side[i * 2 * N + k] = taps[2 * nodes[k / 2] + k % 2][i];
        for (int channel = 0; channel < o.channels; ++channel) {
            float* out[N];
            for (int k = 0; k < N; ++k) out[k] = lines_of(nodes[k], channel);
            for (int row = begin; row < end; ++row)
                for (int block = 0; block < width; block += PAIR) {
                    const int j = std::min(block, width - PAIR);
                    const float* line = image.at(channel, top / scale - reach + row, (left + j) / scale);
                    V sum[N][2] = {};
                    const float *before = line, *after = line, *tap = side_by_side.data();
                    V right = load(line);
                    for (int i = 0; i < n; ++i, --before, tap += 2 * N)
                        if (kind == FULL) {
                            const V p = load(before) + load(after), q = load(before + LANES) + load(after + LANES);
                            for (int k = 0; k < N; ++k) sum[k][0] += tap[2 * k] * p, sum[k][1] += tap[2 * k] * q;
                            ++after;
                        } else {  // each pixel of the half-size copy gives two pixels: its own and the next one
                            const V left = load(before), next = load(++after), p = left + right, q = left + next;
                            for (int k = 0; k < N; ++k) sum[k][0] += tap[2 * k] * p, sum[k][1] += tap[2 * k + 1] * q;
                            right = next;
                        }
                    for (int k = 0; k < N; ++k) {
                        const V x = sum[k][0], y = sum[k][1];
                        store(out[k] + row * stride + j, kind == FULL ? x : mixed<0>(x, y));
                        store(out[k] + row * stride + j + LANES, kind == FULL ? y : mixed<LANES / 2>(x, y));
                    }
                }
            for (int k = 0; k < N; ++k) blur_columns<kind>(nodes[k], channel, out[k] + reach * stride);
        }
    }

    // Blur along the columns, GROUP pairs of rows at a time; residual = side (blurrier image - blurred image).
    template <Kind kind>
    void blur_columns(int k, int channel, const float* lines) {
        const Node& node = o.nodes[k];
        Image& blurry = images[node.side > 0];
        const float sign = float(node.side), *even = taps[2 * k].data(), *odd = taps[2 * k + 1].data();
        const size_t n = node.taps.size(), step = stride;
        constexpr int P = kind == FULL ? 2 : 1;  // rows of `lines` for two rows of residuals
        for (int row = std::max(made[k], here); row < here + e_rows; row += 2 * GROUP)
            for (int block = 0; block < width; block += PAIR) {
                const int j = std::min(block, width - PAIR);
                const float *up = lines + row * P / 2 * stride + j, *down = kind == HALF ? up : up + stride;
                V sum[GROUP][2][2] = {}, above[GROUP][2] = {}, below[GROUP][2];
                for (int g = 0; g < GROUP; ++g)
                    for (int v : {0, 1}) {
                        below[g][v] = load(down + g * P * step + v * LANES);
                        if (kind == FULL) {
                            above[g][v] = load(up + g * P * step + v * LANES);
                            sum[g][0][v] = 2 * even[0] * above[g][v], sum[g][1][v] = 2 * even[0] * below[g][v];
                        }
                    }
                if (kind == HALF) up += stride;
                for (size_t i = kind == FULL ? 1 : 0; i < n; ++i) {
                    up -= stride, down += stride;
                    for (int g = 0; g < GROUP; ++g)
                        for (int v : {0, 1}) {
                            const V higher = load(up + g * P * step + v * LANES),
                                    lower = load(down + g * P * step + v * LANES);
                            sum[g][0][v] += even[i] * (higher + below[g][v]);
                            sum[g][1][v] += kind == FULL ? even[i] * (above[g][v] + lower) : odd[i] * (higher + lower);
                            above[g][v] = higher, below[g][v] = lower;
                        }
                }
                float* out = residual_of(k, channel) + row * stride + j;
                const float* other = blurry.at(channel, top + row, left + j);
                for (int y = 0; y < 2 * GROUP; ++y)
                    for (int v : {0, 1})
                        store(out + y * stride + v * LANES,
                              sign * (load(other + y * blurry.stride + v * LANES) - sum[y / 2][y % 2][v]));
            }
    }

    void subtract(int k) {
        for (int channel = 0; channel < o.channels; ++channel)
            for (int row = std::max(made[k], here); row < here + e_rows; ++row) {
                const float *one = images[0].at(channel, top + row, left),
                            *two = images[1].at(channel, top + row, left);
                float* out = residual_of(k, channel) + row * stride;
                for (int j = 0; j < width; j += LANES) store(out + j, load(two + j) - load(one + j));
            }
    }

    // ---- window sums --------------------------------------------------------------------------------------------

    // Sum M values over the window of every pixel in columns begin ... end - 1; value(channel, offset, v) returns them.
    // Running sums are not used: they would carry the rounding error at a strong edge to the flat pixels after it. R
    // rows share the common part of their windows.
    template <int M, class Value>
    void sum_windows(Value value, int row_stride, int channels, float* const (&out)[M], int begin, int end) {
        if (o.window == 9)
            sum_rows<M, 8, 9>(value, row_stride, channels, out, begin, end);
        else
            sum_rows<M, 4, 0>(value, row_stride, channels, out, begin, end);
    }

    template <int M, int R, int W, class Value>
    void sum_rows(Value value, int row_stride, int channels, float* const (&out)[M], int begin, int end) {
        begin = begin / LANES * LANES, end = up(end, LANES);
        const int window = W ? W : o.window, shift = lay.lead - lay.half, line = stride + 2 * PAIR;
        for (int row = 0; row < CHUNK; row += R) {
            for (int j = begin; j < end + window - 1; j += LANES) {
                V sums[M][R] = {};
                for (int ch = 0; ch < channels; ++ch) {
                    const int at = (shift + row) * row_stride + shift + j;
                    V x[M], part[M][R] = {}, head[M] = {};
                    for (int i = window - 1; i >= R - 1; --i) {
                        value(ch, at + i * row_stride, x);
                        for (int m = 0; m < M; ++m) part[m][R - 1] += x[m];
                    }
                    for (int i = R - 2; i >= 0; --i) {
                        value(ch, at + i * row_stride, x);
                        for (int m = 0; m < M; ++m) part[m][i] = part[m][i + 1] + x[m];
                    }
                    for (int m = 0; m < M; ++m) sums[m][0] += part[m][0];
                    for (int i = 1; i < R; ++i) {
                        value(ch, at + (window + i - 1) * row_stride, x);
                        for (int m = 0; m < M; ++m) head[m] += x[m], sums[m][i] += part[m][i] + head[m];
                    }
                }
                for (int m = 0; m < M; ++m)
                    for (int i = 0; i < R; ++i) store(&columns_sums[(R * m + i) * line + j], sums[m][i]);
            }
            for (int m = 0; m < M; ++m)
                for (int i = 0; i < R; ++i)
                    sum_line(&columns_sums[(R * m + i) * line], window, out[m] + (row + i) * stride, begin, end);
        }
    }

    // Sum `window` neighbours in a line; for the usual window, sums of three are shifted in registers.
    static void sum_line(const float* line, int window, float* out, int begin, int end) {
        if constexpr (LANES >= 8)
            if (window == 9) {
                V x = load(line + begin), y = load(line + begin + LANES), three = x + later<1>(x, y) + later<2>(x, y);
                for (int j = begin; j < end; j += LANES) {
                    const V z = load(line + j + 2 * LANES), next = y + later<1>(y, z) + later<2>(y, z);
                    store(out + j, three + later<3>(three, next) + later<6>(three, next));
                    y = z, three = next;
                }
                return;
            }
        for (int j = begin; j < end; j += LANES) {
            V sum = load(line + j);
            for (int d = 1; d < window; ++d) sum += load(line + j + d);
            store(out + j, sum);
        }
    }

    // Variance of an image in every window, mean of the channels. A value of the image is subtracted first to avoid
    // cancellation, which would lose the texture of flat areas; the remaining rounding error is added.
    void measure_texture(Image& image, bool needed, float* out) {
        std::fill(out, out + sums_size, needed ? 0.0f : INF);
        const float share = 1.0f / float(o.window * o.window), part = 1.0f / float(o.channels);
        for (int channel = 0; needed && channel < o.channels; ++channel) {
            const float* from = image.at(channel, top + here, left);
            const float offset = from[(lay.lead + CHUNK / 2) * image.stride + lay.lead + columns / 2];
            float* mean = side;  // free memory, because choose() has read the sides
            sum_windows<2>([=](int, int at, V(&v)[2]) { v[0] = load(from + at) - offset, v[1] = v[0] * v[0]; },
                           image.stride, 1, {mean, power}, 0, columns);
            for (int row = 0; row < rows; ++row)
                for (int j = row * stride; j < row * stride + columns; j += LANES) {
                    const V m = load(mean + j) * share, p = load(power + j) * share, variance = p - m * m;
                    store(out + j, load(out + j) + ((variance > 0 ? variance : V{}) + ROUNDING * p) * part);
                }
        }
    }

    // ---- the best node ------------------------------------------------------------------------------------------

    // A candidate node. `away` is its signed distance from zero, or 0 next to zero, where it may win on both sides.
    struct Candidate {
        const float* sums;
        float name, weight, floor, away;
    };
    std::vector<Candidate> candidates;

    // Select the best node of every pixel by cost per unit of noise variance, excluding the end nodes. Also count half
    // the number of other nodes whose sum of squares is within one noise variance of the least.
    void choose() {
        candidates.clear();
        for (int k = low_end; k < high_end; ++k)
            candidates.push_back({&a[k * sums_size], float(k), o.nodes[k].weight, samples * noise2 * o.nodes[k].weight,
                                  std::abs(k - o.zero) <= 1 ? 0.0f : float(k - o.zero)});
        std::fill(first.begin(), first.end(), stride), std::fill(last.begin(), last.end(), 0);
        for (int j = 0; j < columns; j += LANES) {
            V low = V{} + float(count), high = {};
            for (int row = 0; row < rows; row += 4) {
                int at[4];
                for (int r = 0; r < 4; ++r) at[r] = std::min(row + r, rows - 1) * stride + j;
                both_sides ? choose<true>(at, low, high) : choose<false>(at, low, high);
            }
            lowest[j] = count, highest[j] = 0;
            for (int l = 0; l < LANES; ++l)
                lowest[j] = std::min(lowest[j], int(low[l])), highest[j] = std::max(highest[j], int(high[l]));
            for (int k = lowest[j]; k <= highest[j]; ++k) first[k] = std::min(first[k], j), last[k] = j + LANES;
        }
    }

    template <bool both>
    void choose(const int (&at)[4], V& low, V& high) {
        const V none = V{} + INF;
        V way[4], cost[4], least[4], name[4], as_good[4];
        for (int r = 0; r < 4; ++r) {
            way[r] = both ? load(side + at[r]) : V{}, cost[r] = least[r] = none;
            name[r] = V{} + 1, as_good[r] = V{} - 0.5f;
        }
        for (const Candidate& node : candidates)
            for (int r = 0; r < 4; ++r) {
                V squares = load(node.sums + at[r]);
                if (both) squares = way[r] * node.away >= 0 ? squares : none;
                const V here = squares * node.weight + node.floor;
                name[r] = here < cost[r] ? V{} + node.name : name[r];
                cost[r] = smaller(here, cost[r]), least[r] = smaller(squares, least[r]);
            }
        for (int r = 0; r < 4; ++r) least[r] += larger(least[r] * (1 / (samples - 1)), V{} + noise2);
        for (const Candidate& node : candidates)
            for (int r = 0; r < 4; ++r) {
                auto good = load(node.sums + at[r]) <= least[r];
                if (both) good &= way[r] * node.away >= 0;
                as_good[r] += good ? V{} + 0.5f : V{};
            }
        for (int r = 0; r < 4; ++r) {
            name[r] = smaller(larger(name[r], V{} + 1), V{} + float(count - 2));
            store(best + at[r], name[r]), store(others + at[r], as_good[r]);
            low = smaller(name[r], low), high = larger(name[r], high);
        }
    }

    // Compute the mixed sums around every best node, in the columns in which it is best.
    void products() {
        std::fill(b_first.begin(), b_first.end(), stride), std::fill(b_last.begin(), b_last.end(), 0);
        for (int k = 1; k < count - 1; ++k) {
            const int begin = first[k], end = last[k];
            if (begin >= end) continue;
            make(k - 1, k + 2);
            const float* below = residual_of(k - 1, 0) + here * stride;
            const float *middle = below + o.channels * e_size, *above = middle + o.channels * e_size;
            if (b_first[k - 1] > begin || b_last[k - 1] < end)
                sum_windows<1>(
                    [=, this](int ch, int at, V(&v)[1]) {
                        at += ch * e_size;
                        v[0] = load(below + at) * load(middle + at);
                    },
                    stride, o.channels, {&b[(k - 1) * sums_size]}, begin, end);
            sum_windows<2>(
                [=, this](int ch, int at, V(&v)[2]) {
                    at += ch * e_size;
                    const V x = load(above + at);
                    v[0] = x * load(middle + at), v[1] = x * load(below + at);
                },
                stride, o.channels, {&b[k * sums_size], &c[k * sums_size]}, begin, end);
            b_first[k] = begin, b_last[k] = end;
        }
    }

    // ---- the estimate -------------------------------------------------------------------------------------------

    // With f = e_k+1 - e_k and g = e_k-1 - e_k the residual is e + x d + x^2 q, where d = (f - g) / 2, q = (f + g) / 2.
    void minimise(int at, int j) {
        const V name = load(best + at), zero = {}, one = zero + 1;
        V ee = {}, a_up = {}, a_down = {}, b_up = {}, b_down = {}, c_here = {}, s_k = {}, width_k = {};
        for (int k = lowest[j]; k <= highest[j]; ++k) {  // a few nodes are best in the same columns
            const auto mine = name == zero + float(k);
            const float *a_k = &a[k * sums_size + at], *b_k = &b[k * sums_size + at];
            ee = mine ? load(a_k) : ee, a_up = mine ? load(a_k + sums_size) : a_up,
            a_down = mine ? load(a_k - sums_size) : a_down;
            b_up = mine ? load(b_k) : b_up, b_down = mine ? load(b_k - sums_size) : b_down;
            c_here = mine ? load(&c[k * sums_size + at]) : c_here;
            s_k = mine ? zero + o.nodes[k].s : s_k, width_k = mine ? zero + o.nodes[k].width : width_k;
        }
        const V ef = b_up - ee, eg = b_down - ee, ff = a_up - b_up - ef, gg = a_down - b_down - eg,
                fg = c_here - b_up - eg;
        const V ed = 0.5f * (ef - eg), eq = 0.5f * (ef + eg), dq = 0.25f * (ff - gg);
        const V dd = 0.25f * larger(ff + gg - 2 * fg, zero), qq = 0.25f * larger(ff + gg + 2 * fg, zero),
                bend0 = dd + 2 * eq;
        V x = dd > 0 ? -ed / dd : zero;
        x = smaller(larger(x, -one), one);
        for (int step = 0; step < 3; ++step) {
            const V slope = ed + x * (bend0 + x * (3 * dq + x * (2 * qq)));
            const V bend = bend0 + 6 * x * (dq + x * qq), gauss_newton = dd + 4 * x * (dq + x * qq);
            // The lower limit of the curvature makes every step a descent.
            const V move = slope / larger(bend, 0.3f * gauss_newton);
            x = smaller(larger(x - (gauss_newton > 0 ? move : zero), -one), one);
        }
        store(table[0] + j, x), store(table[1] + j, larger(dd + 4 * x * (dq + x * qq), zero));
        store(table[2] + j, ee + x * (2 * ed + x * (bend0 + x * (2 * dq + x * qq))));
        store(table[3] + j, s_k), store(table[4] + j, width_k);
    }

    void solve(int row, const Frame& frame, size_t to) {
        for (int j = 0; j < columns; j += LANES) minimise(row * stride + j, j);
        const float spacing = o.spacing, flat = frame.flat / spacing, noise2 = this->noise2;
        const float low = o.limit_low ? -INF : 0, high = o.limit_high ? INF : 0, rest = 1 / (samples - 1),
                    share = 1 / samples;
        const float round1 = frame.rounded[0], round2 = frame.rounded[1];
        const float at_low = o.limit_low ? 1 : -1, at_high = o.limit_high ? float(count - 2) : -1;
        const bool bad = frame.distance[0] || frame.distance[1];
        const float *best = this->best + row * stride, *others = this->others + row * stride;
        const float *texture1 = texture[0] + row * stride, *texture2 = texture[1] + row * stride;
        const float *x_ = table[0], *information_ = table[1], *cost_ = table[2], *s_k = table[3], *width_k = table[4];
        float *s_ = frame.s + to, *stderr_ = frame.stderr_ + to;
        int *flags = flags_.data(), *sharper = sharper_.data();
        const int n = columns;
#pragma omp simd
        for (int j = 0; j < n; ++j) {
            const float x = x_[j], information = information_[j], cost = cost_[j];
            const float variance = std::max(cost * rest, noise2);
            // c sinh and c cosh of t_k + y; |y| is at most one spacing, so four terms of the series suffice.
            const float y = x * spacing, y2 = y * y;
            const float sinh = y * (1 + y2 * (1 / 6.0f) * (1 + y2 * (1 / 20.0f) * (1 + y2 * (1 / 42.0f))));
            const float cosh = 1 + y2 * 0.5f * (1 + y2 * (1 / 12.0f) * (1 + y2 * (1 / 30.0f) * (1 + y2 * (1 / 56.0f))));
            // With a given direction rounding must not change the sign.
            const float s = std::min(std::max(s_k[j] * cosh + width_k[j] * sinh, low), high);
            const float scale = (width_k[j] * cosh + s_k[j] * sinh) * spacing;
            // Error in node spacings: by curvature, and at least half the span of nodes that fit as well as the best.
            const float error = std::max(information > 0 ? std::sqrt(variance / information) : INF, others[j]);
            const float error_s = error * scale;
            const bool known = (error <= flat) &
                               (std::max(cost, 0.0f) * share <= 0.5f * (s >= 0 ? texture2[j] : texture1[j])) &
                               ((round1 <= texture1[j]) | (round2 <= texture2[j]));
            const float end = best[j] == at_high ? 1.0f : best[j] == at_low ? -1.0f : 0.0f;
            flags[j] = (known ? 0 : FLAT) | (x * end == 1.0f ? AT_LIMIT : 0);
            sharper[j] = (error_s < s ? 1 : 0) - (s < -error_s ? 1 : 0);
            s_[j] = known | bad ? s : NAN_;  // bad pixels spread by their blur
            stderr_[j] = known ? error_s : NAN_;
        }
        for (int which : {0, 1})
            if (frame.distance[which]) spread_bad(frame.distance[which] + to, which ? CLIPPED : INVALID, s_);
        for (int j = 0; bad && j < n; ++j)
            if (flags[j] & (INVALID | CLIPPED | FLAT)) s_[j] = stderr_[j] = NAN_;
        uint8_t* out_flags = frame.flags + to;
        int8_t* out_sharper = frame.sharper + to;
#pragma omp simd
        for (int j = 0; j < n; ++j) out_flags[j] = uint8_t(flags[j]), out_sharper[j] = int8_t(sharper[j]);
    }

    // Flag pixels with a bad pixel in their window or blur, as in _reached() of relblur/blur/result.py.
    void spread_bad(const float* distance, int flag, const float* s) {
        const float half = float(lay.half), least = half * std::sqrt(2.0f);
        for (int j = 0; j < columns; ++j)
            flags_[j] |= distance[j] <= std::max(least, half + 2 * std::sqrt(std::abs(s[j]))) ? flag : 0;
    }
};

// ---- frames -----------------------------------------------------------------------------------------------------

constexpr double GRIDS[3] = {1, 255, 65535};  // factors that make rounded values whole
constexpr double OFF_GRID = 1e-4;             // largest distance of values from their grid, in steps

// Return whether a value is not whole after scaling. Adding and subtracting 1.5 * 2^23 (2^52) rounds to a whole number.
template <class T>
bool is_off_grid(const T* row, int n, T factor) {
    const T rounder = sizeof(T) == 4 ? T(1.5 * (1 << 23)) : T(1.5 * (1ll << 52));
    int off = 0;
#pragma omp simd reduction(| : off)
    for (int j = 0; j < n; ++j) {
        const T x = row[j] * factor, rest = x - ((x + rounder) - rounder);
        off |= !(std::abs(rest) < T(OFF_GRID));
    }
    return off;
}

void summarise(const float* row, int n, Summary& summary) {
    float low = INF, high = -INF, broken = 0;
#pragma omp simd reduction(min : low) reduction(max : high) reduction(+ : broken)
    for (int j = 0; j < n; ++j) {
        const float x = row[j];
        low = x < low ? x : low, high = x > high ? x : high, broken += x - x;
    }
    summary.low = std::min(summary.low, low), summary.high = std::max(summary.high, high);
    summary.not_finite |= broken != 0;
    for (int g : {0, 1}) summary.on_grid[g] = summary.on_grid[g] && !is_off_grid(row, n, float(GRIDS[g]));
}

class Engine : public Window {
public:
    explicit Engine(const Options& options)
        : o(options), lay(o), images{image(lay.rows, lay.stride), image(lay.rows, lay.stride)},
          halves{half_image(), half_image()} {
        for (size_t i = 0; i < o.prefilter.size(); ++i) (i % 2 ? odd : even).push_back(o.prefilter[i]);
    }

    void begin() override {
        mutex.emplace();  // a new mutex, because a fork may have occurred while a thread held the old one
        loaded = halved = done = 0, summaries[0] = summaries[1] = blank_summary();
    }

    void load(const Values (&frames)[2]) override {
        Summary parts[2] = {blank_summary(), blank_summary()};
        for (int n; (n = loaded++) < 2 * ((lay.rows + ROWS - 1) / ROWS);)
            std::visit([&](auto* values) { load_rows(values, n % 2, n / 2 * ROWS, parts[n % 2]); }, frames[n % 2]);
        const std::lock_guard only(*mutex);
        for (int i : {0, 1}) {
            summaries[i].low = std::min(summaries[i].low, parts[i].low),
            summaries[i].high = std::max(summaries[i].high, parts[i].high);
            summaries[i].at_top |= parts[i].at_top, summaries[i].not_finite |= parts[i].not_finite;
            for (int g = 0; g < 3; ++g) summaries[i].on_grid[g] &= parts[i].on_grid[g];
        }
    }

    const Summary& summary(int which) const override { return summaries[which]; }

    void halve() override {
        if (o.prefilter.empty()) return;
        const bool needed[2] = {o.limit_high, o.limit_low};  // the first image is blurred where s > 0
        for (int n; (n = halved++) < 2 * ((halves[0].rows + ROWS - 1) / ROWS);)
            if (needed[n % 2]) halve_rows(n % 2, n / 2 * ROWS);
    }

    void fit(const Frame& frame) override {
        const int across = (o.width + lay.tile - 1) / lay.tile, down = (o.height + STRIP - 1) / STRIP;
        std::unique_ptr<Tile> tile = take_tile();
        for (int n; (n = done++) < across * down;) {
            const int y = n / across * STRIP;
            tile->run(n % across * lay.tile, y, std::min(y + STRIP, o.height), frame);
        }
        const std::lock_guard only(*mutex);
        tiles.push_back(std::move(tile));
    }

    size_t nbytes() const override {
        size_t n = 0;
        for (int i : {0, 1}) n += sizeof(float) * (images[i].values.size() + halves[i].values.size());
        for (const auto& tile : tiles) n += tile->nbytes();
        return n;
    }

private:
    const Options o;
    const Layout lay;
    Image images[2], halves[2];
    std::vector<float> even, odd;  // taps of the prefilter at even and at odd distances
    std::atomic<int> loaded, halved, done;
    Summary summaries[2];
    std::optional<std::mutex> mutex;  // protects summaries and tiles
    std::vector<std::unique_ptr<Tile>> tiles;

    Image image(int rows, int stride) const { return Image(o.channels, rows, stride); }
    Image half_image() const { return image(lay.rows / 2, odd_lines(lay.stride / 2 + 2 * PAIR)); }
    static Summary blank_summary() { return {INF, -INF, {true, true, true}, false, false}; }

    std::unique_ptr<Tile> take_tile() {
        const std::lock_guard only(*mutex);
        if (tiles.empty()) return std::make_unique<Tile>(o, lay, images, halves);
        std::unique_ptr<Tile> tile = std::move(tiles.back());
        tiles.pop_back();
        return tile;
    }

    // Copy rows of a frame, scaled to 0..1 and mirrored beyond its ends.
    template <class T>
    void load_rows(const T* frame, int which, int begin, Summary& summary) {
        constexpr bool whole = std::is_integral_v<T>;
        const float factor = whole ? 1 / float(std::numeric_limits<T>::max()) : 1.0f;
        for (int y = begin; y < std::min(begin + ROWS, lay.rows); ++y) {
            const int from = mirror(y - lay.above, o.height), size = o.width * o.channels;
            const bool is_new = y - lay.above == from;
            const T* row = frame + size_t(from) * size;
            for (int ch = 0; ch < o.channels; ++ch) {
                float *padded = images[which].at(ch, y, 0), *inside = padded + lay.pad;
                if (o.channels == 1)  // separate case: with a known stride the compiler loads vectors
                    for (int j = 0; j < o.width; ++j) inside[j] = float(row[j]) * factor;
                else
                    for (int j = 0; j < o.width; ++j) inside[j] = float(row[j * o.channels + ch]) * factor;
                for (int j = lay.pad - lay.above; j < lay.pad; ++j) padded[j] = inside[lay.shown[j]];
                for (int j = lay.pad + o.width; j < lay.filled; ++j) padded[j] = inside[lay.shown[j]];
                if (is_new && sizeof(T) > 1) summarise(inside, o.width, summary);
            }
            if constexpr (whole) {
                T most = 0;
                for (int j = 0; is_new && j < size; ++j) most = std::max(most, row[j]);
                summary.at_top |= most == std::numeric_limits<T>::max();
            } else if (is_new && summary.on_grid[2]) {
                const std::vector<double> fine(row, row + size);  // float32 is too coarse for the grid of 16 bits
                summary.on_grid[2] = !is_off_grid(fine.data(), size, GRIDS[2]);
            }
            if constexpr (sizeof(T) == 1) summary.low = 0, summary.high = 1, summary.on_grid[0] = false;
        }
    }

    // Make rows of the half-size copy: blur, then drop every other pixel. Rows near the border are not read or made.
    void halve_rows(int which, int begin) {
        Image &image = images[which], &half = halves[which];
        const int reach = int(o.prefilter.size()), n = up(lay.filled, 2) / 2, gap = up(reach, LINE);
        Floats line(lay.filled + FOUR), a(n + 2 * gap + FOUR), b(a.size());
        for (int y = begin; y < std::min(begin + ROWS, half.rows); ++y) {
            if (2 * y < reach || 2 * y + reach >= lay.rows) continue;
            for (int ch = 0; ch < o.channels; ++ch) {
                const float* at = image.at(ch, 2 * y, 0);
                for (int j = 0; j < lay.filled; j += FOUR) {
                    V sum[4] = {};
                    add_pairs(at + j, at + j, image.stride, o.prefilter, sum);
                    for (int v = 0; v < 4; ++v) store(&line[j + v * LANES], sum[v]);
                }
                for (int j = 0; j < n; ++j) a[gap + j] = line[2 * j], b[gap + j] = line[2 * j + 1];
                float* to = half.at(ch, y, 0);
                for (int j = 0; j < n; j += FOUR) {
                    V sum[4] = {};
                    add_pairs(&a[gap + j], &a[gap + j], 1, even, sum);
                    add_pairs(&b[gap + j - 1], &b[gap + j], 1, odd, sum);
                    for (int v = 0; v < 4; ++v) store(to + j + v * LANES, sum[v]);
                }
            }
        }
    }

    // Add sum_i taps[i] (left[-i step] + right[i step]) to the sums of FOUR pixels.
    static void add_pairs(const float* left, const float* right, int step, const std::vector<float>& taps,
                          V (&sum)[4]) {
        for (const float c : taps) {
            for (int v = 0; v < 4; ++v) sum[v] += c * (LEVEL::load(left + v * LANES) + LEVEL::load(right + v * LANES));
            left -= step, right += step;
        }
    }
};

}  // namespace

int lanes() { return LANES; }
std::unique_ptr<Window> make_window(const Options& o) { return std::make_unique<Engine>(o); }

}  // namespace LEVEL
