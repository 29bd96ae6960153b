// Copies a serialized model without its bulk. The wire format of protobuf is
// walked by hand, so that neither the weights of a model are held in memory
// nor the stored value types, which exporters get wrong, are read at all.

#ifndef SDC_COMPILER_IMPORT_ONNXWIRE_H
#define SDC_COMPILER_IMPORT_ONNXWIRE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace sdc {

/// Key of the external data entry that slimModel makes: the bytes are in the
/// model's own file.
inline constexpr llvm::StringLiteral kInModelFile = "sdc.in_model_file";

/// Returns `bytes`, a serialized ModelProto, without value_info, documentation
/// and metadata, and with every tensor whose values are stored in one piece of
/// more than `limit` bytes, in the byte order of memory, turned into external
/// data: entries kInModelFile, offset and length. Those are raw_data, and
/// float_data and double_data where they are packed; values that are stored as
/// varints stay. Fails on bytes that are not in the wire format.
llvm::Expected<std::string> slimModel(llvm::StringRef bytes, uint64_t limit);

} // namespace sdc

#endif // SDC_COMPILER_IMPORT_ONNXWIRE_H
