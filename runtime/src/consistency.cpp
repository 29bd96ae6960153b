// Meaning of the lists that entries refer to: segments, weights, states,
// kernels, images.

#include "runtime/src/consistency.h"

#include "runtime/src/arithmetic.h"
#include "runtime/src/entry_consistency.h"
#include "runtime/src/ranges.h"
#include "runtime/src/shapes.h"
#include "runtime/src/status.h"

#include <cinttypes>
#include <cstdio>

using namespace sdc;
using namespace sdc::rt;

/// Far above what a file needs, and low enough that the checks stay fast.
static constexpr uint32_t kMaxSegments = 1 << 16;
static constexpr uint32_t kMaxImages = 256;

static sdc_status checkModel(const fb::Executable &root, sdc_error *error) {
  if (root.entries()->size() == 0)
    return fail(error, SDC_MALFORMED, "the file has no entries");
  int64_t text = root.text_segment();
  if (text < -1 || text >= int64_t{root.segments()->size()})
    return fail(error, SDC_MALFORMED,
                "text_segment is %" PRId64 ", the file has %u segments", text,
                root.segments()->size());
  if (text >= 0 && root.segments()->Get(text)->kind() != fb::SegmentKind::Text)
    return fail(error, SDC_MALFORMED,
                "text_segment is %" PRId64 ", which is not of kind text", text);
  return SDC_OK;
}

static sdc_status checkSegments(const Executable &executable,
                                const Allocator &allocator, sdc_error *error) {
  const auto &segments = *executable.root->segments();
  if (segments.size() > kMaxSegments)
    return fail(error, SDC_MALFORMED, "%u segments, at most %u are allowed",
                segments.size(), kMaxSegments);
  Array<Range> ranges(allocator, segments.size());
  if (!ranges.valid())
    return fail(error, SDC_OUT_OF_MEMORY, "no memory to check the segments");
  for (uint32_t i = 0; i < segments.size(); ++i) {
    const fb::Segment &segment = *segments.Get(i);
    if (segment.kind() > fb::SegmentKind::MAX)
      return fail(error, SDC_MALFORMED, "segments[%u]: unknown kind %u", i,
                  static_cast<unsigned>(segment.kind()));
    if (segment.kind() == fb::SegmentKind::Generated) {
      if (segment.offset() != 0 || segment.digest() != 0)
        return fail(error, SDC_MALFORMED,
                    "segments[%u] is generated and has offset %" PRIu64
                    " in the file",
                    i, segment.offset());
      if (executable.root->target() != fb::TargetFamily::Cuda)
        return fail(error, SDC_MALFORMED,
                    "segments[%u] is generated, which only CUDA can", i);
      if (segment.size() > INT64_MAX)
        return fail(error, SDC_MALFORMED, "segments[%u]: its size overflows",
                    i);
      continue;
    }
    if (segment.offset() % kSegmentAlignment != 0)
      return fail(error, SDC_MALFORMED,
                  "segments[%u] starts at byte %" PRIu64
                  ", which is not a multiple of %" PRIu64,
                  i, segment.offset(), kSegmentAlignment);
    if (segment.offset() < executable.rootEnd)
      return fail(error, SDC_MALFORMED,
                  "segments[%u] starts at byte %" PRIu64
                  ", before the end of the root at %" PRIu64,
                  i, segment.offset(), executable.rootEnd);
    if (!isInside(segment.offset(), segment.size(), executable.size))
      return fail(error, SDC_MALFORMED,
                  "segments[%u] ends at byte %" PRIu64 " + %" PRIu64
                  ", the file at %" PRIu64,
                  i, segment.offset(), segment.size(), executable.size);
    if (segment.size() == 0 && segment.kind() != fb::SegmentKind::Weights)
      return fail(error, SDC_MALFORMED, "segments[%u] is empty", i);
    ranges.add({segment.offset(), segment.offset() + segment.size(), i});
  }
  if (Pair pair = findOverlap(ranges, /*allowEqual=*/false); pair.found)
    return fail(error, SDC_MALFORMED, "segments[%u] and segments[%u] overlap",
                pair.first, pair.second);
  return SDC_OK;
}

/// The least number of bytes that a sparse weight of this shape can take: for
/// each row and each 32 columns a mask word and N values of each M columns.
static Size leastBytes(const fb::Weight &weight, uint64_t plainBytes) {
  uint64_t size = elementSize(weight.element());
  uint64_t columns = 1;
  if (weight.shape() && weight.shape()->size() > 0)
    columns = weight.shape()->Get(weight.shape()->size() - 1);
  uint64_t rows = plainBytes / size / columns;
  uint64_t values = uint64_t{32} / weight.pattern_m() * weight.pattern_n();
  return Size(rows) * Size(columns / 32 + (columns % 32 != 0)) *
         Size(sizeof(uint32_t) + values * size);
}

static sdc_status checkWeight(const Executable &executable, uint32_t index,
                              sdc_error *error) {
  const fb::Executable &root = *executable.root;
  const fb::Weight &weight = *root.weights()->Get(index);
  if (weight.segment() >= root.segments()->size())
    return fail(error, SDC_MALFORMED,
                "weights[%u]: segment %u is out of range, the file has %u",
                index, weight.segment(), root.segments()->size());
  const fb::Segment &segment = *root.segments()->Get(weight.segment());
  if (segment.kind() != fb::SegmentKind::Weights &&
      segment.kind() != fb::SegmentKind::Generated)
    return fail(error, SDC_MALFORMED,
                "weights[%u]: segment %u is not of kind weights", index,
                weight.segment());
  if (weight.offset() % kAlignment != 0)
    return fail(error, SDC_MALFORMED,
                "weights[%u] starts at byte %" PRIu64
                " of its segment, which is not a multiple of %" PRIu64,
                index, weight.offset(), kAlignment);
  if (!isInside(weight.offset(), weight.size(), segment.size()))
    return fail(error, SDC_MALFORMED,
                "weights[%u] ends at byte %" PRIu64 " + %" PRIu64
                " of its segment, which has %" PRIu64,
                index, weight.offset(), weight.size(), segment.size());
  if (elementSize(weight.element()) == 0) {
    // A later minor may pack values of a type that only its kernels know.
    if (executable.minor > kFormatMinor)
      return SDC_OK;
    return fail(error, SDC_MALFORMED, "weights[%u]: unknown element type %u",
                index, static_cast<unsigned>(weight.element()));
  }
  uint64_t bytes = 0;
  ShapeProblem problem;
  if (!shapeBytes(weight.shape(), weight.element(), bytes, problem))
    return fail(error, SDC_MALFORMED, "weights[%u]: %s", index, problem.text);
  unsigned n = weight.pattern_n(), m = weight.pattern_m();
  bool dense = n == m && n <= 1;
  bool sparse = n >= 1 && n < m && m <= 32 && (m & (m - 1)) == 0;
  if (!dense && !sparse)
    return fail(error, SDC_MALFORMED,
                "weights[%u]: the pattern %u:%u is not N of 2, 4, 8, 16 or 32",
                index, n, m);
  Size least = sparse ? leastBytes(weight, bytes) : Size(bytes);
  if (!least.isAtMost(weight.size()))
    return fail(error, SDC_MALFORMED,
                "weights[%u] has %" PRIu64
                " bytes, its shape needs at least %" PRIu64,
                index, weight.size(), least.value);
  bool rowMajor = dense && (!weight.tile() || weight.tile()->size() == 0);
  if (rowMajor && bytes != weight.size())
    return fail(error, SDC_MALFORMED,
                "weights[%u] has %" PRIu64 " bytes, its shape needs %" PRIu64,
                index, weight.size(), bytes);
  return SDC_OK;
}

static sdc_status checkState(const fb::Executable &root, uint32_t index,
                             sdc_error *error) {
  const fb::State &state = *root.states()->Get(index);
  const fb::Model &model = *root.model();
  if (elementSize(state.element()) == 0)
    return fail(error, SDC_MALFORMED, "states[%u]: unknown element type %u",
                index, static_cast<unsigned>(state.element()));
  if (state.heads() == 0 || state.head_size() == 0)
    return fail(error, SDC_MALFORMED,
                "states[%u] has %u heads of %u elements, neither may be 0",
                index, state.heads(), state.head_size());
  if (state.slots() == 0 || state.slots() < model.batch())
    return fail(error, SDC_MALFORMED, "states[%u] has %u slots, the model %u",
                index, state.slots(), model.batch());
  if (state.context() == 0 || state.context() < model.context())
    return fail(error, SDC_MALFORMED,
                "states[%u] has a context of %u, the model of %u", index,
                state.context(), model.context());
  Size bytes = Size(state.slots()) * Size(state.heads()) *
               Size(state.context()) * Size(state.head_size()) *
               Size(elementSize(state.element()));
  if (!bytes.isAtMost(INT64_MAX))
    return fail(error, SDC_MALFORMED, "states[%u]: its size overflows", index);
  return SDC_OK;
}

static sdc_status checkKernels(const fb::Executable &root,
                               const Allocator &allocator, sdc_error *error) {
  const auto &kernels = *root.kernels();
  Array<Name> names(allocator, kernels.size());
  if (!names.valid())
    return fail(error, SDC_OUT_OF_MEMORY, "no memory to check the kernels");
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    const fb::Kernel &kernel = *kernels.Get(i);
    if (kernel.name()->size() == 0)
      return fail(error, SDC_MALFORMED, "kernels[%u] has no name", i);
    if (kernel.scratch_size() > INT64_MAX)
      return fail(error, SDC_MALFORMED,
                  "kernels[%u] asks for %" PRIu64 " bytes of scratch", i,
                  kernel.scratch_size());
    names.add({kernel.name()->c_str(), i});
  }
  if (Pair pair = findDuplicate(names); pair.found)
    return fail(error, SDC_MALFORMED,
                "kernels[%u] and kernels[%u] are both named '%s'", pair.first,
                pair.second, kernels.Get(pair.first)->name()->c_str());
  return SDC_OK;
}

/// `place` names it, as in "functions[3]".
static sdc_status checkFunction(const fb::CudaFunction &function,
                                uint32_t image, const char *place,
                                sdc_error *error) {
  // What every device allows; the rest is found when it is loaded.
  constexpr uint32_t maxBlock = 1024, maxGridY = 65535;
  if (function.symbol()->size() == 0)
    return fail(error, SDC_MALFORMED, "images[%u].%s has no symbol", image,
                place);
  if (function.block() == 0 || function.block() > maxBlock)
    return fail(error, SDC_MALFORMED,
                "images[%u].%s has blocks of %u threads, expected 1 to %u",
                image, place, function.block(), maxBlock);
  if (function.grid_x() == 0 || function.grid_x() > INT32_MAX ||
      function.grid_y() == 0 || function.grid_y() > maxGridY ||
      function.grid_z() == 0 || function.grid_z() > maxGridY)
    return fail(error, SDC_MALFORMED,
                "images[%u].%s has a grid of %u x %u x %u", image, place,
                function.grid_x(), function.grid_y(), function.grid_z());
  return SDC_OK;
}

static sdc_status checkFunctions(
    const flatbuffers::Vector<flatbuffers::Offset<fb::CudaFunction>> *functions,
    uint32_t image, const char *list, uint32_t expected, sdc_error *error) {
  uint32_t count = functions ? functions->size() : 0;
  if (count != expected)
    return fail(error, SDC_MALFORMED, "images[%u] has %u %s, expected %u",
                image, count, list, expected);
  for (uint32_t i = 0; i < count; ++i) {
    char place[48];
    snprintf(place, sizeof(place), "%s[%u]", list, i);
    SDC_TRY(checkFunction(*functions->Get(i), image, place, error));
  }
  return SDC_OK;
}

static sdc_status checkCudaImage(const fb::Executable &root, uint32_t index,
                                 sdc_error *error) {
  const fb::Image &image = *root.images()->Get(index);
  if (image.kernel_offsets() && image.kernel_offsets()->size() != 0)
    return fail(error, SDC_MALFORMED,
                "images[%u] has kernel_offsets, a CUDA image has functions",
                index);
  SDC_TRY(checkFunctions(image.functions(), index, "functions",
                         root.kernels()->size(), error));
  uint32_t generated = 0;
  for (const fb::Weight *weight : *root.weights())
    generated += root.segments()->Get(weight->segment())->kind() ==
                 fb::SegmentKind::Generated;
  SDC_TRY(checkFunctions(image.generators(), index, "generators", generated,
                         error));
  if (image.greedy())
    SDC_TRY(checkFunction(*image.greedy(), index, "greedy", error));
  return SDC_OK;
}

static sdc_status checkImage(const fb::Executable &root, uint32_t index,
                             sdc_error *error) {
  const fb::Image &image = *root.images()->Get(index);
  if (image.level()->size() == 0)
    return fail(error, SDC_MALFORMED, "images[%u] has no level", index);
  for (uint32_t i = 0; i < index; ++i)
    if (strcmp(root.images()->Get(i)->level()->c_str(),
               image.level()->c_str()) == 0)
      return fail(error, SDC_MALFORMED,
                  "images[%u] and images[%u] are both of level '%s'", i, index,
                  image.level()->c_str());
  if (image.segment() >= root.segments()->size())
    return fail(error, SDC_MALFORMED,
                "images[%u]: segment %u is out of range, the file has %u",
                index, image.segment(), root.segments()->size());
  const fb::Segment &segment = *root.segments()->Get(image.segment());
  if (segment.kind() != fb::SegmentKind::Code)
    return fail(error, SDC_MALFORMED,
                "images[%u]: segment %u is not of kind code", index,
                image.segment());
  if (image.code_size() == 0 || image.code_size() > segment.size())
    return fail(error, SDC_MALFORMED,
                "images[%u] has %" PRIu64
                " bytes of code, its segment has %" PRIu64,
                index, image.code_size(), segment.size());
  if (root.target() == fb::TargetFamily::Cuda)
    return checkCudaImage(root, index, error);
  if (image.functions() || image.generators() || image.greedy())
    return fail(error, SDC_MALFORMED,
                "images[%u] has CUDA functions, the target is the CPU", index);
  uint32_t offsets =
      image.kernel_offsets() ? image.kernel_offsets()->size() : 0;
  if (offsets != root.kernels()->size())
    return fail(error, SDC_MALFORMED,
                "images[%u] has %u kernel_offsets, the file has %u kernels",
                index, offsets, root.kernels()->size());
  for (uint32_t i = 0; i < offsets; ++i)
    if (image.kernel_offsets()->Get(i) >= image.code_size())
      return fail(error, SDC_MALFORMED,
                  "images[%u].kernel_offsets[%u] is %" PRIu64
                  ", the code has %" PRIu64 " bytes",
                  index, i, image.kernel_offsets()->Get(i), image.code_size());
  return SDC_OK;
}

sdc_status sdc::rt::checkConsistency(const Executable &executable,
                                     const Allocator &allocator,
                                     sdc_error *error) {
  const fb::Executable &root = *executable.root;
  if (root.images()->size() > kMaxImages)
    return fail(error, SDC_MALFORMED, "%u images, at most %u are allowed",
                root.images()->size(), kMaxImages);
  if (root.target() > fb::TargetFamily::MAX)
    return fail(error, SDC_MALFORMED, "unknown target family %u",
                static_cast<unsigned>(root.target()));
  SDC_TRY(checkModel(root, error));
  SDC_TRY(checkSegments(executable, allocator, error));
  for (uint32_t i = 0; i < root.weights()->size(); ++i)
    SDC_TRY(checkWeight(executable, i, error));
  for (uint32_t i = 0; i < root.states()->size(); ++i)
    SDC_TRY(checkState(root, i, error));
  SDC_TRY(checkKernels(root, allocator, error));
  for (uint32_t i = 0; i < root.images()->size(); ++i)
    SDC_TRY(checkImage(root, i, error));
  return checkEntries(root, allocator, error);
}
