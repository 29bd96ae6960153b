// What a session asks of a device: memory, runs of entries, rows of states. One
// table of functions for each kind of device; everything above it is the same
// for all.

#ifndef SDC_RUNTIME_SRC_DEVICE_H
#define SDC_RUNTIME_SRC_DEVICE_H

#include "runtime/src/arithmetic.h"
#include "runtime/src/model.h"

#include <atomic>

namespace sdc::rt {

/// The entries that a session runs, by what they are for. Their number in
/// `SessionPlan::entries` is a Program's number on the device.
enum class Use : uint8_t { Decode, Prefill, PrefillAll, Plain };
constexpr uint32_t kUses = 4;

/// Of a session, everything that its sizes depend on.
struct SessionPlan {
  static constexpr uint32_t kNone = ~0u;

  sdc_model *model = nullptr;
  uint32_t slots = 0;
  uint32_t context = 0;
  uint32_t threads = 1;
  sdc_device_kind kind = SDC_DEVICE_CPU;
  uint32_t deviceIndex = 0;
  void *stream = nullptr;
  /// Of device memory; null functions for the driver's.
  sdc_allocator deviceAllocator = {};
  bool profile = false;
  /// Index of an entry of the file for each use, or kNone. Two uses may share
  /// an entry.
  uint32_t entries[kUses] = {kNone, kNone, kNone, kNone};

  bool has(Use use) const { return entries[unsigned(use)] != kNone; }
  uint32_t entryIndex(Use use) const { return entries[unsigned(use)]; }
  const fb::Entry &entry(Use use) const {
    return *model->root().entries()->Get(entryIndex(use));
  }
  /// The first use of the entry that `use` has: what its Program goes by.
  Use owner(Use use) const {
    for (uint32_t i = 0; i < kUses; ++i)
      if (entries[i] == entryIndex(use))
        return Use(i);
    return use;
  }
  bool owns(Use use) const { return has(use) && owner(use) == use; }
};

/// Bytes that a device needs: one block, 64-byte aligned, and the states.
struct DeviceMemory {
  Size block;
  Size states;
  /// Parts of the block, or of the device's memory, for people.
  Size arena;
  Size scratch;
  /// Beyond the host's memory: in the device's, of which `deviceStates` are
  /// states; and pinned by its driver.
  Size device;
  Size deviceStates;
  Size deviceWeights;
  Size pinned;
};

/// The device's own half of a session.
struct DeviceSession;

/// Rows [first, first + count) of one state of one slot.
struct StateRows {
  uint32_t state;
  uint32_t slot;
  uint32_t first;
  uint32_t count;
};

/// Where a loop of decode steps begins: `token` is fed to `slot` at `position`.
struct TokenLoop {
  uint32_t slot;
  int32_t token;
  uint32_t position;
  uint32_t steps;
};

struct LaunchTime {
  uint64_t runs;
  uint64_t nanoseconds;
};

struct Device {
  sdc_status (*measure)(const SessionPlan &plan, DeviceMemory &memory,
                        sdc_error *error);
  /// Lives in `block`; both are zero and as large as measured.
  sdc_status (*create)(const SessionPlan &plan, void *block, void *states,
                       DeviceSession *&session, sdc_error *error);
  void (*destroy)(DeviceSession *session);
  /// The host's view of a binding: inputs are written there before a run,
  /// outputs are there after it.
  void *(*view)(DeviceSession *session, Use use, uint32_t binding);
  /// Runs an entry to its end; SDC_CANCELLED, without a message, if `cancel`
  /// was set meanwhile.
  sdc_status (*run)(DeviceSession *session, Use use,
                    const std::atomic<uint32_t> &cancel, sdc_error *error);
  /// As [heads, count, head_size].
  sdc_status (*readRows)(DeviceSession *session, StateRows rows, void *out,
                         sdc_error *error);
  sdc_status (*writeRows)(DeviceSession *session, StateRows rows,
                          const void *bytes, sdc_error *error);
  /// The first `count` rows of all states.
  sdc_status (*copySlot)(DeviceSession *session, uint32_t from, uint32_t to,
                         uint32_t count, sdc_error *error);
  /// Of each launch of an entry; null if nothing is measured.
  LaunchTime *(*times)(DeviceSession *session, Use use);

  // A loop of greedy decode steps that does not wait for the host.

  /// Whether the device can; the functions below may be null if not.
  bool (*canLoop)(DeviceSession *session);
  /// Starts at most `loop.steps` steps; nothing else may be called until
  /// endLoop.
  sdc_status (*startLoop)(DeviceSession *session, TokenLoop loop,
                          sdc_error *error);
  /// Waits for the token that the next step has chosen.
  sdc_status (*nextToken)(DeviceSession *session, int32_t &token,
                          sdc_error *error);
  /// Waits for the steps under way. The logits of the last step are then in
  /// the host's view of the decode entry. `ahead` of its tokens were not asked
  /// for.
  sdc_status (*endLoop)(DeviceSession *session, uint32_t &ahead,
                        sdc_error *error);
};

/// The processor this runs on.
const Device &cpuDevice();
/// A GPU of NVIDIA.
const Device &cudaDevice();

} // namespace sdc::rt

#endif // SDC_RUNTIME_SRC_DEVICE_H
