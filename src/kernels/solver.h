// Kernels of the solver (relblur.field), which solver.cpp binds. Every level of x86-64 has a table of its own.
#pragma once

namespace relblur {

// Residuals of (channels, levels, height, width).
struct Residuals {
    const float* values;
    int channels, levels, height, width;
};

// A map at which residuals are read, in levels, and the variance of the residuals there.
struct Map {
    Residuals residuals;
    const float *level, *misfit;  // of (height, width)
    const float* relative;        // the same; null for 1 everywhere
    const float* knots;           // tables of noise, (4, count), `finer` knots a level
    int count, finer;

};

// w x + grad' c grad x, and for three components (a map and its slopes) what ties them together; of (n, height, width).
struct System {
    int n, height, width;
    const float *weight, *right, *down;
    const float *tie_right, *tie_down;  // null if the components are independent
    float half;                         // half the distance between pixels, for the ties
};

// A map of (height, width) and its slopes along rows and columns, (2, height, width).
struct Prior {
    int height, width;
    const float *z, *slope;
};

using Solve = void(const System&, const float* b, const float* guess, int steps, int workers, float* x);
// Rows, columns or levels from `start` to `stop` are written.
using Scan = void(const float* cost, int levels, int height, int width, float small, float large, float* total,
                  int start, int stop);
using Link = void(const Prior&, const float* tau2, float cut, float* d_down, float* d_right, float* h_down,
                  float* h_right, int start, int stop);
using Pull = void(const Prior&, const float* lambda, const float* h_down, const float* h_right, float* c_down,
                  float* c_right, float* force);
using Sublevel = void(const float* cost, int levels, int height, int width, float* level, int start, int stop);
using BestFit = void(const Residuals&, const float* scale, float* best, int start, int stop);
using CellCosts = void(const Residuals&, const float* base, const float* scale, const float* weight, float* cells,
                       int start, int stop);
using Read = void(const Map&, float* value, float* slope, int start, int stop);
using Cost = void(const Map&, const float* weight, float* cost, int start, int stop);
using Evidence = void(const Map&, const float* factor, const float* weight, float* w, float* g, float* power, int start,
                      int stop);
using Filter = void(const float* image, int height, int width, const float* taps, int radius, float* out);
using WindowVariance = void(const float* w, const float* mu, int height, int width, int size, float* best);

struct Solver {
    Solve* solve;
    Link* link;
    Pull* pull;
    Scan *scan_across, *scan_down;
    Sublevel* sublevel;
    BestFit* best_fit;
    CellCosts* cell_costs;
    Read* read;
    Cost* cost;
    Evidence* evidence;
    Filter* filter;
    WindowVariance* window_variance;
};

}  // namespace relblur

#ifdef LEVEL  // a kernel file
namespace LEVEL {
using namespace relblur;
Solve solve;
Link link;
Pull pull;
Scan scan_across, scan_down;
extern const Solver solver;

// By value: GCC does not vectorise what the references of std::min and std::max make of a loop.
inline float least(float a, float b) { return a < b ? a : b; }
inline float most(float a, float b) { return a > b ? a : b; }
}  // namespace LEVEL
#else
namespace v1 { extern const relblur::Solver solver; }
namespace v3 { extern const relblur::Solver solver; }
namespace v4 { extern const relblur::Solver solver; }
#endif
