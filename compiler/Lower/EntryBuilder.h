// Builds one exec.entry: keeps where every tensor lies, makes buffers for new
// ones and appends launches.

#ifndef SDC_COMPILER_LOWER_ENTRYBUILDER_H
#define SDC_COMPILER_LOWER_ENTRYBUILDER_H

#include "dialects/Exec/ExecDialect.h"
#include "kernels/Spec/KernelSpec.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace sdc {

/// What the entries of a module share: kernels and weights, each once.
class ModuleWords {
public:
  explicit ModuleWords(mlir::ModuleOp module);

  /// Says that `spec` is used. A spec that no kernel computes is an error at
  /// `loc`.
  mlir::FailureOr<mlir::FlatSymbolRefAttr> kernel(mlir::Location loc,
                                                  const KernelSpec &spec);
  /// Says that the weight of this name is used.
  void useWeight(llvm::StringRef name) { usedWeights.insert({name, true}); }
  bool isUsed(llvm::StringRef name) const { return usedWeights.contains(name); }
  /// A weight with the values of `elements`, which no symbol names yet.
  mlir::FlatSymbolRefAttr constant(mlir::Location loc,
                                   mlir::ElementsAttr elements);

private:
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  /// Points behind the last word written.
  mlir::OpBuilder builder;
  llvm::StringMap<bool> usedWeights;
  llvm::DenseMap<mlir::Attribute, mlir::FlatSymbolRefAttr> constants;
};

/// An operand of a launch.
struct LaunchOperand {
  mlir::Value place;
  exec::Access access;
};

class EntryBuilder {
public:
  EntryBuilder(ModuleWords &words, exec::EntryOp entry);

  /// Rows of the entry, batch x S.
  int64_t rows() const { return numRows; }

  /// Says that `tensor` has the bytes of `place`.
  void bind(mlir::Value tensor, mlir::Value place) { places[tensor] = place; }

  /// Where `tensor` lies: a buffer, a weight or a state. Looks through the ops
  /// that only rename bytes. Null, with an error, for what nothing computed.
  mlir::Value placeOf(mlir::Value tensor);

  LaunchOperand in(mlir::Value tensor) {
    return {placeOf(tensor), exec::Access::In};
  }
  /// A new buffer for a tensor that a launch gives.
  LaunchOperand out(mlir::Value tensor);
  /// A new buffer of `bytes`.
  mlir::Value buffer(mlir::Location loc, int64_t bytes);
  /// The state @name, which a launch changes.
  LaunchOperand state(mlir::Location loc, llvm::StringRef name);
  LaunchOperand params(mlir::Location loc);

  /// The entry's positions and slots, as i32 [T]. Null in a plain entry.
  mlir::Value positions, slots;

  /// Appends a launch. Fails, with an error, if no kernel computes `spec`.
  mlir::LogicalResult launch(mlir::Location loc, const KernelSpec &spec,
                             llvm::ArrayRef<LaunchOperand> operands,
                             const llvm::Twine &label);

  void bindToHost(mlir::Location loc, exec::Role role, mlir::Value place,
                  llvm::StringRef name, mlir::RankedTensorType type);

private:
  ModuleWords &words;
  mlir::OpBuilder builder;
  exec::OperandType operandType;
  int64_t numRows;
  llvm::DenseMap<mlir::Value, mlir::Value> places;
  llvm::StringMap<mlir::Value> references;
  mlir::Value parameters;
};

/// `type` as kernels/Format names it; nothing for other types.
std::optional<ElementType> formatType(mlir::Type type);

} // namespace sdc

#endif // SDC_COMPILER_LOWER_ENTRYBUILDER_H
