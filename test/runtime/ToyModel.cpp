// Writes executables by hand, by the grammar at the top of executable.fbs.

#include "test/runtime/ToyModel.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cassert>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

using namespace sdc;
using namespace sdc::test;

//===- Bytes --------------------------------------------------------------===//

AlignedBytes::AlignedBytes(size_t size) : length(size) {
  void *bytes = aligned_alloc(4096, (size + 4096) / 4096 * 4096);
  memory.reset(static_cast<uint8_t *>(bytes));
  memset(bytes, 0, size);
}

AlignedBytes::AlignedBytes(const AlignedBytes &other)
    : AlignedBytes(other.length) {
  memcpy(data(), other.data(), length);
}

static uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

static flatbuffers::DetachedBuffer pack(const fb::ExecutableT &root) {
  flatbuffers::FlatBufferBuilder builder;
  // So that the size does not depend on the values.
  builder.ForceDefaults(true);
  fb::FinishExecutableBuffer(builder, fb::Executable::Pack(builder, &root));
  return builder.Release();
}

void ToyFile::layOut() {
  uint64_t end = 64 + pack(root).size();
  for (size_t i = 0; i < segments.size(); ++i) {
    fb::SegmentT &segment = *root.segments[i];
    segment.offset = alignTo(end, 4096);
    segment.size = segments[i].size();
    segment.digest = XXH3_64bits(segments[i].data(), segments[i].size());
    end = segment.offset + segment.size;
  }
  fileSize = alignTo(end, 4096);
}

AlignedBytes ToyFile::writeWithFileSize(uint64_t claimed) const {
  flatbuffers::DetachedBuffer packed = pack(root);
  AlignedBytes bytes(std::max<uint64_t>(fileSize, 64 + packed.size()));
  for (size_t i = 0; i < segments.size() && i < root.segments.size(); ++i) {
    uint64_t offset = root.segments[i]->offset;
    if (segments[i].empty())
      continue;
    if (offset >= 64 + packed.size() && offset < bytes.size() &&
        segments[i].size() <= bytes.size() - offset)
      memcpy(bytes.data() + offset, segments[i].data(), segments[i].size());
  }
  auto put = [&](uint64_t offset, auto value) {
    memcpy(bytes.data() + offset, &value, sizeof(value));
  };
  memcpy(bytes.data(), "SDCEXEC", 8);
  put(8, major);
  put(10, minor);
  put(16, uint64_t{packed.size()});
  put(24, claimed ? claimed : uint64_t{bytes.size()});
  put(32, uint64_t{XXH3_64bits(packed.data(), packed.size())});
  put(56, uint64_t{XXH3_64bits(bytes.data(), 56)});
  memcpy(bytes.data() + 64, packed.data(), packed.size());
  return bytes;
}

//===- Images -------------------------------------------------------------===//

/// One level of ToyKernels.c: its bytes, and where each function begins.
struct ToyImage {
  std::vector<uint8_t> bytes;
  std::map<std::string, uint64_t> offsets;
};

static ToyImage readImage(const std::string &level) {
  ToyImage image;
  std::string base = std::string(SDC_TOY_IMAGES) + "/toy-" + level;
  std::ifstream code(base + ".bin", std::ios::binary);
  image.bytes.assign(std::istreambuf_iterator<char>(code), {});
  std::ifstream symbols(base + ".sym");
  // As nm prints them: address, kind, name.
  for (std::string line; std::getline(symbols, line);) {
    std::istringstream words(line);
    std::string address, kind, name;
    words >> address >> kind >> name;
    image.offsets[name] = std::stoull(address, nullptr, 16);
  }
  assert(!image.bytes.empty() && !image.offsets.empty());
  return image;
}

static void addImage(ToyFile &file, const std::string &level) {
  ToyImage code = readImage(level);
  auto image = std::make_unique<fb::ImageT>();
  image->level = level;
  image->segment = uint32_t(file.segments.size());
  image->code_size = code.bytes.size();
  for (const auto &kernel : file.root.kernels)
    image->kernel_offsets.push_back(code.offsets.at(kernel->name));
  file.root.images.push_back(std::move(image));
  auto segment = std::make_unique<fb::SegmentT>();
  segment->kind = fb::SegmentKind::Code;
  file.root.segments.push_back(std::move(segment));
  file.segments.push_back(code.bytes);
}

extern "C" {
void toy_append(void *const *, int64_t, int64_t, void *);
void toy_attend(void *const *, int64_t, int64_t, void *);
void toy_logits_3(void *const *, int64_t, int64_t, void *);
void toy_logits_4(void *const *, int64_t, int64_t, void *);
void toy_logits_last_4(void *const *, int64_t, int64_t, void *);
void toy_add(void *const *, int64_t, int64_t, void *);
}

std::vector<sdc_kernel> sdc::test::linkedKernels(const ToyFile &file) {
  const std::map<std::string, sdc_kernel> functions = {
      {"toy_append", toy_append},
      {"toy_attend", toy_attend},
      {"toy_logits_3", toy_logits_3},
      {"toy_logits_4", toy_logits_4},
      {"toy_logits_last_4", toy_logits_last_4},
      {"toy_add", toy_add}};
  std::vector<sdc_kernel> kernels;
  for (const auto &kernel : file.root.kernels)
    kernels.push_back(functions.at(kernel->name));
  return kernels;
}

//===- The decoder --------------------------------------------------------===//

namespace {
/// Sums and products of these are exact in f32, in any order.
std::vector<float> makeTable(unsigned seed) {
  std::vector<float> table(kVocabulary * kHidden);
  uint32_t state = seed;
  for (float &value : table) {
    state = state * 1664525 + 1013904223;
    value = float(int32_t(state >> 24) - 128) / 32;
  }
  return table;
}

/// An entry under construction.
struct EntryBuilder {
  ToyFile &file;
  fb::EntryT entry;

  uint64_t place(uint64_t bytes) {
    uint64_t offset = entry.arena_size;
    entry.arena_size = alignTo(offset + bytes, 64);
    return offset;
  }

  uint64_t bind(fb::Role role, fb::Element element, std::vector<int64_t> shape,
                std::string name = "") {
    uint64_t bytes = 4;
    for (int64_t dim : shape)
      bytes *= uint64_t(dim);
    auto binding = std::make_unique<fb::BindingT>();
    binding->role = role;
    binding->name = name;
    binding->element = element;
    binding->shape = shape;
    binding->offset = place(bytes);
    uint64_t offset = binding->offset;
    entry.bindings.push_back(std::move(binding));
    return offset;
  }

  void launch(const std::string &kernel, uint32_t units,
              std::vector<fb::OperandT> operands) {
    auto launch = std::make_unique<fb::LaunchT>();
    auto &kernels = file.root.kernels;
    while (launch->kernel < kernels.size() &&
           kernels[launch->kernel]->name != kernel)
      ++launch->kernel;
    if (launch->kernel == kernels.size()) {
      kernels.push_back(std::make_unique<fb::KernelT>());
      kernels.back()->name = kernel;
      kernels.back()->scratch_size = kernel == "toy_attend" ? 40 : 0;
    }
    launch->units = units;
    launch->label = kernel + ".label";
    for (const fb::OperandT &operand : operands)
      launch->operands.push_back(std::make_unique<fb::OperandT>(operand));
    entry.launches.push_back(std::move(launch));
  }

  void finish() {
    file.root.entries.push_back(std::make_unique<fb::EntryT>(std::move(entry)));
  }
};

fb::OperandT arena(uint64_t offset) {
  fb::OperandT operand;
  operand.offset = offset;
  return operand;
}

fb::OperandT other(fb::OperandKind kind, uint32_t index = 0) {
  fb::OperandT operand;
  operand.kind = kind;
  operand.index = index;
  return operand;
}
} // namespace

const std::vector<float> &sdc::test::toyEmbedding() {
  static const std::vector<float> table = makeTable(1);
  return table;
}

const std::vector<float> &sdc::test::toyHead() {
  static const std::vector<float> table = makeTable(2);
  return table;
}

std::vector<float>
sdc::test::toyHiddenAfter(const std::vector<int32_t> &tokens) {
  std::vector<float> hidden(kHidden);
  for (size_t at = 0; at < tokens.size(); ++at)
    for (int64_t i = 0; i < kHidden; ++i)
      hidden[i] += toyEmbedding()[tokens[at] * kHidden + i] *
                   float((size_t(tokens[at]) + at) % 5 + 1);
  return hidden;
}

std::vector<float>
sdc::test::toyLogitsAfter(const std::vector<int32_t> &tokens) {
  std::vector<float> hidden = toyHiddenAfter(tokens), logits(kVocabulary);
  for (int32_t token = 0; token < kVocabulary; ++token)
    for (int64_t i = 0; i < kHidden; ++i)
      logits[token] += hidden[i] * toyHead()[token * kHidden + i];
  return logits;
}

static void addWeight(ToyFile &file, const std::string &name,
                      const std::vector<float> &values) {
  std::vector<uint8_t> &bytes = file.segments[0];
  auto weight = std::make_unique<fb::WeightT>();
  weight->name = name;
  weight->offset = alignTo(bytes.size(), 64);
  weight->size = values.size() * sizeof(float);
  weight->shape = {kVocabulary, kHidden};
  weight->notes = {"stays dense: an embedding"};
  weight->pruning = std::make_unique<fb::PruningT>();
  weight->pruning->method = "magnitude";
  weight->pruning->notes = {"a note"};
  bytes.resize(weight->offset + weight->size);
  memcpy(bytes.data() + weight->offset, values.data(), weight->size);
  file.root.weights.push_back(std::move(weight));
}

static void addState(ToyFile &file, const std::string &name, uint32_t heads,
                     uint32_t size, fb::Element element) {
  auto state = std::make_unique<fb::StateT>();
  state->name = name;
  state->past_name = "past." + name;
  state->present_name = "present." + name;
  state->slots = kBatch;
  state->heads = heads;
  state->context = kContext;
  state->head_size = size;
  state->element = element;
  file.root.states.push_back(std::move(state));
}

static void addEntry(ToyFile &file, fb::EntryKind kind, bool allLogits,
                     bool recording) {
  using fb::Element;
  using fb::OperandKind;
  using fb::Role;
  bool decode = kind == fb::EntryKind::Decode;
  EntryBuilder builder{file, {}};
  builder.entry.name = decode ? "decode" : "prefill";
  builder.entry.kind = kind;
  builder.entry.batch = decode ? kBatch : 1;
  builder.entry.rows = decode ? 1 : kChunk;
  builder.entry.all_logits = allLogits;
  int64_t rows = decode ? kBatch : kChunk;
  uint64_t tokens = builder.bind(Role::Tokens, Element::I32, {rows});
  uint64_t positions = builder.bind(Role::Positions, Element::I32, {rows});
  uint64_t slots = builder.bind(Role::Slots, Element::I32, {rows});
  uint64_t hidden =
      recording ? builder.bind(Role::Tap, Element::F32, {rows, kHidden},
                               "layers.0.attn_in")
                : builder.place(uint64_t(rows) * kHidden * sizeof(float));
  bool all = decode || allLogits;
  uint64_t logits =
      builder.bind(Role::Logits, Element::F32, {all ? rows : 1, kVocabulary});
  fb::OperandT keys = other(OperandKind::State, 0),
               numbers = other(OperandKind::State, 1),
               params = other(OperandKind::Params),
               embedding = other(OperandKind::Weight, 0),
               head = other(OperandKind::Weight, 1);
  builder.launch("toy_append", uint32_t(rows),
                 {arena(tokens), arena(positions), arena(slots), keys, numbers,
                  params, embedding});
  builder.launch(
      "toy_attend", uint32_t(rows),
      {arena(positions), arena(slots), keys, numbers, params, arena(hidden)});
  builder.launch(decode      ? "toy_logits_3"
                 : allLogits ? "toy_logits_4"
                             : "toy_logits_last_4",
                 kVocabulary,
                 {arena(hidden), head, arena(positions), arena(logits)});
  builder.finish();
}

static void addModel(ToyFile &file, const std::string &name) {
  file.root.model = std::make_unique<fb::ModelT>();
  file.root.model->name = name;
  file.root.segments.push_back(std::make_unique<fb::SegmentT>());
  file.segments.emplace_back();
}

/// All but the code, and the text that comes after it.
static ToyFile startDecoder(const ToyOptions &options) {
  ToyFile file;
  addModel(file, "toy");
  fb::ModelT &model = *file.root.model;
  model.layers = 1;
  model.hidden = kHidden;
  model.vocabulary = kVocabulary;
  model.batch = kBatch;
  model.context = kContext;
  model.model_context = 64;
  model.prefill_chunk = kChunk;
  file.root.recording = options.recording;
  file.root.provenance = std::make_unique<fb::ProvenanceT>();
  file.root.provenance->tool_version = "0.0.1";
  file.root.provenance->flags = {"--pattern=dense"};
  file.root.provenance->positions = {11, 22, 33};
  addWeight(file, "embedding", toyEmbedding());
  addWeight(file, "head", toyHead());
  addState(file, "layers.0.k", 2, 4, fb::Element::F32);
  addState(file, "layers.0.v", 1, 3, fb::Element::F16);
  addEntry(file, fb::EntryKind::Decode, false, options.recording);
  addEntry(file, fb::EntryKind::Prefill, false, options.recording);
  if (options.allLogits)
    addEntry(file, fb::EntryKind::Prefill, true, options.recording);
  return file;
}

static void addText(ToyFile &file, const std::string &text) {
  if (!text.empty()) {
    file.root.text_segment = int32_t(file.segments.size());
    auto segment = std::make_unique<fb::SegmentT>();
    segment->kind = fb::SegmentKind::Text;
    file.root.segments.push_back(std::move(segment));
    file.segments.emplace_back(text.begin(), text.end());
  }
}

ToyFile sdc::test::makeToyDecoder(ToyOptions options) {
  ToyFile file = startDecoder(options);
  addImage(file, "avx512vbmi2");
  addImage(file, "avx2");
  addText(file, options.text);
  file.layOut();
  return file;
}

ToyFile sdc::test::makeToyPlain() {
  ToyFile file;
  addModel(file, "sum");
  EntryBuilder builder{file, {}};
  builder.entry.name = "main";
  builder.entry.kind = fb::EntryKind::Plain;
  uint64_t a = builder.bind(fb::Role::Input, fb::Element::F32, {100}, "a");
  uint64_t b = builder.bind(fb::Role::Input, fb::Element::F32, {100}, "b");
  uint64_t sum = builder.bind(fb::Role::Output, fb::Element::F32, {100}, "sum");
  builder.launch("toy_add", 100, {arena(a), arena(b), arena(sum)});
  builder.finish();
  addImage(file, "avx512vbmi2");
  addImage(file, "avx2");
  file.layOut();
  return file;
}

//===- The decoder for a GPU ----------------------------------------------===//

static fb::CudaFunctionT makeFunction(const std::string &symbol, uint32_t grid,
                                      uint32_t block = 1) {
  fb::CudaFunctionT function;
  function.symbol = symbol;
  function.grid_x = grid;
  function.block = block;
  function.programmatic = true;
  return function;
}

/// A grid belongs to a kernel, so each number of units makes one of its own.
static std::vector<fb::CudaFunctionT> splitKernels(fb::ExecutableT &root) {
  std::vector<std::unique_ptr<fb::KernelT>> old = std::move(root.kernels);
  std::vector<fb::CudaFunctionT> functions;
  root.kernels.clear();
  std::map<std::string, uint32_t> numbers;
  for (auto &entry : root.entries)
    for (auto &launch : entry->launches) {
      const std::string &symbol = old[launch->kernel]->name;
      std::string name = symbol + ".u" + std::to_string(launch->units);
      auto found = numbers.emplace(name, uint32_t(root.kernels.size()));
      launch->kernel = found.first->second;
      if (!found.second)
        continue;
      root.kernels.push_back(std::make_unique<fb::KernelT>());
      root.kernels.back()->name = name;
      functions.push_back(makeFunction(symbol, launch->units));
      functions.back().shared_bytes = symbol == "toy_attend" ? 32 : 0;
    }
  return functions;
}

ToyFile sdc::test::makeToyCuda(const ToyCudaOptions &options) {
  ToyFile file = startDecoder(options.decoder);
  fb::ExecutableT &root = file.root;
  root.target = fb::TargetFamily::Cuda;
  std::vector<fb::CudaFunctionT> functions = splitKernels(root);
  std::vector<uint8_t> cubin = options.cubin;
  for (const std::string &level : options.levels) {
    if (options.cubin.empty()) {
      std::string text = "cubin " + level;
      cubin.assign(text.begin(), text.end());
    }
    auto image = std::make_unique<fb::ImageT>();
    image->level = level;
    image->segment = uint32_t(root.segments.size());
    image->code_size = cubin.size();
    for (const fb::CudaFunctionT &function : functions)
      image->functions.push_back(std::make_unique<fb::CudaFunctionT>(function));
    if (options.generated)
      for (size_t i = 0; i < root.weights.size(); ++i)
        image->generators.push_back(std::make_unique<fb::CudaFunctionT>(
            makeFunction("toy_generate", 1)));
    if (options.greedy)
      image->greedy = std::make_unique<fb::CudaFunctionT>(
          makeFunction("toy_greedy", 2, 64));
    root.images.push_back(std::move(image));
    auto segment = std::make_unique<fb::SegmentT>();
    segment->kind = fb::SegmentKind::Code;
    root.segments.push_back(std::move(segment));
    file.segments.push_back(cubin);
  }
  addText(file, options.decoder.text);
  uint64_t weightBytes = file.segments[0].size();
  if (options.generated) {
    root.segments[0]->kind = fb::SegmentKind::Generated;
    root.segments[0]->seed = 11;
    file.segments[0].clear();
  }
  file.layOut();
  if (options.generated) {
    root.segments[0]->offset = root.segments[0]->digest = 0;
    root.segments[0]->size = weightBytes;
  }
  return file;
}
