// Attention by index: what a graph's keys, values, queries and mask must be so
// that decode.append and decode.attention say the same.

#ifndef SDC_COMPILER_RAISE_ATTENTIONBUILDER_H
#define SDC_COMPILER_RAISE_ATTENTIONBUILDER_H

#include "compiler/Raise/Rotation.h"
#include <functional>

namespace sdc {

/// Element (b, s, h, d) of the queries; (b, h, t, d) of keys and values, t
/// counting the past and then the new rows.
using HeadElement = std::function<Expr(Expr, Expr, Expr, Expr)>;

/// What goes into a softmax: scale x product, softcapped, where it is allowed.
struct AttentionScores {
  Expr product = nullptr;
  double scale = 1;
  std::optional<double> softcap;
  Expr allowed = nullptr;
};

/// One attention as its exporter wrote it.
struct AttentionParts {
  HeadElement query, key, value;
  int64_t heads = 0, size = 0, valueSize = 0;
  double scale = 1;
  std::optional<double> softcap;
  /// Whether row s attends to column t, with the variables that stand for s
  /// and t in it.
  Expr allowed = nullptr, row = nullptr, column = nullptr;
};

/// Makes the states, and keeps account of the graph outputs that they replace.
class CacheBuilder {
public:
  CacheBuilder(mlir::ModuleOp module, RaiseRewriter &rewriter, int64_t context);

  /// The layer whose past is element (b, h, u, d) of a load; -1 if none is.
  int64_t layerOf(Expr load, llvm::StringRef what, ExprRange indices) const;
  /// The number of heads of a layer's past.
  int64_t headsOf(int64_t layer, llvm::StringRef what) const;

  /// Appends the rows x [B, S, heads, size]. The output of the graph that
  /// holds past and rows is not needed any more.
  mlir::Value append(mlir::Location loc, int64_t layer, llvm::StringRef what,
                     mlir::Value x) const;
  /// The graph output present.<what>.<layer>; null if there is none.
  mlir::Value getPresent(int64_t layer, llvm::StringRef what) const;
  /// Drops the outputs that were appended.
  void erasePresents();

private:
  mlir::Value getPast(int64_t layer, llvm::StringRef what) const;
  std::optional<unsigned> findPresent(int64_t layer,
                                      llvm::StringRef what) const;

  mlir::ModuleOp module;
  RaiseRewriter &rewriter;
  int64_t slots, positions;
  mutable llvm::SmallDenseSet<unsigned> replaced;
};

/// A number that keeps what it is added to out of a softmax.
bool isMaskFill(Expr expr);
/// The condition under which an added mask is 0 instead of a mask fill; null
/// if it is anything else.
Expr allowedBy(ExprContext &context, Expr mask);

/// Builds the attention at the builder's place and gives its result
/// [B, S, heads, size]. Gives null, and `node` the reason, if the parts are
/// something else.
mlir::Value buildAttention(RaiseRewriter &rewriter, const CacheBuilder &caches,
                           onnxir::NodeOp node, const AttentionParts &parts);

/// Raises com.microsoft GroupQueryAttention.
void raiseGroupQuery(RaiseRewriter &rewriter, const CacheBuilder &caches,
                     ConstantReader &reader, onnxir::NodeOp node);

} // namespace sdc

#endif // SDC_COMPILER_RAISE_ATTENTIONBUILDER_H
