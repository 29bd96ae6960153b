// What is computed row by row without a product: embedding, norms, the last
// row, activations, gates, additions. One CTA a row, or a row's 256 columns.

#pragma once

#include "epilogue.cuh"
#include "memory.cuh"
#include "norm.cuh"

namespace sdc {

constexpr int kRowWarps = 8;
constexpr int kRowThreads = kRowWarps * 32;

//===- Where value (row, column) of a table lies, in values ---------------===//

template <int kColumns> struct RowMajor {
  static SDC_DEVICE long long at(long long row, int column) {
    return row * kColumns + column;
  }
};

/// Dense tiles of kernels/Format/CudaTile.h.
template <int kColumns> struct FragmentTile {
  static SDC_DEVICE long long at(long long row, int column) {
    constexpr int kUnits = (kColumns + 127) / 128;
    int r = static_cast<int>(row % 16), c = column % 128;
    int lane = (r % 8) * 4 + c % 8 / 2;
    return ((row / 16 * kUnits + column / 128) * 8 + c / 16) * 256 + lane * 8 +
           (c % 16 / 8 * 2 + r / 8) * 2 + c % 2;
  }
};
template <class Type, int kColumns> struct LaneTile {
  static SDC_DEVICE long long at(long long row, int column) {
    constexpr int kUnits = (kColumns + 127) / 128;
    constexpr int kEach = 16 / kBytesOf<Type>;
    int c = column % 128;
    return (row / 32 * kUnits + column / 128) * (128 * 32) +
           c / kEach * (32 * kEach) + row % 32 * kEach + c % kEach;
  }
};

/// Grid: rows.
template <class Type, class Place, int kVocabulary, int kHidden, u32 kScale>
SDC_DEVICE void embed(const int *tokens, const void *table, float *out) {
  launchDependents();
  waitForPredecessors();
  int token = __ldcg(tokens + blockIdx.x);
  if (static_cast<u32>(token) >= static_cast<u32>(kVocabulary))
    token = 0;
  for (int column = threadIdx.x; column < kHidden; column += kRowThreads)
    out[static_cast<long long>(blockIdx.x) * kHidden + column] =
        loadShared<Type>(table, Place::at(token, column)) *
        __uint_as_float(kScale);
}

/// Grid: rows.
template <int kColumns, class Norm>
SDC_DEVICE void normRow(const float *x, const void *weight, const void *bias,
                        float *out) {
  __shared__ float scratch[kRowWarps];
  launchDependents();
  waitForPredecessors();
  long long first = static_cast<long long>(blockIdx.x) * kColumns;
  float mean = 0;
  if constexpr (Norm::kCentred) {
    float sum = 0;
    for (int column = threadIdx.x; column < kColumns; column += kRowThreads)
      sum += __ldcg(x + first + column);
    mean = sumOfBlock<kRowWarps>(sum, scratch) / kColumns;
  }
  float squares = 0;
  for (int column = threadIdx.x; column < kColumns; column += kRowThreads) {
    float v = __ldcg(x + first + column) - mean;
    squares = fmaf(v, v, squares);
  }
  squares = sumOfBlock<kRowWarps>(squares, scratch);
  float scale = rsqrtf(squares / kColumns + Norm::epsilon());
  for (int column = threadIdx.x; column < kColumns; column += kRowThreads) {
    float v = (__ldcg(x + first + column) - mean) * scale *
              loadValue<typename Norm::Type>(weight, column);
    if constexpr (Norm::kBias)
      v += loadValue<typename Norm::Type>(bias, column);
    out[first + column] = v;
  }
}

/// Grid: pieces of kRowThreads columns.
template <int kRows, int kColumns>
SDC_DEVICE void lastRow(const float *x, const int *positions, float *out) {
  launchDependents();
  waitForPredecessors();
  long long last = 0;
  for (int row = 0; row < kRows; ++row)
    if (__ldcg(positions + row) >= 0)
      last = row;
  int column = blockIdx.x * kRowThreads + threadIdx.x;
  if (column < kColumns)
    out[column] = __ldcg(x + last * kColumns + column);
}

/// Grid: pieces of kRowThreads columns, rows. `body` is given the place of a
/// value and its column.
template <int kColumns, class Body> SDC_DEVICE void forEachValue(Body body) {
  launchDependents();
  waitForPredecessors();
  int column = blockIdx.x * kRowThreads + threadIdx.x;
  if (column < kColumns)
    body(static_cast<long long>(blockIdx.y) * kColumns + column, column);
}

template <int kColumns, class Act>
SDC_DEVICE void activate(const float *x, float *out) {
  forEachValue<kColumns>(
      [&](long long at, int) { out[at] = Act::apply(__ldcg(x + at)); });
}

template <int kColumns, class Act>
SDC_DEVICE void gate(const float *g, const float *up, float *out) {
  forEachValue<kColumns>([&](long long at, int) {
    out[at] = Act::apply(__ldcg(g + at)) * __ldcg(up + at);
  });
}

template <int kColumns>
SDC_DEVICE void add(const float *x, const float *y, float *out) {
  forEachValue<kColumns>(
      [&](long long at, int) { out[at] = __ldcg(x + at) + __ldcg(y + at); });
}

template <int kColumns, class Type>
SDC_DEVICE void addRow(const float *x, const void *y, float *out) {
  forEachValue<kColumns>([&](long long at, int column) {
    out[at] = __ldcg(x + at) + loadShared<Type>(y, column);
  });
}

} // namespace sdc
