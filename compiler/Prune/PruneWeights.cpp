// Gives every linear its pattern and its new weights. The numbers are those of
// PruneJobs; here it is decided who gets what, and written into the IR.

#include "compiler/Prune/PruneWeights.h"

#include "compiler/Algebra/Parallel.h"
#include "compiler/Prune/PruneRules.h"
#include "compiler/Record/CalibrationChecks.h"
#include "compiler/Record/ModelLinears.h"
#include "compiler/Weights/LinearNames.h"
#include "compiler/Weights/ModuleSpool.h"
#include "compiler/Weights/WeightUses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;

namespace sdc {

#define GEN_PASS_DEF_PRUNEWEIGHTSPASS
#include "compiler/Passes.h.inc"

namespace {

/// A linear on its way: its uses, what is asked, what is known.
struct Linear {
  WeightUses *uses;
  RuledPattern rule;
  PruneEntry entry;
  /// The keys of its inputs.
  llvm::SetVector<StringAttr> keys;
  /// Where its new values are; null if they are the old ones.
  decode::FileAttr source;
  ElementType type = ElementType::BF16;
};

class Pruner {
public:
  Pruner(ModuleOp module, const PruneWeightsPassOptions &options,
         const PruneHooks &hooks)
      : module(module), options(options), hooks(hooks), spool(hooks.spool),
        folder(weightFolderOf(module, options.folder)) {}

  LogicalResult run();

private:
  /// Whether new values get their places and nothing else.
  bool planOnly() const { return options.planOnly || hooks.plan; }
  LogicalResult report(llvm::Error error);
  LogicalResult checkOptions();
  LogicalResult findLinears();
  LogicalResult applyRules();
  LogicalResult keepPatterns();
  LogicalResult openCalibration();
  LogicalResult prune();
  void take(Linear &linear, const PruneJob &job);
  LogicalResult checkStrict();
  void rewrite(Linear &linear);

  ModuleOp module;
  const PruneWeightsPassOptions &options;
  const PruneHooks &hooks;
  std::shared_ptr<Spool> spool;
  std::string folder;

  PruneMethod method = PruneMethod::SparseGpt;
  PositionWeights positions;
  std::optional<Calibration> calibration;
  std::optional<WorkFolder> work;
  llvm::MapVector<StringAttr, WeightUses> uses;
  std::vector<Linear> linears;
};

/// One diagnostic for each error in `error`.
LogicalResult Pruner::report(llvm::Error error) {
  if (!error)
    return success();
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) {
    emitError(module.getLoc(), info.message());
  });
  return failure();
}

LogicalResult Pruner::checkOptions() {
  bool bad = false;
  if (std::optional<PruneMethod> parsed = parsePruneMethod(options.method);
      parsed && *parsed != PruneMethod::KeepSparsity) {
    method = *parsed;
  } else {
    emitError(module.getLoc(),
              "expected method sparsegpt, wanda or magnitude, got '")
        << options.method << "'";
    bad = true;
  }
  if (options.dtype != "auto" && !parseElementType(options.dtype)) {
    emitError(module.getLoc(), "expected dtype auto, f32, f16 or bf16, got '")
        << options.dtype << "'";
    bad = true;
  }
  if (!(options.damp > 0 && options.damp <= 1)) {
    emitError(module.getLoc(), "expected a damping above 0 and at most 1, got ")
        << options.damp;
    bad = true;
  }
  llvm::Expected<PositionWeights> parsed =
      PositionWeights::parse(options.positions);
  if (parsed)
    positions = *parsed;
  else
    bad |= failed(report(parsed.takeError()));
  return failure(bad);
}

LogicalResult Pruner::findLinears() {
  uses = collectWeightUses(module);
  bool bad = false;
  for (auto &[name, use] : uses) {
    if (use.linears.empty())
      continue;
    Linear linear;
    linear.uses = &use;
    RankedTensorType type = use.weight.getTensorType();
    linear.entry.name = name.getValue().str();
    linear.entry.rows = type.getDimSize(0);
    linear.entry.columns = type.getDimSize(1);
    std::optional<ElementType> stored = storedTypeFor(options.dtype, type);
    if (!stored) {
      use.weight.emitOpError("expected float weights for a linear, got ")
          << type;
      bad = true;
      continue;
    }
    linear.type = *stored;
    for (Operation *op : use.linears) {
      if (isa<nm::LinearOp>(op)) {
        op->emitOpError("is pruned already");
        bad = true;
        continue;
      }
      if (auto mark = op->getOperand(0).getDefiningOp<decode::RecordOp>())
        linear.keys.insert(mark.getKeyAttr());
    }
    linears.push_back(std::move(linear));
  }
  return failure(bad);
}

LogicalResult Pruner::applyRules() {
  std::vector<RuledLinear> ruled;
  for (const Linear &linear : linears) {
    Location loc = linear.uses->linears.front()->getLoc();
    auto node = dyn_cast<NameLoc>(loc);
    ruled.push_back({linear.entry.name, node ? node.getName().str() : ""});
  }
  llvm::Expected<PruneRules> rules =
      PruneRules::parse(options.pattern, options.rules);
  if (!rules)
    return report(rules.takeError());
  llvm::Expected<std::vector<RuledPattern>> patterns = rules->apply(ruled);
  if (!patterns)
    return report(patterns.takeError());
  for (auto [linear, pattern] : llvm::zip_equal(linears, *patterns)) {
    linear.rule = pattern;
    linear.entry.pattern = pattern.pattern;
    linear.entry.method = "none";
    if (pattern.pattern.isDense())
      linear.entry.notes.push_back(pattern.reason);
  }
  return success();
}

/// Whether every weight that obeys `has` obeys `asked` too.
bool implies(Pattern has, Pattern asked) {
  return asked.m % has.m == 0 && asked.m / has.m * has.n <= asked.n;
}

/// --keep-sparsity: a linear has the pattern that its weight has.
LogicalResult Pruner::keepPatterns() {
  std::vector<std::string> problems(linears.size());
  parallelFor(
      options.threads, static_cast<int64_t>(linears.size()), [&](int64_t i) {
        auto index = static_cast<size_t>(i);
        Linear &linear = linears[index];
        if (linear.rule.byRule && linear.rule.pattern.isDense())
          return;
        llvm::Expected<WeightReader> reader =
            WeightReader::open(linear.uses->weight, folder);
        if (!reader) {
          problems[index] = toString(reader.takeError());
          return;
        }
        PruneEntry &entry = linear.entry;
        std::vector<float> values(
            static_cast<size_t>(entry.rows * entry.columns));
        reader->readRows(0, entry.rows, values.data(), entry.columns);
        std::optional<Pattern> has =
            detectPattern({values.data(), entry.rows, entry.columns});
        entry.notes.clear();
        if (!has) {
          entry.pattern = Pattern::dense();
          entry.notes.push_back("its weight has no N:M sparsity to keep");
          return;
        }
        Pattern asked = linear.rule.pattern;
        entry.pattern = !asked.isDense() && implies(*has, asked) ? asked : *has;
        entry.method = "kept";
        entry.loss = entry.relativeLoss = 0;
      });
  bool bad = false;
  for (auto [linear, problem] : llvm::zip_equal(linears, problems))
    if (!problem.empty()) {
      linear.uses->weight.emitOpError(problem);
      bad = true;
    }
  return failure(bad);
}

LogicalResult Pruner::openCalibration() {
  if (options.calibration.empty()) {
    if (method == PruneMethod::Magnitude)
      return success();
    return emitError(module.getLoc(), "method ")
           << options.method
           << " needs a calibration file, expected the option calibration=FILE "
              "or method=magnitude";
  }
  llvm::Expected<Calibration> opened = Calibration::open(options.calibration);
  if (!opened)
    return report(opened.takeError());
  calibration.emplace(std::move(*opened));
  llvm::Expected<std::vector<RecordedLinear>> model =
      describeLinears(module, folder, options.threads);
  if (!model)
    return report(model.takeError());
  return report(checkModel(*calibration, *model, options.allowOtherWeights));
}

void Pruner::take(Linear &linear, const PruneJob &job) {
  PruneEntry &entry = linear.entry;
  entry.method = pruneMethodName(method).str();
  entry.loss = job.report.loss;
  entry.relativeLoss = job.report.relativeLoss;
  entry.damping = job.report.damping;
  entry.reused = job.reused;
  for (const std::string &reason : job.report.reasons)
    entry.notes.push_back(reason);
  if (job.report.deadColumns)
    entry.notes.push_back(std::to_string(job.report.deadColumns) +
                          " columns saw no input and were dropped");
  MLIRContext *context = module.getContext();
  int64_t bytes = entry.rows * entry.columns * elementBytes(job.type);
  linear.source =
      job.file.empty()
          ? decode::FileAttr::get(context, spool->path(), job.offset, bytes)
          : decode::FileAttr::get(context, job.file, WorkFolder::kValuesOffset,
                                  bytes);
}

LogicalResult Pruner::prune() {
  // Groups in program order of their first weight.
  std::vector<PruneGroup> groups;
  std::vector<std::vector<Linear *>> members;
  llvm::MapVector<Attribute, size_t> groupOf;
  bool bad = false, keyed = !options.calibration.empty();
  for (Linear &linear : linears) {
    if (linear.entry.pattern.isDense())
      continue;
    llvm::Expected<WeightReader> reader =
        WeightReader::open(linear.uses->weight, folder);
    if (!reader) {
      linear.uses->weight.emitOpError(toString(reader.takeError()));
      bad = true;
      continue;
    }
    SmallVector<Attribute> keys(linear.keys.begin(), linear.keys.end());
    if (keyed && keys.empty()) {
      linear.uses->linears.front()->emitOpError(
          "its input has no calibration key, expected mark-records before");
      bad = true;
      continue;
    }
    // Without matrices nothing is shared.
    Attribute id = keyed ? Attribute(ArrayAttr::get(module.getContext(), keys))
                         : linear.uses->weight.getSymNameAttr();
    auto [it, fresh] = groupOf.insert({id, groups.size()});
    if (fresh) {
      groups.emplace_back();
      members.emplace_back();
      for (StringAttr key : linear.keys)
        groups.back().keys.push_back(key.str());
    }
    PruneJob job;
    job.name = linear.entry.name;
    job.reader = std::move(*reader);
    job.rows = linear.entry.rows;
    job.columns = linear.entry.columns;
    job.pattern = linear.entry.pattern;
    job.type = linear.type;
    groups[it->second].jobs.push_back(std::move(job));
    members[it->second].push_back(&linear);
  }
  if (bad)
    return failure();

  PruneJobSettings settings;
  if (!options.work.empty() && !planOnly()) {
    llvm::Expected<WorkFolder> opened = WorkFolder::open(options.work);
    if (!opened)
      return report(opened.takeError());
    work.emplace(std::move(*opened));
    settings.work = &*work;
  } else {
    if (!spool)
      spool = createModuleSpool(module, options.spoolPath, folder);
    if (!spool)
      return failure();
    settings.spool = spool.get();
    for (PruneGroup &group : groups)
      for (PruneJob &job : group.jobs)
        job.offset =
            spool->reserve(job.rows * job.columns * elementBytes(job.type));
  }
  settings.method = method;
  settings.damping = options.damp;
  settings.threads = options.threads;
  settings.memory = options.maxMemory;
  settings.progress = hooks.progress;
  if (keyed)
    settings.matrix = [&](StringRef key, int64_t columns, float *h) {
      return calibration->weigh(key, columns, positions, h);
    };
  if (hooks.plan)
    for (const PruneGroup &group : groups)
      if (int64_t bytes = pruneMemory(group, settings);
          bytes > hooks.plan->bytes)
        *hooks.plan = {group.jobs.front().name, bytes};
  if (!planOnly() && failed(report(runPruneJobs(groups, settings))))
    return failure();
  if (spool && failed(report(spool->finish())))
    return failure();
  for (auto [group, owners] : llvm::zip_equal(groups, members))
    for (auto [job, linear] : llvm::zip_equal(group.jobs, owners))
      take(*linear, job);
  return success();
}

LogicalResult Pruner::checkStrict() {
  bool bad = false;
  for (const Linear &linear : linears) {
    const PruneEntry &entry = linear.entry;
    // A rule for it, or for all.
    bool asked = linear.rule.pattern.isDense() &&
                 (linear.rule.byRule ||
                  (options.pattern == "dense" && !options.keepSparsity));
    if (entry.pattern.isDense() && !asked) {
      emitError(module.getLoc())
          << entry.name
          << ": stays dense under strict: " << entry.notes.front();
      bad = true;
    }
    if (entry.damping > options.damp) {
      emitError(module.getLoc()) << entry.name << ": damping was raised to "
                                 << entry.damping << " under strict";
      bad = true;
    }
  }
  return failure(bad);
}

void Pruner::rewrite(Linear &linear) {
  PruneEntry &entry = linear.entry;
  decode::WeightOp weight = linear.uses->weight;
  MLIRContext *context = module.getContext();
  weight->setAttr(nm::kReportAttr,
                  nm::ReportAttr::get(context, entry.pattern, entry.method,
                                      entry.damping, entry.loss,
                                      entry.relativeLoss, entry.notes));
  if (linear.source) {
    auto type = RankedTensorType::get(
        {entry.rows, entry.columns}, nm::fromElementType(context, linear.type));
    weight.setType(type);
    weight.setSourceAttr(linear.source);
    weight.removeViewAttr();
    for (decode::LoadOp load : linear.uses->loads)
      load.getResult().setType(type);
  }
  if (entry.pattern.isDense())
    return;
  OpBuilder builder(context);
  for (Operation *op : linear.uses->linears) {
    auto dense = cast<decode::LinearOp>(op);
    builder.setInsertionPoint(dense);
    auto sparse =
        nm::LinearOp::create(builder, dense.getLoc(), dense.getType(),
                             dense.getX(), dense.getWeight(), dense.getBias(),
                             nm::PatternAttr::get(context, entry.pattern));
    dense.replaceAllUsesWith(sparse.getResult());
    dense.erase();
  }
}

LogicalResult Pruner::run() {
  if (failed(checkOptions()) || failed(findLinears()) || failed(applyRules()))
    return failure();
  if (options.keepSparsity && hooks.plan)
    for (Linear &linear : linears)
      linear.entry.pattern = Pattern::dense();
  else if (options.keepSparsity && failed(keepPatterns()))
    return failure();
  bool prunes =
      !options.keepSparsity && llvm::any_of(linears, [](const Linear &linear) {
        return !linear.entry.pattern.isDense();
      });
  if (prunes && ((!hooks.plan && failed(openCalibration())) || failed(prune())))
    return failure();
  for (Linear &linear : linears)
    if (!linear.entry.pattern.isDense() &&
        linear.entry.columns % kWordColumns != 0)
      linear.entry.notes.push_back(
          "K = " + std::to_string(linear.entry.columns) + " is padded to " +
          std::to_string((linear.entry.columns + kWordColumns - 1) /
                         kWordColumns * kWordColumns));
  if (options.strict && !hooks.plan && failed(checkStrict()))
    return failure();

  for (Linear &linear : linears) {
    rewrite(linear);
    if (hooks.entries)
      hooks.entries->push_back(linear.entry);
  }
  // The marks have served.
  module.walk([](decode::RecordOp mark) {
    mark.replaceAllUsesWith(mark.getX());
    mark.erase();
  });
  return success();
}

struct PruneWeightsPass : impl::PruneWeightsPassBase<PruneWeightsPass> {
  using PruneWeightsPassBase::PruneWeightsPassBase;

  void runOnOperation() override {
    PruneWeightsPassOptions options;
    options.pattern = pattern;
    options.rules = llvm::to_vector(rules);
    options.method = method;
    options.damp = damp;
    options.keepSparsity = keepSparsity;
    options.calibration = calibration;
    options.positions = positions;
    options.allowOtherWeights = allowOtherWeights;
    options.dtype = dtype;
    options.strict = strict;
    options.work = work;
    options.spoolPath = spoolPath;
    options.folder = folder;
    options.threads = threads;
    options.maxMemory = maxMemory;
    options.planOnly = planOnly;
    if (failed(Pruner(getOperation(), options, hooks).run()))
      signalPassFailure();
  }

  PruneHooks hooks;
};

} // namespace

std::unique_ptr<Pass> createPruneWeightsPass(PruneWeightsPassOptions options,
                                             PruneHooks hooks) {
  auto pass = std::make_unique<PruneWeightsPass>(std::move(options));
  pass->hooks = std::move(hooks);
  return pass;
}

} // namespace sdc
