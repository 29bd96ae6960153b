// Converts weights to their compiled form, many at a time, in pieces of whole
// blocks: the memory it takes is a few pieces, whatever the weights' sizes.

#ifndef SDC_COMPILER_PACK_PACKJOBS_H
#define SDC_COMPILER_PACK_PACKJOBS_H

#include "compiler/Weights/Spool.h"
#include "compiler/Weights/WeightReader.h"
#include "kernels/Format/Bitmask.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sdc {

/// One weight on its way into the spool.
struct PackJob {
  /// For messages.
  std::string name;
  WeightReader reader;
  /// How it is packed; none for a plain row-major tensor of `type`.
  std::optional<PackedLayout> layout;
  ElementType type = ElementType::F32;
  /// Where it goes: packedBytes() reserved bytes.
  int64_t offset = 0;
  /// What of the spool it is read from and is not needed after, if any.
  int64_t freedOffset = 0, freedBytes = 0;

  int64_t packedBytes() const {
    return layout ? layout->packedSize()
                  : reader.rows() * reader.columns() * elementBytes(type);
  }
};

/// Called after each job with how many are done.
using PackProgress = std::function<void(int64_t done, int64_t total)>;

/// The most bytes that one thread takes for a piece of `job`.
int64_t packMemory(const PackJob &job);

/// Does all jobs; the bytes in the spool depend on nothing but the jobs. Fails
/// with every problem of every job, in their order. As many threads work as
/// `memory` bytes allow; 0 is no limit, and less than one takes is an error.
llvm::Error runPackJobs(std::vector<PackJob> &jobs, const Spool &spool,
                        unsigned threads, int64_t memory,
                        const PackProgress &progress);

} // namespace sdc

#endif // SDC_COMPILER_PACK_PACKJOBS_H
