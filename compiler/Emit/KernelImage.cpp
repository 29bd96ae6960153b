// Kernels to objects, in parallel, and objects to one image.

#include "compiler/Emit/KernelImage.h"

#include "compiler/Lower/Cpu/BuildKernels.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/ThreadPool.h"

using namespace sdc;

namespace {

using Bytes = llvm::SmallVector<char, 0>;

/// The memory functions that a code generator may call on its own.
constexpr llvm::StringLiteral kMemoryFunctions = R"(
define ptr @memcpy(ptr %to, ptr %from, i64 %size) {
  %r = call { ptr, ptr, i64 } asm sideeffect "rep movsb",
      "={di},={si},={cx},0,1,2,~{memory},~{dirflag},~{fpsr},~{flags}"(
      ptr %to, ptr %from, i64 %size)
  ret ptr %to
}

define ptr @memset(ptr %to, i32 %byte, i64 %size) {
  %b = trunc i32 %byte to i8
  %r = call { ptr, i64 } asm sideeffect "rep stosb",
      "={di},={cx},0,1,{al},~{memory},~{dirflag},~{fpsr},~{flags}"(
      ptr %to, i64 %size, i8 %b)
  ret ptr %to
}
)";

llvm::Expected<Bytes> emit(llvm::ArrayRef<KernelSpec> specs, CpuLevel level,
                           CodeForm form) {
  mlir::DialectRegistry registry;
  registerCpuKernelDialects(registry);
  registerObjectCodeDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string text;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        text += (text.empty() ? "" : "; ") + diagnostic.str();
      });
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  if (mlir::failed(buildCpuKernels(*module, specs, level)) ||
      mlir::failed(lowerToLLVMDialect(*module)))
    return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
  return emitCode(*module, level, form);
}

} // namespace

llvm::Expected<Bytes> sdc::emitKernels(llvm::ArrayRef<KernelSpec> specs,
                                       CpuLevel level, CodeForm form) {
  return emit(specs, level, form);
}

llvm::Expected<CodeImage>
sdc::buildKernelImage(llvm::ArrayRef<KernelSpec> specs, CpuLevel level,
                      unsigned threads) {
  std::vector<Bytes> objects(specs.size());
  std::vector<std::string> problems(specs.size());
  {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(threads));
    for (size_t i = 0; i < specs.size(); ++i)
      pool.async([&, i] {
        if (auto object = emit(specs[i], level, CodeForm::Object))
          objects[i] = std::move(*object);
        else
          problems[i] = llvm::toString(object.takeError());
      });
    pool.wait();
  }
  std::string problem;
  for (const std::string &text : problems)
    if (!text.empty())
      problem += (problem.empty() ? "" : "; ") + text;
  if (!problem.empty())
    return llvm::createStringError(llvm::inconvertibleErrorCode(), problem);

  std::vector<llvm::StringRef> parts;
  parts.reserve(objects.size() + 1);
  for (const Bytes &object : objects)
    parts.emplace_back(object.data(), object.size());
  auto wanted = undefinedSymbols(parts);
  if (!wanted)
    return wanted.takeError();
  Bytes memory;
  if (llvm::is_contained(*wanted, "memcpy") ||
      llvm::is_contained(*wanted, "memset")) {
    auto object = emitCodeFromText(kMemoryFunctions, level, CodeForm::Object);
    if (!object)
      return object.takeError();
    memory = std::move(*object);
    parts.emplace_back(memory.data(), memory.size());
  }
  std::vector<std::string> names;
  for (const KernelSpec &spec : specs)
    names.push_back(spec.name());
  return linkImage(parts, names);
}
