// Keeping pruned weights in files.

#include "compiler/Prune/WorkFolder.h"

#include "compiler/Emit/OutputFile.h"
#include "compiler/Weights/MappedRange.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace sdc;

namespace {

constexpr char kMagic[] = "SDCPRUN1";
constexpr int64_t kHeaderBytes = 24;

/// Changed with whatever makes the methods give other bytes.
constexpr int kVersion = 1;

/// JSON has no NaN: an unknown loss is left out.
std::string print(const PruneReport &report) {
  llvm::json::Object object;
  if (!std::isnan(report.loss)) {
    object["loss"] = report.loss;
    object["relativeLoss"] = report.relativeLoss;
  }
  object["relativeChange"] = report.relativeChange;
  object["damping"] = report.damping;
  object["deadColumns"] = report.deadColumns;
  object["reasons"] = llvm::json::Array(report.reasons);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(object));
  return text;
}

std::optional<PruneReport> parse(llvm::StringRef text) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return std::nullopt;
  PruneReport report;
  auto number = [&](llvm::StringRef name, double &out) {
    if (std::optional<double> got = object->getNumber(name))
      out = *got;
  };
  number("loss", report.loss);
  number("relativeLoss", report.relativeLoss);
  number("relativeChange", report.relativeChange);
  number("damping", report.damping);
  report.deadColumns = object->getInteger("deadColumns").value_or(0);
  if (const llvm::json::Array *reasons = object->getArray("reasons"))
    for (const llvm::json::Value &reason : *reasons)
      report.reasons.push_back(reason.getAsString().value_or("").str());
  return report;
}

} // namespace

std::string PruneKey::str() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << kVersion << ' ' << llvm::format_hex(weightDigest, 18) << ' '
         << llvm::format_hex(matrixDigest, 18) << ' ' << rows << ' ' << columns
         << ' ' << pruneMethodName(method) << ' ' << llvm::format("%a", damping)
         << ' ' << pattern.str() << ' ' << llvm::StringRef(elementName(type));
  XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  return llvm::toHex(llvm::ArrayRef<uint8_t>(bytes.digest, sizeof bytes.digest),
                     /*LowerCase=*/true);
}

llvm::Expected<WorkFolder> WorkFolder::open(llvm::StringRef path) {
  if (std::error_code error = llvm::sys::fs::create_directories(path))
    return llvm::createStringError(error, path + ": " + error.message());
  llvm::SmallString<256> absolute = path;
  if (std::error_code error = llvm::sys::fs::make_absolute(absolute))
    return llvm::createStringError(error, path + ": " + error.message());
  return WorkFolder(absolute.str().str());
}

std::string WorkFolder::pathOf(const PruneKey &key) const {
  llvm::SmallString<256> file = llvm::StringRef(path);
  llvm::sys::path::append(file, key.str() + ".weight");
  return file.str().str();
}

std::optional<PruneReport> WorkFolder::find(const PruneKey &key) const {
  std::string file = pathOf(key);
  uint64_t size;
  if (llvm::sys::fs::file_size(file, size) ||
      size != static_cast<uint64_t>(kValuesOffset + key.valueBytes()))
    return std::nullopt;
  llvm::Expected<MappedRange> range =
      MappedRange::open(file, 0, static_cast<int64_t>(size));
  if (!range) {
    llvm::consumeError(range.takeError());
    return std::nullopt;
  }
  llvm::ArrayRef<uint8_t> bytes = range->bytes();
  uint64_t reportBytes, digest;
  std::memcpy(&reportBytes, bytes.data() + 8, 8);
  std::memcpy(&digest, bytes.data() + 16, 8);
  if (std::memcmp(bytes.data(), kMagic, 8) != 0 ||
      reportBytes > static_cast<uint64_t>(kValuesOffset - kHeaderBytes))
    return std::nullopt;
  llvm::ArrayRef<uint8_t> values = bytes.drop_front(kValuesOffset);
  if (XXH3_64bits(values.data(), values.size()) != digest)
    return std::nullopt;
  return parse({reinterpret_cast<const char *>(bytes.data()) + kHeaderBytes,
                static_cast<size_t>(reportBytes)});
}

llvm::Error WorkFolder::store(
    const PruneKey &key, const PruneReport &report,
    llvm::function_ref<void(int64_t, llvm::MutableArrayRef<uint8_t>)> fill)
    const {
  std::string text = print(report);
  if (text.size() > static_cast<size_t>(kValuesOffset - kHeaderBytes))
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "the report is too long to be kept");
  std::string target = pathOf(key);
  auto file = OutputFile::create(target, kValuesOffset + key.valueBytes());
  if (!file)
    return file.takeError();
  {
    llvm::raw_fd_ostream out((*file)->descriptor(), /*shouldClose=*/false);
    out.write_zeros(kValuesOffset);
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    std::vector<uint8_t> piece(int64_t(1) << 20);
    for (int64_t first = 0; first < key.valueBytes();) {
      auto count = static_cast<size_t>(std::min<int64_t>(
          static_cast<int64_t>(piece.size()), key.valueBytes() - first));
      fill(first, llvm::MutableArrayRef(piece.data(), count));
      XXH3_64bits_update(&state, piece.data(), count);
      out.write(reinterpret_cast<const char *>(piece.data()), count);
      first += static_cast<int64_t>(count);
    }
    std::string header(kMagic, 8);
    uint64_t numbers[] = {text.size(), XXH3_64bits_digest(&state)};
    header.append(reinterpret_cast<const char *>(numbers), sizeof numbers);
    header += text;
    out.pwrite(header.data(), header.size(), 0);
    out.flush();
    if (out.has_error()) {
      std::error_code error = out.error();
      out.clear_error();
      return llvm::createStringError(error, target + ": " + error.message());
    }
  }
  return (*file)->commit();
}
