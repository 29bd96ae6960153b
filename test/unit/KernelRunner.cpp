// Mapping and calling of generated kernels.

#include "test/unit/KernelRunner.h"

#include "compiler/Emit/KernelImage.h"

#include <cstdlib>
#include <sys/mman.h>

using namespace sdc;

static constexpr uint8_t kPoison = 0xf7;

Buffer::Buffer(size_t size) : length(size) {
  size_t whole = (size + 2 * kGuard + 63) / 64 * 64;
  bytes.reset(static_cast<uint8_t *>(std::aligned_alloc(64, whole)));
  std::memset(bytes.get(), kPoison, whole);
}

void Buffer::Free::operator()(uint8_t *p) const { std::free(p); }

bool Buffer::guardsIntact() const {
  for (size_t i = 0; i < kGuard; ++i)
    if (bytes.get()[i] != kPoison ||
        bytes.get()[kGuard + length + i] != kPoison)
      return false;
  return true;
}

bool sdc::canRun(CpuLevel level) {
  if (level == CpuLevel::Avx2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return __builtin_cpu_supports("avx512vbmi2") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl");
}

KernelSet::KernelSet(const std::vector<std::string> &names, CpuLevel level) {
  for (const std::string &name : names) {
    auto spec = KernelSpec::parse(name, problem);
    if (!spec)
      return;
    specs.push_back(*spec);
  }
  auto image = buildKernelImage(specs, level, 2);
  if (!image) {
    problem = llvm::toString(image.takeError());
    return;
  }
  mappedSize = image->bytes.size();
  mapped = mmap(nullptr, mappedSize, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    mapped = nullptr;
    problem = "no memory for the image";
    return;
  }
  std::memcpy(mapped, image->bytes.data(), mappedSize);
  mprotect(mapped, mappedSize, PROT_READ | PROT_EXEC);
  for (uint64_t offset : image->offsets)
    functions.push_back(
        reinterpret_cast<Function>(static_cast<uint8_t *>(mapped) + offset));
}

KernelSet::~KernelSet() {
  if (mapped)
    munmap(mapped, mappedSize);
}

void KernelSet::run(size_t index, const std::vector<void *> &operands,
                    int ranges) {
  Buffer scratch(specs[index].scratchSize());
  int64_t units = specs[index].unitCount();
  for (int i = ranges - 1; i >= 0; --i)
    functions[index](operands.data(), units * i / ranges,
                     units * (i + 1) / ranges, scratch.data());
  if (!scratch.guardsIntact())
    problem = specs[index].name() + " writes beyond its scratch";
}
