// The choices for CPUs.

#include "kernels/Select/Select.h"

#include <algorithm>

using namespace sdc;

namespace {

/// Rows of a tile by the rows of the weight: the first entry that holds them.
struct TileEntry {
  int64_t rows;
  unsigned tileRows;
};
constexpr TileEntry kTiles[] = {{1, 1}, {2, 2}, {4, 4}};

/// Enough units for this many threads to be balanced within an eighth.
constexpr int64_t kEnoughUnits = 64;
/// A split shorter than this costs more to merge than it saves.
constexpr int64_t kMinChunk = 512;
constexpr int64_t kMaxSplits = 16;

/// CTAs of attention that fill the largest device twice.
constexpr int64_t kEnoughCtas = 264;
/// A CTA takes positions 64 at a time.
constexpr int64_t kCudaChunk = 64;
constexpr int64_t kMaxCudaSplits = 32;

} // namespace

TileChoice sdc::selectCpuTile(int64_t rows, int64_t columns, Pattern pattern) {
  (void)columns;
  for (const TileEntry &entry : kTiles)
    if (rows <= entry.rows)
      return {Tile::interleavedRows(entry.tileRows),
              "the weight has " + std::to_string(rows) +
                  " rows, so a larger tile would store zeros"};
  return {Tile::interleavedRows(8),
          std::string("eight rows share each load of x, keep eight sums in "
                      "flight, and ") +
              (pattern.isDense() ? "read whole cache lines"
                                 : "leave registers for the expansion")};
}

SplitChoice sdc::selectCpuSplits(int64_t rows, int64_t heads, int64_t context) {
  int64_t units = rows * heads;
  if (units >= kEnoughUnits)
    return {1, 0,
            std::to_string(units) + " rows x heads balance without a split"};
  if (context < 2 * kMinChunk)
    return {1, 0,
            "a context of " + std::to_string(context) +
                " is too short to pay for merging"};
  int64_t splits = std::min(
      {kMaxSplits, (kEnoughUnits + units - 1) / units, context / kMinChunk});
  int64_t chunk = (context + splits - 1) / splits;
  // Whole blocks of 16 keys.
  chunk = (chunk + 15) / 16 * 16;
  return {splits, chunk,
          std::to_string(units) + " rows x heads are few, so " +
              std::to_string(splits) + " splits share a context of " +
              std::to_string(context)};
}

SplitChoice sdc::selectCudaSplits(int64_t rows, int64_t cacheHeads,
                                  int64_t context) {
  int64_t units = rows * cacheHeads;
  int64_t wanted = std::min({kMaxCudaSplits, (kEnoughCtas + units - 1) / units,
                             context / kCudaChunk});
  if (wanted < 2)
    return {1, 0,
            std::to_string(units) + " rows x cache heads over a context of " +
                std::to_string(context) + " need no split"};
  int64_t chunk = (context + wanted - 1) / wanted;
  chunk = (chunk + kCudaChunk - 1) / kCudaChunk * kCudaChunk;
  int64_t splits = (context + chunk - 1) / chunk;
  if (splits < 2)
    return {1, 0, "one chunk holds the context"};
  return {splits, chunk,
          std::to_string(units) + " rows x cache heads are few, so " +
              std::to_string(splits) + " splits share a context of " +
              std::to_string(context)};
}
