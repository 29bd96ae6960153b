// The phases of a compile: the rooms that a model walks through, in order.

#ifndef SDC_COMPILER_PIPELINE_PHASE_H
#define SDC_COMPILER_PIPELINE_PHASE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sdc {

enum class Phase : uint8_t {
  Import,
  Raise,
  Record,
  Prune,
  Pack,
  Lower,
  Plan,
  Emit
};

constexpr unsigned kNumPhases = 8;

/// "import", "raise", ...
llvm::StringRef phaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);

/// All names: "import, raise, ...", for messages.
std::string phaseNames();

} // namespace sdc

#endif // SDC_COMPILER_PIPELINE_PHASE_H
