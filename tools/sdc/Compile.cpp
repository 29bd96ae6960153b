// Import, the phases, emit, and what is around them.

#include "tools/sdc/Compile.h"
#include "compiler/Emit/ExecutableWriter.h"
#include "compiler/Emit/KernelImage.h"
#include "compiler/Emit/OutputFile.h"
#include "compiler/Emit/PrunedOnnx.h"
#include "compiler/Emit/TextTable.h"
#include "compiler/Import/OnnxImporter.h"
#include "compiler/Record/Calibration.h"
#include "dialects/Decode/DecodeDialect.h"
#include "dialects/Exec/ExecDialect.h"
#include "dialects/NM/NMDialect.h"
#include "dialects/Onnx/OnnxDialect.h"
#include "sdc/sdc.h"
#include "tools/sdc/Files.h"
#include "tools/sdc/Plugins.h"
#include "tools/sdc/Progress.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <set>
#include <thread>
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace mlir;
using namespace sdc;
namespace path = llvm::sys::path;

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, func::FuncDialect, tensor::TensorDialect,
                  decode::DecodeDialect, exec::ExecDialect, nm::NMDialect,
                  onnxir::OnnxDialect>();
  return registry;
}

Compilation::Compilation(const CompileOptions &options)
    : options(options), folder(lookAtModel(options.model)) {
  mlirContext = std::make_unique<MLIRContext>(makeRegistry(),
                                              MLIRContext::Threading::DISABLED);
  printer = std::make_unique<DiagnosticPrinter>(*mlirContext);
  // The messages name the node; the text of the op would be a wall.
  mlirContext->printOpOnDiagnostic(false);
  if (this->options.common.threads == 0)
    this->options.common.threads =
        std::max(1U, std::thread::hardware_concurrency());
}

Compilation::~Compilation() = default;

void Compilation::setRecording() {
  recording = true;
  options.allLogits = true;
}

void Compilation::setWeightSource(const std::string &name,
                                  const std::string &file, int64_t offset) {
  weightSources.push_back({name, file, offset});
}

//===----------------------------------------------------------------------===//
// Before the phases
//===----------------------------------------------------------------------===//

bool Compilation::choosePattern() {
  pattern = options.pattern;
  if (!pattern.empty() || recording)
    return true;
  bool recorded = !options.calibration.empty();
  pattern = recorded ? "16:32" : "dense";
  if (!options.common.quiet)
    std::fprintf(stderr, "sdc: pattern %s, %s\n", pattern.c_str(),
                 recorded ? "as there is a calibration (--pattern changes it)"
                          : "as there is no calibration");
  return true;
}

bool Compilation::chooseContext() {
  contextLength = options.context;
  if (contextLength == 0) {
    contextLength =
        folder.context > 0 ? std::min<int64_t>(4096, folder.context) : 4096;
    if (folder.context > contextLength) {
      std::string note = "context " + std::to_string(contextLength) +
                         ", shorter than the model's " +
                         std::to_string(folder.context);
      notes.push_back(note);
      if (!options.common.quiet)
        std::fprintf(stderr, "sdc: %s (--context changes it)\n", note.c_str());
    }
  }
  if (folder.context > 0 && contextLength > folder.context)
    printWarning("context " + std::to_string(contextLength) +
                 " is longer than the " + std::to_string(folder.context) +
                 " that the model was made for");
  return true;
}

bool Compilation::load() {
  inputs.insert(inputs.end(), options.passPlugins.begin(),
                options.passPlugins.end());
  if (!loadPlugins(options.passPlugins, *mlirContext))
    return false;
  if (!options.addPasses.empty())
    registerPassNames();
  if (!options.compileFrom.empty()) {
    nextPhase = *parsePhase(options.compileFrom);
    inputs.push_back(options.model);
    folder.folder = path::parent_path(options.model).str();
    if (folder.folder.empty())
      folder.folder = ".";
    moduleRef = parseSourceFile<ModuleOp>(options.model, mlirContext.get());
  } else {
    ImportOptions import;
    import.sizes.batch = options.batch;
    import.sizes.prefillChunk = options.prefillChunk;
    import.weightsDir = options.weightsDir;
    import.randomSeed = options.randomSeed;
    std::vector<std::string> dataFiles;
    import.dataFiles = &dataFiles;
    FailureOr<OwningOpRef<ModuleOp>> imported =
        importOnnx(options.model, import, *mlirContext);
    if (failed(imported))
      return false;
    moduleRef = std::move(*imported);
    inputs.push_back(folder.file);
    inputs.insert(inputs.end(), folder.inputs.begin(), folder.inputs.end());
    inputs.insert(inputs.end(), dataFiles.begin(), dataFiles.end());
    // For what dumps its text and what was added to it.
    if (failed(runPhases(*moduleRef, Phase::Import, Phase::Import,
                         pipelineOptions())))
      return false;
  }
  if (!moduleRef)
    return false;
  return choosePattern() && chooseContext();
}

//===----------------------------------------------------------------------===//
// The phases
//===----------------------------------------------------------------------===//

std::string Compilation::spoolFolder() const {
  std::string folder =
      options.output == "-" ? "" : path::parent_path(options.output).str();
  return folder.empty() ? "." : folder;
}

bool Compilation::openSpool() {
  if (spool)
    return true;
  // A text names the spool, so it must have a name then.
  bool keeps = !options.dumpPhasesTo.empty() || !options.compileTo.empty();
  std::string keptFolder = !options.dumpPhasesTo.empty()
                               ? options.dumpPhasesTo
                               : path::parent_path(options.output).str();
  llvm::Expected<std::unique_ptr<Spool>> made = [&] {
    if (!keeps || options.output == "-")
      return Spool::createUnnamed(spoolFolder());
    llvm::SmallString<128> name(keptFolder.empty() ? "." : keptFolder);
    llvm::sys::fs::create_directories(name);
    path::append(name, options.dumpPhasesTo.empty()
                           ? path::filename(options.output) + ".weights"
                           : llvm::Twine("weights.bin"));
    llvm::sys::fs::make_absolute(name);
    return Spool::createNamed(name);
  }();
  if (!made) {
    printError(llvm::toString(made.takeError()));
    return false;
  }
  spool = std::move(*made);
  // Dumps of phases are for finding faults, so they survive them.
  if (keeps && options.dumpPhasesTo.empty() && options.output != "-")
    spool->removeUnlessKept();
  return true;
}

PipelineOptions Compilation::pipelineOptions() {
  PipelineOptions pipeline;
  pipeline.recording = recording;
  pipeline.raise.context = contextLength;
  pipeline.raise.allLogits = options.allLogits;
  pipeline.raise.folder = folder.folder;

  PruneWeightsPassOptions &prune = pipeline.prune;
  prune.pattern = pattern;
  for (const PatternRule &rule : options.rules)
    prune.rules.push_back(rule.regex + "=" + rule.pattern);
  prune.method = !options.method.empty() ? options.method
                 : options.randomSeed    ? "magnitude"
                                         : "sparsegpt";
  prune.damp = options.damp;
  prune.keepSparsity = options.keepSparsity;
  prune.calibration = options.calibration;
  prune.positions = options.positions;
  prune.allowOtherWeights = options.allowOtherWeights;
  prune.dtype = options.dtype;
  prune.strict = options.strict;
  prune.work = options.work;
  prune.folder = folder.folder;
  prune.threads = options.common.threads;
  prune.maxMemory = static_cast<int64_t>(options.maxMemory);
  prune.planOnly = options.dryRun;
  pipeline.pruneHooks.spool = spool;
  pipeline.pruneHooks.entries = &prunedEntries;

  pipeline.pack.dtype = options.dtype;
  pipeline.pack.folder = folder.folder;
  pipeline.pack.threads = options.common.threads;
  pipeline.pack.planOnly = options.dryRun;
  pipeline.pack.maxMemory = static_cast<int64_t>(options.maxMemory);
  pipeline.packHooks.spool = spool;
  pipeline.lower.fuse = options.optimization > 0;
  pipeline.lower.cacheType = cacheTypeFor(options.kvDtype, options.dtype);
  for (const auto &[name, passes] : options.addPasses)
    if (std::optional<Phase> phase = parsePhase(name))
      pipeline.added.push_back({*phase, passes});
  pipeline.dumpFolder = options.dumpPhasesTo;
  pipeline.modelFolder = folder.folder;
  pipeline.timing = options.timing;
  return pipeline;
}

void Compilation::applyWeightSources() {
  for (const WeightSource &source : weightSources)
    if (auto weight = moduleRef->lookupSymbol<decode::WeightOp>(source.name)) {
      RankedTensorType type =
          weight.getTensorType().clone(Float32Type::get(mlirContext.get()));
      weight.setSourceAttr(decode::FileAttr::get(mlirContext.get(), source.file,
                                                 source.offset,
                                                 type.getNumElements() * 4));
      weight.setViewAttr(
          decode::ViewAttr::get(mlirContext.get(), type, 0, false));
    }
}

bool Compilation::run(Phase last) {
  if (nextPhase <= Phase::Record && last >= Phase::Raise) {
    Phase end = std::min(last, Phase::Record);
    if (failed(runPhases(*moduleRef, nextPhase, end, pipelineOptions())))
      return false;
    nextPhase = static_cast<Phase>(static_cast<unsigned>(end) + 1);
    applyWeightSources();
    if (options.emit == "onnx")
      origins = captureOrigins(*moduleRef);
    // For people, from the folder; the text of a raised model has neither.
    Builder builder(mlirContext.get());
    if (last > Phase::Record) {
      (*moduleRef).setSymName(folder.name);
      (*moduleRef)
          ->setAttr(decode::kModelContextAttr,
                    builder.getI64IntegerAttr(folder.context));
    }
  }
  last = std::min(last, Phase::Plan);
  if (nextPhase > last)
    return true;
  if (!checkRoom(last) || !openSpool())
    return false;

  PipelineOptions pipeline = pipelineOptions();
  std::unique_ptr<Progress> bar;
  bool quiet = options.common.quiet || options.dryRun;
  pipeline.pruneHooks.progress = [&](int64_t done, int64_t total,
                                     llvm::StringRef) {
    if (!bar)
      bar = std::make_unique<Progress>("pruning", "weights", total, quiet);
    bar->update(static_cast<uint64_t>(done));
  };
  if (failed(runPhases(*moduleRef, nextPhase, last, pipeline)))
    return false;
  nextPhase = static_cast<Phase>(static_cast<unsigned>(last) + 1);
  return true;
}

bool Compilation::writeText(const std::string &path) {
  if (llvm::Error error = writeModule(*moduleRef, folder.folder, path)) {
    printError(llvm::toString(std::move(error)));
    return false;
  }
  if (spool)
    spool->keep();
  return true;
}

//===----------------------------------------------------------------------===//
// After the phases
//===----------------------------------------------------------------------===//

bool Compilation::loadText() {
  if (options.tokenizer == "none")
    return true;
  TextTableOptions table;
  table.modelFolder = folder.folder;
  table.tokenizer = options.tokenizer;
  if (auto sizes = (*moduleRef)->getAttrOfType<DictionaryAttr>("sdc.model"))
    if (auto vocabulary = sizes.getAs<IntegerAttr>("vocab"))
      table.embeddingRows = static_cast<uint64_t>(vocabulary.getInt());
  llvm::Expected<std::optional<TextTable>> made = buildTextTable(table);
  if (!made) {
    printError(llvm::toString(made.takeError()));
    return false;
  }
  if (!*made) {
    printWarning("no tokenizer.json beside the model: `sdc run` will need "
                 "--tokenizer");
    notes.push_back("no tokenizer");
    return true;
  }
  for (const std::string &warning : (*made)->warnings)
    if (!options.common.quiet)
      printWarning(warning);
  text = std::move((*made)->bytes);
  inputs.insert(inputs.end(), (*made)->inputs.begin(), (*made)->inputs.end());
  return true;
}

/// What changes the bytes of the result; no paths, no thread counts.
std::vector<std::string> Compilation::provenanceFlags() const {
  std::vector<std::string> flags;
  auto add = [&](const std::string &name, const std::string &value) {
    flags.push_back("--" + name + "=" + value);
  };
  char number[32];
  std::snprintf(number, sizeof(number), "%g", options.damp);
  add("pattern", recording ? "dense" : pattern);
  for (const PatternRule &rule : options.rules)
    add("pattern-for", rule.regex + "=" + rule.pattern);
  if (pattern != "dense" && !recording) {
    add("method", options.method.empty()
                      ? (options.randomSeed ? "magnitude" : "sparsegpt")
                      : options.method);
    add("damp", number);
    add("positions", options.positions);
  }
  if (options.keepSparsity)
    flags.push_back("--keep-sparsity");
  if (options.allowOtherWeights)
    flags.push_back("--allow-other-weights");
  add("target", options.target);
  add("dtype", options.dtype);
  add("kv-dtype", options.kvDtype);
  add("batch", std::to_string(options.batch));
  add("context", std::to_string(contextLength));
  add("prefill-chunk", std::to_string(options.prefillChunk));
  if (options.allLogits)
    flags.push_back("--all-logits");
  if (options.randomSeed)
    add("weights", "random:" + std::to_string(*options.randomSeed));
  for (const auto &[phase, passes] : options.addPasses)
    add("add-passes", phase + ":" + passes);
  flags.push_back("-O" + std::to_string(options.optimization));
  return flags;
}

/// Digest of the graph and of where its weights come from.
static std::string modelDigest(ModuleOp module) {
  auto source = module->getAttrOfType<DictionaryAttr>("sdc.source");
  auto digest = source ? source.getAs<StringAttr>("digest") : StringAttr();
  return digest ? digest.str() : "";
}

/// Digest of a file's bytes.
static llvm::Expected<std::string> fileDigest(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(path + ": " + buffer.getError().message());
  return "xxh3:" + llvm::utohexstr(XXH3_64bits((*buffer)->getBufferStart(),
                                               (*buffer)->getBufferSize()),
                                   /*LowerCase=*/true, /*Width=*/16);
}

bool Compilation::describeCalibration(ProvenanceInfo &info) {
  if (options.calibration.empty())
    return true;
  llvm::Expected<Calibration> calibration =
      Calibration::open(options.calibration);
  llvm::Expected<std::string> digest = fileDigest(options.calibration);
  if (!calibration || !digest) {
    printError(llvm::toString(
        llvm::joinErrors(calibration.takeError(), digest.takeError())));
    return false;
  }
  info.calibrationDigest = *digest;
  info.positions.assign(kPositionClasses, 0);
  for (const CalibrationKey &key : calibration->info().keys)
    for (unsigned c = 0; c < kPositionClasses; ++c)
      info.positions[c] = std::max(info.positions[c], key.counts[c]);
  return true;
}

/// The best level of this machine; empty if it has none.
static std::string ownLevel() {
  sdc_cpu_info cpu = {};
  cpu.struct_size = sizeof(cpu);
  sdc_cpu_query(&cpu);
  return cpu.level;
}

bool Compilation::emit(const std::string &path) {
  if (options.emit == "llvm" || options.emit == "asm")
    return emitText(path);
  if (options.emit == "onnx")
    return emitOnnx(path);
  ProvenanceInfo provenance;
  provenance.tool = std::string("sdc ") + SDC_VERSION;
  provenance.flags = provenanceFlags();
  provenance.modelDigest = modelDigest(*moduleRef);
  provenance.notes = notes;
  // The tokenizer's files are known only now.
  if (!loadText() || !describeCalibration(provenance) ||
      (!options.dryRun && !checkOutput(path, inputs)))
    return false;
  provenance.notes = notes;
  EmitOptions emit;
  emit.path = path;
  emit.object = options.emit == "object";
  emit.folder = folder.folder;
  emit.text = text;
  emit.provenance = std::move(provenance);
  emit.threads = options.common.threads;
  // A recording build runs here, now, and nowhere else.
  if (std::optional<CpuLevel> level = parseCpuLevel(ownLevel());
      recording && level)
    emit.levels = {*level};
  llvm::Expected<EmitReport> report = options.dryRun
                                          ? planExecutable(*moduleRef, emit)
                                          : emitExecutable(*moduleRef, emit);
  if (!report) {
    printError(llvm::toString(report.takeError()));
    return false;
  }
  bytes = static_cast<uint64_t>(report->fileSize);
  return true;
}

/// The original graph with the pruned weights.
bool Compilation::emitOnnx(const std::string &path) {
  if (llvm::Error error = writePrunedOnnx(folder.file, origins, *moduleRef,
                                          folder.folder, path)) {
    printError(llvm::toString(std::move(error)));
    return false;
  }
  std::error_code ignored;
  uint64_t size = 0;
  for (const std::string &file : {path, path + ".data"})
    if (!llvm::sys::fs::file_size(file, size))
      bytes += size;
  return true;
}

/// Writes a file as a whole or not at all.
static bool writeFile(const std::string &path, StringRef content) {
  llvm::Error error = writeOutput(path, content);
  if (!error)
    return true;
  printError(llvm::toString(std::move(error)));
  return false;
}

/// The generated code of the most capable level, as text.
bool Compilation::emitText(const std::string &path) {
  llvm::Expected<std::vector<KernelSpec>> specs = kernelSpecs(*moduleRef);
  llvm::Expected<llvm::SmallVector<char, 0>> code =
      !specs ? specs.takeError()
             : emitKernels(*specs, CpuLevel::Avx512Vbmi2,
                           options.emit == "llvm" ? CodeForm::LLVM
                                                  : CodeForm::Assembly);
  if (!code) {
    printError(llvm::toString(code.takeError()));
    return false;
  }
  if (path == "-") {
    llvm::outs().write(code->data(), code->size());
    return true;
  }
  return writeFile(path, StringRef(code->data(), code->size()));
}

/// As Make wants a file name in a rule.
static std::string escape(const std::string &name) {
  std::string text;
  for (char c : name) {
    if (c == ' ' || c == '#')
      text += '\\';
    if (c == '$')
      text += '$';
    text += c;
  }
  return text;
}

bool Compilation::writeDepfile(const std::string &file,
                               const std::string &target) {
  std::vector<std::string> all = inputs;
  for (const std::string *input :
       {&options.calibration, &options.recording.prompts})
    if (!input->empty())
      all.push_back(*input);
  std::string rule = escape(target) + ":";
  std::set<std::string> seen;
  for (const std::string &input : all)
    if (seen.insert(input).second)
      rule += " \\\n  " + escape(input);
  return writeFile(file, rule + "\n");
}
