#include "kernels.h"
#include "lanes.h"

namespace LEVEL {

int lanes() { return LANES; }

}  // namespace LEVEL
