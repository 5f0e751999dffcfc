// method="window" on pairs of frames of one size: options and interface of window.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

namespace relblur {

enum Kind { SAME, FULL, HALF };  // source of a node: the image without blur, the image, its half-size copy
enum Flag : uint8_t { INVALID = 1, CLIPPED = 2, FLAT = 4, AT_LIMIT = 32 };  // bits of relblur.Flag

struct Node {                      // a variance difference s at which the residual e(s) is computed
    int kind, side;                // side: 1 where the first image is blurred, -1 where the second is
    std::vector<float> taps, odd;  // right half of the kernel, its centre halved; HALF: at even and at odd distances
    float weight, s, width;        // 1 / (1 + noise gain), s, sqrt(s^2 + c^2)
};

struct Options {  // settings that all pairs share
    int height, width, channels, window;
    int zero, probe;             // the node at s = 0; distance from it, in nodes, at which the directions are compared
    bool limit_low, limit_high;  // whether the first and the last node are an end of the range
    float spacing;               // spacing of the nodes in t = asinh(s / c)
    std::vector<Node> nodes;
    std::vector<float> prefilter;  // right half of the kernel of the half-size copy, its centre halved
};

struct Summary {  // of the values of a frame
    float low, high;
    bool on_grid[3], at_top,
        not_finite;  // on_grid: all are multiples of 1, 1/255, 1/65535; at_top: one is at the top of an integer range
};

struct Frame {                 // settings and results of one pair
    float noise, flat;         // least standard deviation of the noise; error in t above which a pixel is FLAT
    float rounded[2];          // local variance of each image below which a pixel contains rounding noise only
    bool texture[2];           // whether the local variance of each image is needed
    const float* distance[2];  // distance to the nearest invalid and clipped pixel (px), or null
    float *s, *stderr_;        // results
    uint8_t* flags;
    int8_t* sharper;
};

using Values = std::variant<const float*, const double*, const uint8_t*, const uint16_t*>;

// Threads share a pair: each calls load(), halve() and fit(). All must end one step before any begins the next.
struct Window {
    virtual ~Window() = default;
    virtual void begin() = 0;
    virtual void load(const Values (&frames)[2]) = 0;
    virtual const Summary& summary(int which) const = 0;
    virtual void halve() = 0;
    virtual void fit(const Frame& frame) = 0;
    virtual size_t nbytes() const = 0;
};

}  // namespace relblur
