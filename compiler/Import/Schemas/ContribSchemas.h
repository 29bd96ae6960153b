// Schemas of operators that onnxruntime defines and exporters use, for the
// checker, the version converter and shape inference of the ONNX library. One
// file for each family; a new family adds its function here.

#ifndef SDC_COMPILER_IMPORT_SCHEMAS_CONTRIBSCHEMAS_H
#define SDC_COMPILER_IMPORT_SCHEMAS_CONTRIBSCHEMAS_H

namespace sdc {

inline constexpr char kMicrosoftDomain[] = "com.microsoft";

/// Registers all of them, once.
void registerContribSchemas();

/// SimplifiedLayerNormalization (in the standard domain too, where
/// onnxruntime-genai puts it), SkipSimplifiedLayerNormalization,
/// SkipLayerNormalization.
void registerNormSchemas();
/// GroupQueryAttention.
void registerAttentionSchemas();
/// RotaryEmbedding of com.microsoft.
void registerRotarySchemas();
/// MatMulNBits.
void registerQuantSchemas();

} // namespace sdc

#endif // SDC_COMPILER_IMPORT_SCHEMAS_CONTRIBSCHEMAS_H
