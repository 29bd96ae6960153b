// One function for each kind of kernel; see CudaSource.h.

#include "compiler/Emit/CudaSource.h"

#include "kernels/Cuda/LinearLaunch.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

using namespace sdc;

namespace {

/// Of kernels/Cuda/device/rows.cuh and rotary.cuh.
constexpr int64_t kRowThreads = 256, kHeadThreads = 128;

std::string number(int64_t value) { return std::to_string(value); }

/// A float by its bits, since C++17 has no float parameters of templates.
std::string bits(double value) {
  auto narrow = static_cast<float>(value);
  uint32_t word = 0;
  std::memcpy(&word, &narrow, sizeof(word));
  char text[16];
  std::snprintf(text, sizeof(text), "0x%08xu", word);
  return text;
}

std::string type(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "F32";
  case ElementType::F16:
    return "F16";
  case ElementType::BF16:
    return "BF16";
  }
  return "";
}

std::string activation(Activation act) {
  switch (act) {
  case Activation::None:
    return "None";
  case Activation::Silu:
    return "Silu";
  case Activation::GeluTanh:
    return "GeluTanh";
  case Activation::GeluErf:
    return "GeluErf";
  case Activation::Relu:
    return "Relu";
  case Activation::QuickGelu:
    return "QuickGelu";
  case Activation::Relu2:
    return "Relu2";
  }
  return "";
}

std::string norm(const NormSpec &norm) {
  switch (norm.kind) {
  case NormSpec::Kind::None:
    return "NoNorm";
  case NormSpec::Kind::Rms:
    return "RmsNorm<" + type(norm.type) + ", " + bits(norm.eps) + ">";
  case NormSpec::Kind::Layer:
    return "LayerNorm<" + type(norm.type) + ", " + bits(norm.eps) + ", " +
           (norm.bias ? "true" : "false") + ">";
  }
  return "";
}

std::string join(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

/// Parameters of a kernel, in the order of its operands.
class Parameters {
public:
  std::string add(const std::string &type, const std::string &name) {
    list.push_back(type + name);
    return name;
  }
  /// "nullptr" if it is not there.
  std::string addIf(bool present, const std::string &type,
                    const std::string &name) {
    return present ? add(type, name) : "nullptr";
  }
  std::string str() const { return join(list); }

private:
  std::vector<std::string> list;
};

constexpr const char *kFloats = "const float *", *kOut = "float *",
                     *kBytes = "const void *", *kInts = "const int *";

void finish(CudaKernel &kernel, const Parameters &parameters,
            const std::string &body, int64_t ctas = 0) {
  kernel.text = "extern \"C\" __global__ void __launch_bounds__(" +
                number(kernel.block) + (ctas ? ", " + number(ctas) : "") +
                ")\n" + kernel.symbol + "(" + parameters.str() + ") {\n" +
                body + "}\n";
}

std::string build(const EmbedSpec &s, CudaArch, CudaKernel &kernel) {
  kernel.header = "rows.cuh";
  kernel.gridX = s.rows;
  kernel.block = kRowThreads;
  std::string place = "RowMajor<" + number(s.hidden) + ">";
  if (s.tile && s.tile->kind == Tile::Kind::Fragments)
    place = "FragmentTile<" + number(s.hidden) + ">";
  else if (s.tile && s.tile->kind == Tile::Kind::Lanes)
    place = "LaneTile<" + type(s.type) + ", " + number(s.hidden) + ">";
  else if (s.tile)
    return "tile " + s.tile->str() + " is for CPUs";
  Parameters p;
  p.add(kInts, "tokens");
  p.add(kBytes, "table");
  p.add(kOut, "out");
  finish(kernel, p,
         "  embed<" + type(s.type) + ", " + place + ", " +
             number(s.vocabulary) + ", " + number(s.hidden) + ", " +
             bits(s.scale) + ">(tokens, table, out);\n");
  return "";
}

std::string weightForm(const LinearPart &part) {
  if (part.tile.kind == Tile::Kind::Lanes)
    return "Lanes32<" + type(part.type) + ", " +
           number(part.pattern.isDense()
                      ? 32
                      : 32 * part.pattern.n / part.pattern.m) +
           ">";
  return (part.pattern.isDense() ? "DenseFragment<" : "Sparse24<") +
         type(part.type) + ">";
}

std::string build(const LinearSpec &s, CudaArch arch, CudaKernel &kernel) {
  if (std::string problem = linearProblem(s); !problem.empty())
    return problem;
  LinearLaunch launch = linearLaunch(s, arch);
  kernel.header = "linear.cuh";
  kernel.gridX = launch.gridX;
  kernel.gridY = launch.gridY;
  kernel.block = launch.threads();
  kernel.sharedBytes = launch.sharedBytes;

  Parameters p;
  std::string x = p.add(kFloats, "x");
  std::string normWeight = p.addIf(s.norm.present(), kBytes, "normWeight");
  std::string normBias = p.addIf(s.norm.bias, kBytes, "normBias");
  std::string positions =
      p.addIf(s.select != LinearSpec::Select::All, kInts, "positions");
  std::vector<std::string> parts, weights, biases, outs;
  for (size_t i = 0; i < s.parts.size(); ++i) {
    const LinearPart &part = s.parts[i];
    parts.push_back("Part<" + number(part.rows) + ", " +
                    (part.bias ? type(part.biasType) : "NoBias") + ", " +
                    activation(part.act) + ">");
    weights.push_back(p.add(kBytes, "weight" + number(i)));
    biases.push_back(p.addIf(part.bias, kBytes, "bias" + number(i)));
  }
  std::string residual = p.addIf(s.residual, kFloats, "residual");
  for (size_t i = 0; i < s.numOutputs(); ++i)
    outs.push_back(p.add(kOut, "out" + number(i)));

  const char *select = s.select == LinearSpec::Select::All    ? "All"
                       : s.select == LinearSpec::Select::Last ? "Last"
                                                              : "Active";
  finish(kernel, p,
         "  using L = Linear<" + weightForm(s.parts.front()) + ", " +
             number(s.columns) + ", " + number(launch.warps) + ", " +
             number(launch.stages) + ",\n                   " + norm(s.norm) +
             ", " + (s.pair ? "true" : "false") + ", " +
             (s.residual ? "true" : "false") + ", Rows::" + select +
             ",\n                   " + join(parts) +
             ">;\n  static_assert(L::kSharedBytes == " +
             number(launch.sharedBytes) + ");\n  L::Operands operands = {" +
             join({x, normWeight, normBias, positions, number(s.rows)}) +
             ",\n                          {" + join(weights) + "}, {" +
             join(biases) + "}, " + residual + ", {" + join(outs) +
             "}};\n  L::run(operands, blockIdx.x, gridDim.x, blockIdx.y);\n",
         launch.ctas);
  return "";
}

std::string build(const RotarySpec &s, CudaArch, CudaKernel &kernel) {
  kernel.header = "rotary.cuh";
  kernel.gridX = s.queryHeads + std::max(s.keyHeads, s.valueHeads);
  kernel.gridY = s.rows;
  kernel.block = kHeadThreads;
  bool cached = s.keyHeads || s.valueHeads;
  Parameters p;
  std::vector<std::string> operands = {
      p.add(kInts, "positions"),
      p.addIf(cached, kInts, "slots"),
      p.addIf(cached, "const Params *", "params"),
      p.addIf(s.rotated > 0, kFloats, "frequencies"),
      p.addIf(s.queryNorm.present(), kBytes, "queryWeight"),
      p.addIf(s.queryNorm.bias, kBytes, "queryBias"),
      p.addIf(s.keyNorm.present(), kBytes, "keyWeight"),
      p.addIf(s.keyNorm.bias, kBytes, "keyBias"),
      p.addIf(s.queryHeads > 0, kFloats, "q"),
      p.addIf(s.queryHeads > 0, kOut, "rotated"),
      p.addIf(s.keyHeads > 0, kFloats, "k"),
      p.addIf(s.keyHeads > 0, "void *", "keys"),
      p.addIf(s.valueHeads > 0, kFloats, "v"),
      p.addIf(s.valueHeads > 0, "void *", "values")};
  auto heads = [&](int64_t count, int64_t size, ElementType element,
                   const NormSpec &n) {
    return "Heads<" + number(count) + ", " + number(size) + ", " +
           type(element) + ", " + norm(n) + ">";
  };
  finish(kernel, p,
         "  using R = Rotary<" +
             heads(s.queryHeads, s.querySize, ElementType::F32, s.queryNorm) +
             ",\n                   " +
             heads(s.keyHeads, s.keySize, s.keyType, s.keyNorm) +
             ",\n                   " +
             heads(s.valueHeads, s.valueSize, s.valueType, NormSpec()) +
             ",\n                   Rotation<" + number(s.rotated) + ", " +
             (s.interleaved ? "true" : "false") + ", " + bits(s.scale) +
             ">>;\n  R::run({" + join(operands) + "});\n");
  return "";
}

std::string build(const AttentionSpec &s, CudaArch, CudaKernel &kernel) {
  kernel.header = "attention.cuh";
  constexpr int64_t kGroup = 8;
  int64_t share = s.heads / s.cacheHeads;
  kernel.gridX = s.splits;
  kernel.gridY = s.cacheHeads * ((share + kGroup - 1) / kGroup);
  kernel.gridZ = s.rows;
  kernel.block = kHeadThreads;
  // Queries and weights of softmax are in static shared memory.
  constexpr int64_t kStaticShared = 48 << 10;
  if (std::min(share, kGroup) * ((s.size + 3) / 4 * 4 + 64 + 3) * 4 >
      kStaticShared)
    return "a head size of " + number(s.size) +
           " takes more than 48 KiB of shared memory";
  Parameters p;
  std::vector<std::string> operands = {
      p.add(kFloats, "q"),     p.add(kBytes, "keys"),
      p.add(kBytes, "values"), p.add(kInts, "positions"),
      p.add(kInts, "slots"),   p.add("const Params *", "params"),
      p.add(kOut, "out")};
  finish(kernel, p,
         "  using A = Attention<" +
             join({number(s.heads), number(s.cacheHeads), number(s.size),
                   number(s.valueSize), type(s.keyType), type(s.valueType),
                   bits(s.scale), number(s.window), bits(s.softcap),
                   number(s.splits), number(s.chunk)}) +
             ">;\n  A::run(" + join(operands) + ");\n");
  return "";
}

std::string build(const CombineSpec &s, CudaArch, CudaKernel &kernel) {
  kernel.header = "attention.cuh";
  kernel.gridX = s.heads;
  kernel.gridY = s.rows;
  kernel.block = kHeadThreads;
  Parameters p;
  p.add(kFloats, "partials");
  p.add(kOut, "out");
  finish(kernel, p,
         "  combine<" + number(s.heads) + ", " + number(s.valueSize) + ", " +
             number(s.splits) + ">(partials, out);\n");
  return "";
}

std::string build(const RowNormSpec &s, CudaArch, CudaKernel &kernel) {
  kernel.header = "rows.cuh";
  kernel.gridX = s.rows;
  kernel.block = kRowThreads;
  Parameters p;
  p.add(kFloats, "x");
  p.add(kBytes, "weight");
  std::string bias = p.addIf(s.norm.bias, kBytes, "bias");
  p.add(kOut, "out");
  finish(kernel, p,
         "  normRow<" + number(s.columns) + ", " + norm(s.norm) +
             ">(x, weight, " + bias + ", out);\n");
  return "";
}

std::string build(const LastRowSpec &s, CudaArch, CudaKernel &kernel) {
  kernel.header = "rows.cuh";
  kernel.gridX = (s.columns + kRowThreads - 1) / kRowThreads;
  kernel.block = kRowThreads;
  Parameters p;
  p.add(kFloats, "x");
  p.add(kInts, "positions");
  p.add(kOut, "out");
  finish(kernel, p,
         "  lastRow<" + number(s.rows) + ", " + number(s.columns) +
             ">(x, positions, out);\n");
  return "";
}

std::string build(const ElementwiseSpec &s, CudaArch, CudaKernel &kernel) {
  kernel.header = "rows.cuh";
  kernel.gridX = (s.columns + kRowThreads - 1) / kRowThreads;
  kernel.gridY = s.rows;
  kernel.block = kRowThreads;
  std::string columns = number(s.columns);
  Parameters p;
  p.add(kFloats, "x");
  std::string call;
  switch (s.kind) {
  case ElementwiseSpec::Kind::Activate:
    call = "activate<" + columns + ", " + activation(s.act) + ">(x, out)";
    break;
  case ElementwiseSpec::Kind::Gate:
    p.add(kFloats, "y");
    call = "gate<" + columns + ", " + activation(s.act) + ">(x, y, out)";
    break;
  case ElementwiseSpec::Kind::Add:
    p.add(s.rowwise ? kBytes : kFloats, "y");
    call = s.rowwise
               ? "addRow<" + columns + ", " + type(s.type) + ">(x, y, out)"
               : "add<" + columns + ">(x, y, out)";
    break;
  }
  p.add(kOut, "out");
  finish(kernel, p, "  " + call + ";\n");
  return "";
}

} // namespace

llvm::Expected<CudaKernel> sdc::cudaKernel(const KernelSpec &spec,
                                           CudaArch arch) {
  CudaKernel kernel;
  kernel.symbol = spec.name();
  std::replace(kernel.symbol.begin(), kernel.symbol.end(), '.', '_');
  std::string problem = std::visit(
      [&](const auto &s) { return build(s, arch, kernel); }, spec.spec);
  // What every device launches.
  constexpr int64_t kMostGridYZ = 65535;
  if (problem.empty() &&
      (kernel.gridY > kMostGridYZ || kernel.gridZ > kMostGridYZ))
    problem = "more rows or heads than the " + number(kMostGridYZ) +
              " that a grid has";
  if (!problem.empty())
    return llvm::createStringError("no CUDA kernel for " + spec.name() + ": " +
                                   problem);
  return kernel;
}

CudaKernel sdc::cudaGenerator(int64_t rows, int64_t columns, Pattern pattern,
                              ElementType element, std::optional<Tile> tile) {
  bool dense = pattern.isDense();
  std::string n = dense ? "1" : number(pattern.n);
  std::string m = dense ? "1" : number(pattern.m);
  std::string value = type(element), k = number(columns), places;
  int64_t tileRows = tile ? tile->rows : 1;
  if (!tile)
    places =
        "SinglePlaces<" + join({value, "RowMajor<" + k + ">", "1", "false", k});
  else if (tile->kind == Tile::Kind::Lanes)
    places = "LanePlaces<" + join({value, k, n, m});
  else if (dense)
    places = "SinglePlaces<" +
             join({value, "FragmentTile<" + k + ">", "16", "true", k});
  else
    places = "SparseFragmentPlaces<" + join({value, k});
  double kept = dense ? 1 : double(pattern.n) / pattern.m;
  bool ones = !tile && rows == 1;

  CudaKernel kernel;
  kernel.symbol = "generate_" + number(rows) + "_" + k + "_" +
                  (dense ? "dense" : n + "of" + m) + "_" + value +
                  (tile ? "_" + tile->str() : "");
  kernel.header = "generate.cuh";
  int64_t words = tile ? (columns + 127) / 128 * 4 : (columns + 31) / 32;
  int64_t allRows = (rows + tileRows - 1) / tileRows * tileRows;
  kernel.gridX = (allRows * words + kRowThreads - 1) / kRowThreads;
  kernel.block = kRowThreads;
  Parameters p;
  std::vector<std::string> operands = {
      p.add("void *", "bytes"), p.add("u64 ", "seed"), p.add("u64 ", "weight")};
  finish(kernel, p,
         "  generate<" + places + ">, " +
             join({number(rows), k, n, m,
                   bits(1 / std::sqrt(kept * static_cast<double>(columns))),
                   ones ? "true" : "false"}) +
             ">(" + join(operands) + ");\n");
  return kernel;
}

CudaKernel sdc::cudaGreedy() {
  // A block for every few thousand logits; more would only wait for each other.
  constexpr int64_t kBlocks = 64, kThreads = 256;
  CudaKernel kernel;
  kernel.symbol = "choose_greedily";
  kernel.header = "argmax.cuh";
  kernel.gridX = kBlocks;
  kernel.block = kThreads;
  Parameters p;
  std::vector<std::string> operands = {
      p.add(kFloats, "logits"), p.add("long long ", "vocabulary"),
      p.add("int *", "tokens"), p.add("int *", "positions"),
      p.add("int *", "slots"),  p.add("TokenLoop *", "loop")};
  finish(kernel, p, "  chooseGreedily(" + join(operands) + ");\n");
  return kernel;
}
