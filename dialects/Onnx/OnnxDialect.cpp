// Registers what the Onnx dialect consists of.

#include "dialects/Onnx/OnnxDialect.h"

using namespace sdc::onnxir;

#include "dialects/Onnx/OnnxDialect.cpp.inc"

void OnnxDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Onnx/OnnxOps.cpp.inc"
      >();
}
