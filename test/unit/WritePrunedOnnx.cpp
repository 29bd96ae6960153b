// The ONNX writer on files, for the comparison with onnxruntime in test/Emit:
//   WritePrunedOnnx MODEL.onnx DENSE.mlir PRUNED.mlir OUT.onnx

#include "compiler/Emit/PrunedOnnx.h"
#include "dialects/Decode/DecodeDialect.h"
#include "dialects/NM/NMDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

int main(int argc, char **argv) {
  if (argc != 5) {
    llvm::errs() << "usage: WritePrunedOnnx MODEL DENSE PRUNED OUT\n";
    return 2;
  }
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                  tensor::TensorDialect, sdc::decode::DecodeDialect,
                  sdc::nm::NMDialect>();
  MLIRContext context(registry);
  auto dense = parseSourceFile<ModuleOp>(argv[2], &context);
  auto pruned = parseSourceFile<ModuleOp>(argv[3], &context);
  if (!dense || !pruned)
    return 1;
  std::string folder = llvm::sys::path::parent_path(argv[1]).str();
  if (llvm::Error error = sdc::writePrunedOnnx(
          argv[1], sdc::captureOrigins(*dense), *pruned, folder, argv[4])) {
    llvm::errs() << "error: " << toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}
