// The values of a graph as algebra: the shape of every value as numbers a + b P
// over the past length P, and the value of any one element as an expression
// over its indices (ScalarAlgebra.h). Elements are followed through everything that
// moves or computes single elements, however it is spelled; a root ends the
// walk: an argument, a weight, a result of a decode operation, a reduction.
//
// Two inputs of a decoder are known, since sequences sit in slots without
// padding: attention_mask is 1 everywhere, and position_ids[b, s] is P + s.

#ifndef SDC_COMPILER_RAISE_GRAPHALGEBRA_H
#define SDC_COMPILER_RAISE_GRAPHALGEBRA_H

#include "compiler/Raise/ScalarAlgebra.h"
#include "dialects/Onnx/OnnxDialect.h"
#include "llvm/ADT/DenseSet.h"

namespace sdc {

using AffineShape = llvm::SmallVector<Affine, 5>;

class GraphAlgebra {
public:
  explicit GraphAlgebra(onnxir::GraphOp graph);

  ExprContext &getContext() { return context; }

  /// The shape of a value; null if it is not known.
  const AffineShape *getShape(mlir::Value value) const;
  /// The elements of an integer tensor of rank 0 or 1.
  std::optional<AffineShape> getContents(mlir::Value value);

  /// Element `indices` of a value of known shape.
  Expr at(mlir::Value value, ExprRange indices);
  /// Element (i, j, ...) of a root, not followed any further.
  Expr loadOf(mlir::Value root, ExprRange indices);
  /// The value that stands for the root of a load.
  mlir::Value getRoot(Expr load) const { return roots.lookup(load->getRoot()); }
  /// From now on the walk ends at `value`.
  void addRoot(mlir::Value value) { forcedRoots.insert(value); }

  /// One variable for each dimension of `value`.
  llvm::SmallVector<Expr> variablesOf(mlir::Value value);

  /// Computes the shapes of the results of a new operation.
  void inferShapes(mlir::Operation *op);
  /// Elements computed so far no longer hold: the graph has changed.
  void forgetElements() { elements.clear(); }
  std::string print(Expr expr) const;

private:
  std::optional<AffineShape> computeShape(onnxir::NodeOp node, unsigned result);
  Expr computeElement(mlir::Value value, ExprRange indices);

  onnxir::GraphOp graph;
  ExprContext context;
  llvm::DenseMap<mlir::Value, AffineShape> shapes;
  llvm::DenseMap<const void *, mlir::Value> roots;
  llvm::DenseSet<mlir::Value> forcedRoots;
  llvm::DenseMap<Expr, Expr> elements;
};

/// Shape rules, one for each operator (GraphShapes.cpp, GraphParts.cpp).
std::optional<AffineShape> shapeOfResult(GraphAlgebra &algebra,
                                         onnxir::NodeOp node, unsigned result);
/// Element rules, one for each operator; null for an operator that none
/// describes (GraphMoves.cpp, GraphElements.cpp,
/// GraphFused.cpp).
Expr elementOfMove(GraphAlgebra &algebra, onnxir::NodeOp node, unsigned result,
                   ExprRange indices);
Expr elementOfFunction(GraphAlgebra &algebra, onnxir::NodeOp node,
                       ExprRange indices);

Expr elementOfFused(GraphAlgebra &algebra, onnxir::NodeOp node, unsigned result,
                    ExprRange indices);

/// The head size of a RotaryEmbedding node and how many elements of a head it
/// rotates; none for other nodes.
std::optional<std::pair<int64_t, int64_t>>
rotarySizes(const GraphAlgebra &algebra, onnxir::NodeOp node);

/// `axis` of a tensor of this rank, counted from the front.
template <typename Rank> int64_t fromFront(int64_t axis, Rank rank) {
  return axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
}
/// The axes of a node, which are an attribute in old schemas and input
/// `input` in new ones; none if they are left out or not known.
std::optional<llvm::SmallVector<int64_t>>
axesOf(GraphAlgebra &algebra, onnxir::NodeOp node, unsigned input);

/// What Slice does along one axis.
struct SliceRange {
  Affine start, size;
  int64_t step = 1;
};
/// What a Slice node does along each axis of its input.
std::optional<llvm::SmallVector<SliceRange>> slicesOf(GraphAlgebra &algebra,
                                                      onnxir::NodeOp node);
/// Where result `result` of a Split node starts, and its size.
std::optional<std::pair<Affine, Affine>>
splitRange(GraphAlgebra &algebra, onnxir::NodeOp node, unsigned result);

} // namespace sdc

#endif // SDC_COMPILER_RAISE_GRAPHALGEBRA_H
