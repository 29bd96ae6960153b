// Executables that are cut, damaged or contradict themselves are refused with a
// message that names the place, and nothing is read beyond their end.

#include "test/runtime/Handles.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <functional>

using namespace sdc;
using namespace sdc::test;

static sdc_status openBytes(const void *bytes, size_t size, sdc_error *error,
                            uint32_t flags = 0) {
  sdc_open_options options = {sizeof(options)};
  options.flags = flags;
  sdc_model *model = nullptr;
  sdc_status status =
      sdc_model_open_memory(bytes, size, &options, &model, error);
  EXPECT_EQ(model != nullptr, status == SDC_OK);
  sdc_model_close(model);
  return status;
}

/// The first `size` bytes in a piece of memory that ends with them, so that
/// AddressSanitizer sees a read beyond.
static AlignedBytes cut(const AlignedBytes &bytes, size_t size) {
  AlignedBytes part(size);
  memcpy(part.data(), bytes.data(), size);
  return part;
}

TEST(Malformed, CutAnywhere) {
  AlignedBytes bytes = makeToyDecoder().write();
  for (unsigned i = 0; i < 64; ++i) {
    AlignedBytes part = cut(bytes, bytes.size() * i / 64);
    sdc_error error = {};
    sdc_status status = openBytes(part.data(), part.size(), &error);
    EXPECT_EQ(status, part.size() < 8 ? SDC_NOT_EXECUTABLE : SDC_TRUNCATED)
        << i << ": " << error.message;
    TemporaryFile file(part);
    sdc_model *model = nullptr;
    EXPECT_EQ(sdc_model_open(file.path.c_str(), nullptr, &model, nullptr),
              status)
        << i;
  }
}

TEST(Malformed, CutInsideHeaderAndRoot) {
  AlignedBytes bytes = makeToyDecoder().write();
  for (size_t size = 0; size < 600; ++size) {
    AlignedBytes part = cut(bytes, size);
    EXPECT_NE(openBytes(part.data(), part.size(), nullptr), SDC_OK) << size;
  }
}

TEST(Malformed, LongerThanItSays) {
  AlignedBytes bytes = makeToyDecoder().write();
  AlignedBytes longer(bytes.size() + 1);
  memcpy(longer.data(), bytes.data(), bytes.size());
  EXPECT_FAILURE(openBytes(longer.data(), longer.size(), &error), SDC_TRUNCATED,
                 "its header says");
}

TEST(Malformed, NotAnExecutable) {
  // The eight bytes that made another loader read out of bounds.
  const char tflite[9] = "\x18\0\0\0TFL3";
  AlignedBytes bytes(8);
  memcpy(bytes.data(), tflite, 8);
  EXPECT_FAILURE(openBytes(bytes.data(), 8, &error), SDC_NOT_EXECUTABLE,
                 "SDCEXEC");
}

TEST(Malformed, AtAnOddAddress) {
  AlignedBytes bytes = makeToyDecoder().write();
  AlignedBytes shifted(bytes.size() + 64);
  for (size_t shift : {1, 4, 8, 32, 63}) {
    memcpy(shifted.data() + shift, bytes.data(), bytes.size());
    EXPECT_FAILURE(openBytes(shifted.data() + shift, bytes.size(), &error),
                   SDC_MISALIGNED, "after a multiple of 64");
  }
  memcpy(shifted.data() + 64, bytes.data(), bytes.size());
  EXPECT_EQ(openBytes(shifted.data() + 64, bytes.size(), nullptr), SDC_OK);
}

/// Flips each bit of [begin, end).
static void flipAll(AlignedBytes &bytes, size_t begin, size_t end,
                    uint32_t flags, size_t step = 1) {
  for (size_t i = begin; i < end; i += step)
    for (unsigned bit = 0; bit < 8; ++bit) {
      bytes.data()[i] ^= uint8_t(1u << bit);
      sdc_error error = {};
      sdc_status status = openBytes(bytes.data(), bytes.size(), &error, flags);
      // Status and message both say that the file is at fault.
      EXPECT_GE(status, 100) << "byte " << i << " bit " << bit;
      EXPECT_LT(status, 200) << "byte " << i << " bit " << bit;
      EXPECT_NE(error.message[0], '\0');
      bytes.data()[i] ^= uint8_t(1u << bit);
    }
}

TEST(Malformed, FlippedBits) {
  ToyFile file = makeToyDecoder();
  AlignedBytes bytes = file.write();
  uint64_t rootSize;
  memcpy(&rootSize, bytes.data() + 16, sizeof(rootSize));
  flipAll(bytes, 0, 64, 0);
  flipAll(bytes, 64, 64 + rootSize, 0, 5);
  for (const auto &segment : file.root.segments) {
    uint32_t flags =
        segment->kind == fb::SegmentKind::Weights ? SDC_OPEN_VERIFY_WEIGHTS : 0;
    flipAll(bytes, segment->offset, segment->offset + segment->size, flags, 7);
    // Padding behind it.
    uint64_t end = segment->offset + segment->size;
    if (end < bytes.size())
      flipAll(bytes, end, end + 1, SDC_OPEN_VERIFY_WEIGHTS);
  }
  EXPECT_EQ(
      openBytes(bytes.data(), bytes.size(), nullptr, SDC_OPEN_VERIFY_WEIGHTS),
      SDC_OK);
}

TEST(Malformed, DamagedWeightsAreFoundWhenAskedFor) {
  ToyFile file = makeToyDecoder();
  AlignedBytes bytes = file.write();
  bytes.data()[file.root.segments[0]->offset + 5] ^= 1;
  Model model = openModel(bytes);
  EXPECT_FAILURE(sdc_model_verify_weights(model.get(), &error), SDC_CORRUPT,
                 "segments[0] (Weights) is damaged");
}

TEST(Malformed, RandomDamageWithSoundDigests) {
  // Random damage of the root, with digests made to fit: the structure and the
  // meaning must hold alone. Most of it is refused; what is not must run into
  // nothing worse than an error either.
  ToyFile file = makeToyDecoder();
  AlignedBytes bytes = file.write();
  uint64_t rootSize;
  memcpy(&rootSize, bytes.data() + 16, sizeof(rootSize));
  uint32_t state = 12345;
  auto random = [&] { return state = state * 1664525 + 1013904223; };
  unsigned refused = 0, rounds = 5000;
  for (unsigned i = 0; i < rounds; ++i) {
    AlignedBytes damaged = bytes;
    for (unsigned count = 1 + (random() >> 16) % 3; count-- > 0;) {
      uint8_t &byte = damaged.data()[64 + (random() >> 8) % rootSize];
      byte = (random() >> 28) == 0 ? 0xff : uint8_t(random() >> 24);
    }
    uint64_t hash = XXH3_64bits(damaged.data() + 64, rootSize);
    memcpy(damaged.data() + 32, &hash, sizeof(hash));
    hash = XXH3_64bits(damaged.data(), 56);
    memcpy(damaged.data() + 56, &hash, sizeof(hash));
    sdc_model *model = nullptr;
    sdc_error error = {};
    sdc_open_options options = {sizeof(options)};
    options.flags = SDC_OPEN_VERIFY_WEIGHTS;
    if (sdc_model_open_memory(damaged.data(), damaged.size(), &options, &model,
                              &error) != SDC_OK) {
      ++refused;
      continue;
    }
    sdc_session_options session = {sizeof(session)};
    sdc_memory memory = {sizeof(memory)};
    (void)sdc_session_memory(model, &session, &memory, &error);
    sdc_model_close(model);
  }
  EXPECT_GT(refused, rounds / 3);
}

//===- Meaning ------------------------------------------------------------===//

namespace {
struct Fault {
  const char *name;
  std::function<void(fb::ExecutableT &)> spoil;
  /// A part of the message.
  const char *message;
};
} // namespace

static fb::OperandT &operand(fb::ExecutableT &root, uint32_t entry,
                             uint32_t launch, uint32_t number) {
  return *root.entries[entry]->launches[launch]->operands[number];
}

static const Fault kFaults[] = {
    // Segments.
    {"segment offset not aligned", [](auto &r) { r.segments[0]->offset += 64; },
     "segments[0] starts at byte"},
    {"segment inside the root", [](auto &r) { r.segments[0]->offset = 0; },
     "segments[0] starts at byte 0, before the end of the root"},
    {"segment beyond the file",
     [](auto &r) { r.segments[1]->offset = uint64_t{1} << 40; },
     "segments[1] ends at byte"},
    {"segment too long", [](auto &r) { r.segments[0]->size = 1 << 30; },
     "segments[0] ends at byte"},
    {"segment size overflows",
     [](auto &r) { r.segments[0]->size = ~uint64_t{0} - 4096 + 8; },
     "segments[0] ends at byte"},
    {"segment offset overflows",
     [](auto &r) { r.segments[0]->offset = ~uint64_t{0} - 4095; },
     "segments[0] ends at byte"},
    {"segments overlap",
     [](auto &r) { r.segments[2]->offset = r.segments[1]->offset; },
     "segments[1] and segments[2] overlap"},
    {"segment of unknown kind",
     [](auto &r) { r.segments[0]->kind = fb::SegmentKind(9); },
     "segments[0]: unknown kind 9"},
    {"empty code", [](auto &r) { r.segments[1]->size = 0; },
     "segments[1] is empty"},
    // Text.
    {"text out of range", [](auto &r) { r.text_segment = 4; },
     "text_segment is 4, the file has 4 segments"},
    {"text negative", [](auto &r) { r.text_segment = -2; },
     "text_segment is -2"},
    {"text of another kind", [](auto &r) { r.text_segment = 0; },
     "not of kind text"},
    // Weights.
    {"weight's segment out of range",
     [](auto &r) { r.weights[1]->segment = 9999; },
     "weights[1]: segment 9999 is out of range, the file has 4"},
    {"weight in code", [](auto &r) { r.weights[0]->segment = 1; },
     "weights[0]: segment 1 is not of kind weights"},
    {"weight not aligned", [](auto &r) { r.weights[1]->offset += 4; },
     "weights[1] starts at byte"},
    {"weight beyond its segment",
     [](auto &r) { r.weights[1]->offset += 1 << 20; },
     "weights[1] ends at byte"},
    {"weight's end overflows",
     [](auto &r) { r.weights[1]->offset = ~uint64_t{0} - 63; },
     "weights[1] ends at byte"},
    {"weight shorter than its shape", [](auto &r) { r.weights[0]->size -= 4; },
     "weights[0] has 1180 bytes, its shape needs"},
    {"weight of zero rows", [](auto &r) { r.weights[0]->shape[0] = 0; },
     "weights[0]: dimension 0 is 0, expected at least 1"},
    {"weight of negative rows", [](auto &r) { r.weights[0]->shape[0] = -1; },
     "weights[0]: dimension 0 is -1"},
    {"weight's shape overflows",
     [](auto &r) {
       r.weights[0]->shape = {int64_t{1} << 32, int64_t{1} << 32};
     },
     "weights[0]: the product of its dimensions overflows"},
    {"weight of rank 17", [](auto &r) { r.weights[0]->shape.assign(17, 1); },
     "weights[0]: a shape of rank 17, at most 16 is allowed"},
    {"weight of unknown type",
     [](auto &r) { r.weights[0]->element = fb::Element(77); },
     "weights[0]: unknown element type 77"},
    {"pattern 4:2",
     [](auto &r) {
       r.weights[0]->pattern_n = 4;
       r.weights[0]->pattern_m = 2;
     },
     "weights[0]: the pattern 4:2"},
    {"pattern 0:4", [](auto &r) { r.weights[0]->pattern_m = 4; },
     "weights[0]: the pattern 0:4"},
    {"pattern 3:7",
     [](auto &r) {
       r.weights[0]->pattern_n = 3;
       r.weights[0]->pattern_m = 7;
     },
     "weights[0]: the pattern 3:7"},
    {"sparse weight too short",
     [](auto &r) {
       r.weights[0]->pattern_n = 16;
       r.weights[0]->pattern_m = 32;
     },
     "weights[0] has 1184 bytes, its shape needs at least 2516"},
    // States.
    {"state without heads", [](auto &r) { r.states[0]->heads = 0; },
     "states[0] has 0 heads"},
    {"state of heads of nothing", [](auto &r) { r.states[1]->head_size = 0; },
     "states[1] has 1 heads of 0 elements"},
    {"state of fewer slots", [](auto &r) { r.states[0]->slots = 2; },
     "states[0] has 2 slots, the model 3"},
    {"state of less context", [](auto &r) { r.states[0]->context = 31; },
     "states[0] has a context of 31, the model of 32"},
    {"state overflows",
     [](auto &r) {
       r.states[0]->heads = r.states[0]->context = r.states[0]->head_size = ~0u;
     },
     "states[0]: its size overflows"},
    {"state of unknown type",
     [](auto &r) { r.states[0]->element = fb::Element(200); },
     "states[0]: unknown element type 200"},
    // Kernels and images.
    {"kernel without a name", [](auto &r) { r.kernels[1]->name = ""; },
     "kernels[1] has no name"},
    {"two kernels of one name",
     [](auto &r) { r.kernels[2]->name = r.kernels[0]->name; },
     "kernels[0] and kernels[2] are both named 'toy_append'"},
    {"endless scratch",
     [](auto &r) { r.kernels[0]->scratch_size = ~uint64_t{0}; },
     "kernels[0] asks for"},
    {"image without a level", [](auto &r) { r.images[0]->level = ""; },
     "images[0] has no level"},
    {"two images of one level",
     [](auto &r) { r.images[1]->level = r.images[0]->level; },
     "images[0] and images[1] are both of level"},
    {"image's segment out of range", [](auto &r) { r.images[0]->segment = 4; },
     "images[0]: segment 4 is out of range, the file has 4"},
    {"image in weights", [](auto &r) { r.images[0]->segment = 0; },
     "images[0]: segment 0 is not of kind code"},
    {"more code than its segment",
     [](auto &r) { r.images[0]->code_size = 1 << 20; },
     "images[0] has 1048576 bytes of code"},
    {"no code", [](auto &r) { r.images[1]->code_size = 0; },
     "images[1] has 0 bytes of code"},
    {"too few kernel offsets",
     [](auto &r) { r.images[0]->kernel_offsets.pop_back(); },
     "images[0] has 3 kernel_offsets, the file has 4 kernels"},
    {"kernel outside the code",
     [](auto &r) { r.images[0]->kernel_offsets[2] = 1 << 20; },
     "images[0].kernel_offsets[2] is 1048576"},
    // Entries.
    {"no entries", [](auto &r) { r.entries.clear(); },
     "the file has no entries"},
    {"entry of unknown kind",
     [](auto &r) { r.entries[0]->kind = fb::EntryKind(5); },
     "entries[0]: unknown kind 5"},
    {"entry of no sequences", [](auto &r) { r.entries[0]->batch = 0; },
     "entries[0] has 0 sequences"},
    {"entry of no rows", [](auto &r) { r.entries[1]->rows = 0; },
     "entries[1] has 1 sequences of 0 rows"},
    {"rows overflow", [](auto &r) { r.entries[1]->rows = ~0u; },
     "which overflows"},
    {"decode of several rows", [](auto &r) { r.entries[0]->rows = 2; },
     "entries[0] decodes 2 rows"},
    {"prefill of several sequences", [](auto &r) { r.entries[1]->batch = 2; },
     "entries[1] prefills 2 sequences"},
    {"plain entry among others",
     [](auto &r) {
       auto entry = std::make_unique<fb::EntryT>();
       entry->name = "plain";
       entry->kind = fb::EntryKind::Plain;
       entry->arena_size = 64;
       entry->launches.push_back(std::make_unique<fb::LaunchT>());
       entry->launches[0]->units = 1;
       r.entries.push_back(std::move(entry));
     },
     "1 plain entries among 3"},
    {"no vocabulary", [](auto &r) { r.model->vocabulary = 0; },
     "vocabulary of 0"},
    {"arena overflows",
     [](auto &r) { r.entries[0]->arena_size = ~uint64_t{0}; },
     "entries[0] asks for an arena"},
    // Bindings.
    {"binding outside the arena",
     [](auto &r) { r.entries[0]->bindings[3]->offset = 1 << 20; },
     "entries[0].bindings[3] ends at byte 1048576 + 444"},
    {"binding's end overflows",
     [](auto &r) { r.entries[0]->bindings[0]->offset = ~uint64_t{0} - 63; },
     "entries[0].bindings[0] ends at byte"},
    {"binding not aligned",
     [](auto &r) { r.entries[0]->bindings[1]->offset += 4; },
     "entries[0].bindings[1] starts at byte 68"},
    {"binding of unknown role",
     [](auto &r) { r.entries[0]->bindings[0]->role = fb::Role(99); },
     "entries[0].bindings[0]: unknown role 99"},
    {"binding of another type",
     [](auto &r) { r.entries[0]->bindings[0]->element = fb::Element::F32; },
     "entries[0].bindings[0]: Tokens are of type f32, expected i32"},
    {"binding of other rows",
     [](auto &r) { r.entries[0]->bindings[1]->shape[0] = 2; },
     "entries[0].bindings[1]: Positions have 2 rows, expected 3"},
    {"binding of another rank",
     [](auto &r) { r.entries[0]->bindings[2]->shape = {3, 1}; },
     "entries[0].bindings[2]: Slots have rank 2, expected 1"},
    {"scalar binding",
     [](auto &r) { r.entries[0]->bindings[2]->shape.clear(); },
     "entries[0].bindings[2]: Slots have rank 0, expected 1"},
    {"logits of another vocabulary",
     [](auto &r) { r.entries[1]->bindings[3]->shape[1] = 36; },
     "logits have 36 columns, the vocabulary is 37"},
    {"logits twice",
     [](auto &r) {
       r.entries[0]->bindings.push_back(
           std::make_unique<fb::BindingT>(*r.entries[0]->bindings[3]));
     },
     "entries[0] has 2 bindings of role Logits, expected 1"},
    {"no slots binding",
     [](auto &r) {
       r.entries[0]->bindings.erase(r.entries[0]->bindings.begin() + 2);
     },
     "entries[0] has 0 bindings of role Slots, expected 1"},
    {"inputs overlap",
     [](auto &r) {
       r.entries[0]->bindings[1]->offset = r.entries[0]->bindings[0]->offset;
     },
     "entries[0].bindings[0] and bindings[1] overlap"},
    {"a graph's input in a decoder",
     [](auto &r) {
       r.entries[0]->bindings[0]->role = fb::Role::Input;
       r.entries[0]->bindings[0]->name = "x";
     },
     "entries[0].bindings[0] has role Input"},
    {"nameless tap",
     [](auto &r) { r.entries[0]->bindings[3]->role = fb::Role::Tap; },
     "entries[0].bindings[3] has no name"},
    // Launches.
    {"no launches", [](auto &r) { r.entries[0]->launches.clear(); },
     "entries[0] has no launches"},
    {"kernel out of range",
     [](auto &r) { r.entries[0]->launches[1]->kernel = 4; },
     "entries[0].launches[1]: kernel 4 is out of range, the file has 4"},
    {"no units", [](auto &r) { r.entries[1]->launches[2]->units = 0; },
     "entries[1].launches[2] has no units"},
    {"operand of unknown kind",
     [](auto &r) { operand(r, 0, 0, 2).kind = fb::OperandKind(8); },
     "entries[0].launches[0].operands[2]: unknown kind 8"},
    {"operand outside the arena",
     [](auto &r) { operand(r, 0, 0, 1).offset = r.entries[0]->arena_size; },
     "entries[0].launches[0].operands[1]: byte"},
    {"operand's offset near 2^64",
     [](auto &r) { operand(r, 1, 2, 0).offset = ~uint64_t{0} - 7; },
     "entries[1].launches[2].operands[0]: byte 18446744073709551608"},
    {"weight out of range", [](auto &r) { operand(r, 0, 0, 6).index = 2; },
     "entries[0].launches[0].operands[6]: weight 2 is out of range, the file "
     "has 2"},
    {"state out of range", [](auto &r) { operand(r, 0, 1, 3).index = 2; },
     "entries[0].launches[1].operands[3]: state 2 is out of range"},
    {"offset into a state", [](auto &r) { operand(r, 0, 1, 2).offset = 64; },
     "entries[0].launches[1].operands[2]: byte 64 is outside the state"},
    {"second params", [](auto &r) { operand(r, 0, 1, 4).index = 1; },
     "entries[0].launches[1].operands[4]: params 1 is out of range"},
};

TEST(Malformed, EveryContradictionIsNamed) {
  for (const Fault &fault : kFaults) {
    SCOPED_TRACE(fault.name);
    ToyFile file = makeToyDecoder();
    fault.spoil(file.root);
    AlignedBytes bytes = file.write();
    EXPECT_FAILURE(openBytes(bytes.data(), bytes.size(), &error), SDC_MALFORMED,
                   fault.message);
  }
}

TEST(Malformed, OutputsThatOverlapInPart) {
  ToyFile file = makeToyPlain();
  fb::EntryT &entry = *file.root.entries[0];
  auto second = std::make_unique<fb::BindingT>(*entry.bindings[2]);
  second->name = "same";
  entry.bindings.push_back(std::move(second));
  AlignedBytes same = file.write();
  // Two names of one value are fine.
  EXPECT_OK(openBytes(same.data(), same.size(), &error));
  entry.bindings[3]->offset += 64;
  entry.arena_size += 64;
  AlignedBytes apart = file.write();
  EXPECT_FAILURE(openBytes(apart.data(), apart.size(), &error), SDC_MALFORMED,
                 "entries[0].bindings[2] and bindings[3] overlap");
  entry.bindings[3]->offset = entry.bindings[2]->offset;
  entry.bindings[3]->name = "sum";
  AlignedBytes twice = file.write();
  EXPECT_FAILURE(openBytes(twice.data(), twice.size(), &error), SDC_MALFORMED,
                 "bindings[2] and bindings[3] are both named 'sum'");
}

// A value type of a later minor is the business of its kernels.
TEST(Malformed, UnknownWeightTypesOfANewerMinorPass) {
  ToyFile file = makeToyDecoder();
  file.root.weights[0]->element = fb::Element(77);
  file.minor = 1;
  AlignedBytes bytes = file.write();
  EXPECT_OK(openBytes(bytes.data(), bytes.size(), &error));
}
