// mlir-opt with our dialects and passes, and of the upstream ones only those
// that our tests use.

#include "compiler/Passes.h"
#include "compiler/Pipeline/Pipeline.h"
#include "dialects/Decode/DecodeDialect.h"
#include "dialects/Exec/ExecDialect.h"
#include "dialects/NM/NMDialect.h"
#include "dialects/Onnx/OnnxDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SparseTensor/IR/SparseTensor.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<
      mlir::arith::ArithDialect, mlir::func::FuncDialect,
      mlir::linalg::LinalgDialect, mlir::sparse_tensor::SparseTensorDialect,
      mlir::tensor::TensorDialect, sdc::decode::DecodeDialect,
      sdc::exec::ExecDialect, sdc::nm::NMDialect, sdc::onnxir::OnnxDialect>();
  mlir::registerTransformsPasses();
  sdc::registerSdcPasses();
  sdc::registerPhasePipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "sdc optimizer driver\n", registry));
}
