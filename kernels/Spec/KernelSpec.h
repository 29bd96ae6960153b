// What a kernel computes, as plain values. A kernel's name is its
// specification: name() and parse() are inverse to each other, and whoever has
// the name can build the kernel for any target.
//
//   name    = kind { "." field }                     only [a-z0-9._]
//   kind    = "embed" | "linear" | "rotary" | "attention" | "combine" | "norm"
//           | "last_row" | "activate" | "gate" | "add"
//   number  = shortest decimal of a double; "." is "p", "-" is "m", "+" is not
//             written: 1e-05 is 1em05, 0.125 is 0p125
//   type    = "f32" | "f16" | "bf16"
//   pattern = "dense" | N "of" M
//   act     = "silu" | "gelu_tanh" | "gelu_erf" | "relu" | "quick_gelu"
//           | "relu2"
//
// The fields of each kind, in their order, stand above its struct; [x] may be
// absent. Examples:
//
//   embed.t1.v49152.h576.bf16_rows8
//   linear.t1.k576.rms_f32_1em05.w576_16of32_bf16_rows8.w192_16of32_bf16_rows8
//   linear.t64.k576.rms_f32_1em05.g1536_dense_bf16_rows8_silu.u1536_dense_bf16_rows8
//   attention.t1.q9_64.k3_bf16.v64_bf16.scale0p125
//
// Calling convention of every kernel on CPU:
//
//   void kernel(void *const *operands, int64_t begin, int64_t end,
//               void *scratch);
//
// computes the units [begin, end) of unitCount(). Units are independent of each
// other, and the bits that a unit writes do not depend on how the units were
// cut into ranges. `scratch` is scratchSize() bytes of the calling thread,
// aligned to 64; its content means nothing before and after. Operands are in
// the order given at each struct and aligned to 64 bytes, weights and states to
// at least 64. All activations are f32, row-major, contiguous. T is the number
// of rows of the entry: batch x S.
//
// A row whose position is -1 takes no part: it writes no state, and what it
// writes to outputs is unspecified.

#ifndef SDC_KERNELS_SPEC_KERNELSPEC_H
#define SDC_KERNELS_SPEC_KERNELSPEC_H

#include "kernels/Format/Bitmask.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sdc {

enum class Activation : uint8_t {
  None,
  Silu,
  GeluTanh,
  GeluErf,
  Relu,
  QuickGelu,
  Relu2
};

/// "silu" and so on; "none" for None, which no name contains.
std::string_view activationName(Activation act);

/// A normalisation over the last axis.
///
///   field = ("rms" | "layer") ["_bias"] "_" type "_" eps
struct NormSpec {
  enum class Kind : uint8_t { None, Rms, Layer };
  Kind kind = Kind::None;
  /// Layer only: a bias operand follows the weight.
  bool bias = false;
  /// Type of weight and bias.
  ElementType type = ElementType::F32;
  double eps = 0;

  bool present() const { return kind != Kind::None; }
};

/// out[t, :] = table[tokens[t], :] * scale. A token outside [0, V) reads row 0.
/// With a tile the table is a packed dense weight: that of a head whose weight
/// is tied to the embedding.
///
///   fields   = "t" T "." "v" V "." "h" H "." type ["_" tile]
///              [".scale" number]
///   operands = tokens i32 [T], table type [V, H], out [T, H]
///   units    = T
struct EmbedSpec {
  int64_t rows = 1;
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  ElementType type = ElementType::F32;
  std::optional<Tile> tile;
  double scale = 1;

  /// Of the packed table.
  PackedLayout layout() const;
};

/// One packed weight of a linear, [rows, K].
///
///   field = ("w" | "g" | "u") rows "_" pattern "_" type "_" tile
///           ["_bias" type] ["_" act]
struct LinearPart {
  int64_t rows = 0;
  Pattern pattern;
  ElementType type = ElementType::BF16;
  Tile tile;
  /// A bias operand of `biasType` follows the weight.
  bool bias = false;
  ElementType biasType = ElementType::F32;
  /// Applied after the bias; of a pair only the gate may have one.
  Activation act = Activation::None;
};

/// out_p[t, r] = act(sum over k of norm(x)[t, k] * w_p[r, k] + bias_p[r]) for
/// every part p, or, for a pair, out[t, r] = act(gate) * up. With `residual`
/// out[t, r] = residual[t, r] + that; the output may be the residual's buffer.
///
/// `select` says which rows of x are computed. All: T rows of output. Last: one
/// row of output, for the last row that takes part (row 0 if there is none).
/// Active: T rows of output, those that take no part are skipped.
///
///   fields   = "t" T "." "k" K ["." norm] [".last" | ".active"]
///              ({"." part "w"} | "." part "g" "." part "u") [".add"]
///   operands = x [T, K]
///              norm weight [K], norm bias [K]         where present
///              positions i32 [T]                      with last and active
///              for each part: weight, bias [rows]     where present
///              residual [T', rows]                    with add (one part/pair)
///              for each output: out [T', rows]        T' is T, or 1 with last
///   units    = blocks of tile.rows rows, those of part 0 first; the two parts
///              of a pair share rows and tile, and a unit is a block of both
struct LinearSpec {
  enum class Select : uint8_t { All, Last, Active };
  int64_t rows = 1;
  int64_t columns = 0;
  NormSpec norm;
  Select select = Select::All;
  /// Two parts, gate and up, with one output.
  bool pair = false;
  std::vector<LinearPart> parts;
  bool residual = false;

  /// Rows of x that are multiplied, T' above.
  int64_t outputRows() const { return select == Select::Last ? 1 : rows; }
  size_t numOutputs() const { return pair ? 1 : parts.size(); }
  PackedLayout layout(size_t part) const;
};

/// Rotary embedding of queries and keys, and the append of keys and values to
/// their caches; each of the three tensors may be absent. Head norms come
/// first, over the head size. With R = `rotated` (0: no rotation), f the R/2
/// frequencies, c = cos(position * f) * scale and s likewise of sin, where the
/// product is rounded to f32, the pairs (x[i], x[i + R/2]), or (x[2i],
/// x[2i+1]) when interleaved, become (x1 c - x2 s, x2 c + x1 s).
/// cache[slot, head, position, :] = the row's key or value, rounded to the
/// cache's type.
///
/// So this is also a plain rotary embedding (queries only) or a plain append
/// (keys or values only, R = 0).
///
///   fields   = "t" T [".q" heads "_" size] [".k" heads "_" size "_" type]
///              [".v" heads "_" size "_" type]
///              [".r" R ("_half" | "_pairs")] [".scale" number]
///              [".qnorm_" norm] [".knorm_" norm]
///   operands = positions i32 [T]
///              slots i32 [T], params                  with k or v
///              frequencies f32 [R/2]                  where R > 0
///              q norm weight, bias; k norm weight, bias   where present
///              q [T, heads, size], q out (may be q)   with q
///              k [T, heads, size], key cache          with k
///              v [T, heads, size], value cache        with v
///   units    = T x (q heads + the larger of k heads and v heads)
///
/// A cache is [slots][heads][context][size] with the context of params, which
/// is { int64 context; int64 slots; }.
struct RotarySpec {
  int64_t rows = 1;
  int64_t queryHeads = 0, querySize = 0;
  int64_t keyHeads = 0, keySize = 0;
  ElementType keyType = ElementType::F32;
  int64_t valueHeads = 0, valueSize = 0;
  ElementType valueType = ElementType::F32;
  int64_t rotated = 0;
  bool interleaved = false;
  double scale = 1;
  NormSpec queryNorm, keyNorm;
};

/// Attention of the row at position p of a slot to the positions j <= p (and
/// j > p - window where a window is set): softmax(cap(q k * scale)) v, with
/// cap(s) = c tanh(s / c) where a softcap is set. Query head h reads cache head
/// h / (heads / cache heads). A row that takes no part becomes zero.
///
/// With `splits` > 1 split i covers the positions [i chunk, (i + 1) chunk), the
/// last one all that follow (a chunk is a multiple of 16), and out is the
/// partial result that `combine` merges: f32 [T, heads, splits, value size +
/// 2], the unnormalised sum, then the maximum, then the sum of exponentials.
/// Split points are part of the name, so results do not depend on the number of
/// threads.
///
///   fields   = "t" T "." "q" heads "_" size "." "k" heads "_" type
///              "." "v" size "_" type "." "scale" number [".window" n]
///              [".cap" number] [".split" splits "_" chunk]
///   operands = q [T, heads, size], key cache, value cache, positions i32 [T],
///              slots i32 [T], params, out [T, heads, value size] or partials
///   units    = T x heads x splits
struct AttentionSpec {
  int64_t rows = 1;
  int64_t heads = 0, cacheHeads = 0;
  int64_t size = 0, valueSize = 0;
  ElementType keyType = ElementType::F32, valueType = ElementType::F32;
  double scale = 1;
  /// 0: none.
  int64_t window = 0;
  double softcap = 0;
  int64_t splits = 1, chunk = 0;
};

/// Merges the partial results of a split attention.
///
///   fields   = "t" T "." "q" heads "_" value size "." "split" splits
///   operands = partials [T, heads, splits, value size + 2],
///              out [T, heads, value size]
///   units    = T x heads
struct CombineSpec {
  int64_t rows = 1;
  int64_t heads = 0;
  int64_t valueSize = 0;
  int64_t splits = 2;
};

/// out[t, :] = norm(x[t, :]).
///
///   fields   = "t" T "." "k" K "." norm
///   operands = x [T, K], weight [K], bias [K] where present, out [T, K]
///   units    = T
struct RowNormSpec {
  int64_t rows = 1;
  int64_t columns = 0;
  NormSpec norm;
};

/// out[0, :] = x[t, :] for the last row t that takes part, row 0 if none does.
///
///   fields   = "t" T "." "k" K
///   operands = x [T, K], positions i32 [T], out [1, K]
///   units    = 1
struct LastRowSpec {
  int64_t rows = 1;
  int64_t columns = 0;
};

/// Element by element over `size` = T x columns values: out = act(x), or
/// act(gate) * up, or x + y. In place is allowed. With `rowwise` the second
/// operand of an addition is one row of `columns` values (a bias of `type`).
///
///   fields   = "t" T "." "k" K ["." act]          kinds activate and gate
///              "t" T "." "k" K [".row_" type]     kind add
///   operands = x, out | gate, up, out | x, y, out
///   units    = T x ceil(K / 1024)
struct ElementwiseSpec {
  enum class Kind : uint8_t { Activate, Gate, Add };
  Kind kind = Kind::Add;
  int64_t rows = 1;
  int64_t columns = 0;
  Activation act = Activation::None;
  bool rowwise = false;
  ElementType type = ElementType::F32;
};

/// Any of them.
struct KernelSpec {
  std::variant<EmbedSpec, LinearSpec, RotarySpec, AttentionSpec, CombineSpec,
               RowNormSpec, LastRowSpec, ElementwiseSpec>
      spec;

  /// The name, by the grammar above. Two specs with the same name are the same
  /// kernel.
  std::string name() const;

  /// The inverse. On failure `problem` says what was expected and where.
  static std::optional<KernelSpec> parse(std::string_view name,
                                         std::string &problem);

  /// Empty if a kernel can be built from it, else what is wrong.
  std::string problem() const;

  int64_t unitCount() const;
  int64_t numOperands() const;
  /// Bytes, a multiple of 64; 0 for most.
  int64_t scratchSize() const;
};

} // namespace sdc

#endif // SDC_KERNELS_SPEC_KERNELSPEC_H
