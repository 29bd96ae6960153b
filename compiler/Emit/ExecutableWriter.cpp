// Images, layout, segments, root, header, name: in this order; see
// ExecutableWriter.h.

#include "compiler/Emit/ExecutableWriter.h"
#include "compiler/Emit/FileLayout.h"
#include "compiler/Emit/KernelImage.h"
#include "compiler/Emit/OutputFile.h"
#include "compiler/Emit/RootBuilder.h"
#include "compiler/Emit/StaticObject.h"
#include "compiler/Emit/WeightBytes.h"
#include "compiler/Weights/WeightReader.h"
#include "dialects/Exec/ExecDialect.h"
#include "mlir/IR/Builders.h"
#include "schema/executable_generated.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace mlir;
using namespace llvm;

namespace sdc {

Expected<std::vector<KernelSpec>> kernelSpecs(ModuleOp module) {
  std::vector<KernelSpec> specs;
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    std::string problem;
    std::optional<KernelSpec> spec =
        KernelSpec::parse(kernel.getSymName(), problem);
    if (!spec)
      return createStringError("kernel '" + kernel.getSymName() +
                               "': " + problem);
    specs.push_back(*spec);
  }
  return specs;
}

namespace {

/// One file on its way out of a module.
class ExecutableWriter {
public:
  ExecutableWriter(ModuleOp module, const EmitOptions &options)
      : module(module), options(options),
        folder(weightFolderOf(module, options.folder)) {}

  /// Everything but bytes of weights: images, and where all lies.
  Error plan();
  Error write();
  EmitReport report;

private:
  Error check();
  Error addImages();
  void addText();
  void addProvenance();
  void wrap();

  Error writeHeader();
  /// Where the executable begins in the file.
  int64_t begin() const { return static_cast<int64_t>(around.head.size()); }
  Error writeWeights(OutputFile &file, SegmentPlace &place);
  Error writeSegments(OutputFile &file);

  ModuleOp module;
  const EmitOptions &options;
  std::string folder;
  /// Bytes of the segments that are not streamed, by their op.
  llvm::DenseMap<Operation *, ArrayRef<uint8_t>> contents;
  std::vector<CodeImage> images;
  FileLayout layout;
  /// What is around the executable, where it goes into an object.
  StaticObject around;
};

Error ExecutableWriter::check() {
  std::string problems;
  auto add = [&](const Twine &problem) {
    problems += (problems.empty() ? "" : "\n") + problem.str();
  };
  if (module.getOps<exec::ModelOp>().empty())
    add("the module has no exec.model: it was not lowered");
  for (auto weight : module.getOps<exec::WeightOp>()) {
    if (!weight.getOffset())
      add("weight '" + weight.getSymName() + "' has no place: plan gives it");
    std::string problem = weightBytesProblem(weight);
    if (!problem.empty())
      add("weight '" + weight.getSymName() + "' " + problem);
  }
  for (auto entry : module.getOps<exec::EntryOp>())
    if (!entry.getArenaSize())
      add("entry '" + entry.getSymName() + "' has no arena: plan gives it");
  if (!module.getOps<exec::ImageOp>().empty())
    add("the module has images already: it was emitted before");
  if (options.levels.empty())
    add("no level of code is asked for");
  return problems.empty() ? Error::success() : createStringError(problems);
}

/// A segment in front of the weights, so that what is looked at on open lies
/// together.
static exec::SegmentOp addSegment(ModuleOp module, StringRef name,
                                  exec::SegmentKind kind, int64_t size) {
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  for (auto segment : module.getOps<exec::SegmentOp>())
    if (segment.getKind() == exec::SegmentKind::Weights) {
      builder.setInsertionPoint(segment);
      break;
    }
  return exec::SegmentOp::create(builder, module.getLoc(), name, kind, size);
}

Error ExecutableWriter::addImages() {
  Expected<std::vector<KernelSpec>> specs = kernelSpecs(module);
  if (!specs)
    return specs.takeError();
  for (CpuLevel level : options.levels) {
    Expected<CodeImage> image =
        buildKernelImage(*specs, level, options.threads);
    if (!image)
      return image.takeError();
    images.push_back(std::move(*image));
  }
  OpBuilder builder(module.getContext());
  for (auto [level, image] : llvm::zip(options.levels, images)) {
    std::string name = "code_" + std::string(cpuLevelName(level));
    auto size = static_cast<int64_t>(image.bytes.size());
    exec::SegmentOp segment =
        addSegment(module, name, exec::SegmentKind::Code, size);
    contents[segment] = image.bytes;
    report.codeBytes += size;
    builder.setInsertionPointToEnd(module.getBody());
    SmallVector<int64_t> offsets(image.offsets.begin(), image.offsets.end());
    exec::ImageOp::create(builder, module.getLoc(),
                          StringRef(cpuLevelName(level)), name, size, offsets);
  }
  return Error::success();
}

void ExecutableWriter::addText() {
  report.textBytes = static_cast<int64_t>(options.text.size());
  if (options.text.empty())
    return;
  exec::SegmentOp segment =
      addSegment(module, "text", exec::SegmentKind::Text, report.textBytes);
  contents[segment] = options.text;
}

void ExecutableWriter::addProvenance() {
  if (!options.provenance || !module.getOps<exec::ProvenanceOp>().empty())
    return;
  const ProvenanceInfo &info = *options.provenance;
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToStart(module.getBody());
  auto strings = [&](const std::vector<std::string> &list) {
    return builder.getStrArrayAttr(
        SmallVector<StringRef>(list.begin(), list.end()));
  };
  exec::ProvenanceOp::create(builder, module.getLoc(), info.tool,
                             strings(info.flags), info.modelDigest,
                             info.calibrationDigest, info.positions,
                             strings(info.notes));
}

/// Puts an object around the executable.
void ExecutableWriter::wrap() {
  std::vector<std::string> kernels;
  for (auto kernel : module.getOps<exec::KernelOp>())
    kernels.push_back(kernel.getSymName().str());
  std::vector<StaticImage> linked;
  for (auto [level, image] : llvm::zip(options.levels, images))
    linked.push_back({StringRef(cpuLevelName(level)), &image});
  around = wrapExecutable(layout.fileSize, linked, kernels,
                          staticSymbol(options.path));
}

/// The C header beside the object.
Error ExecutableWriter::writeHeader() {
  SmallString<128> path(options.path);
  sys::path::replace_extension(path, "h");
  if (path == options.path)
    return createStringError(options.path +
                             ": the header would have the name of the object, "
                             "expected a name that ends in .o");
  return writeOutput(path,
                     staticHeader(options.path, staticSymbol(options.path)));
}

Error ExecutableWriter::plan() {
  if (Error error = check())
    return error;
  addText();
  if (Error error = addImages())
    return error;
  addProvenance();

  std::vector<int64_t> sizes;
  for (auto segment : module.getOps<exec::SegmentOp>()) {
    sizes.push_back(segment.getSize());
    if (segment.getKind() == exec::SegmentKind::Weights)
      report.weightBytes += segment.getSize();
  }
  layout = FileLayout::of(rootSizeOf(module), sizes);
  report.rootSize = layout.rootSize;
  if (options.object)
    wrap();
  report.fileSize = static_cast<int64_t>(around.head.size()) + layout.fileSize +
                    static_cast<int64_t>(around.tail.size());
  // A FlatBuffer's offsets are 31 bits wide.
  if (layout.rootSize > INT32_MAX)
    return createStringError("the root takes " + Twine(layout.rootSize) +
                             " bytes, it can have " + Twine(INT32_MAX));
  return Error::success();
}

Error ExecutableWriter::writeWeights(OutputFile &file, SegmentPlace &place) {
  XXH3_state_t hash;
  XXH3_64bits_reset(&hash);
  static constexpr uint8_t kZeros[exec::kAlignment] = {};
  int64_t end = 0;
  // The file holds zeros already; the digest must see them.
  auto padTo = [&](int64_t offset) {
    for (; end < offset; end += std::min(offset - end, exec::kAlignment))
      XXH3_64bits_update(&hash, kZeros,
                         std::min(offset - end, exec::kAlignment));
  };
  for (auto weight : module.getOps<exec::WeightOp>()) {
    padTo(weight.getOffsetAttr().getInt());
    Error error =
        streamWeight(weight, folder, [&](ArrayRef<uint8_t> bytes) -> Error {
          XXH3_64bits_update(&hash, bytes.data(), bytes.size());
          if (Error failed = file.write(begin() + place.offset + end, bytes))
            return failed;
          end += static_cast<int64_t>(bytes.size());
          if (options.progress)
            options.progress(end, place.size);
          return Error::success();
        });
    if (error)
      return createStringError("weight '" + weight.getSymName() +
                               "': " + toString(std::move(error)));
  }
  padTo(place.size);
  place.digest = XXH3_64bits_digest(&hash);
  return Error::success();
}

Error ExecutableWriter::writeSegments(OutputFile &file) {
  for (auto [index, segment] :
       llvm::enumerate(module.getOps<exec::SegmentOp>())) {
    SegmentPlace &place = layout.segments[index];
    if (segment.getKind() == exec::SegmentKind::Weights) {
      if (Error error = writeWeights(file, place))
        return error;
      continue;
    }
    ArrayRef<uint8_t> bytes = contents.lookup(segment);
    place.digest = XXH3_64bits(bytes.data(), bytes.size());
    if (Error error = file.write(begin() + place.offset, bytes))
      return error;
  }
  return Error::success();
}

Error ExecutableWriter::write() {
  Expected<std::unique_ptr<OutputFile>> file =
      OutputFile::create(options.path, report.fileSize);
  if (!file)
    return file.takeError();
  if (Error error = writeSegments(**file))
    return error;

  std::vector<uint8_t> root = buildRoot(module, layout);
  flatbuffers::Verifier verifier(root.data(), root.size(), /*max_depth=*/16,
                                 /*max_tables=*/UINT32_MAX);
  if (!fb::VerifyExecutableBuffer(verifier))
    return createStringError(options.path + ": the root is malformed");
  report.digest = XXH3_64bits(root.data(), root.size());
  std::array<uint8_t, kHeaderBytes> header = layout.header(report.digest);
  if (Error error = (*file)->write(begin(), header))
    return error;
  if (Error error = (*file)->write(begin() + kHeaderBytes, root))
    return error;
  if (options.object) {
    if (Error error = (*file)->write(0, around.head))
      return error;
    if (Error error = (*file)->write(begin() + layout.fileSize, around.tail))
      return error;
    if (Error error = writeHeader())
      return error;
  }
  return (*file)->commit();
}

} // namespace

Expected<EmitReport> emitExecutable(ModuleOp module,
                                    const EmitOptions &options) {
  ExecutableWriter writer(module, options);
  if (Error error = writer.plan())
    return std::move(error);
  if (Error error = writer.write())
    return std::move(error);
  return writer.report;
}

Expected<EmitReport> planExecutable(ModuleOp module,
                                    const EmitOptions &options) {
  ExecutableWriter writer(module, options);
  if (Error error = writer.plan())
    return std::move(error);
  return writer.report;
}

} // namespace sdc
