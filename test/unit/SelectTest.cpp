// Choices of kernels/Select: what is chosen is legal, and says why.

#include "kernels/Select/Select.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace sdc;

namespace {

TEST(Select, TilesHoldSmallWeightsWithoutWaste) {
  for (int64_t rows : {1, 2, 3, 4, 5, 8, 9, 4096}) {
    TileChoice choice = selectCpuTile(rows, 576, {16, 32});
    EXPECT_EQ(choice.tile.problem(), "");
    EXPECT_NE(choice.why, "");
    EXPECT_LT(choice.tile.rows, 2 * std::max<int64_t>(rows, 1) + 6);
  }
  EXPECT_EQ(selectCpuTile(3, 64, Pattern::dense()).tile.rows, 4u);
  EXPECT_EQ(selectCpuTile(960, 64, Pattern::dense()).tile.rows, 8u);
}

TEST(Select, SplitsCoverTheContext) {
  for (int64_t rows : {1, 2, 16, 64})
    for (int64_t heads : {1, 9, 32})
      for (int64_t context : {1, 512, 1024, 4096, 131072}) {
        SplitChoice choice = selectCpuSplits(rows, heads, context);
        EXPECT_NE(choice.why, "");
        if (choice.splits > 1) {
          EXPECT_GE(choice.splits * choice.chunk, context);
          EXPECT_GE(choice.chunk, 512);
        }
      }
  EXPECT_EQ(selectCpuSplits(1, 9, 512).splits, 1);
  EXPECT_GT(selectCpuSplits(1, 9, 8192).splits, 1);
}

} // namespace
