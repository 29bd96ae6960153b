// What the patterns of this room share: the graph with its algebra, rows and
// heads of its tokens as values, weights as symbols.

#ifndef SDC_COMPILER_RAISE_RAISEREWRITER_H
#define SDC_COMPILER_RAISE_RAISEREWRITER_H

#include "compiler/Raise/GraphAlgebra.h"
#include "dialects/Decode/DecodeDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace sdc {

/// On a random weight: the symbol whose stream it was, since streams of one
/// seed are told apart by their symbols.
inline constexpr llvm::StringLiteral kIdentityAttr = "raise.identity";

/// Makes the symbols of weights. They are named by number until NameWeights
/// names them by what reads them; equal ones are made once.
class WeightSymbols {
public:
  explicit WeightSymbols(mlir::ModuleOp module);

  /// Loads what `view` says of the constant or weight `root`, of `shape`.
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value root, llvm::ArrayRef<int64_t> shape,
                   int64_t first = 0, bool transposed = false);
  /// Loads a constant of our own.
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::ElementsAttr value);
  /// The weight symbol that a decode.load reads.
  decode::WeightOp lookup(mlir::Value load) const;
  decode::WeightOp lookup(mlir::StringAttr name) const {
    return byName.lookup(name);
  }
  /// Loads rows `first` to `first + rows` of the weight that `load` reads.
  mlir::Value loadRows(mlir::OpBuilder &builder, mlir::Value load,
                       int64_t first, int64_t rows);

private:
  using Key =
      std::tuple<mlir::Attribute, mlir::Type, mlir::Attribute, mlir::Attribute>;
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::RankedTensorType type, mlir::Attribute source,
                   decode::ViewAttr view, mlir::Attribute identity);

  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Attribute, decode::WeightOp> byName;
  llvm::DenseMap<Key, decode::WeightOp> byContent;
  unsigned next = 0;
};

/// Rewrites one graph. Results of rewritten nodes lose their uses; the nodes
/// stay until eraseDead, so that the algebra may still name them.
class RaiseRewriter {
public:
  RaiseRewriter(onnxir::GraphOp graph, WeightSymbols &weights);

  onnxir::GraphOp graph;
  GraphAlgebra algebra;
  ExprContext &context;
  WeightSymbols &weights;
  mlir::OpBuilder builder;
  /// Sequences and rows of each in this entry.
  int64_t batch = 1, rows = 1;

  mlir::Type f32() { return builder.getF32Type(); }
  mlir::RankedTensorType tensorOf(llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, f32());
  }

  /// The argument of a role; null if there is none.
  mlir::Value getArgument(llvm::StringRef role);
  /// The positions and slots of the rows, which OpenEntries adds.
  mlir::Value getPositions() { return getArgument(kPositionsRole); }
  mlir::Value getSlots() { return getArgument(kSlotsRole); }

  /// Builds an operation and computes its shapes.
  template <typename Op, typename... Args>
  Op create(mlir::Location loc, Args &&...args) {
    Op op = Op::create(builder, loc, std::forward<Args>(args)...);
    algebra.inferShapes(op);
    return op;
  }
  /// Replaces all uses, and forgets elements that were computed through them.
  void replace(mlir::Value from, mlir::Value to);

  /// A value [B, S, columns] whose element (b, s, c) is `element`. It is found
  /// as a value that is there, as a reshape of one, or as some rows of a
  /// linear; null if it is none of these.
  mlir::Value asRows(Expr element, Expr b, Expr s, Expr c, int64_t columns);
  /// A value [B, S, heads, size] whose element (b, s, h, d) is `element`.
  mlir::Value asHeads(Expr element, Expr b, Expr s, Expr h, Expr d,
                      int64_t heads, int64_t size);
  /// Whether a load is from a constant or a weight; then its root.
  mlir::Value getConstantRoot(Expr load);

  /// `value` [B, S, heads, size] with heads in front of rows.
  mlir::Value headsFirst(mlir::Value value);
  /// `value` in another shape of as many elements.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);

  /// Erases nodes without users.
  void eraseDead();

  static constexpr llvm::StringLiteral kPositionsRole = "row_positions";
  static constexpr llvm::StringLiteral kSlotsRole = "row_slots";

private:
  mlir::Value linearRows(mlir::Value linear, int64_t first, int64_t count);
};

/// Why a pattern left a node, for the error that VerifyRaised gives.
inline constexpr llvm::StringLiteral kReasonAttr = "raise.reason";
inline void setReason(onnxir::NodeOp node, const llvm::Twine &reason) {
  node->setAttr(kReasonAttr, mlir::StringAttr::get(node.getContext(), reason));
}

/// The shortest decimal that rounds to the f32 `value`: 1e-6 for 9.99999997E-7.
double asWritten(double value);

/// Calls `rewrite` for each decoder entry of a module, then erases what died.
void forEachEntry(mlir::ModuleOp module,
                  llvm::function_ref<void(RaiseRewriter &)> rewrite);

} // namespace sdc

#endif // SDC_COMPILER_RAISE_RAISEREWRITER_H
