// Prints diagnostics as the driver's messages.

#include "tools/sdc/Diagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace sdc;

/// Prints a location as file:node, file:line:column or file.
static void printLocation(Location location, llvm::raw_ostream &os) {
  if (auto name = dyn_cast<NameLoc>(location)) {
    printLocation(name.getChildLoc(), os);
    os << name.getName().getValue() << ": ";
  } else if (auto file = dyn_cast<FileLineColLoc>(location)) {
    os << file.getFilename().getValue() << ":";
    if (file.getLine() != 0)
      os << file.getLine() << ":" << file.getColumn() << ":";
  } else if (auto fused = dyn_cast<FusedLoc>(location);
             fused && !fused.getLocations().empty()) {
    printLocation(fused.getLocations().front(), os);
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    printLocation(call.getCallee(), os);
  }
}

static StringRef nameSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error: ";
  case DiagnosticSeverity::Warning:
    return "warning: ";
  case DiagnosticSeverity::Remark:
    return "remark: ";
  case DiagnosticSeverity::Note:
    return "hint: ";
  }
  return "";
}

static void print(Diagnostic &diagnostic) {
  std::string location;
  llvm::raw_string_ostream os(location);
  printLocation(diagnostic.getLocation(), os);
  StringRef where = StringRef(location).rtrim();
  if (where.empty())
    where = "sdc:";
  llvm::errs() << where << " " << nameSeverity(diagnostic.getSeverity())
               << diagnostic << "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    llvm::errs() << "hint: " << note << "\n";
}

DiagnosticPrinter::DiagnosticPrinter(MLIRContext &context)
    : ScopedDiagnosticHandler(&context) {
  setHandler([](Diagnostic &diagnostic) { print(diagnostic); });
}
