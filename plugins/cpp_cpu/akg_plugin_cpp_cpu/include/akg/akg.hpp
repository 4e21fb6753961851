// Everything that a generated kernel uses. docs/api.md of the plugin lists it all.
#ifndef AKG_AKG_HPP
#define AKG_AKG_HPP

#include "akg/arithmetic.hpp"
#include "akg/convert.hpp"
#include "akg/gemm.hpp"
#include "akg/lanes.hpp"
#include "akg/math.hpp"
#include "akg/memory.hpp"
#include "akg/parallel.hpp"
#include "akg/philox.hpp"
#include "akg/sort.hpp"
#include "akg/updates.hpp"
#include "akg/vec.hpp"

#endif
