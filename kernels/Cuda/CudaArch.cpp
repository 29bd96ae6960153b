// Limits from the CUDA programming guide, table of compute capabilities;
// multiprocessors are those of A100, RTX 3090, RTX 4090, H200 and B200.

#include "kernels/Cuda/CudaArch.h"

using namespace sdc;

namespace {

struct Entry {
  CudaArch arch;
  std::string_view name;
  CudaLimits limits;
};
constexpr Entry kEntries[] = {
    {CudaArch::Sm80, "sm_80", {108, 164 << 10, 163 << 10, false}},
    {CudaArch::Sm86, "sm_86", {82, 100 << 10, 99 << 10, false}},
    {CudaArch::Sm89, "sm_89", {128, 100 << 10, 99 << 10, false}},
    {CudaArch::Sm90a, "sm_90a", {132, 228 << 10, 227 << 10, true}},
    {CudaArch::Sm100a, "sm_100a", {148, 228 << 10, 227 << 10, true}},
};

const Entry &entry(CudaArch arch) {
  return kEntries[static_cast<unsigned>(arch)];
}

} // namespace

std::string_view sdc::cudaArchName(CudaArch arch) { return entry(arch).name; }

std::optional<CudaArch> sdc::parseCudaArch(std::string_view name) {
  for (const Entry &e : kEntries)
    if (e.name == name)
      return e.arch;
  return std::nullopt;
}

const CudaLimits &sdc::cudaLimits(CudaArch arch) { return entry(arch).limits; }
