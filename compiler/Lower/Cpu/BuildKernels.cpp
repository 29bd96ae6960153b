// Functions around the bodies of kernels.

#include "compiler/Lower/Cpu/BuildKernels.h"

#include "compiler/Lower/Cpu/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sdc;

Value KernelArguments::next() {
  return k.load(k.ptr(), k.at(operands, 8 * taken++), 8);
}

void sdc::registerCpuKernelDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
                  scf::SCFDialect, vector::VectorDialect>();
}

LogicalResult sdc::buildCpuKernels(ModuleOp module, ArrayRef<KernelSpec> specs,
                                   CpuLevel level) {
  bool failed = false;
  for (const KernelSpec &spec : specs)
    if (std::string problem = spec.problem(); !problem.empty()) {
      module.emitError("kernel ") << problem;
      failed = true;
    }
  if (failed)
    return failure();

  OpBuilder builder(module.getContext());
  Location loc = module.getLoc();
  KernelBuilder k(builder, loc, level, module);
  Type signature[] = {k.ptr(), k.i64(), k.i64(), k.ptr()};
  for (const KernelSpec &spec : specs) {
    builder.setInsertionPointToEnd(module.getBody());
    auto function = func::FuncOp::create(
        builder, loc, spec.name(), builder.getFunctionType(signature, {}));
    Block *body = function.addEntryBlock();
    builder.setInsertionPointToEnd(body);
    func::ReturnOp::create(builder, loc);
    builder.setInsertionPoint(body->getTerminator());
    KernelArguments args(k, body->getArgument(0), body->getArgument(1),
                         body->getArgument(2), body->getArgument(3));
    std::visit([&](const auto &s) { buildKernel(k, s, args); }, spec.spec);
  }
  return success();
}
