// What module.cpp binds. Every function here exists once for each level of x86-64, in a namespace of its own.
#pragma once

#define DECLARE(level) \
    namespace level {  \
    int lanes();       \
    }

DECLARE(v1)
#ifdef ALL_LEVELS
DECLARE(v3)
DECLARE(v4)
#endif
#undef DECLARE
