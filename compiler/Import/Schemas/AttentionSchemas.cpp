// Attention operators that onnxruntime defines.

#include "compiler/Import/Schemas/ContribSchemas.h"

#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"

using namespace onnx;

/// The sum of two dimensions, unknown where one of them is.
static TensorShapeProto::Dimension sum(const TensorShapeProto::Dimension &a,
                                       const TensorShapeProto::Dimension &b) {
  TensorShapeProto::Dimension result;
  if (a.has_dim_value() && b.has_dim_value())
    result.set_dim_value(a.dim_value() + b.dim_value());
  return result;
}

static void inferGroupQueryAttention(InferenceContext &context) {
  for (size_t output = 0; output < 4; ++output)
    if (context.hasOutput(output))
      propagateElemTypeFromInputToOutput(
          context, (output == 1 || output == 2) && context.hasInput(3) ? 3 : 0,
          output);
  int64_t heads = getAttribute(context, "num_heads", 0);
  int64_t kvHeads = getAttribute(context, "kv_num_heads", 0);
  if (heads <= 0 || kvHeads <= 0 || heads % kvHeads != 0)
    fail_shape_inference("num_heads ", heads,
                         " is not a multiple of kv_num_heads ", kvHeads);
  if (!hasInputShape(context, 0))
    return;
  const TensorShapeProto &query = getInputShape(context, 0);
  if (query.dim_size() != 3)
    fail_shape_inference("expected a query of rank 3, got ", query.dim_size());

  // A query without a key holds the rows of all three.
  int64_t held = context.hasInput(1) ? heads : heads + 2 * kvHeads;
  TensorShapeProto::Dimension hidden, headSize;
  if (query.dim(2).has_dim_value()) {
    if (query.dim(2).dim_value() % held != 0)
      fail_shape_inference("width ", query.dim(2).dim_value(),
                           " of the query does not divide into ", held,
                           " heads");
    headSize.set_dim_value(query.dim(2).dim_value() / held);
    hidden.set_dim_value(headSize.dim_value() * heads);
  }
  TensorShapeProto shape;
  *shape.add_dim() = query.dim(0);
  *shape.add_dim() = query.dim(1);
  *shape.add_dim() = hidden;
  updateOutputShape(context, 0, shape);

  for (size_t output : {1, 2}) {
    if (!context.hasOutput(output))
      continue;
    TensorShapeProto::Dimension total = query.dim(1), size = headSize;
    size_t past = output + 2;
    if (context.hasInput(past)) {
      total.Clear();
      if (hasInputShape(context, past)) {
        const TensorShapeProto &cache = getInputShape(context, past);
        if (cache.dim_size() != 4)
          fail_shape_inference("expected a cache of rank 4, got ",
                               cache.dim_size());
        total = sum(cache.dim(2), query.dim(1));
        if (!size.has_dim_value())
          size = cache.dim(3);
      }
    }
    TensorShapeProto present;
    *present.add_dim() = query.dim(0);
    present.add_dim()->set_dim_value(kvHeads);
    *present.add_dim() = total;
    *present.add_dim() = size;
    updateOutputShape(context, output, present);
  }
}

void sdc::registerAttentionSchemas() {
  OpSchema schema("GroupQueryAttention", __FILE__, __LINE__);
  schema.SetDomain(kMicrosoftDomain).SinceVersion(1);
  for (const char *name : {"num_heads", "kv_num_heads"})
    schema.Attr(name, "", AttributeProto::INT, /*required=*/true);
  for (const char *name : {"scale", "softcap"})
    schema.Attr(name, "", AttributeProto::FLOAT, /*required=*/false);
  for (const char *name :
       {"do_rotary", "rotary_interleaved", "local_window_size",
        "smooth_softmax", "qk_output", "kv_cache_bit_width", "causal",
        "sliding_window_cache"})
    schema.Attr(name, "", AttributeProto::INT, /*required=*/false);
  for (const char *name : {"k_quant_type", "v_quant_type"})
    schema.Attr(name, "", AttributeProto::STRING, /*required=*/false);
  schema.Input(0, "query", "[B, S, heads x head size], or all of q, k, v", "T")
      .Input(1, "key", "", "T", OpSchema::Optional)
      .Input(2, "value", "", "T", OpSchema::Optional)
      .Input(3, "past_key", "", "C", OpSchema::Optional)
      .Input(4, "past_value", "", "C", OpSchema::Optional)
      .Input(5, "seqlens_k", "valid length - 1", "M")
      .Input(6, "total_sequence_length", "", "M");
  int index = 7;
  for (const char *name : {"cos_cache", "sin_cache"})
    schema.Input(index++, name, "", "T", OpSchema::Optional);
  schema.Input(index++, "position_ids", "", "I", OpSchema::Optional);
  for (const char *name : {"attention_bias", "head_sink"})
    schema.Input(index++, name, "", "T", OpSchema::Optional);
  for (const char *name : {"k_scale", "v_scale"})
    schema.Input(index++, name, "", "F", OpSchema::Optional);
  for (const char *name : {"q_norm_weight", "k_norm_weight"})
    schema.Input(index++, name, "", "T", OpSchema::Optional);
  schema.Output(0, "output", "", "T")
      .Output(1, "present_key", "", "C", OpSchema::Optional)
      .Output(2, "present_value", "", "C", OpSchema::Optional)
      .Output(3, "output_qk", "", "T", OpSchema::Optional)
      .TypeConstraint(
          "T", {"tensor(float16)", "tensor(bfloat16)", "tensor(float)"}, "")
      .TypeConstraint("C",
                      {"tensor(float16)", "tensor(bfloat16)", "tensor(float)",
                       "tensor(int8)", "tensor(uint8)"},
                      "")
      .TypeConstraint("F", {"tensor(float)"}, "")
      .TypeConstraint("M", {"tensor(int32)"}, "")
      .TypeConstraint("I", {"tensor(int64)"}, "")
      .TypeAndShapeInferenceFunction(inferGroupQueryAttention);
  RegisterSchema(std::move(schema));
}
