// Pruning groups of weights within a bound of memory.

#include "compiler/Prune/PruneJobs.h"

#include "compiler/Algebra/Parallel.h"
#include "compiler/Prune/SparseGpt.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace sdc;

namespace {

/// Bytes that several groups share: one waits until what it needs is free. A
/// group alone always gets what it needs.
class Budget {
public:
  explicit Budget(int64_t limit) : limit(limit) {}

  void take(int64_t bytes) {
    std::unique_lock<std::mutex> lock(mutex);
    freed.wait(lock, [&] { return used == 0 || used + bytes <= limit; });
    used += bytes;
  }
  void give(int64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    used -= bytes;
    freed.notify_all();
  }

private:
  int64_t limit, used = 0;
  std::mutex mutex;
  std::condition_variable freed;
};

llvm::Error named(llvm::StringRef name, llvm::Error error) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 name + ": " + toString(std::move(error)));
}

/// One group at work on some threads.
class GroupRun {
public:
  GroupRun(PruneGroup &group, const PruneJobSettings &settings,
           unsigned threads)
      : group(group), settings(settings), threads(threads) {}

  /// `done` is called after each weight.
  llvm::Error run(llvm::function_ref<void(const PruneJob &)> done);

private:
  llvm::Error loadMatrix();
  llvm::Error prune(PruneJob &job);
  llvm::Error write(PruneJob &job, const PruneKey &key,
                    const std::vector<float> &values);

  PruneGroup &group;
  const PruneJobSettings &settings;
  unsigned threads;
  std::vector<float> matrix;
  uint64_t matrixDigest = 0;
  std::optional<HessianFactor> factor;
};

llvm::Error GroupRun::loadMatrix() {
  if (!settings.matrix)
    return llvm::Error::success();
  int64_t columns = group.jobs.front().columns;
  matrix.resize(static_cast<size_t>(columns * columns));
  std::vector<float> more;
  for (const std::string &key : group.keys) {
    std::vector<float> &into = &key == &group.keys.front() ? matrix : more;
    into.resize(matrix.size());
    if (llvm::Error error = settings.matrix(key, columns, into.data()))
      return error;
    if (&into == &more)
      for (size_t i = 0; i < matrix.size(); ++i)
        matrix[i] += more[i];
  }
  if (settings.work)
    matrixDigest = XXH3_64bits(matrix.data(), matrix.size() * sizeof(float));
  return llvm::Error::success();
}

llvm::Error GroupRun::write(PruneJob &job, const PruneKey &key,
                            const std::vector<float> &values) {
  int64_t width = elementBytes(job.type);
  if (settings.work) {
    job.file = settings.work->pathOf(key);
    return settings.work->store(
        key, job.report,
        [&](int64_t first, llvm::MutableArrayRef<uint8_t> bytes) {
          storeValues(job.type, values.data() + first / width,
                      static_cast<int64_t>(bytes.size()) / width, bytes.data());
        });
  }
  constexpr int64_t kPiece = int64_t(1) << 20;
  auto count = static_cast<int64_t>(values.size());
  std::vector<uint8_t> bytes(
      static_cast<size_t>(std::min(kPiece, count) * width));
  for (int64_t first = 0; first < count; first += kPiece) {
    int64_t some = std::min(kPiece, count - first);
    storeValues(job.type, values.data() + first, some, bytes.data());
    if (llvm::Error error = settings.spool->write(
            job.offset + first * width, llvm::ArrayRef(bytes).take_front(
                                            static_cast<size_t>(some * width))))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error GroupRun::prune(PruneJob &job) {
  PruneKey key{0,
               matrixDigest,
               job.rows,
               job.columns,
               settings.method,
               settings.method == PruneMethod::SparseGpt ? settings.damping : 0,
               job.pattern,
               job.type};
  if (settings.work) {
    key.weightDigest = job.reader.digest();
    if (std::optional<PruneReport> found = settings.work->find(key)) {
      job.report = std::move(*found);
      job.file = settings.work->pathOf(key);
      job.reused = true;
      return llvm::Error::success();
    }
  }
  const float *h = matrix.empty() ? nullptr : matrix.data();
  if (settings.method == PruneMethod::SparseGpt && !factor) {
    llvm::Expected<HessianFactor> made =
        HessianFactor::compute(h, job.columns, settings.damping, threads);
    if (!made)
      return made.takeError();
    factor = std::move(*made);
  }

  auto size = static_cast<size_t>(job.rows * job.columns);
  std::vector<float> dense(size), pruned(size);
  parallelFor(threads, (job.rows + 255) / 256, [&](int64_t block) {
    int64_t first = 256 * block;
    job.reader.readRows(first, std::min<int64_t>(256, job.rows - first),
                        dense.data() + first * job.columns, job.columns);
  });
  DenseWeight weight{dense.data(), job.rows, job.columns};
  std::vector<uint32_t> mask(static_cast<size_t>(job.rows * weight.words()));
  PruneSettings how{job.pattern, job.type, threads};
  PrunedWeight out{pruned.data(), mask.data()};
  llvm::Expected<PruneReport> report =
      settings.method == PruneMethod::SparseGpt
          ? pruneSparseGpt(weight, h, *factor, how, out)
      : settings.method == PruneMethod::Wanda
          ? pruneWanda(weight, h, how, out)
          : pruneMagnitude(weight, h, how, out);
  if (!report)
    return report.takeError();
  job.report = std::move(*report);
  return write(job, key, pruned);
}

llvm::Error GroupRun::run(llvm::function_ref<void(const PruneJob &)> done) {
  if (llvm::Error error = loadMatrix())
    return error;
  for (PruneJob &job : group.jobs) {
    if (llvm::Error error = prune(job))
      return named(job.name, std::move(error));
    job.reader = WeightReader(); // Its pages go.
    done(job);
  }
  return llvm::Error::success();
}

} // namespace

int64_t sdc::pruneMemory(const PruneGroup &group,
                         const PruneJobSettings &settings) {
  int64_t largest = 0, columns = 0;
  for (const PruneJob &job : group.jobs) {
    // Two matrices of floats and the mask.
    largest = std::max(largest, job.rows * job.columns * 8 +
                                    job.rows * ((job.columns + 31) / 32) * 4);
    columns = job.columns;
  }
  int64_t square = columns * columns;
  int64_t bytes = largest;
  if (settings.matrix)
    bytes += 4 * square * (group.keys.size() > 1 ? 2 : 1);
  if (settings.method == PruneMethod::SparseGpt)
    bytes += 8 * square;
  return bytes;
}

llvm::Error sdc::runPruneJobs(std::vector<PruneGroup> &groups,
                              const PruneJobSettings &settings) {
  int64_t limit = settings.memory, total = 0, done = 0;
  for (const PruneGroup &group : groups) {
    int64_t need = pruneMemory(group, settings);
    if (settings.memory == 0)
      limit = std::max(limit, need);
    else if (need > settings.memory)
      return named(group.jobs.front().name,
                   llvm::createStringError(
                       llvm::inconvertibleErrorCode(),
                       "pruning it takes %lld bytes, more than the %lld "
                       "that are allowed",
                       static_cast<long long>(need),
                       static_cast<long long>(settings.memory)));
    total += static_cast<int64_t>(group.jobs.size());
  }

  Budget budget(limit);
  std::mutex mutex;
  bool stopped = false;
  std::vector<std::string> problems(groups.size());
  auto count = static_cast<int64_t>(groups.size());
  parallelFor(settings.threads, count, [&](int64_t i) {
    auto index = static_cast<size_t>(i);
    PruneGroup &group = groups[index];
    int64_t need = pruneMemory(group, settings);
    // As many side by side as fit; the threads that are left help inside.
    int64_t beside =
        std::clamp<int64_t>(limit / std::max<int64_t>(1, need), 1,
                            std::min<int64_t>(settings.threads, count));
    auto inner =
        static_cast<unsigned>(std::max<int64_t>(1, settings.threads / beside));
    budget.take(need);
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (stopped) {
        budget.give(need);
        return;
      }
    }
    llvm::Error error =
        GroupRun(group, settings, inner).run([&](const PruneJob &job) {
          std::lock_guard<std::mutex> lock(mutex);
          ++done;
          if (settings.progress)
            settings.progress(done, total, job.name);
        });
    budget.give(need);
    if (!error)
      return;
    std::lock_guard<std::mutex> lock(mutex);
    problems[index] = toString(std::move(error));
    stopped = true;
  });

  llvm::Error result = llvm::Error::success();
  for (const std::string &problem : problems)
    if (!problem.empty())
      result = llvm::joinErrors(
          std::move(result),
          llvm::createStringError(llvm::inconvertibleErrorCode(), problem));
  return result;
}
