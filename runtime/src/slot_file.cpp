// Slots that are saved and loaded.
//
//   saved  = header body
//   header = 64 bytes, little-endian:
//            0  magic      "SDCSLOT\0"
//            8  version    u32   1
//            12 states     u32   number of states
//            16 model      u64   digest of the executable (sdc_model_info)
//            24 length     u64   number of tokens
//            32 body_size  u64
//            40 body_hash  u64   XXH3-64 of the body
//            48 reserved   u64   0
//            56 head_hash  u64   XXH3-64 of bytes 0 to 55
//   body   = token{length} state{states}
//   token  = i32
//   state  = row{length}
//   row    = [heads, head_size] elements of the state
//
// The shapes are those of the executable that the digest names.

#include "runtime/src/arithmetic.h"
#include "runtime/src/digest.h"
#include "runtime/src/file_map.h"
#include "runtime/src/session.h"
#include "runtime/src/shapes.h"
#include "runtime/src/status.h"

#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sdc;
using namespace sdc::rt;

namespace {
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t states;
  uint64_t model;
  uint64_t length;
  uint64_t bodySize;
  uint64_t bodyHash;
  uint64_t reserved;
  uint64_t headHash;
};
static_assert(sizeof(Header) == 64);

/// Where a saved slot goes: a buffer, or a file piece by piece.
struct Sink {
  uint8_t *buffer = nullptr;
  int file = -1;
  /// The system's error number of the first write that failed.
  int problem = 0;
  DigestStream digest;

  void put(const void *bytes, uint64_t size) {
    digest.add(bytes, size);
    if (buffer) {
      memcpy(buffer, bytes, size);
      buffer += size;
    } else if (problem == 0) {
      problem = writeAll(bytes, size, -1);
    }
  }

  /// Writes at the end, or at `offset` if it is not negative.
  int writeAll(const void *bytes, uint64_t size, off_t offset) {
    const auto *from = static_cast<const uint8_t *>(bytes);
    while (size != 0) {
      ssize_t count = offset < 0 ? write(file, from, size)
                                 : pwrite(file, from, size, offset);
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return count == 0 ? ENOSPC : errno;
      from += count;
      size -= uint64_t(count);
      offset += offset < 0 ? 0 : count;
    }
    return 0;
  }
};
} // namespace

static constexpr char kMagic[8] = {'S', 'D', 'C', 'S', 'L', 'O', 'T', '\0'};
static constexpr uint32_t kVersion = 1;

static uint64_t rowBytes(const fb::State &state) {
  return uint64_t{state.heads()} * state.head_size() *
         elementSize(state.element());
}

static Size bodySize(const sdc_session &session, uint64_t length) {
  Size size = Size(length) * Size(sizeof(int32_t));
  for (const fb::State *state : *session.plan.model->root().states())
    size = size + Size(length) * Size(rowBytes(*state));
  return size;
}

static Header makeHeader(const sdc_session &session, uint32_t slot,
                         uint64_t bodyHash) {
  Header header = {};
  memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.states = session.plan.model->root().states()->size();
  header.model = session.plan.model->executable.digest;
  header.length = session.slots[slot].length;
  header.bodySize = bodySize(session, header.length).value;
  header.bodyHash = bodyHash;
  header.headHash = digest(&header, offsetof(Header, headHash));
  return header;
}

static sdc_status writeBody(const sdc_session &session, uint32_t slot,
                            Sink &sink, sdc_error *error) {
  uint32_t length = session.slots[slot].length;
  sink.put(session.tokensOf(slot), length * sizeof(int32_t));
  const auto &states = *session.plan.model->root().states();
  for (uint32_t i = 0; i < states.size(); ++i)
    for (uint32_t position = 0; position < length; ++position) {
      SDC_TRY(session.device->readRows(session.onDevice, {i, slot, position, 1},
                                       session.staging, error));
      sink.put(session.staging, rowBytes(*states.Get(i)));
    }
  return SDC_OK;
}

/// Checks all of a saved slot, so that it can be loaded without failing.
static sdc_status check(const sdc_session &session, const void *bytes,
                        uint64_t size, Header &header, sdc_error *error) {
  if (size < sizeof(header) || memcmp(bytes, kMagic, sizeof(kMagic)) != 0)
    return fail(error, SDC_NOT_EXECUTABLE,
                "not a saved slot: it does not start with SDCSLOT");
  memcpy(&header, bytes, sizeof(header));
  if (header.version != kVersion)
    return fail(error, SDC_WRONG_MAJOR,
                "the saved slot has version %u, this runtime reads %u",
                header.version, kVersion);
  if (digest(&header, offsetof(Header, headHash)) != header.headHash)
    return fail(error, SDC_CORRUPT, "the saved slot's header is damaged");
  if (header.model != session.plan.model->executable.digest)
    return fail(error, SDC_WRONG_MODEL,
                "the slot was saved by executable %016" PRIx64
                ", this one is %016" PRIx64,
                header.model, session.plan.model->executable.digest);
  if (header.length > session.plan.context)
    return fail(error, SDC_CONTEXT_FULL,
                "the saved slot holds %" PRIu64
                " tokens, the session has room for %u",
                header.length, session.plan.context);
  uint64_t expected = bodySize(session, header.length).value;
  if (header.states != session.plan.model->root().states()->size() ||
      header.bodySize != expected)
    return fail(error, SDC_MALFORMED,
                "the saved slot has %u states in %" PRIu64
                " bytes, expected %u in %" PRIu64,
                header.states, header.bodySize,
                session.plan.model->root().states()->size(), expected);
  if (size != sizeof(header) + expected)
    return fail(error, SDC_TRUNCATED,
                "the saved slot has %" PRIu64
                " bytes, its header says %" PRIu64,
                size, sizeof(header) + expected);
  const auto *body = static_cast<const uint8_t *>(bytes) + sizeof(header);
  if (digest(body, expected) != header.bodyHash)
    return fail(error, SDC_CORRUPT, "the saved slot is damaged");
  for (uint64_t i = 0; i < header.length; ++i) {
    int32_t token;
    memcpy(&token, body + i * sizeof(token), sizeof(token));
    if (token < 0 || uint32_t(token) >= session.vocabulary())
      return fail(error, SDC_BAD_TOKEN,
                  "token %d at %" PRIu64
                  " of the saved slot is outside the vocabulary of %u",
                  token, i, session.vocabulary());
  }
  return SDC_OK;
}

uint64_t sdc_slot_save_size(const sdc_session *session, uint32_t slot) {
  if (checkSlot(*session, slot, nullptr) != SDC_OK)
    return 0;
  return sizeof(Header) + bodySize(*session, session->slots[slot].length).value;
}

sdc_status sdc_slot_save(const sdc_session *session, uint32_t slot,
                         void *buffer, size_t size, sdc_error *out_error) {
  SDC_TRY(checkSlot(*session, slot, out_error));
  uint64_t needed = sdc_slot_save_size(session, slot);
  if (size < needed)
    return fail(out_error, SDC_TOO_SMALL,
                "slot %u takes %" PRIu64 " bytes, the buffer has %zu", slot,
                needed, size);
  Sink sink;
  sink.buffer = static_cast<uint8_t *>(buffer) + sizeof(Header);
  SDC_TRY(writeBody(*session, slot, sink, out_error));
  Header header = makeHeader(*session, slot, sink.digest.finish());
  memcpy(buffer, &header, sizeof(header));
  return SDC_OK;
}

sdc_status sdc_slot_load(sdc_session *session, uint32_t slot,
                         const void *buffer, size_t size,
                         sdc_error *out_error) {
  SDC_TRY(checkSlot(*session, slot, out_error));
  if (!buffer)
    return fail(out_error, SDC_NOT_EXECUTABLE, "not a saved slot: it is empty");
  Header header;
  SDC_TRY(check(*session, buffer, size, header, out_error));
  const auto *from = static_cast<const uint8_t *>(buffer) + sizeof(header);
  auto length = uint32_t(header.length);
  memcpy(session->tokensOf(slot), from, length * sizeof(int32_t));
  from += length * sizeof(int32_t);
  const auto &states = *session->plan.model->root().states();
  for (uint32_t i = 0; i < states.size(); ++i)
    for (uint32_t position = 0; position < length; ++position) {
      // A slot of which some rows are new and some old holds nothing.
      session->slots[slot] = {0, false};
      SDC_TRY(session->device->writeRows(
          session->onDevice, {i, slot, position, 1}, from, out_error));
      from += rowBytes(*states.Get(i));
    }
  session->slots[slot] = {length, false};
  return SDC_OK;
}

/// Writes the file under `temporary`; `problem` is the system's.
static sdc_status saveTo(const sdc_session &session, uint32_t slot,
                         const char *temporary, int &problem,
                         sdc_error *error) {
  Sink sink;
  sink.file = open(temporary,
                   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (sink.file < 0) {
    problem = errno;
    return SDC_OK;
  }
  Header header = {};
  sink.problem = sink.writeAll(&header, sizeof(header), -1);
  sdc_status status = writeBody(session, slot, sink, error);
  header = makeHeader(session, slot, sink.digest.finish());
  if (sink.problem == 0)
    sink.problem = sink.writeAll(&header, sizeof(header), 0);
  if (sink.problem == 0 && fsync(sink.file) != 0)
    sink.problem = errno;
  if (close(sink.file) != 0 && sink.problem == 0)
    sink.problem = errno;
  problem = sink.problem;
  return status;
}

sdc_status sdc_slot_save_file(const sdc_session *session, uint32_t slot,
                              const char *path, sdc_error *out_error) {
  SDC_TRY(checkSlot(*session, slot, out_error));
  char temporary[PATH_MAX];
  int length =
      snprintf(temporary, sizeof(temporary), "%s.%ld-%p-%u.part", path,
               long(getpid()), static_cast<const void *>(session), slot);
  if (length < 0 || size_t(length) >= sizeof(temporary))
    return fail(out_error, SDC_IO, "%s: %s", path, systemError(ENAMETOOLONG));
  int problem = 0;
  sdc_status status = saveTo(*session, slot, temporary, problem, out_error);
  if (status != SDC_OK) {
    unlink(temporary);
    return status;
  }
  if (problem == 0 && rename(temporary, path) != 0)
    problem = errno;
  if (problem == 0)
    return SDC_OK;
  unlink(temporary);
  return fail(out_error, SDC_IO, "%s: %s", path, systemError(problem));
}

sdc_status sdc_slot_load_file(sdc_session *session, uint32_t slot,
                              const char *path, sdc_error *out_error) {
  SDC_TRY(checkSlot(*session, slot, out_error));
  FileMap file;
  SDC_TRY(file.open(path, out_error));
  return sdc_slot_load(session, slot, file.bytes(), file.size(), out_error);
}
