// Which variant computes what: the choices that are part of a kernel's name and
// of the packed bytes, from tables, each with a sentence of why. Choices that
// only the generated code sees are tables of kernels/Cpu.

#ifndef SDC_KERNELS_SELECT_SELECT_H
#define SDC_KERNELS_SELECT_SELECT_H

#include "kernels/Format/Pattern.h"
#include "kernels/Format/Tile.h"

#include <cstdint>
#include <string>

namespace sdc {

/// The order of a packed weight [rows, K]. One for all CPU levels, since they
/// read the same bytes.
struct TileChoice {
  Tile tile;
  std::string why;
};
TileChoice selectCpuTile(int64_t rows, int64_t columns, Pattern pattern);

/// How attention over at most `context` positions is split.
struct SplitChoice {
  int64_t splits = 1;
  /// Positions of each split; 0 without splits.
  int64_t chunk = 0;
  std::string why;
};
SplitChoice selectCpuSplits(int64_t rows, int64_t heads, int64_t context);

/// On CUDA a CTA takes all query heads of a cache head.
SplitChoice selectCudaSplits(int64_t rows, int64_t cacheHeads, int64_t context);

} // namespace sdc

#endif // SDC_KERNELS_SELECT_SELECT_H
