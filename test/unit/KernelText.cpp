// Prints the code of kernels: KernelText LEVEL asm|llvm NAME...

#include "compiler/Emit/KernelImage.h"

#include "llvm/Support/raw_ostream.h"

using namespace sdc;

int main(int argc, char **argv) {
  auto level = argc > 3 ? parseCpuLevel(argv[1]) : std::nullopt;
  llvm::StringRef form = argc > 3 ? argv[2] : "";
  if (!level || (form != "asm" && form != "llvm")) {
    llvm::errs() << "usage: KernelText avx2|avx512vbmi2 asm|llvm NAME...\n";
    return 2;
  }
  std::vector<KernelSpec> specs;
  for (int i = 3; i < argc; ++i) {
    std::string problem;
    auto spec = KernelSpec::parse(argv[i], problem);
    if (!spec) {
      llvm::errs() << problem << "\n";
      return 1;
    }
    specs.push_back(*spec);
  }
  auto text = emitKernels(specs, *level,
                          form == "asm" ? CodeForm::Assembly : CodeForm::LLVM);
  if (!text) {
    llvm::errs() << llvm::toString(text.takeError()) << "\n";
    return 1;
  }
  llvm::outs() << llvm::StringRef(text->data(), text->size());
  return 0;
}
