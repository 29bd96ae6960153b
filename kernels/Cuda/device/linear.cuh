// y = epilogue(W norm(x)) for one row of x and up to a few weights W with the
// same K, pattern and type: the kernel of decoding.
//
//  - Each warp takes every kWarps-th unit of a tile's K. Warps meet once a
//    tile: their sums lie in shared memory, one warp adds them in order.
//  - CTAs are persistent and walk tiles cta, cta + ctas, ...; x is staged once.
//  - A launch takes at most half of an SM where it can. Then the CTAs of the
//    kernel after next move in as soon as this kernel's CTAs leave, and their
//    rings fill while the next kernel waits, stages x and starts: memory is
//    busy over the border of kernels.
//
// kernels/Cuda/LinearLaunch.h knows grid, threads and shared memory.

#pragma once

#include "bitmask.cuh"
#include "dependency.cuh"
#include "epilogue.cuh"
#include "fragment.cuh"
#include "norm.cuh"
#include "ring.cuh"

namespace sdc {

/// Which rows of x are computed; see KernelSpec.h.
enum class Rows { All, Last, Active };

template <class Weight_, int kColumns_, int kWarps_, int kStages_, class Norm_,
          bool kPair_, bool kResidual_, Rows kSelect_, class... Parts>
struct Linear {
  using Weight = Weight_;
  using Norm = Norm_;
  using Vector = typename Weight::template Vector<kColumns_>;
  static constexpr int kColumns = kColumns_, kWarps = kWarps_,
                       kStages = kStages_;
  static constexpr bool kPair = kPair_, kResidual = kResidual_;
  static constexpr Rows kSelect = kSelect_;
  static constexpr int kParts = sizeof...(Parts);
  static constexpr int kOutputs = kPair ? 1 : kParts;
  /// Tiles that one sum needs: both of a pair.
  static constexpr int kSubs = kPair ? 2 : 1;

  using Stages = Ring<kStages, Weight::kUnitBytes>;
  static constexpr int kUnits =
      (kColumns + Weight::kColumns - 1) / Weight::kColumns;
  static constexpr long long kTileBytes =
      static_cast<long long>(kUnits) * Weight::kUnitBytes;

  static constexpr int kSumFloats = 2 * kWarps * kSubs * Weight::kRows;
  static constexpr int kSharedBytes =
      kWarps * Stages::kDataBytes + Vector::kBytes + kSumFloats * 4 +
      kWarps * Stages::kBarrierBytes + kWarps * 4;

  static __host__ __device__ constexpr int tilesOf(int rows) {
    return (rows + Weight::kRows - 1) / Weight::kRows;
  }
  static constexpr int kTiles =
      kPair ? (tilesOf(Parts::kRows), ...) : (tilesOf(Parts::kRows) + ...);

  struct Operands {
    const float *x;
    const void *normWeight, *normBias;
    const int *positions;
    int numRows;
    const void *weight[kParts], *bias[kParts];
    const float *residual;
    float *out[kOutputs];
  };

  /// The bytes of tile `tile`, of its part `sub` for a pair.
  static SDC_DEVICE const char *tileBytes(const Operands &operands, int tile,
                                          int sub) {
    if constexpr (kPair) {
      return static_cast<const char *>(sub ? operands.weight[1]
                                           : operands.weight[0]) +
             tile * kTileBytes;
    } else {
      const char *bytes = nullptr;
      int first = 0, part = 0;
      (
          [&] {
            if (tile >= first)
              bytes = static_cast<const char *>(operands.weight[part]) +
                      (tile - first) * kTileBytes;
            first += tilesOf(Parts::kRows);
            ++part;
          }(),
          ...);
      return bytes;
    }
  }

  /// Walks the units of a warp in the order in which they are multiplied.
  struct Cursor {
    int tile, sub = 0, unit, warp, step;
    const char *at;

    SDC_DEVICE Cursor(const Operands &operands, int cta, int ctas, int warp)
        : tile(warp < kUnits ? cta : kTiles), unit(warp), warp(warp),
          step(ctas) {
      if (any())
        at = tileBytes(operands, tile, 0) + unit * Weight::kUnitBytes;
    }
    SDC_DEVICE bool any() const { return tile < kTiles; }
    SDC_DEVICE void next(const Operands &operands) {
      unit += kWarps;
      at += kWarps * Weight::kUnitBytes;
      if (unit < kUnits)
        return;
      unit = warp;
      if (++sub == kSubs) {
        sub = 0;
        tile += step;
      }
      if (any())
        at = tileBytes(operands, tile, sub) + unit * Weight::kUnitBytes;
    }
  };

  /// The row of x that grid row `index` computes, -1 for none, and the row of
  /// output.
  static SDC_DEVICE int selectRow(const Operands &operands, int index) {
    if constexpr (kSelect == Rows::All) {
      return index;
    } else if constexpr (kSelect == Rows::Active) {
      return __ldcg(operands.positions + index) < 0 ? -1 : index;
    } else {
      int last = 0;
      for (int t = 0; t < operands.numRows; ++t)
        if (__ldcg(operands.positions + t) >= 0)
          last = t;
      return last;
    }
  }

  /// Adds the warps' sums of row `lane` of a tile and stores what follows.
  static SDC_DEVICE void store(const Operands &operands, const float *sums,
                               int tile, int index, int lane) {
    if (lane >= Weight::kRows)
      return;
    float total[kSubs];
#pragma unroll
    for (int sub = 0; sub < kSubs; ++sub) {
      total[sub] = 0;
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp)
        total[sub] += sums[(warp * kSubs + sub) * Weight::kRows + lane];
    }
    int first = 0, part = 0;
    if constexpr (kPair) {
      int row = tile * Weight::kRows + lane;
      float product = 1;
      long long at = 0;
      bool exists = true;
      (
          [&] {
            exists = row < Parts::kRows;
            at = static_cast<long long>(index) * Parts::kRows + row;
            if (exists)
              product *= Parts::apply(total[part], operands.bias[part], row);
            ++part;
          }(),
          ...);
      if (exists) {
        if constexpr (kResidual)
          product += __ldcg(operands.residual + at);
        operands.out[0][at] = product;
      }
    } else {
      (
          [&] {
            int row = (tile - first) * Weight::kRows + lane;
            if (row >= 0 && row < Parts::kRows &&
                tile - first < tilesOf(Parts::kRows)) {
              float v = Parts::apply(total[0], operands.bias[part], row);
              long long at = static_cast<long long>(index) * Parts::kRows + row;
              if constexpr (kResidual)
                v += __ldcg(operands.residual + at);
              operands.out[part][at] = v;
            }
            first += tilesOf(Parts::kRows);
            ++part;
          }(),
          ...);
    }
  }

  /// The whole kernel of CTA `cta` of `ctas`, for row `index` of output.
  static SDC_DEVICE void run(const Operands &operands, int cta, int ctas,
                             int index) {
    extern __shared__ __align__(128) char shared[];
    char *vector = shared + kWarps * Stages::kDataBytes;
    float *sums = reinterpret_cast<float *>(vector + Vector::kBytes);
    u64 *barriers = reinterpret_cast<u64 *>(sums + kSumFloats);
    float *scratch = reinterpret_cast<float *>(barriers + kWarps * kStages);
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

    launchDependents();
    Stages ring(shared + warp * Stages::kDataBytes, barriers + warp * kStages,
                lane);
    Cursor ahead(operands, cta, ctas, warp);
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) {
      ring.fill(stage, ahead.at, ahead.any());
      if (ahead.any())
        ahead.next(operands);
    }
    Staging<Vector, kColumns, kWarps, Norm> staging;
    staging.before(operands.normWeight);
    waitForPredecessors();

    int row = selectRow(operands, index);
    if (row < 0)
      row = 0; // computed for nothing, and not stored
    staging.stage(operands.x + static_cast<long long>(row) * kColumns,
                  operands.normWeight, operands.normBias, vector, scratch);
    __syncthreads();

    Weight weight;
    int turn = 0;
    for (int tile = cta; tile < kTiles; tile += ctas) {
      float *mine = sums + (turn & 1) * (kSumFloats / 2);
#pragma unroll 1
      for (int sub = 0; sub < kSubs; ++sub) {
        weight.clear();
#pragma unroll 1
        for (int unit = warp; unit < kUnits; unit += kWarps) {
          weight.read(ring.wait(), lane);
          ring.advance(ahead.at, ahead.any());
          if (ahead.any())
            ahead.next(operands);
          weight.multiply(vector, unit, lane);
        }
        weight.finish(mine + (warp * kSubs + sub) * Weight::kRows, lane);
      }
      // Sums alternate between two places, so one barrier a tile is enough.
      __syncthreads();
      if (warp == turn % kWarps &&
          (kSelect != Rows::Active || selectRow(operands, index) >= 0))
        store(operands, mine, tile, index, lane);
      ++turn;
    }
  }
};

} // namespace sdc
