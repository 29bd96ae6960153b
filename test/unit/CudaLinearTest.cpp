// Launches of linear kernels fit the device, whatever the shape, and say why;
// the device templates in the library are those of the folder.

#include "kernels/Cuda/DeviceHeaders.h"
#include "kernels/Cuda/LinearLaunch.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

using namespace sdc;

namespace {

LinearSpec specOf(int64_t columns, Pattern pattern, ElementType type,
                  bool pair) {
  LinearSpec spec;
  spec.columns = columns;
  spec.pair = pair;
  LinearPart part;
  part.rows = 4096;
  part.pattern = pattern;
  part.type = type;
  part.tile = cudaTile(pattern, type);
  spec.parts.assign(pair ? 2 : 1, part);
  return spec;
}

TEST(CudaArch, NamesRoundTrip) {
  for (CudaArch arch : kCudaArchs)
    EXPECT_EQ(parseCudaArch(cudaArchName(arch)), arch);
  EXPECT_FALSE(parseCudaArch("sm_90"));
  EXPECT_FALSE(parseCudaArch(""));
}

TEST(CudaLinear, EveryLaunchFitsTheDevice) {
  for (CudaArch arch : kCudaArchs)
    for (int64_t columns : {1, 64, 576, 4096, 8192, 14336, 17408})
      for (Pattern pattern : {Pattern::dense(), Pattern{2, 4}, Pattern{4, 8},
                              Pattern{16, 32}, Pattern{31, 32}})
        for (ElementType type : {ElementType::BF16, ElementType::F32})
          for (bool pair : {false, true}) {
            LinearSpec spec = specOf(columns, pattern, type, pair);
            ASSERT_EQ(spec.layout(0).problem(), "");
            LinearLaunch launch = linearLaunch(spec, arch);
            const CudaLimits &limits = cudaLimits(arch);
            EXPECT_LE(launch.sharedBytes, limits.ctaSharedBytes);
            EXPECT_LE(launch.ctas * (launch.sharedBytes + kReservedShared),
                      limits.sharedBytes);
            EXPECT_LE(launch.threads() * launch.ctas, 1024u * 2);
            EXPECT_GE(launch.warps, 1u);
            EXPECT_GE(launch.stages, 1u);
            EXPECT_NE(launch.why, "");
          }
}

// 2:4 of 4096 columns: 16 KiB of x, and for each of 8 warps five stages of a
// unit of 2304 bytes and a barrier, two sums of 16 rows, a float.
TEST(CudaLinear, SharedMemoryOfAKnownShape) {
  LinearSpec spec = specOf(4096, {2, 4}, ElementType::BF16, false);
  EXPECT_EQ(linearSharedBytes(spec, 8, 5),
            16384 + 8 * (5 * (2304 + 8) + 2 * 16 * 4 + 4));
  LinearLaunch launch = linearLaunch(spec, CudaArch::Sm90a);
  EXPECT_EQ(launch.warps, 8u);
  EXPECT_EQ(launch.ctas, 2u);
  EXPECT_EQ(launch.stages, 5u);
  EXPECT_EQ(launch.gridX, 132u);
  // Where K is large, whatever the rows, a kernel is alone.
  spec = specOf(28672, {2, 4}, ElementType::BF16, false);
  EXPECT_EQ(linearLaunch(spec, CudaArch::Sm90a).ctas, 1u);
}

TEST(CudaLinear, PartsMustAgree) {
  LinearSpec spec = specOf(64, {2, 4}, ElementType::BF16, true);
  EXPECT_EQ(linearProblem(spec), "");
  spec.parts[1].pattern = {16, 32};
  spec.parts[1].tile = Tile::lanes();
  EXPECT_EQ(linearProblem(spec),
            "parts differ in pattern, type or tile: 2:4 and 16:32");
  spec.parts[1] = spec.parts[0];
  spec.parts[0].tile = Tile::interleavedRows(8);
  EXPECT_EQ(linearProblem(spec), "tile rows8 is for CPUs");
}

TEST(DeviceHeaders, AreTheFilesOfTheFolder) {
  bool linear = false;
  for (const DeviceHeader &header : deviceHeaders()) {
    std::ifstream file(std::string(SDC_DEVICE_FOLDER "/") + header.name);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(text, header.text) << header.name;
    linear |= std::string(header.name) == "linear.cuh";
  }
  EXPECT_TRUE(linear);
}

} // namespace
