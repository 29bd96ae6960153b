// The Onnx dialect itself, and the base class of its operations.

#ifndef SDC_DIALECTS_ONNX_ONNXDIALECT_TD
#define SDC_DIALECTS_ONNX_ONNXDIALECT_TD

include "mlir/IR/OpBase.td"

def Onnx_Dialect : Dialect {
  let name = "onnx";
  let cppNamespace = "::sdc::onnxir";
  let summary = "An ONNX graph as it is in the file, without any meaning";
  let description = [{
    One generic operation stands for every ONNX node, one operation for a
    graph with named inputs and outputs. What a node computes is said by its
    ONNX domain, name and schema version; the dialect neither knows nor checks
    it. Weights larger than 64 KiB are symbols of the module that name bytes in
    files; they are never attributes.

    The C++ namespace is `sdc::onnxir`, since `onnx` is that of the ONNX
    library.
  }];
  let useDefaultAttributePrinterParser = 0;
}

class Onnx_Op<string mnemonic, list<Trait> traits = []>
    : Op<Onnx_Dialect, mnemonic, traits>;

#endif // SDC_DIALECTS_ONNX_ONNXDIALECT_TD
