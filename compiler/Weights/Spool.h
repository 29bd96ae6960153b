// Where new bytes of weights go while a model is compiled: one file that grows,
// written at offsets that are given out in program order, so that its contents
// do not depend on which thread is ready first.
//
// An unnamed spool has lost its name before the first byte is written, so that
// nothing is left of it whatever ends the process. The IR names it by its
// descriptor; it can be read by that path as long as the spool lives.

#ifndef SDC_COMPILER_WEIGHTS_SPOOL_H
#define SDC_COMPILER_WEIGHTS_SPOOL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace sdc {

class Spool {
public:
  /// Every reserved range begins at a multiple of this.
  static constexpr int64_t kAlignment = 4096;

  /// A spool without a name, in `folder`.
  static llvm::Expected<std::unique_ptr<Spool>>
  createUnnamed(llvm::StringRef folder);

  /// A spool that stays: `path` is made, or what it held is dropped.
  static llvm::Expected<std::unique_ptr<Spool>>
  createNamed(llvm::StringRef path);

  ~Spool();
  Spool(const Spool &) = delete;
  Spool &operator=(const Spool &) = delete;

  /// Lets a named spool go with this object, unless keep() is called, as it is
  /// when a text that names it was written. One without bytes always goes.
  void removeUnlessKept() { toRemove = name; }
  void keep() {
    if (end > 0)
      toRemove.clear();
  }

  /// How the IR names the file.
  llvm::StringRef path() const { return name; }

  /// Gives out `bytes` bytes; returns their offset. Not for several threads.
  int64_t reserve(int64_t bytes);

  /// Bytes given out so far.
  int64_t reserved() const { return end; }

  /// Writes bytes into a reserved range. Safe from several threads; only the
  /// first of them to fail gets the error.
  llvm::Error write(int64_t offset, llvm::ArrayRef<uint8_t> bytes) const;

  /// Whether a write has failed: there is no use in going on then.
  bool hasFailed() const { return failed.load(); }

  /// Makes the file as long as what was reserved, in case its end was never
  /// written.
  llvm::Error finish() const;

  /// Gives the disk back what a range took; it then reads as zeros. Ignored
  /// where the file system can't, and by a spool that stays: a dump of an
  /// earlier phase may name the range.
  void release(int64_t offset, int64_t bytes) const;

private:
  Spool(int fd, std::string name) : fd(fd), name(std::move(name)) {}

  int fd;
  mutable std::atomic<bool> failed{false};
  std::string name;
  /// For messages: the file, or the folder that it is in.
  std::string place;
  std::string toRemove;
  bool named = false;
  int64_t end = 0;
};

} // namespace sdc

#endif // SDC_COMPILER_WEIGHTS_SPOOL_H
