// Normalizations that onnxruntime defines.

#include "compiler/Import/Schemas/ContribSchemas.h"

#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"

using namespace onnx;

static const std::vector<std::string> &floats() {
  static const std::vector<std::string> types = {
      "tensor(float16)", "tensor(bfloat16)", "tensor(float)", "tensor(double)"};
  return types;
}

/// Output `output` is the first input reduced to 1 from `axis` on, in f32.
static void inferStatistics(InferenceContext &context, size_t output,
                            int64_t axis) {
  if (!context.hasOutput(output))
    return;
  updateOutputElemType(context, output, TensorProto::FLOAT);
  if (!hasInputShape(context, 0))
    return;
  TensorShapeProto shape = getInputShape(context, 0);
  int64_t rank = shape.dim_size();
  if (axis < -rank || axis >= rank)
    fail_shape_inference("axis ", axis, " is out of range for rank ", rank);
  for (int64_t i = axis < 0 ? axis + rank : axis; i < rank; ++i)
    shape.mutable_dim(static_cast<int>(i))->set_dim_value(1);
  updateOutputShape(context, output, shape);
}

/// Output `output` has the type of input 0.
static void inferLikeInput(InferenceContext &context, size_t output) {
  if (!context.hasOutput(output))
    return;
  propagateElemTypeFromInputToOutput(context, 0, output);
  if (hasInputShape(context, 0))
    propagateShapeFromInputToOutput(context, 0, output);
}

static OpSchema simplifiedLayerNormalization(const char *domain) {
  return OpSchema("SimplifiedLayerNormalization", __FILE__, __LINE__)
      .SetDomain(domain)
      .SinceVersion(1)
      .Attr("axis", "first normalized axis", AttributeProto::INT,
            static_cast<int64_t>(-1))
      .Attr("epsilon", "added to the mean square", AttributeProto::FLOAT, 1e-5f)
      .Attr("stash_type", "type of the computation", AttributeProto::INT,
            static_cast<int64_t>(1))
      .Input(0, "X", "values", "T")
      .Input(1, "scale", "weight", "V")
      .Output(0, "Y", "normalized values", "V")
      .Output(1, "inv_std_var", "reciprocal deviation", "U", OpSchema::Optional)
      .TypeConstraint("T", floats(), "")
      .TypeConstraint("V", floats(), "")
      .TypeConstraint("U", floats(), "")
      .TypeAndShapeInferenceFunction([](InferenceContext &context) {
        propagateElemTypeFromInputToOutput(context, 1, 0);
        if (hasInputShape(context, 0))
          propagateShapeFromInputToOutput(context, 0, 0);
        inferStatistics(context, 1, getAttribute(context, "axis", -1));
      });
}

/// Outputs of the skip forms: values, mean, reciprocal deviation, sum.
static OpSchema withSkipOutputs(OpSchema schema) {
  return std::move(schema)
      .SetDomain(sdc::kMicrosoftDomain)
      .SinceVersion(1)
      .Attr("epsilon", "added to the variance", AttributeProto::FLOAT, 1e-5f)
      .Output(0, "output", "normalized values", "T")
      .Output(1, "mean", "mean", "U", OpSchema::Optional)
      .Output(2, "inv_std_var", "reciprocal deviation", "U", OpSchema::Optional)
      .Output(3, "input_skip_bias_sum", "the new residual", "T",
              OpSchema::Optional)
      .TypeConstraint("T", floats(), "")
      .TypeConstraint("U", {"tensor(float)"}, "")
      .TypeAndShapeInferenceFunction([](InferenceContext &context) {
        inferLikeInput(context, 0);
        inferStatistics(context, 1, -1);
        inferStatistics(context, 2, -1);
        inferLikeInput(context, 3);
      });
}

void sdc::registerNormSchemas() {
  RegisterSchema(simplifiedLayerNormalization(ONNX_DOMAIN));
  RegisterSchema(simplifiedLayerNormalization(kMicrosoftDomain));
  RegisterSchema(withSkipOutputs(
      OpSchema("SkipSimplifiedLayerNormalization", __FILE__, __LINE__)
          .Input(0, "input", "values", "T")
          .Input(1, "skip", "residual", "T")
          .Input(2, "gamma", "weight", "T")
          .Input(3, "bias", "added to the sum", "T", OpSchema::Optional)));
  RegisterSchema(withSkipOutputs(
      OpSchema("SkipLayerNormalization", __FILE__, __LINE__)
          .Input(0, "input", "values", "T")
          .Input(1, "skip", "residual", "T")
          .Input(2, "gamma", "weight", "T")
          .Input(3, "beta", "bias of the result", "T", OpSchema::Optional)
          .Input(4, "bias", "added to the sum", "T", OpSchema::Optional)));
}
