// Reports what is wrong with a model. Errors are MLIR diagnostics, located at
// the file or at a node of it, with a hint as their note. A step of the import
// reports all that it finds; the next step starts only when none was found.

#ifndef SDC_COMPILER_IMPORT_IMPORTDIAGNOSTICS_H
#define SDC_COMPILER_IMPORT_IMPORTDIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <string>

namespace sdc {

/// An error at a node of the model, whose name is `node`.
class NodeError : public llvm::ErrorInfo<NodeError> {
public:
  static char ID; // NOLINT(readability-identifier-naming): as LLVM wants it
  NodeError(std::string node, std::string message)
      : node(std::move(node)), text(std::move(message)) {}
  llvm::StringRef getNode() const { return node; }
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string node, text;
};

class ImportDiagnostics {
public:
  /// Errors are about the model in the file `path`.
  ImportDiagnostics(mlir::MLIRContext &context, llvm::StringRef path);

  /// Reports an error of the whole file.
  void error(const llvm::Twine &message, const llvm::Twine &hint = "");
  /// Reports an error at the node or tensor `name`.
  void errorAt(llvm::StringRef name, const llvm::Twine &message,
               const llvm::Twine &hint = "");
  /// Reports all of `error`, NodeErrors at their nodes.
  void error(llvm::Error error);
  /// Reports what the user may want to know about the node or tensor `name`.
  void warningAt(llvm::StringRef name, const llvm::Twine &message,
                 const llvm::Twine &hint = "");

  bool hasErrors() const { return errors != 0; }

  /// The location of a node in the IR: its name in the file's name. Folders
  /// are left out, so that the IR does not depend on where the model lies.
  mlir::Location locate(llvm::StringRef name) const;

private:
  /// Reports what has not been reported before: entries share most errors.
  void emit(mlir::DiagnosticSeverity severity, mlir::Location location,
            const llvm::Twine &message, const llvm::Twine &hint);
  mlir::Location locateFile() const;

  mlir::MLIRContext &context;
  std::string path;
  llvm::StringSet<> reported;
  unsigned errors = 0;
};

} // namespace sdc

#endif // SDC_COMPILER_IMPORT_IMPORTDIAGNOSTICS_H
