// Programmatic dependent launch. A kernel lets its successor start at once,
// asks for weights, which no kernel writes, and waits before it reads or writes
// anything else. Every kernel of a chain must wait: then completion of one
// implies completion of all before it.

#pragma once

#include "types.cuh"

namespace sdc {

SDC_DEVICE void launchDependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Returns once the kernels before this one are complete and their writes
/// visible. What stands above it in the text is not moved below.
SDC_DEVICE void waitForPredecessors() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

} // namespace sdc
