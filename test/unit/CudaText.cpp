// CudaText ARCH [--cubin] [NAME...]
//
// The CUDA C++ of the kernels of these names, or of those on stdin, one a line;
// with --cubin, compiles it too and prints the bytes of the cubin instead. For
// people and for lit.

#include "compiler/Emit/CudaImage.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <iostream>
#include <string>

using namespace sdc;

int main(int argc, char **argv) {
  std::optional<CudaArch> arch =
      argc > 1 ? parseCudaArch(argv[1]) : std::nullopt;
  if (!arch) {
    llvm::errs() << "usage: CudaText sm_90a [--cubin] [NAME...]\n";
    return 2;
  }
  bool cubin = argc > 2 && llvm::StringRef(argv[2]) == "--cubin";
  std::vector<std::string> names(argv + (cubin ? 3 : 2), argv + argc);
  if (names.empty())
    for (std::string line; std::getline(std::cin, line);)
      if (!line.empty())
        names.push_back(line);
  std::vector<KernelSpec> specs;
  for (const std::string &name : names) {
    std::string problem;
    std::optional<KernelSpec> spec = KernelSpec::parse(name, problem);
    if (spec)
      problem = spec->problem();
    if (!problem.empty()) {
      llvm::errs() << problem << "\n";
      return 1;
    }
    specs.push_back(*spec);
  }
  auto fail = [](llvm::Error error) {
    llvm::errs() << llvm::toString(std::move(error)) << "\n";
    return 1;
  };
  if (cubin) {
    auto images = buildCudaImages(specs, {}, {}, *arch, "", 1);
    if (!images)
      return fail(images.takeError());
    llvm::outs() << images->front().cubin.size() << "\n";
    return 0;
  }
  auto source = cudaSource(specs, {}, {}, *arch, nullptr);
  if (!source)
    return fail(source.takeError());
  llvm::outs() << *source;
  return 0;
}
