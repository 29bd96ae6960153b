// Reports what is wrong with a model, as MLIR diagnostics.

#include "compiler/Import/ImportDiagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace sdc;

char NodeError::ID = 0;

void NodeError::log(llvm::raw_ostream &os) const { os << text; }

std::error_code NodeError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

ImportDiagnostics::ImportDiagnostics(MLIRContext &context, StringRef path)
    : context(context), path(path) {}

void ImportDiagnostics::emit(DiagnosticSeverity severity, Location location,
                             const Twine &message, const Twine &hint) {
  std::string key;
  llvm::raw_string_ostream(key) << location << message;
  if (!reported.insert(key).second)
    return;
  InFlightDiagnostic diagnostic =
      context.getDiagEngine().emit(location, severity);
  diagnostic << message;
  std::string text = hint.str();
  if (!text.empty())
    diagnostic.attachNote() << text;
}

Location ImportDiagnostics::locateFile() const {
  return FileLineColLoc::get(&context, path, 0, 0);
}

void ImportDiagnostics::error(const Twine &message, const Twine &hint) {
  ++errors;
  emit(DiagnosticSeverity::Error, locateFile(), message, hint);
}

void ImportDiagnostics::errorAt(StringRef name, const Twine &message,
                                const Twine &hint) {
  ++errors;
  emit(DiagnosticSeverity::Error, locate(name), message, hint);
}

void ImportDiagnostics::error(llvm::Error error) {
  llvm::handleAllErrors(
      std::move(error),
      [&](const NodeError &info) { errorAt(info.getNode(), info.message()); },
      [&](const llvm::ErrorInfoBase &info) { this->error(info.message()); });
}

void ImportDiagnostics::warningAt(StringRef name, const Twine &message,
                                  const Twine &hint) {
  emit(DiagnosticSeverity::Warning, locate(name), message, hint);
}

Location ImportDiagnostics::locate(StringRef name) const {
  return NameLoc::get(
      StringAttr::get(&context, name),
      FileLineColLoc::get(&context, llvm::sys::path::filename(path), 0, 0));
}
