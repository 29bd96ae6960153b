// Names of phases.

#include "compiler/Pipeline/Phase.h"

using namespace sdc;

static constexpr llvm::StringLiteral kNames[kNumPhases] = {
    "import", "raise", "record", "prune", "pack", "lower", "plan", "emit"};

llvm::StringRef sdc::phaseName(Phase phase) {
  return kNames[static_cast<unsigned>(phase)];
}

std::optional<Phase> sdc::parsePhase(llvm::StringRef name) {
  for (unsigned i = 0; i < kNumPhases; ++i)
    if (name == kNames[i])
      return static_cast<Phase>(i);
  return std::nullopt;
}

std::string sdc::phaseNames() {
  std::string text;
  for (llvm::StringRef name : kNames)
    text += (text.empty() ? "" : ", ") + name.str();
  return text;
}
