// Puts every weight into its compiled form: linears into the packed layout,
// the rest into plain tensors of the wanted type.

#include "compiler/Pack/PackWeights.h"

#include "compiler/Weights/ModuleSpool.h"
#include "compiler/Weights/WeightUses.h"
#include "kernels/Select/Select.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_PACKWEIGHTSPASS
#include "compiler/Passes.h.inc"

namespace {

/// What becomes of one weight.
struct Plan {
  const WeightUses *uses;
  std::optional<PackedLayout> layout;
  ElementType type;
  /// The job that makes its bytes; -1 if it may stay where it is.
  int64_t job = -1;
  /// The dense linear of the same weight that an embedding reads instead.
  const WeightUses *tied = nullptr;
};

/// The pass at work on one module.
class Packer {
public:
  Packer(ModuleOp module, const PackWeightsPassOptions &options,
         const PackHooks &hooks)
      : module(module), options(options), hooks(hooks),
        folder(weightFolderOf(module, options.folder)), spool(hooks.spool) {}

  LogicalResult run();

private:
  LogicalResult makePlans();
  FailureOr<std::optional<PackedLayout>> layoutOf(const WeightUses &uses,
                                                  ElementType type);
  void findHeads();
  const WeightUses *headOf(const WeightUses &uses);
  LogicalResult makeJob(Plan &plan);
  void rewrite(const Plan &plan);
  void rewriteTied(const Plan &plan);

  ModuleOp module;
  const PackWeightsPassOptions &options;
  const PackHooks &hooks;
  std::string folder;
  std::shared_ptr<Spool> spool;
  llvm::MapVector<StringAttr, WeightUses> uses;
  std::vector<Plan> plans;
  std::vector<PackJob> jobs;
  /// Jobs by (source, view, type, result type): equal weights are packed once.
  llvm::DenseMap<Attribute, int64_t> jobOf;
  /// Weights of dense linears by valuesOf().
  llvm::DenseMap<Attribute, const WeightUses *> heads;
  /// How many weights read a range of the spool, by its offset.
  llvm::DenseMap<int64_t, int64_t> readers;
};

/// What says that two weights are equal: where the values lie, and the view of
/// them. Random streams differ by symbol.
Attribute valuesOf(decode::WeightOp weight) {
  MLIRContext *context = weight.getContext();
  Attribute none = UnitAttr::get(context);
  bool random = isa<decode::RandomAttr>(weight.getSource());
  Attribute view = weight.getViewAttr();
  Attribute name = weight.getSymNameAttr();
  return ArrayAttr::get(context, {weight.getSource(), view ? view : none,
                                  random ? name : none, weight.getTypeAttr()});
}

/// The pattern by which `uses` multiplies; fails if its linears disagree.
FailureOr<Pattern> patternOf(const WeightUses &uses) {
  std::optional<Pattern> pattern;
  for (Operation *op : uses.linears) {
    auto sparse = dyn_cast<nm::LinearOp>(op);
    Pattern own =
        sparse ? sparse.getWeightPattern().getValue() : Pattern::dense();
    if (pattern && *pattern != own)
      return op->emitOpError("the pattern is ")
             << own.str() << " here and " << pattern->str()
             << " for another linear of the weight";
    pattern = own;
  }
  return *pattern;
}

} // namespace

FailureOr<std::optional<PackedLayout>> Packer::layoutOf(const WeightUses &uses,
                                                        ElementType type) {
  if (uses.linears.empty())
    return std::optional<PackedLayout>();
  FailureOr<Pattern> pattern = patternOf(uses);
  if (failed(pattern))
    return failure();
  decode::WeightOp weight = uses.weight;
  RankedTensorType tensor = weight.getTensorType();
  PackedLayout layout{
      tensor.getDimSize(0), tensor.getDimSize(1), type, *pattern, {}};
  if (options.tile.empty()) {
    layout.tile = selectCpuTile(layout.rows, layout.columns, *pattern).tile;
  } else {
    std::string problem;
    std::optional<Tile> parsed = Tile::parse(options.tile, problem);
    if (!parsed)
      return weight.emitOpError(problem);
    layout.tile = *parsed;
  }
  if (std::string problem = layout.problem(); !problem.empty())
    return weight.emitOpError(problem);
  return std::optional<PackedLayout>(layout);
}

void Packer::findHeads() {
  for (auto &[name, use] : uses)
    if (llvm::any_of(use.linears,
                     [](Operation *op) { return isa<decode::LinearOp>(op); }))
      heads.try_emplace(valuesOf(use.weight), &use);
}

/// The head that a table of token embeddings is tied to and that is packed
/// dense; null if there is none.
const WeightUses *Packer::headOf(const WeightUses &uses) {
  if (!uses.linears.empty() || uses.loads.empty())
    return nullptr;
  for (decode::LoadOp load : uses.loads)
    for (OpOperand &use : load.getResult().getUses())
      if (!isa<decode::EmbedOp>(use.getOwner()))
        return nullptr;
  return heads.lookup(valuesOf(uses.weight));
}

LogicalResult Packer::makeJob(Plan &plan) {
  decode::WeightOp weight = plan.uses->weight;
  MLIRContext *context = weight.getContext();
  auto file = dyn_cast<decode::FileAttr>(weight.getSource());
  Type wanted = plan.layout ? Type(nm::PackedType::get(context, *plan.layout))
                            : Type(weight.getTensorType().clone(
                                  nm::fromElementType(context, plan.type)));
  if (file && !weight.getViewAttr() && wanted == weight.getType())
    return success();

  auto key = ArrayAttr::get(context, {valuesOf(weight), TypeAttr::get(wanted)});
  auto [it, fresh] = jobOf.try_emplace(key, jobs.size());
  plan.job = it->second;
  if (!fresh)
    return success();
  llvm::Expected<WeightReader> reader = WeightReader::open(weight, folder);
  if (!reader)
    return weight.emitOpError(toString(reader.takeError()));
  PackJob job;
  job.name = weight.getSymName().str();
  job.reader = std::move(*reader);
  job.layout = plan.layout;
  job.type = plan.type;
  job.offset = spool->reserve(job.packedBytes());
  if (file && file.getPath() == spool->path() &&
      readers[file.getOffset()] == 1) {
    job.freedOffset = file.getOffset();
    job.freedBytes = file.getLength();
  }
  jobs.push_back(std::move(job));
  return success();
}

void Packer::rewriteTied(const Plan &plan) {
  decode::WeightOp weight = plan.uses->weight, head = plan.tied->weight;
  auto type = nm::PackedType::get(weight.getContext(), *plan.layout);
  for (decode::LoadOp load : plan.uses->loads) {
    load.setWeight(head.getSymName());
    load.getResult().setType(type);
    for (Operation *user :
         llvm::make_early_inc_range(load.getResult().getUsers())) {
      auto plain = cast<decode::EmbedOp>(user);
      OpBuilder builder(plain);
      auto packed = nm::EmbedOp::create(
          builder, plain.getLoc(), plain.getType(), plain.getTokens(),
          plain->getOperand(1), plain.getScaleAttr());
      plain.replaceAllUsesWith(packed.getResult());
      plain.erase();
    }
  }
  weight.erase();
}

void Packer::rewrite(const Plan &plan) {
  decode::WeightOp weight = plan.uses->weight;
  OpBuilder builder(weight);
  Attribute source = weight.getSource();
  if (plan.job >= 0) {
    // Jobs have let go of their readers, not of their sizes.
    RankedTensorType tensor = weight.getTensorType();
    int64_t bytes = plan.layout
                        ? plan.layout->packedSize()
                        : tensor.getNumElements() * elementBytes(plan.type);
    source = decode::FileAttr::get(builder.getContext(), spool->path(),
                                   jobs[static_cast<size_t>(plan.job)].offset,
                                   bytes);
  }
  Type type = weight.getType();
  if (plan.layout) {
    type = nm::PackedType::get(builder.getContext(), *plan.layout);
    nm::WeightOp::create(
        builder, weight.getLoc(), weight.getSymName(), type, source,
        weight->getAttrOfType<nm::ReportAttr>(nm::kReportAttr));
    weight->erase();
  } else if (plan.job >= 0) {
    type = weight.getTensorType().clone(
        nm::fromElementType(builder.getContext(), plan.type));
    weight.setType(type);
    weight.setSourceAttr(source);
    weight.removeViewAttr();
  }
  for (decode::LoadOp load : plan.uses->loads)
    load.getResult().setType(type);
  for (Operation *op : plan.uses->linears) {
    if (auto sparse = dyn_cast<nm::LinearOp>(op)) {
      sparse.removePatternAttr();
      continue;
    }
    auto dense = cast<decode::LinearOp>(op);
    builder.setInsertionPoint(dense);
    auto packed = nm::LinearOp::create(builder, dense.getLoc(), dense.getType(),
                                       dense.getX(), dense->getOperand(1),
                                       dense.getBias(), nm::PatternAttr());
    dense.replaceAllUsesWith(packed.getResult());
    dense.erase();
  }
}

LogicalResult Packer::makePlans() {
  for (auto &[name, use] : uses)
    if (auto file = dyn_cast<decode::FileAttr>(use.weight.getSource());
        file && file.getPath() == spool->path())
      ++readers[file.getOffset()];

  bool bad = false;
  for (auto &[name, use] : uses) {
    std::optional<ElementType> type =
        storedTypeFor(options.dtype, use.weight.getTensorType());
    if (!type) {
      // What is no float (a table of indices) stays as it is.
      if (use.linears.empty())
        continue;
      use.weight.emitOpError("expected float weights for a linear, got ")
          << use.weight.getType();
      bad = true;
      continue;
    }
    const WeightUses *head = headOf(use);
    FailureOr<std::optional<PackedLayout>> layout =
        layoutOf(head ? *head : use, *type);
    if (failed(layout)) {
      bad = true;
      continue;
    }
    plans.push_back({&use, *layout, *type, -1, head});
    if (!head)
      bad |= failed(makeJob(plans.back()));
  }
  return failure(bad);
}

LogicalResult Packer::run() {
  if (options.dtype != "auto" && !parseElementType(options.dtype))
    return emitError(module.getLoc(),
                     "expected dtype auto, f32, f16 or bf16, got '")
           << options.dtype << "'";
  if (!spool)
    spool = createModuleSpool(module, options.spoolPath, folder);
  if (!spool)
    return failure();
  uses = collectWeightUses(module);
  findHeads();
  if (failed(makePlans()))
    return failure();
  if (hooks.need)
    for (const PackJob &job : jobs)
      if (int64_t bytes = packMemory(job); bytes > hooks.need->bytes)
        *hooks.need = {job.name, bytes};
  llvm::Error error = options.planOnly
                          ? spool->finish()
                          : runPackJobs(jobs, *spool, options.threads,
                                        options.maxMemory, hooks.progress);
  if (error) {
    llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &e) {
      emitError(module.getLoc(), e.message());
    });
    return failure();
  }
  // Those that name others go first.
  for (const Plan &plan : plans)
    if (plan.tied)
      rewriteTied(plan);
  for (const Plan &plan : plans)
    if (!plan.tied)
      rewrite(plan);
  return success();
}

namespace {

struct PackWeightsPass : impl::PackWeightsPassBase<PackWeightsPass> {
  using PackWeightsPassBase::PackWeightsPassBase;

  void runOnOperation() override {
    PackWeightsPassOptions options;
    options.dtype = dtype;
    options.tile = tile;
    options.spoolPath = spoolPath;
    options.folder = folder;
    options.threads = threads;
    options.maxMemory = maxMemory;
    options.planOnly = planOnly;
    if (failed(Packer(getOperation(), options, hooks).run()))
      signalPassFailure();
  }

  PackHooks hooks;
};

} // namespace

std::unique_ptr<Pass> createPackWeightsPass(PackWeightsPassOptions options,
                                            PackHooks hooks) {
  auto pass = std::make_unique<PackWeightsPass>(std::move(options));
  pass->hooks = std::move(hooks);
  return pass;
}

} // namespace sdc
