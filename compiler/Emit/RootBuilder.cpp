// exec ops -> FlatBuffer; see RootBuilder.h. Scalars are written even if they
// have their default, so that the size depends on names and counts alone.

#include "compiler/Emit/RootBuilder.h"
#include "dialects/Exec/ExecDialect.h"
#include "schema/executable_generated.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace sdc {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
template <typename T> using Offsets = std::vector<Offset<T>>;

class RootBuilder {
public:
  RootBuilder(ModuleOp module, const FileLayout &layout, bool pruningStrings)
      : module(module), layout(layout), pruningStrings(pruningStrings) {
    builder.ForceDefaults(true);
  }

  std::vector<uint8_t> build();

private:
  Offset<flatbuffers::String> string(StringRef text) {
    return builder.CreateString(text.data(), text.size());
  }
  Offset<flatbuffers::Vector<Offset<flatbuffers::String>>>
  strings(ArrayAttr array);
  template <typename T>
  Offset<flatbuffers::Vector<T>> numbers(ArrayRef<int64_t> values) {
    return builder.CreateVector(std::vector<T>(values.begin(), values.end()));
  }

  Offset<fb::Model> model();
  Offset<fb::Provenance> provenance();
  Offset<fb::Segment> segment(exec::SegmentOp op, unsigned index);
  Offset<fb::Pruning> pruning(exec::PruningAttr attribute);
  Offset<fb::Weight> weight(exec::WeightOp op);
  Offset<fb::State> state(exec::StateOp op);
  Offset<fb::Image> image(exec::ImageOp op);
  Offset<fb::Entry> entry(exec::EntryOp op);
  Offset<fb::Operand> operand(Value value);
  Offset<fb::Launch> launch(exec::LaunchOp op);
  Offset<fb::Binding> binding(exec::BindOp op);

  fb::Element element(RankedTensorType type) {
    return static_cast<fb::Element>(exec::elementCode(type.getElementType()));
  }
  uint32_t indexOf(FlatSymbolRefAttr symbol) const {
    return indices.lookup(symbol.getAttr());
  }

  ModuleOp module;
  const FileLayout &layout;
  bool pruningStrings;
  FlatBufferBuilder builder;
  /// The index of each symbol in the list of its kind.
  llvm::DenseMap<StringAttr, uint32_t> indices;
};

Offset<flatbuffers::Vector<Offset<flatbuffers::String>>>
RootBuilder::strings(ArrayAttr array) {
  Offsets<flatbuffers::String> offsets;
  if (array)
    for (Attribute text : array)
      offsets.push_back(string(cast<StringAttr>(text).getValue()));
  return builder.CreateVector(offsets);
}

Offset<fb::Model> RootBuilder::model() {
  exec::ModelOp op = *module.getOps<exec::ModelOp>().begin();
  return fb::CreateModel(builder, string(op.getModelName()), op.getLayers(),
                         op.getHidden(), op.getVocabulary(), op.getBatch(),
                         op.getMaxContext(), op.getModelContext(),
                         op.getPrefillChunk());
}

Offset<fb::Provenance> RootBuilder::provenance() {
  auto ops = module.getOps<exec::ProvenanceOp>();
  if (ops.empty())
    return {};
  exec::ProvenanceOp op = *ops.begin();
  return fb::CreateProvenance(
      builder, string(op.getTool()), strings(op.getFlags()),
      string(op.getModelDigest()), string(op.getCalibrationDigest()),
      numbers<uint64_t>(op.getPositions()), strings(op.getNotes()));
}

Offset<fb::Segment> RootBuilder::segment(exec::SegmentOp op, unsigned index) {
  const SegmentPlace &place = layout.segments[index];
  return fb::CreateSegment(builder, static_cast<fb::SegmentKind>(op.getKind()),
                           place.offset, place.size, place.digest);
}

Offset<fb::Pruning> RootBuilder::pruning(exec::PruningAttr attribute) {
  bool texts = attribute && pruningStrings;
  auto number = [&](FloatAttr value) { return value.getValueAsDouble(); };
  return fb::CreatePruning(builder, string(texts ? attribute.getMethod() : ""),
                           attribute ? number(attribute.getDamping()) : 0,
                           attribute ? number(attribute.getLoss()) : 0,
                           attribute ? number(attribute.getRelative()) : 0,
                           strings(texts ? attribute.getNotes() : ArrayAttr()));
}

Offset<fb::Weight> RootBuilder::weight(exec::WeightOp op) {
  RankedTensorType type = op.getTensorType();
  Offset<fb::Pruning> pruned;
  if (op.getPruning() || op.getPatternN())
    pruned = pruning(op.getPruningAttr());
  return fb::CreateWeight(
      builder, string(op.getSymName()), indexOf(op.getSegmentAttr()),
      op.getOffsetAttr().getInt(), op.getSize(), element(type),
      numbers<int64_t>(type.getShape()), op.getPatternN().value_or(0),
      op.getPatternM().value_or(0), string(op.getTile().value_or("")),
      strings(op.getNotesAttr()), pruned);
}

Offset<fb::State> RootBuilder::state(exec::StateOp op) {
  ArrayRef<int64_t> shape = op.getTensorType().getShape();
  return fb::CreateState(builder, string(op.getSymName()), string(op.getPast()),
                         string(op.getPresent()), shape[0], shape[1], shape[2],
                         shape[3], element(op.getTensorType()));
}

Offset<fb::Image> RootBuilder::image(exec::ImageOp op) {
  return fb::CreateImage(
      builder, string(op.getLevel()), indexOf(op.getSegmentAttr()),
      numbers<uint64_t>(op.getKernelOffsets()), op.getCodeSize());
}

Offset<fb::Operand> RootBuilder::operand(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto buffer = dyn_cast<exec::BufferOp>(op))
    return fb::CreateOperand(builder, fb::OperandKind::Arena, 0,
                             buffer.getOffsetAttr().getInt());
  if (auto reference = dyn_cast<exec::WeightRefOp>(op))
    return fb::CreateOperand(builder, fb::OperandKind::Weight,
                             indexOf(reference.getWeightAttr()), 0);
  if (auto reference = dyn_cast<exec::StateRefOp>(op))
    return fb::CreateOperand(builder, fb::OperandKind::State,
                             indexOf(reference.getStateAttr()), 0);
  return fb::CreateOperand(builder, fb::OperandKind::Params, 0, 0);
}

Offset<fb::Launch> RootBuilder::launch(exec::LaunchOp op) {
  Offsets<fb::Operand> operands;
  for (Value value : op.getOperands())
    operands.push_back(operand(value));
  return fb::CreateLaunch(builder, indexOf(op.getKernelAttr()),
                          builder.CreateVector(operands), op.getUnits(),
                          string(op.getLabel()));
}

Offset<fb::Binding> RootBuilder::binding(exec::BindOp op) {
  auto buffer = op.getBuffer().getDefiningOp<exec::BufferOp>();
  return fb::CreateBinding(
      builder, static_cast<fb::Role>(op.getRole()), string(op.getBindingName()),
      buffer.getOffsetAttr().getInt(), element(op.getTensorType()),
      numbers<int64_t>(op.getTensorType().getShape()));
}

Offset<fb::Entry> RootBuilder::entry(exec::EntryOp op) {
  Offsets<fb::Binding> bindings;
  Offsets<fb::Launch> launches;
  for (auto bind : op.getBody().getOps<exec::BindOp>())
    bindings.push_back(binding(bind));
  for (auto step : op.getBody().getOps<exec::LaunchOp>())
    launches.push_back(launch(step));
  return fb::CreateEntry(
      builder, string(op.getSymName()),
      static_cast<fb::EntryKind>(op.getKind()), op.getBatch(), op.getRows(),
      op.getAllLogits(), op.getArenaSizeAttr().getInt(),
      builder.CreateVector(bindings), builder.CreateVector(launches));
}

std::vector<uint8_t> RootBuilder::build() {
  // Lists refer to each other by index, so all indices come first.
  uint32_t numSegments = 0, numWeights = 0, numStates = 0, numKernels = 0;
  for (Operation &op : *module.getBody()) {
    auto symbol = dyn_cast<SymbolOpInterface>(op);
    if (!symbol || isa<exec::EntryOp>(op))
      continue;
    uint32_t &count = isa<exec::SegmentOp>(op)  ? numSegments
                      : isa<exec::WeightOp>(op) ? numWeights
                      : isa<exec::StateOp>(op)  ? numStates
                                                : numKernels;
    indices[symbol.getNameAttr()] = count++;
  }

  Offsets<fb::Segment> segments;
  Offsets<fb::Weight> weights;
  Offsets<fb::State> states;
  Offsets<fb::Kernel> kernels;
  Offsets<fb::Image> images;
  Offsets<fb::Entry> entries;
  int32_t text = -1;
  for (Operation &op : *module.getBody()) {
    if (auto word = dyn_cast<exec::SegmentOp>(op)) {
      if (word.getKind() == exec::SegmentKind::Text)
        text = static_cast<int32_t>(segments.size());
      segments.push_back(segment(word, segments.size()));
    } else if (auto word = dyn_cast<exec::WeightOp>(op)) {
      weights.push_back(weight(word));
    } else if (auto word = dyn_cast<exec::StateOp>(op)) {
      states.push_back(state(word));
    } else if (auto word = dyn_cast<exec::KernelOp>(op)) {
      kernels.push_back(fb::CreateKernel(builder, string(word.getSymName()),
                                         word.getScratch()));
    } else if (auto word = dyn_cast<exec::ImageOp>(op)) {
      images.push_back(image(word));
    } else if (auto word = dyn_cast<exec::EntryOp>(op)) {
      entries.push_back(entry(word));
    }
  }
  exec::ModelOp numbers = *module.getOps<exec::ModelOp>().begin();
  auto root = fb::CreateExecutable(
      builder, model(), builder.CreateVector(segments),
      builder.CreateVector(weights), builder.CreateVector(states),
      builder.CreateVector(kernels), builder.CreateVector(images),
      builder.CreateVector(entries), text, provenance(),
      numbers.getRecording());
  fb::FinishExecutableBuffer(builder, root);
  return {builder.GetBufferPointer(),
          builder.GetBufferPointer() + builder.GetSize()};
}

/// The root for sizes alone: digests and offsets do not change its length.
std::vector<uint8_t> buildUnplaced(ModuleOp module, bool pruningStrings) {
  FileLayout layout;
  for (auto segment : module.getOps<exec::SegmentOp>())
    layout.segments.push_back({0, segment.getSize(), 0});
  return RootBuilder(module, layout, pruningStrings).build();
}

} // namespace

int64_t rootSizeOf(ModuleOp module) {
  auto reserved = static_cast<int64_t>(
      buildUnplaced(module, /*pruningStrings=*/false).size());
  for (auto weight : module.getOps<exec::WeightOp>())
    if (weight.getPruning() || weight.getPatternN())
      reserved += kReservedBytes;
  auto used = static_cast<int64_t>(
      buildUnplaced(module, /*pruningStrings=*/true).size());
  return (std::max(reserved, used) + 7) / 8 * 8;
}

std::vector<uint8_t> buildRoot(ModuleOp module, const FileLayout &layout) {
  std::vector<uint8_t> root =
      RootBuilder(module, layout, /*pruningStrings=*/true).build();
  assert(static_cast<int64_t>(root.size()) <= layout.rootSize);
  root.resize(layout.rootSize);
  return root;
}

} // namespace sdc
