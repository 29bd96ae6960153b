// A ring as large as a half of the multiprocessor allows, and the table of what
// was measured.

#include "kernels/Cuda/LinearLaunch.h"
#include "kernels/Format/CudaTile.h"

using namespace sdc;

namespace {

/// Measured on sm_90a, NVIDIA H200, 2026-12-01, by test/cuda/tune.py on the
/// chains of Llama-3.1-8B, 3.2-1B, 70B and Qwen3-14B shapes; other
/// architectures were not measured and take the same entries as far as they
/// fit. Kernels that share a multiprocessor and kernels that fill one disturb
/// each other, so the rule is one that gives all of a model's kernels the same.
struct Entry {
  Tile tile;
  bool dense;
  /// A kernel shares a multiprocessor where K is at most `narrow`, or at most
  /// `wide` with at most `narrow` rows.
  int64_t narrow, wide;
  unsigned sharedWarps, aloneWarps;
};
const Entry kTable[] = {
    {Tile::fragments(), false, 4096, 14336, 8, 16},
    {Tile::fragments(), true, 4096, 14336, 12, 16},
    {Tile::lanes(), false, 2048, 8192, 16, 16},
    {Tile::lanes(), true, 0, 0, 8, 8},
};

/// A lane holds a unit in registers: above so many bytes of 32 rows, 8 warps.
constexpr int64_t kHeldBytes = 4608;

} // namespace

Tile sdc::cudaTile(Pattern pattern, ElementType type) {
  bool fragments = type != ElementType::F32 &&
                   (pattern.isDense() || pattern == Pattern{2, 4});
  return fragments ? Tile::fragments() : Tile::lanes();
}

std::string sdc::linearProblem(const LinearSpec &spec) {
  const LinearPart &first = spec.parts.front();
  for (const LinearPart &part : spec.parts) {
    if (!part.tile.hasUnits())
      return "tile " + part.tile.str() + " is for CPUs";
    if (part.pattern != first.pattern || part.type != first.type ||
        part.tile != first.tile)
      return "parts differ in pattern, type or tile: " + first.pattern.str() +
             " and " + part.pattern.str();
  }
  return "";
}

int64_t sdc::linearSharedBytes(const LinearSpec &spec, unsigned warps,
                               unsigned stages) {
  PackedLayout layout = spec.layout(0);
  int64_t units = (spec.columns + kUnitColumns - 1) / kUnitColumns;
  int64_t sums = 2 * warps * (spec.pair ? 2 : 1) * layout.tile.rows;
  return int64_t(warps) * stages * (unitBytes(layout) + 8) +
         units * kUnitColumns * 4 + sums * 4 + warps * 4;
}

LinearLaunch sdc::linearLaunch(const LinearSpec &spec, CudaArch arch) {
  const LinearPart &part = spec.parts.front();
  const CudaLimits &limits = cudaLimits(arch);
  LinearLaunch launch;
  launch.gridX = static_cast<unsigned>(limits.multiprocessors);
  launch.gridY = static_cast<unsigned>(spec.outputRows());
  bool large =
      part.tile == Tile::lanes() && unitBytes(spec.layout(0)) > kHeldBytes;
  for (const Entry &entry : kTable) {
    if (entry.tile != part.tile || entry.dense != part.pattern.isDense())
      continue;
    bool shares = spec.columns <= entry.narrow ||
                  (spec.columns <= entry.wide && part.rows <= entry.narrow);
    launch.ctas = shares && !large ? 2 : 1;
    launch.warps = large ? 8 : shares ? entry.sharedWarps : entry.aloneWarps;
  }
  launch.why =
      large ? "a lane holds so many values that eight warps take all registers"
      : launch.ctas == 2
          ? "two kernels share a multiprocessor, so the next but one fills its "
            "ring while this one ends"
          : "K and rows are large, so the ring takes a whole multiprocessor";
  // Few units of K leave warps idle.
  int64_t units = (spec.columns + kUnitColumns - 1) / kUnitColumns;
  while (launch.warps > 4 && launch.warps / 2 >= units)
    launch.warps /= 2;
  auto budget = [&] {
    return launch.ctas == 1
               ? limits.ctaSharedBytes
               : limits.sharedBytes / launch.ctas - kReservedShared;
  };
  if (linearSharedBytes(spec, launch.warps, 1) > budget()) {
    launch.ctas = 1;
    launch.why = "x and a stage for each warp take more than half of shared "
                 "memory";
    while (launch.warps > 1 &&
           linearSharedBytes(spec, launch.warps, 1) > budget())
      launch.warps /= 2;
  }
  constexpr unsigned kMostStages = 12;
  while (launch.stages < kMostStages &&
         linearSharedBytes(spec, launch.warps, launch.stages + 1) <= budget())
    ++launch.stages;
  launch.sharedBytes = linearSharedBytes(spec, launch.warps, launch.stages);
  return launch;
}
