// The pipeline from the dialects of kernels to machine code. Loops come as they
// should run, so LLVM neither unrolls nor vectorizes them again.

#include "compiler/Emit/ObjectCode.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

using namespace sdc;

namespace {

constexpr llvm::StringLiteral kTriple = "x86_64-unknown-linux-gnu";

llvm::StringRef ref(std::string_view text) {
  return {text.data(), text.size()};
}

llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(const CpuTarget &target) {
  // Safe to repeat, and from several threads.
  static const bool initialised = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    return true;
  }();
  (void)initialised;
  llvm::Triple triple(kTriple);
  std::string problem;
  const llvm::Target *x86 = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!x86)
    return fail("no code generator for " + kTriple + ": " + problem);
  llvm::TargetOptions options;
  // Sums are rounded where the kernel says so.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(x86->createTargetMachine(
      triple, ref(target.cpu), ref(target.features), options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return fail("no code generator for " + ref(target.cpu));
  return machine;
}

void setAttributes(llvm::Module &module, const CpuTarget &target) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.setDSOLocal(true);
    function.setDoesNotThrow();
    function.setAlignment(llvm::Align(64));
    function.addFnAttr("target-cpu", ref(target.cpu));
    if (!target.features.empty())
      function.addFnAttr("target-features", ref(target.features));
    function.addFnAttr("tune-cpu", ref(target.tune));
    // An image has nobody to call.
    function.addFnAttr("no-builtins");
  }
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopInterleaving = false;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::TargetLibraryInfoImpl library(module.getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(module, modules);
}

llvm::Expected<llvm::SmallVector<char, 0>>
emitModule(llvm::Module &module, CpuLevel level, CodeForm form) {
  CpuTarget target = cpuTarget(level);
  auto machine = createMachine(target);
  if (!machine)
    return machine.takeError();
  module.setTargetTriple(llvm::Triple(kTriple));
  module.setDataLayout((*machine)->createDataLayout());
  setAttributes(module, target);
  optimize(module, **machine);

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (form == CodeForm::LLVM) {
    module.print(stream, nullptr);
    return bytes;
  }
  llvm::legacy::PassManager passes;
  auto type = form == CodeForm::Object ? llvm::CodeGenFileType::ObjectFile
                                       : llvm::CodeGenFileType::AssemblyFile;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr, type))
    return fail("the code generator cannot write this form of code");
  passes.run(module);
  return bytes;
}

} // namespace

void sdc::registerObjectCodeDialects(mlir::DialectRegistry &registry) {
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
}

mlir::LogicalResult sdc::lowerToLLVMDialect(mlir::ModuleOp module) {
  mlir::PassManager passes(module.getContext());
  // Builders repeat themselves; the repetition goes before it costs time.
  passes.addPass(mlir::createCSEPass());
  // Loops and conditions become blocks.
  passes.addPass(mlir::createSCFToControlFlowPass());
  // Vectors first: their lowering makes arithmetic.
  passes.addPass(mlir::createConvertVectorToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass());
  passes.addPass(mlir::createConvertFuncToLLVMPass());
  passes.addPass(mlir::createConvertControlFlowToLLVMPass());
  // What the steps left between each other.
  passes.addPass(mlir::createReconcileUnrealizedCastsPass());
  return passes.run(module);
}

llvm::Expected<llvm::SmallVector<char, 0>>
sdc::emitCode(mlir::ModuleOp module, CpuLevel level, CodeForm form) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated =
      mlir::translateModuleToLLVMIR(module, context, "kernels");
  if (!translated)
    return fail("the module cannot be translated to LLVM IR");
  return emitModule(*translated, level, form);
}

llvm::Expected<llvm::SmallVector<char, 0>>
sdc::emitCodeFromText(llvm::StringRef text, CpuLevel level, CodeForm form) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(text, problem, context);
  if (!module)
    return fail("LLVM IR: " + problem.getMessage());
  return emitModule(*module, level, form);
}
