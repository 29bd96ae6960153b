// Blocking and packing around the tile of GemmKernel.h.

#include "compiler/Algebra/Gemm.h"
#include "compiler/Algebra/GemmKernel.h"
#include "compiler/Algebra/Parallel.h"

#include <algorithm>
#include <vector>

using namespace sdc;
using sdc::detail::GemmKernel;
using sdc::detail::gemmKernels;

namespace {

/// Terms of one chain. A change of this number changes results.
constexpr int64_t kDepth = 256;
/// Tiles in a block of A (per item of work) and in a panel of B.
constexpr int64_t kRowTiles = 8;
constexpr int64_t kColumnTiles = 32;
/// Products below this many multiply-adds are not worth a thread.
constexpr int64_t kSerialWork = int64_t(1) << 21;

/// Copies `count` x `depth` elements into tiles of `width`, padded with zeros:
/// out[tile][p][i] = sign * at(tile * width + i, p).
template <typename T>
void packTiles(MatrixView<T> from, int64_t count, int64_t depth, int64_t width,
               bool negate, T *out) {
  for (int64_t base = 0; base < count; base += width, out += width * depth) {
    int64_t used = std::min(width, count - base);
    const T *source = from.data + base * from.rowStride;
    if (used < width)
      std::fill(out, out + width * depth, T(0));
    if (from.rowStride == 1) {
      for (int64_t p = 0; p < depth; ++p)
        for (int64_t i = 0; i < used; ++i)
          out[p * width + i] = source[p * from.columnStride + i];
    } else {
      for (int64_t i = 0; i < used; ++i)
        for (int64_t p = 0; p < depth; ++p)
          out[p * width + i] =
              source[i * from.rowStride + p * from.columnStride];
    }
    if (negate)
      for (int64_t i = 0; i < width * depth; ++i)
        out[i] = -out[i];
  }
}

/// Adds a tile to the result at (row, column), as far as both exist.
template <typename T, typename C>
void addTile(const T *tile, int64_t width, int64_t rows, int64_t columns,
             int64_t row, int64_t column, GemmPart part, C *c, int64_t stride) {
  for (int64_t i = 0; i < rows; ++i) {
    int64_t first =
        part == GemmPart::Upper ? std::max<int64_t>(0, row + i - column) : 0;
    C *out = c + (row + i) * stride + column;
    const T *in = tile + i * width;
    for (int64_t j = first; j < columns; ++j)
      out[j] += static_cast<C>(in[j]);
  }
}

template <typename T, typename C>
void gemmImpl(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b,
              C *c, int64_t stride, GemmSign sign, GemmPart part,
              unsigned threads) {
  const GemmKernel<T> &kernel = gemmKernels<T>().front();
  int64_t blockRows = kernel.rows * kRowTiles;
  int64_t blockColumns = kernel.columns * kColumnTiles;
  // Scratch is kept from call to call, since small products are many.
  thread_local std::vector<T> packedB;
  for (int64_t column = 0; column < n; column += blockColumns) {
    int64_t columns = std::min(blockColumns, n - column);
    int64_t columnTiles = (columns + kernel.columns - 1) / kernel.columns;
    // Rows below the diagonal of this panel's last column have no part in it.
    int64_t rowEnd =
        part == GemmPart::Upper ? std::min(m, column + columns) : m;
    for (int64_t p = 0; p < k; p += kDepth) {
      int64_t depth = std::min(kDepth, k - p);
      size_t needed = columnTiles * kernel.columns * depth;
      if (packedB.size() < needed)
        packedB.resize(needed);
      T *panel = packedB.data();
      MatrixView<T> bPart = {b.data + p * b.rowStride + column * b.columnStride,
                             b.columnStride, b.rowStride};
      packTiles(bPart, columns, depth, kernel.columns, false, panel);

      int64_t items = (rowEnd + blockRows - 1) / blockRows;
      bool serial = rowEnd * columns * depth < kSerialWork;
      parallelFor(serial ? 1 : threads, items, [&](int64_t item) {
        thread_local std::vector<T> packedA, tile;
        packedA.resize(blockRows * kDepth);
        tile.resize(kernel.rows * kernel.columns);
        int64_t row = item * blockRows;
        int64_t rows = std::min(blockRows, rowEnd - row);
        MatrixView<T> aPart = {a.data + row * a.rowStride + p * a.columnStride,
                               a.rowStride, a.columnStride};
        packTiles(aPart, rows, depth, kernel.rows, sign == GemmSign::Subtract,
                  packedA.data());
        for (int64_t j = 0; j < columns; j += kernel.columns)
          for (int64_t i = 0; i < rows; i += kernel.rows) {
            int64_t width = std::min(kernel.columns, columns - j);
            if (part == GemmPart::Upper && row + i > column + j + width - 1)
              continue;
            kernel.run(depth, packedA.data() + i * depth, panel + j * depth,
                       tile.data());
            addTile(tile.data(), kernel.columns,
                    std::min(kernel.rows, rows - i), width, row + i, column + j,
                    part, c, stride);
          }
      });
    }
  }
}

} // namespace

void sdc::gemm(int64_t m, int64_t n, int64_t k, MatrixView<float> a,
               MatrixView<float> b, float *c, int64_t stride, GemmSign sign,
               GemmPart part, unsigned threads) {
  gemmImpl(m, n, k, a, b, c, stride, sign, part, threads);
}

void sdc::gemm(int64_t m, int64_t n, int64_t k, MatrixView<double> a,
               MatrixView<double> b, double *c, int64_t stride, GemmSign sign,
               GemmPart part, unsigned threads) {
  gemmImpl(m, n, k, a, b, c, stride, sign, part, threads);
}

void sdc::gemm(int64_t m, int64_t n, int64_t k, MatrixView<float> a,
               MatrixView<float> b, double *c, int64_t stride, GemmSign sign,
               GemmPart part, unsigned threads) {
  gemmImpl(m, n, k, a, b, c, stride, sign, part, threads);
}
