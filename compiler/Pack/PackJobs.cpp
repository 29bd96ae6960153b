// Packing by pieces.

#include "compiler/Pack/PackJobs.h"

#include "compiler/Algebra/Parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>

using namespace sdc;

namespace {

/// Floats of a piece: 16 MiB, so that a transposed source is read in runs of
/// some hundred columns.
constexpr int64_t kPieceFloats = int64_t(1) << 22;

/// Rows first .. first + count of a job, whole blocks.
struct Piece {
  size_t job;
  int64_t first, count;
};

/// Rows of all pieces of a job but the last.
int64_t rowsOfPiece(const PackJob &job) {
  int64_t unit = job.layout ? job.layout->tile.rows : 1;
  int64_t columns = std::max<int64_t>(1, job.reader.columns());
  return std::max<int64_t>(1, kPieceFloats / columns / unit) * unit;
}

/// Bytes of `rows` rows in their compiled form.
int64_t compiledBytes(const PackJob &job, int64_t rows) {
  if (!job.layout)
    return rows * job.reader.columns() * elementBytes(job.type);
  int64_t unit = job.layout->tile.rows;
  return (rows + unit - 1) / unit * job.layout->blockBytes();
}

std::vector<Piece> cut(const std::vector<PackJob> &jobs) {
  std::vector<Piece> pieces;
  for (size_t j = 0; j < jobs.size(); ++j) {
    const PackJob &job = jobs[j];
    int64_t rows = rowsOfPiece(job);
    for (int64_t first = 0; first < job.reader.rows(); first += rows)
      pieces.push_back({j, first, std::min(rows, job.reader.rows() - first)});
  }
  return pieces;
}

llvm::Error runPiece(const PackJob &job, const Piece &piece,
                     const Spool &spool) {
  int64_t columns = job.reader.columns();
  std::vector<float> rows(static_cast<size_t>(piece.count * columns));
  job.reader.readRows(piece.first, piece.count, rows.data(), columns);
  std::vector<uint8_t> bytes;
  int64_t offset = job.offset;
  if (job.layout) {
    int64_t unit = job.layout->tile.rows, block = piece.first / unit;
    int64_t count = (piece.count + unit - 1) / unit;
    bytes.resize(static_cast<size_t>(compiledBytes(job, piece.count)));
    offset += block * job.layout->blockBytes();
    if (std::optional<FormatProblem> problem =
            packBlocks(*job.layout, block, count, rows.data(), columns,
                       /*mask=*/nullptr, bytes.data()))
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     problem->str());
  } else {
    int64_t width = elementBytes(job.type);
    bytes.resize(static_cast<size_t>(compiledBytes(job, piece.count)));
    offset += piece.first * columns * width;
    storeValues(job.type, rows.data(), piece.count * columns, bytes.data());
  }
  return spool.write(offset, bytes);
}

} // namespace

int64_t sdc::packMemory(const PackJob &job) {
  int64_t rows = std::min(rowsOfPiece(job), job.reader.rows());
  return rows * job.reader.columns() * int64_t(sizeof(float)) +
         compiledBytes(job, rows);
}

llvm::Error sdc::runPackJobs(std::vector<PackJob> &jobs, const Spool &spool,
                             unsigned threads, int64_t memory,
                             const PackProgress &progress) {
  for (const PackJob &job : jobs) {
    int64_t need = packMemory(job);
    if (memory == 0 || need == 0)
      continue;
    if (need > memory)
      return llvm::createStringError(
          llvm::inconvertibleErrorCode(),
          "%s: packing it takes %lld bytes, more than the %lld that are "
          "allowed",
          job.name.c_str(), static_cast<long long>(need),
          static_cast<long long>(memory));
    threads = static_cast<unsigned>(std::min<int64_t>(threads, memory / need));
  }
  std::vector<Piece> pieces = cut(jobs);
  // The first problem of each job, by the piece that has it.
  struct Problem {
    int64_t piece = -1;
    std::string message;
  };
  std::vector<Problem> problems(jobs.size());
  std::vector<int64_t> left(jobs.size());
  for (const Piece &piece : pieces)
    ++left[piece.job];
  int64_t done = 0;
  std::mutex mutex;

  parallelFor(threads, static_cast<int64_t>(pieces.size()), [&](int64_t i) {
    if (spool.hasFailed())
      return;
    const Piece &piece = pieces[static_cast<size_t>(i)];
    PackJob &job = jobs[piece.job];
    llvm::Error error = runPiece(job, piece, spool);
    std::lock_guard<std::mutex> lock(mutex);
    if (error) {
      Problem &problem = problems[piece.job];
      std::string message = toString(std::move(error));
      if (problem.piece < 0 || i < problem.piece)
        problem = {i, job.name + ": " + message};
    }
    if (--left[piece.job] != 0)
      return;
    // Its pages go, and what the spool held of it.
    job.reader = WeightReader();
    if (job.freedBytes)
      spool.release(job.freedOffset, job.freedBytes);
    if (progress)
      progress(++done, static_cast<int64_t>(jobs.size()));
  });

  llvm::Error result =
      spool.hasFailed() ? llvm::Error::success() : spool.finish();
  for (const Problem &problem : problems)
    if (problem.piece >= 0)
      result = llvm::joinErrors(
          std::move(result),
          llvm::createStringError(llvm::inconvertibleErrorCode(),
                                  problem.message));
  return result;
}
