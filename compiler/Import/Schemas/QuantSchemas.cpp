// Products with quantized weights that onnxruntime defines.

#include "compiler/Import/Schemas/ContribSchemas.h"

#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"

using namespace onnx;

/// The last dimension of the result is N, the others are those of A.
static void inferMatMulNBits(InferenceContext &context) {
  propagateElemTypeFromInputToOutput(context, 0, 0);
  if (!hasInputShape(context, 0))
    return;
  TensorShapeProto shape = getInputShape(context, 0);
  int64_t k = getAttribute(context, "K", 0), n = getAttribute(context, "N", 0);
  int rank = shape.dim_size();
  if (rank == 0)
    fail_shape_inference("expected A of rank 1 or more, got a scalar");
  if (shape.dim(rank - 1).has_dim_value() &&
      shape.dim(rank - 1).dim_value() != k)
    fail_shape_inference("expected ", k, " columns of A, got ",
                         shape.dim(rank - 1).dim_value());
  shape.mutable_dim(rank - 1)->set_dim_value(n);
  updateOutputShape(context, 0, shape);
}

void sdc::registerQuantSchemas() {
  OpSchema schema("MatMulNBits", __FILE__, __LINE__);
  schema.SetDomain(kMicrosoftDomain).SinceVersion(1);
  for (const char *name : {"K", "N", "block_size"})
    schema.Attr(name, "", AttributeProto::INT, /*required=*/true);
  for (const char *name : {"bits", "accuracy_level", "weight_prepacked"})
    schema.Attr(name, "", AttributeProto::INT, /*required=*/false);
  schema.Input(0, "A", "", "T1")
      .Input(1, "B", "[N, blocks, bytes]", "T2")
      .Input(2, "scales", "[N, blocks]", "T1")
      .Input(3, "zero_points", "", "T3", OpSchema::Optional)
      .Input(4, "g_idx", "", "T4", OpSchema::Optional)
      .Input(5, "bias", "", "T1", OpSchema::Optional)
      .Output(0, "Y", "", "T1")
      .TypeConstraint(
          "T1", {"tensor(float16)", "tensor(bfloat16)", "tensor(float)"}, "")
      .TypeConstraint("T2", {"tensor(uint8)", "tensor(int32)"}, "")
      .TypeConstraint("T3",
                      {"tensor(uint8)", "tensor(int32)", "tensor(float16)",
                       "tensor(bfloat16)", "tensor(float)"},
                      "")
      .TypeConstraint("T4", {"tensor(int32)"}, "")
      .TypeAndShapeInferenceFunction(inferMatMulNBits);
  RegisterSchema(std::move(schema));
}
