// Linear systems on the pixel grid and semi-global labelling. Equations: field/multigrid.py and field/start.py.
#include <algorithm>
#include <memory>
#include <vector>

#include "kernels.h"

namespace LEVEL {
namespace {

constexpr float DAMPING = 0.8f, REST = 1 - DAMPING;  // damping of the Jacobi iteration
constexpr int COARSEST = 4, SWEEPS = 8;              // shorter side of the coarsest grid, and its iterations

// Planes of height x width with a border of zeros one pixel wide, so that loops need no special case at the border. The
// inside is not initialised.
struct Planes {
    int n = 0, height = 0, width = 0;
    std::unique_ptr<float[]> values;
    Planes(int n, int h, int w) : n(n), height(h), width(w), values(new float[size_t(n) * (h + 2) * (w + 2)]) {
        for (int c = 0; c < n; ++c) {
            std::fill_n(row(c, -1) - 1, w + 2, 0.0f), std::fill_n(row(c, h) - 1, w + 2, 0.0f);
            for (int y = 0; y < h; ++y) row(c, y)[-1] = row(c, y)[w] = 0;
        }
    }
    float* row(int c, int y) { return values.get() + (size_t(c) * (height + 2) + y + 1) * (width + 2) + 1; }
    // Copy planes of h x w and fill the rest with zeros; without a source fill everything.
    void fill(const float* from, int h, int w) {
        for (int c = 0; c < n; ++c)
            for (int y = 0; y < height; ++y) {
                const int count = from && y < h ? w : 0;
                if (count) std::copy_n(from + (size_t(c) * h + y) * w, count, row(c, y));
                std::fill_n(row(c, y) + count, width - count, 0.0f);
            }
    }
};

struct Grid {
    int height, width;
    Planes right, down, diagonal, inverse, b, x;
    Grid(int n, int h, int w)
        : height(h), width(w), right(n, h, w), down(n, h, w), diagonal(n, h, w), inverse(n, h, w), b(n, h, w),
          x(n, h, w) {}
};

// The operator w x + grad' c grad x of (n, height, width), with ties of three components (a map and its slopes).
struct System {
    In<3> weight, right, down, b, guess;
    In<2> tie_right, tie_down;  // missing if the components are independent
    float half;                 // half the distance between pixels, for the ties
};

// The edge weights of a row of pixels to the right, down and up.
struct Edges {
    const float *right, *down, *up;
    Edges(Grid& g, int c, int y) : right(g.right.row(c, y)), down(g.down.row(c, y)), up(g.down.row(c, y - 1)) {}
    float pull(const float* above, const float* here, const float* below, int i) const {
        return right[i] * here[i + 1] + right[i - 1] * here[i - 1] + down[i] * below[i] + up[i] * above[i];
    }
};

// Conjugate gradients with a V-cycle as the preconditioner.
class Multigrid {
public:
    explicit Multigrid(const System& s)
        : n(s.b.shape[0]), half(s.half), tied(s.tie_right.data || s.tie_down.data),
          tie_right(tied, s.b.shape[1], s.b.shape[2]), tie_down(tied, s.b.shape[1], s.b.shape[2]),
          solution(n, s.b.shape[1], s.b.shape[2]), product(n, s.b.shape[1], s.b.shape[2]),
          direction(n, s.b.shape[1], s.b.shape[2]), sums(size_t(n) * s.b.shape[1]) {
        int h = s.b.shape[1], w = s.b.shape[2];
        solution.fill(s.guess.data, h, w);
        if (tied) tie_right.fill(s.tie_right.data, h, w - 1), tie_down.fill(s.tie_down.data, h - 1, w);
        for (grids.emplace_back(n, h, w); std::min(h, w) > COARSEST;)
            grids.emplace_back(n, h = (h + 1) / 2, w = (w + 1) / 2);
        Grid& g = grids[0];
        g.diagonal.fill(s.weight.data, g.height, g.width);  // the edges are added to it
        g.right.fill(s.right.data, g.height, g.width - 1);
        g.down.fill(s.down.data, g.height - 1, g.width);
        g.b.fill(s.b.data, g.height, g.width);
    }

    void solve(int steps, bool guessed) {
        for (size_t depth = 0; depth < grids.size(); ++depth) build(int(depth));
        Grid& g = grids[0];
        for (int y = 0; guessed && y < g.height; ++y) {
            multiply(y, solution);
            for (int c = 0; c < n; ++c) add(g.width, -1, product.row(c, y), g.b.row(c, y));
        }
        double rz = cycle(), before = 0;
        for (int step = 0; step < steps; ++step) {
            const double curvature = turn(step, step ? float(rz / before) : 0);
            if (!(curvature > 0 && rz > 0)) break;
            const float alpha = float(rz / curvature);
            rows(0, [&](int c, int y) {
                add(g.width, alpha, direction.row(c, y), solution.row(c, y));
                add(g.width, -alpha, product.row(c, y), g.b.row(c, y));
            });
            if (step + 1 < steps) before = rz, rz = cycle();
        }
    }

    Planes& result() { return solution; }

private:
    const int n;
    const float half;
    const bool tied;
    std::vector<Grid> grids;
    Planes tie_right, tie_down, solution, product, direction;
    std::vector<float> sums;  // sums of rows, because float32 is too coarse for the sum of an image

    // Call work(component, row) for the rows of a grid.
    template <class Work>
    void rows(int depth, Work work) {
        for (int y = 0; y < grids[depth].height; ++y)
            for (int c = 0; c < n; ++c) work(c, y);
    }

    double total() {
        double sum = 0;
        for (float each : sums) sum += each;
        return sum;
    }

    static void add(int width, float factor, const float* from, float* to) {
        #pragma omp simd
        for (int i = 0; i < width; ++i) to[i] += factor * from[i];
    }

    static float dot(int width, const float* a, const float* b) {
        float sum = 0;
        #pragma omp simd reduction(+ : sum)
        for (int i = 0; i < width; ++i) sum += a[i] * b[i];
        return sum;
    }

    // Complete a grid and make the next coarser one: weights are summed, edges between blocks summed and halved.
    void build(int depth) {
        Grid& g = grids[depth];
        rows(depth, [&](int c, int y) {
            const Edges edge(g, c, y);
            float *diagonal = g.diagonal.row(c, y), *inverse = g.inverse.row(c, y), *weight = g.x.row(c, y);
            #pragma omp simd
            for (int i = 0; i < g.width; ++i) {
                weight[i] = diagonal[i];  // stored in x, which is not used before the first cycle
                diagonal[i] += edge.right[i] + edge.right[i - 1] + edge.down[i] + edge.up[i];
                inverse[i] = DAMPING / diagonal[i];
            }
        });
        if (depth + 1 == int(grids.size())) return;
        Grid& coarse = grids[depth + 1];
        rows(depth + 1, [&](int c, int y) {
            const int odd = 2 * y + 1 < g.height ? 2 * y + 1 : -1;  // row -1 is zero
            const float *w0 = g.x.row(c, 2 * y), *w1 = g.x.row(c, odd);
            const float *r0 = g.right.row(c, 2 * y), *r1 = g.right.row(c, odd), *d = g.down.row(c, odd);
            float *weight = coarse.diagonal.row(c, y), *right = coarse.right.row(c, y),
                  *down = coarse.down.row(c, y);
            #pragma omp simd
            for (int i = 0; i < coarse.width; ++i) {
                weight[i] = w0[2 * i] + w0[2 * i + 1] + w1[2 * i] + w1[2 * i + 1];
                right[i] = 0.5f * (r0[2 * i + 1] + r1[2 * i + 1]);
                down[i] = 0.5f * (d[2 * i] + d[2 * i + 1]);
            }
        });
    }

    // Compute a row of the product with A.
    void multiply(int y, Planes& x) {
        Grid& g = grids[0];
        for (int c = 0; c < n; ++c) {
            const Edges edge(g, c, y);
            const float *diagonal = g.diagonal.row(c, y), *above = x.row(c, y - 1), *here = x.row(c, y),
                        *below = x.row(c, y + 1);
            float* out = product.row(c, y);
            #pragma omp simd
            for (int i = 0; i < g.width; ++i) out[i] = diagonal[i] * here[i] - edge.pull(above, here, below, i);
        }
        if (!tied) return;
        const float *t = tie_down.row(0, y), *tu = tie_down.row(0, y - 1), *r = tie_right.row(0, y);
        const float *z = x.row(0, y), *zd = x.row(0, y + 1), *zu = x.row(0, y - 1);
        const float *p = x.row(1, y), *pd = x.row(1, y + 1), *pu = x.row(1, y - 1), *q = x.row(2, y);
        float *out = product.row(0, y), *out_p = product.row(1, y), *out_q = product.row(2, y);
        #pragma omp simd
        for (int i = 0; i < g.width; ++i) {
            out[i] += half * (t[i] * (pd[i] + p[i]) - tu[i] * (p[i] + pu[i]) + r[i] * (q[i + 1] + q[i]) -
                              r[i - 1] * (q[i] + q[i - 1]));
            out_p[i] -= half * (t[i] * (zd[i] - z[i]) + tu[i] * (z[i] - zu[i]));
            out_q[i] -= half * (r[i] * (z[i + 1] - z[i]) + r[i - 1] * (z[i] - z[i - 1]));
        }
    }

    // Compute the next search direction and its product with A; return its curvature.
    double turn(int step, float factor) {
        Grid& g = grids[0];
        rows(0, [&](int c, int y) {
            const float* z = g.x.row(c, y);
            float* to = direction.row(c, y);
            #pragma omp simd
            for (int i = 0; i < g.width; ++i) to[i] = step ? z[i] + factor * to[i] : z[i];
        });
        for (int y = 0; y < g.height; ++y) {
            multiply(y, direction);
            for (int c = 0; c < n; ++c)
                sums[size_t(c) * g.height + y] = dot(g.width, direction.row(c, y), product.row(c, y));
        }
        return total();
    }

    // Approximate x = A^-1 b on the finest grid by one V-cycle; return b' x.
    double cycle() {
        const int bottom = int(grids.size()) - 1;
        for (int depth = 0; depth < bottom; ++depth) restrict_to(depth + 1);
        solve_bottom(bottom);
        for (int depth = bottom - 1; depth >= 0; --depth) prolong_to(depth);
        return total();
    }

    // Smooth the finer grid once from zero; sum its residual over 2 x 2 pixels.
    void restrict_to(int depth) {
        Grid &fine = grids[depth - 1], &g = grids[depth];
        std::vector<float> left(2 * (size_t(fine.width) + 1)), x(4 * (size_t(fine.width) + 2));
        rows(depth, [&](int c, int y) {
            float* line[4];  // rows 2y - 1 ... 2y + 2 of the smoothed grid
            for (int k = 0; k < 4; ++k) {
                line[k] = x.data() + k * (fine.width + 2) + 1;
                const int row = std::min(2 * y - 1 + k, fine.height);  // the row below the last is zero
                const float *b = fine.b.row(c, row), *inverse = fine.inverse.row(c, row);
                #pragma omp simd
                for (int i = 0; i < fine.width; ++i) line[k][i] = inverse[i] * b[i];
            }
            float* over[2] = {left.data(), left.data() + fine.width + 1};
            if (2 * y + 1 >= fine.height) std::fill_n(over[1], fine.width, 0.0f);
            for (int k = 0; k < 2 && 2 * y + k < fine.height; ++k) {
                const Edges edge(fine, c, 2 * y + k);
                const float* b = fine.b.row(c, 2 * y + k);
                float* out = over[k];
                #pragma omp simd
                for (int i = 0; i < fine.width; ++i)
                    out[i] = REST * b[i] + edge.pull(line[k], line[k + 1], line[k + 2], i);
            }
            float* to = g.b.row(c, y);
            #pragma omp simd
            for (int i = 0; i < g.width; ++i)
                to[i] = over[0][2 * i] + over[0][2 * i + 1] + over[1][2 * i] + over[1][2 * i + 1];
        });
    }

    // Add the coarser grid's correction to the smoothed one, and smooth once.
    void prolong_to(int depth) {
        Grid &g = grids[depth], &coarse = grids[depth + 1];
        std::vector<float> x(3 * (size_t(g.width) + 3));
        rows(depth, [&](int c, int y) {
            float* line[3];
            for (int k = 0; k < 3; ++k) {
                line[k] = x.data() + k * (g.width + 3) + 1;
                const int row = y - 1 + k;
                const float *b = g.b.row(c, row), *inverse = g.inverse.row(c, row),
                            *up = coarse.x.row(c, row < 0 ? -1 : row / 2);
                // A row beyond the image may belong to a block; its edges are zero.
                #pragma omp simd
                for (int i = 0; i < g.width / 2; ++i) {
                    line[k][2 * i] = inverse[2 * i] * b[2 * i] + up[i];
                    line[k][2 * i + 1] = inverse[2 * i + 1] * b[2 * i + 1] + up[i];
                }
                const int last = g.width - 1;
                if (g.width % 2) line[k][last] = inverse[last] * b[last] + up[last / 2];
            }
            const Edges edge(g, c, y);
            const float *b = g.b.row(c, y), *inverse = g.inverse.row(c, y);
            float* out = g.x.row(c, y);
            #pragma omp simd
            for (int i = 0; i < g.width; ++i)
                out[i] = REST * line[1][i] + inverse[i] * (b[i] + edge.pull(line[0], line[1], line[2], i));
            if (depth == 0) sums[size_t(c) * g.height + y] = dot(g.width, b, out);
        });
    }

    void solve_bottom(int depth) {
        Grid& g = grids[depth];
        Planes other(n, g.height, g.width);
        for (int sweep = 0; sweep <= SWEEPS; ++sweep) {
            for (int c = 0; c < n; ++c)
                for (int y = 0; y < g.height; ++y) {
                    const Edges edge(g, c, y);
                    const float *b = g.b.row(c, y), *inverse = g.inverse.row(c, y);
                    const float *above = g.x.row(c, y - 1), *here = g.x.row(c, y), *below = g.x.row(c, y + 1);
                    float* out = other.row(c, y);
                    #pragma omp simd
                    for (int i = 0; i < g.width; ++i)
                        out[i] = sweep ? REST * here[i] + inverse[i] * (b[i] + edge.pull(above, here, below, i))
                                       : inverse[i] * b[i];
                }
            std::swap(g.x.values, other.values);
        }
        for (int c = 0; depth == 0 && c < n; ++c)
            for (int y = 0; y < g.height; ++y)
                sums[size_t(c) * g.height + y] = dot(g.width, g.b.row(c, y), g.x.row(c, y));
    }
};

}  // namespace

void solve(In<3> weight, In<3> right, In<3> down, In<3> b, Out<3> x, int steps, In<2> tie_right, In<2> tie_down,
           float half, In<3> guess) {
    const int n = b.shape[0], height = b.shape[1], width = b.shape[2];
    require(b.size(), "b is empty");
    for (const size_t size : {weight.size(), x.size(), guess.data ? guess.size() : b.size()})
        require(size == b.size(), "an array has another size than b");
    const size_t across = size_t(height) * (width - 1), along = size_t(height - 1) * width;
    require(right.size() == n * across && down.size() == n * along, "edges have another size than b");
    require(tie_right.size() + tie_down.size() == 0 || (n == 3 && tie_right.size() == across && tie_down.size() == along),
            "ties have another size than b");
    Multigrid grid({weight, right, down, b, guess, tie_right, tie_down, half});
    grid.solve(steps, guess.data);
    for (int c = 0; c < n; ++c)
        for (int y = 0; y < height; ++y)
            std::copy_n(grid.result().row(c, y), width, x.data + (size_t(c) * height + y) * width);
}

namespace {

constexpr int COLUMNS = 64;  // columns that are scanned together
constexpr float NEVER = 1e30f;

// One step along a path: subtract the least value, then path = cost + min(path, next levels + small, large).
void step(const float* cost, int levels, float small, float large, float* path, float* raised) {
    float least = NEVER;
    #pragma omp simd reduction(min : least)
    for (int k = 0; k < levels; ++k) least = std::min(least, path[k]);
    #pragma omp simd
    for (int k = 0; k < levels; ++k) path[k] -= least, raised[k] = path[k] + small;
    #pragma omp simd
    for (int k = 0; k < levels; ++k)
        path[k] = cost[k] + std::min(std::min(path[k], large), std::min(raised[k - 1], raised[k + 1]));
}

}  // namespace

// Scan rows from left to right and from right to left; add the paths to the total.
void scan_across(In<3> costs, Out<3> totals, float small, float large, int start, int stop) {
    const int levels = costs.shape[0], height = costs.shape[1], width = costs.shape[2];
    const float* cost = costs.data;
    float* total = totals.data;
    require(totals.shape[0] == levels && totals.fits(costs), "total has another size than cost");
    require_range(start, stop, height);
    const size_t plane = size_t(height) * width;
    // A row as (width, levels); the levels are the lanes of vectors.
    std::vector<float> row(size_t(width) * levels), sum(row.size()), path(levels), raised(levels + 2, NEVER);
    const auto transpose = [&](auto copy) {  // in blocks that stay in the cache
        for (int first = 0; first < width; first += 16)
            for (int k = 0; k < levels; ++k)
                for (int x = first; x < std::min(first + 16, width); ++x)
                    copy(k * plane + x, size_t(x) * levels + k);
    };
    for (int y = start; y < stop; ++y) {
        const float* from = cost + size_t(y) * width;
        float* to = total + size_t(y) * width;
        transpose([&](size_t line, size_t level) { row[level] = from[line]; });
        std::fill(path.begin(), path.end(), 0.0f);
        for (int x = 0; x < width; ++x) {
            step(&row[size_t(x) * levels], levels, small, large, path.data(), raised.data() + 1);
            std::copy(path.begin(), path.end(), sum.begin() + size_t(x) * levels);
        }
        std::fill(path.begin(), path.end(), 0.0f);
        for (int x = width - 1; x >= 0; --x) {
            step(&row[size_t(x) * levels], levels, small, large, path.data(), raised.data() + 1);
            float* here = &sum[size_t(x) * levels];
            #pragma omp simd
            for (int k = 0; k < levels; ++k) here[k] += path[k];
        }
        transpose([&](size_t line, size_t level) { to[line] += sum[level]; });
    }
}

// Scan columns down and up; write the sum of the paths to the total.
void scan_down(In<3> costs, Out<3> totals, float small, float large, int start, int stop) {
    const int levels = costs.shape[0], height = costs.shape[1], width = costs.shape[2];
    const float* cost = costs.data;
    float* total = totals.data;
    require(totals.shape[0] == levels && totals.fits(costs), "total has another size than cost");
    require_range(start, stop, width);
    const size_t plane = size_t(height) * width;
    std::vector<float> path(size_t(levels) * COLUMNS), raised(size_t(levels + 2) * COLUMNS, NEVER);
    for (int first = start; first < stop; first += COLUMNS) {
        const int count = std::min(COLUMNS, stop - first);
        for (const bool down : {true, false}) {
            std::fill(path.begin(), path.end(), 0.0f);
            for (int n = 0; n < height; ++n) {
                const size_t place = size_t(down ? n : height - 1 - n) * width + first;
                float lowest[COLUMNS];
                std::fill_n(lowest, COLUMNS, NEVER);
                for (int k = 0; k < levels; ++k)
                    for (int i = 0; i < COLUMNS; ++i) lowest[i] = least(lowest[i], path[k * COLUMNS + i]);
                for (int k = 0; k < levels; ++k) {
                    float *here = &path[k * COLUMNS], *above = &raised[(k + 1) * COLUMNS];
                    #pragma omp simd
                    for (int i = 0; i < COLUMNS; ++i) here[i] -= lowest[i], above[i] = here[i] + small;
                }
                for (int k = 0; k < levels; ++k) {
                    float *here = &path[k * COLUMNS], *around = &raised[k * COLUMNS], *to = total + k * plane + place;
                    const float* from = cost + k * plane + place;
                    #pragma omp simd
                    for (int i = 0; i < count; ++i) {
                        const float next = least(around[i], around[2 * COLUMNS + i]);
                        here[i] = from[i] + least(least(here[i], large), next);
                        to[i] = down ? here[i] : to[i] + here[i];
                    }
                }
            }
        }
    }
}

}  // namespace LEVEL
