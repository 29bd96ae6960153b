// Opens executables: header, root, segments, and their digests.

#include "runtime/src/executable.h"

#include "runtime/src/arithmetic.h"
#include "runtime/src/consistency.h"
#include "runtime/src/digest.h"
#include "runtime/src/ranges.h"
#include "runtime/src/status.h"

#include <cinttypes>
#include <cstring>

using namespace sdc;
using namespace sdc::rt;

namespace {
/// The first 64 bytes, as in the grammar of executable.fbs.
struct Header {
  char magic[8];
  uint16_t major;
  uint16_t minor;
  uint32_t reserved0;
  uint64_t rootSize;
  uint64_t fileSize;
  uint64_t rootHash;
  uint64_t reserved1[2];
  uint64_t headHash;
};
static_assert(sizeof(Header) == kHeaderSize);
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
} // namespace

static constexpr char kMagic[8] = {'S', 'D', 'C', 'E', 'X', 'E', 'C', '\0'};

static sdc_status readHeader(const void *bytes, uint64_t size, Header &header,
                             sdc_error *error) {
  if (size < sizeof(kMagic) || memcmp(bytes, kMagic, sizeof(kMagic)) != 0)
    return fail(error, SDC_NOT_EXECUTABLE,
                "not an executable: it does not start with SDCEXEC");
  if (size < kHeaderSize)
    return fail(error, SDC_TRUNCATED,
                "the file ends inside its header: %" PRIu64
                " bytes, expected at least %" PRIu64,
                size, kHeaderSize);
  memcpy(&header, bytes, sizeof(header));
  // The place of the major version is the same in every version.
  if (header.major != kFormatMajor)
    return fail(error, SDC_WRONG_MAJOR,
                "the file has format %u.%u, this runtime reads %u.x; compile "
                "the model again or use a runtime of that version",
                header.major, header.minor, kFormatMajor);
  uint64_t found = digest(bytes, offsetof(Header, headHash));
  if (found != header.headHash)
    return fail(error, SDC_CORRUPT,
                "the header is damaged: digest %016" PRIx64
                ", expected %016" PRIx64,
                found, header.headHash);
  if (header.fileSize != size)
    return fail(error, SDC_TRUNCATED,
                "the file has %" PRIu64 " bytes, its header says %" PRIu64,
                size, header.fileSize);
  if (header.minor <= kFormatMinor &&
      (header.reserved0 | header.reserved1[0] | header.reserved1[1]) != 0)
    return fail(error, SDC_MALFORMED, "reserved bytes of the header are set");
  if (!isInside(kHeaderSize, header.rootSize, size))
    return fail(error, SDC_MALFORMED,
                "the root ends at byte %" PRIu64 " + %" PRIu64
                ", the file at %" PRIu64,
                kHeaderSize, header.rootSize, size);
  // The generated verifier asserts this rather than check it.
  if (header.rootSize >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return fail(error, SDC_MALFORMED,
                "the root has %" PRIu64 " bytes, at most 2 GiB are allowed",
                header.rootSize);
  return SDC_OK;
}

static sdc_status checkDigest(const Executable &executable, uint32_t index,
                              const char *what, sdc_error *error) {
  const fb::Segment *segment = executable.root->segments()->Get(index);
  uint64_t found = digest(executable.segment(index), segment->size());
  if (found == segment->digest())
    return SDC_OK;
  return fail(error, SDC_CORRUPT,
              "segments[%u] (%s) is damaged: digest %016" PRIx64
              ", expected %016" PRIx64,
              index, what, found, segment->digest());
}

sdc_status sdc::rt::openExecutable(const void *bytes, uint64_t size,
                                   const Allocator &allocator,
                                   Executable &executable, sdc_error *error) {
  if (uint64_t rest = reinterpret_cast<uintptr_t>(bytes) % kAlignment)
    return fail(error, SDC_MISALIGNED,
                "the bytes start %" PRIu64 " after a multiple of %" PRIu64
                "; allocate them with aligned_alloc, or open the file",
                rest, kAlignment);
  Header header;
  SDC_TRY(readHeader(bytes, size, header, error));

  executable.bytes = static_cast<const uint8_t *>(bytes);
  executable.size = size;
  executable.minor = header.minor;
  executable.digest = header.rootHash;
  const uint8_t *root = executable.bytes + kHeaderSize;
  uint64_t found = digest(root, header.rootSize);
  if (found != header.rootHash)
    return fail(error, SDC_CORRUPT,
                "the root is damaged: digest %016" PRIx64
                ", expected %016" PRIx64,
                found, header.rootHash);
  flatbuffers::Verifier verifier(root, header.rootSize);
  if (!fb::VerifyExecutableBuffer(verifier))
    return fail(error, SDC_MALFORMED,
                "the root is not a valid flatbuffer of type %s",
                fb::ExecutableIdentifier());
  executable.root = fb::GetExecutable(root);

  executable.rootEnd = kHeaderSize + header.rootSize;
  SDC_TRY(checkConsistency(executable, allocator, error));

  uint32_t count = executable.root->segments()->size();
  for (uint32_t i = 0; i < count; ++i) {
    fb::SegmentKind kind = executable.root->segments()->Get(i)->kind();
    if (kind == fb::SegmentKind::Code)
      SDC_TRY(checkDigest(executable, i, "code", error));
    if (kind == fb::SegmentKind::Text)
      SDC_TRY(checkDigest(executable, i, "text", error));
  }
  return SDC_OK;
}

/// Whether [begin, end) is zero.
static sdc_status checkPadding(const Executable &executable, uint64_t begin,
                               uint64_t end, sdc_error *error) {
  for (uint64_t i = begin; i < end; ++i)
    if (executable.bytes[i] != 0)
      return fail(error, SDC_CORRUPT,
                  "byte %" PRIu64 " is padding and is not zero", i);
  return SDC_OK;
}

sdc_status sdc::rt::verifyWeights(const Executable &executable,
                                  const Allocator &allocator,
                                  sdc_error *error) {
  const auto *segments = executable.root->segments();
  Array<Range> ranges(allocator, segments->size());
  if (!ranges.valid())
    return fail(error, SDC_OUT_OF_MEMORY, "no memory to check the segments");
  for (uint32_t i = 0; i < segments->size(); ++i) {
    const fb::Segment *segment = segments->Get(i);
    if (segment->kind() == fb::SegmentKind::Generated)
      continue;
    const char *what = fb::EnumNameSegmentKind(segment->kind());
    SDC_TRY(checkDigest(executable, i, what, error));
    ranges.add({segment->offset(), segment->offset() + segment->size(), i});
  }
  std::sort(ranges.begin(), ranges.end());
  uint64_t end = executable.rootEnd;
  for (const Range &range : ranges) {
    SDC_TRY(checkPadding(executable, end, range.begin, error));
    end = range.end;
  }
  return checkPadding(executable, end, executable.size, error);
}
