// RotaryEmbedding as onnxruntime defines it: its inputs are in another order
// than those of the standard operator.

#include "compiler/Import/Schemas/ContribSchemas.h"

#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"

using namespace onnx;

void sdc::registerRotarySchemas() {
  OpSchema schema("RotaryEmbedding", __FILE__, __LINE__);
  schema.SetDomain(kMicrosoftDomain).SinceVersion(1);
  schema.Attr("scale", "", AttributeProto::FLOAT, /*required=*/false);
  for (const char *name : {"interleaved", "rotary_embedding_dim", "num_heads",
                           "is_packed_batching"})
    schema.Attr(name, "", AttributeProto::INT, /*required=*/false);
  schema.Input(0, "input", "[B, S, heads x size] or [B, heads, S, size]", "T")
      .Input(1, "position_ids", "[1] or [B, S]", "M")
      .Input(2, "cos_cache", "[positions, size / 2]", "T")
      .Input(3, "sin_cache", "[positions, size / 2]", "T")
      .Output(0, "output", "", "T")
      .TypeConstraint(
          "T", {"tensor(float16)", "tensor(bfloat16)", "tensor(float)"}, "")
      .TypeConstraint("M", {"tensor(int64)"}, "")
      .TypeAndShapeInferenceFunction(propagateShapeAndTypeFromFirstInput);
  RegisterSchema(std::move(schema));
}
