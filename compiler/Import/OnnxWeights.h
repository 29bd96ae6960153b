// The weights of a model: which bytes of which file they are. Tensors of more
// than 64 KiB are taken out of the graph and become symbols that name a range
// of a file; smaller ones are read into the graph, whatever they are stored in.
//
// External data may lie in any number of files, all inside the model's folder
// or the one that was given for them. An offset or length is a decimal
// integer; a missing offset is 0, a missing length all that the tensor needs.
// A large tensor whose values are stored as varints (int32_data, int64_data,
// uint64_data) or as text has no bytes to name: it is refused.

#ifndef SDC_COMPILER_IMPORT_ONNXWEIGHTS_H
#define SDC_COMPILER_IMPORT_ONNXWEIGHTS_H

#include "compiler/Import/ImportDiagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "onnx/onnx_pb.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sdc {

/// A weight that is a symbol of the module.
struct OnnxWeight {
  std::string name;
  mlir::RankedTensorType type;
  mlir::Attribute source; // #decode.file or #decode.random
};

class OnnxWeights {
public:
  /// `weightsDir` takes the place of the model's folder for external data
  /// unless it is empty. With `randomSeed`, weights in absent files are random.
  OnnxWeights(llvm::StringRef modelPath, llvm::StringRef weightsDir,
              std::optional<uint64_t> randomSeed,
              ImportDiagnostics &diagnostics, mlir::MLIRContext &context);

  /// Takes the large tensors out of the initializers and the Constant nodes of
  /// `graph` and makes them graph inputs, so that they have a type there.
  void take(onnx::GraphProto &graph);

  llvm::ArrayRef<OnnxWeight> getWeights() const { return weights; }

  /// The files of external data that are there, the model's own left out.
  std::vector<std::string> dataFiles() const {
    std::vector<std::string> paths;
    for (const auto &[location, file] : files)
      if (!file->absent && file->path != modelPath)
        paths.push_back(file->path);
    return paths;
  }

private:
  /// One file of external data, and what is wrong with it.
  struct DataFile {
    std::string path;   // how to open it
    std::string irPath; // how the IR names it
    uint64_t size = 0;
    bool absent = false;
    bool notFile = false; // but a folder or a device
    bool lfsPointer = false;
    std::string firstTooFar; // the first tensor that ends beyond its end
    unsigned users = 0, tooFar = 0;
    uint64_t neededSize = 0;
    std::string firstUser;
  };
  struct Range {
    DataFile *file;
    uint64_t offset, length;
  };
  enum class Place { Graph, Symbol, Wrong };

  Place place(onnx::TensorProto &tensor, llvm::StringRef name);
  std::optional<Range> findRange(const onnx::TensorProto &tensor,
                                 llvm::StringRef name, uint64_t length);
  DataFile &openFile(llvm::StringRef location, llvm::StringRef user);
  DataFile &modelFile();
  std::string checkLocation(llvm::StringRef location);
  Place placeAbsent(const onnx::TensorProto &tensor, llvm::StringRef name,
                    int64_t elements);
  bool readInline(onnx::TensorProto &tensor, llvm::StringRef name,
                  const Range &range);
  void reportFiles();

  std::string modelPath;
  std::string folder; // of the external data
  std::optional<uint64_t> randomSeed;
  ImportDiagnostics &diagnostics;
  mlir::MLIRContext &context;
  std::map<std::string, std::unique_ptr<DataFile>> files;
  std::vector<OnnxWeight> weights;
};

} // namespace sdc

#endif // SDC_COMPILER_IMPORT_ONNXWEIGHTS_H
