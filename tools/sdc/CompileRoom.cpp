// Whether memory and disk have room for a compile, before long work starts: the
// phases run on a copy of the module and give places without looking into any
// weight.

#include "compiler/Emit/OutputFile.h"
#include "dialects/Exec/ExecDialect.h"
#include "tools/sdc/Compile.h"

#include "mlir/IR/Diagnostics.h"

#include <fstream>

using namespace mlir;
using namespace sdc;

/// What the system says can be had without swapping; nothing if it does not.
static std::optional<int64_t> availableMemory() {
  std::ifstream stream("/proc/meminfo");
  std::string name, unit;
  for (int64_t kibibytes; stream >> name >> kibibytes;
       std::getline(stream, unit))
    if (name == "MemAvailable:")
      return kibibytes * 1024;
  return std::nullopt;
}

namespace {

/// What the rooms from prune on will ask for.
struct RoomNeed {
  MemoryNeed prune, pack;
  int64_t prunedBytes = 0, spoolBytes = 0, outputBytes = 0;
};

} // namespace

/// Says that `need` is more than `limit`, if it is.
static bool checkMemory(const char *what, const MemoryNeed &need, int64_t limit,
                        bool given) {
  if (need.bytes <= limit)
    return true;
  printError(need.name + ": " + what + " it takes " +
                 std::to_string(need.bytes) + " bytes of memory, " +
                 std::to_string(limit) + (given ? " are allowed" : " are free"),
             given ? "--max-memory allows more" : "");
  return false;
}

bool Compilation::checkRoom(Phase last) {
  if (options.dryRun)
    return true;
  llvm::Expected<std::unique_ptr<Spool>> made =
      Spool::createUnnamed(spoolFolder());
  if (!made) {
    printError(llvm::toString(made.takeError()));
    return false;
  }
  std::shared_ptr<Spool> trial = std::move(*made);

  RoomNeed need;
  PipelineOptions pipeline = pipelineOptions();
  pipeline.pruneHooks = {};
  pipeline.pruneHooks.spool = pipeline.packHooks.spool = trial;
  pipeline.pruneHooks.plan = &need.prune;
  pipeline.packHooks.need = &need.pack;
  pipeline.pack.planOnly = true;
  pipeline.added.clear();
  pipeline.dumpFolder.clear();
  pipeline.timing = false;
  {
    OwningOpRef<ModuleOp> copy(moduleRef->clone());
    // What fails here fails again in earnest, and says so then.
    ScopedDiagnosticHandler silent(mlirContext.get(),
                                   [](Diagnostic &) { return success(); });
    if (nextPhase <= Phase::Prune) {
      if (failed(runPhases(*copy, nextPhase, Phase::Prune, pipeline)))
        return true;
      need.prunedBytes = options.work.empty() ? trial->reserved() : 0;
    }
    int64_t before = trial->reserved();
    if (last > Phase::Prune && nextPhase <= Phase::Plan &&
        failed(runPhases(*copy, std::max(nextPhase, Phase::Pack), Phase::Plan,
                         pipeline)))
      return true;
    need.spoolBytes = trial->reserved() - before;
    for (auto weight : copy->getOps<exec::WeightOp>())
      need.outputBytes += weight.getSize();
  }

  // Pruned values are dropped as they are packed, packed ones live until the
  // file is whole.
  int64_t disk = std::max(need.prunedBytes, need.spoolBytes + need.outputBytes);
  bool given = options.maxMemory > 0;
  std::optional<int64_t> memory =
      given ? static_cast<int64_t>(options.maxMemory) : availableMemory();
  bool good = true;
  if (memory) {
    good &= checkMemory("pruning", need.prune, *memory, given);
    good &= checkMemory("packing", need.pack, *memory, given);
  }
  bool named = !options.output.empty() && options.output != "-";
  if (llvm::Error error = checkDiskSpace(
          named ? options.output : spoolFolder() + "/spool", disk)) {
    printError(llvm::toString(std::move(error)));
    good = false;
  }
  return good;
}
