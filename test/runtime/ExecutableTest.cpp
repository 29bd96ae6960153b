// Opening sound executables: from files and memory, by level, with and without
// code; what a model says about itself.

#include "test/runtime/Handles.h"

#include <chrono>
#include <fcntl.h>

using namespace sdc;
using namespace sdc::test;

static sdc_status openPath(const std::string &path, sdc_model **model,
                           sdc_error *error, sdc_open_options options = {}) {
  options.struct_size = sizeof(options);
  return sdc_model_open(path.c_str(), &options, model, error);
}

TEST(Executable, OpensFromMemoryAndFromAFile) {
  AlignedBytes bytes = makeToyDecoder().write();
  TemporaryFile file(bytes);
  sdc_model *fromFile = nullptr;
  EXPECT_OK(openPath(file.path, &fromFile, &error));
  Model model = openModel(bytes);
  for (sdc_model *each : {fromFile, model.get()}) {
    sdc_model_info info = {sizeof(info)};
    sdc_model_query(each, &info);
    EXPECT_STREQ(info.name, "toy");
    EXPECT_EQ(info.vocabulary, 37u);
    EXPECT_EQ(info.batch, 3u);
    EXPECT_EQ(info.context, 32u);
    EXPECT_EQ(info.model_context, 64u);
    EXPECT_EQ(info.entry_count, 2u);
    EXPECT_EQ(info.weight_count, 2u);
    EXPECT_EQ(info.weight_bytes, 2u * 37 * 8 * 4);
    EXPECT_EQ(info.file_size, bytes.size());
    EXPECT_EQ(info.decode_positions, 11u);
    EXPECT_EQ(info.prompt_positions, 22u);
    EXPECT_EQ(info.first_positions, 33u);
    EXPECT_FALSE(info.plain);
    EXPECT_FALSE(info.recording);
    EXPECT_FALSE(info.all_logits);
    EXPECT_STREQ(sdc_model_flag(each, 0), "--pattern=dense");
    EXPECT_STREQ(sdc_model_flag(each, 1), "");
    size_t size = 0;
    const void *text = sdc_model_text(each, &size);
    ASSERT_NE(text, nullptr);
    EXPECT_EQ(std::string(static_cast<const char *>(text), size), "tokenizer");
  }
  sdc_model_close(fromFile);
  sdc_model_close(nullptr);
}

TEST(Executable, DescribesItsLists) {
  AlignedBytes bytes = makeToyDecoder().write();
  Model model = openModel(bytes);
  sdc_weight_info weight = {sizeof(weight)};
  ASSERT_TRUE(sdc_model_weight(model.get(), 1, &weight));
  EXPECT_STREQ(weight.name, "head");
  EXPECT_EQ(weight.element, SDC_F32);
  ASSERT_EQ(weight.rank, 2u);
  EXPECT_EQ(weight.shape[0], 37);
  EXPECT_EQ(memcmp(weight.data, toyHead().data(), weight.bytes), 0);
  EXPECT_STREQ(weight.method, "magnitude");
  ASSERT_EQ(weight.note_count, 1u);
  EXPECT_STREQ(sdc_model_weight_note(model.get(), 1, 0),
               "stays dense: an embedding");
  EXPECT_STREQ(sdc_model_pruning_note(model.get(), 1, 0), "a note");
  EXPECT_STREQ(sdc_model_pruning_note(model.get(), 1, 1), "");
  EXPECT_FALSE(sdc_model_weight(model.get(), 2, &weight));

  sdc_state_info state = {sizeof(state)};
  ASSERT_TRUE(sdc_model_state(model.get(), 1, &state));
  EXPECT_STREQ(state.past_name, "past.layers.0.v");
  EXPECT_EQ(state.row_bytes, 6u);
  EXPECT_FALSE(sdc_model_state(model.get(), 2, &state));

  sdc_entry_info entry = {sizeof(entry)};
  ASSERT_TRUE(sdc_model_entry(model.get(), 1, &entry));
  EXPECT_EQ(entry.kind, SDC_ENTRY_PREFILL);
  EXPECT_EQ(entry.rows, 4u);
  sdc_binding_info binding = {sizeof(binding)};
  ASSERT_TRUE(sdc_model_binding(model.get(), 0, 3, &binding));
  EXPECT_EQ(binding.role, SDC_ROLE_LOGITS);
  EXPECT_EQ(binding.bytes, 3u * 37 * 4);
  sdc_launch_info launch = {sizeof(launch)};
  ASSERT_TRUE(sdc_model_launch(model.get(), 0, 2, &launch));
  EXPECT_STREQ(launch.label, "toy_logits_3.label");
  EXPECT_EQ(launch.weight_bytes, 37u * 8 * 4);
  EXPECT_FALSE(sdc_model_launch(model.get(), 0, 3, &launch));
  EXPECT_FALSE(sdc_model_launch(model.get(), 2, 0, &launch));
  sdc_kernel_info kernel = {sizeof(kernel)};
  ASSERT_TRUE(sdc_model_kernel(model.get(), 1, &kernel));
  EXPECT_EQ(kernel.scratch_size, 40u);
  sdc_segment_info segment = {sizeof(segment)};
  ASSERT_TRUE(sdc_model_segment(model.get(), 1, &segment));
  EXPECT_EQ(segment.kind, SDC_SEGMENT_CODE);
  EXPECT_EQ(segment.offset % 4096, 0u);
  sdc_image_info image = {sizeof(image)};
  ASSERT_TRUE(sdc_model_image(model.get(), 1, &image));
  EXPECT_STREQ(image.level, "avx2");
}

TEST(Executable, FillsNoMoreThanTheStructThatItIsGiven) {
  AlignedBytes bytes = makeToyDecoder().write();
  Model model = openModel(bytes);
  // A host that was compiled when a struct was shorter.
  sdc_model_info info;
  memset(&info, 0x77, sizeof(info));
  info.struct_size = offsetof(sdc_model_info, hidden);
  sdc_model_query(model.get(), &info);
  EXPECT_EQ(info.layers, 1u);
  EXPECT_EQ(info.hidden, 0x77777777u);
}

TEST(Executable, PicksTheBestLevelUnlessTold) {
  sdc_cpu_info cpu = {sizeof(cpu)};
  sdc_cpu_query(&cpu);
  EXPECT_GE(cpu.cores, 1u);
  EXPECT_GE(cpu.processors, cpu.cores);
  AlignedBytes bytes = makeToyDecoder().write();
  sdc_model_info info = {sizeof(info)};
  Model best = openModel(bytes);
  sdc_model_query(best.get(), &info);
  EXPECT_STREQ(info.level, cpu.level);

  sdc_open_options options = {sizeof(options)};
  options.level = "avx2";
  Model least = openModel(bytes, options);
  sdc_model_query(least.get(), &info);
  EXPECT_STREQ(info.level, "avx2");

  options.level = "avx10";
  sdc_model *model = nullptr;
  EXPECT_FAILURE(sdc_model_open_memory(bytes.data(), bytes.size(), &options,
                                       &model, &error),
                 SDC_NO_IMAGE, "has: avx512vbmi2, avx2");
}

TEST(Executable, ForAnotherMachineOpensWithoutCodeOnly) {
  ToyFile file = makeToyDecoder();
  file.root.images[0]->level = "sm_90a";
  file.root.images[1]->level = "neon";
  AlignedBytes bytes = file.write();
  sdc_open_options options = {sizeof(options)};
  sdc_model *model = nullptr;
  EXPECT_FAILURE(sdc_model_open_memory(bytes.data(), bytes.size(), &options,
                                       &model, &error),
                 SDC_NO_IMAGE, "the file has: sm_90a, neon");
  options.flags = SDC_OPEN_WITHOUT_CODE;
  Model closed = openModel(bytes, options);
  sdc_session *session = nullptr;
  EXPECT_FAILURE(sdc_session_create(closed.get(), nullptr, &session, &error),
                 SDC_NO_IMAGE, "without code");
}

TEST(Executable, OfANewerMinorOpensWithAWarning) {
  ToyFile file = makeToyDecoder();
  file.minor = 7;
  AlignedBytes bytes = file.write();
  std::string log;
  sdc_open_options options = {sizeof(options)};
  options.log_user = &log;
  options.log = [](void *user, sdc_log_level level, const char *message) {
    if (level == SDC_LOG_WARNING)
      *static_cast<std::string *>(user) += message;
  };
  Model model = openModel(bytes, options);
  EXPECT_NE(log.find("format 1.7"), std::string::npos) << log;
}

TEST(Executable, OfAnotherMajorIsRefusedWithBothNamed) {
  ToyFile file = makeToyDecoder();
  file.major = 2;
  file.minor = 3;
  AlignedBytes bytes = file.write();
  sdc_model *model = nullptr;
  EXPECT_FAILURE(sdc_model_open_memory(bytes.data(), bytes.size(), nullptr,
                                       &model, &error),
                 SDC_WRONG_MAJOR, "format 2.3, this runtime reads 1.x");
}

TEST(Executable, NamesWhatTheSystemRefuses) {
  sdc_model *model = nullptr;
  EXPECT_FAILURE(openPath("/nonexistent/model.sdx", &model, &error), SDC_IO,
                 "/nonexistent/model.sdx: no such file or directory");
  EXPECT_FAILURE(openPath("/tmp", &model, &error), SDC_IO,
                 "/tmp: is a directory");
  EXPECT_FAILURE(openPath("/dev/null", &model, &error), SDC_IO,
                 "not a regular file");
  TemporaryFile empty{AlignedBytes(0)};
  EXPECT_FAILURE(openPath(empty.path, &model, &error), SDC_NOT_EXECUTABLE,
                 "not an executable");
}

TEST(Executable, GivesBackAllMemoryWhateverFails) {
  ToyFile file = makeToyDecoder();
  AlignedBytes bytes = file.write();
  for (uint64_t allowed = 0;; ++allowed) {
    Allocations allocations;
    allocations.allowed = allowed;
    sdc_allocator allocator = allocations.allocator();
    sdc_open_options options = {sizeof(options)};
    options.allocator = &allocator;
    options.flags = SDC_OPEN_VERIFY_WEIGHTS;
    sdc_model *model = nullptr;
    sdc_error error = {};
    sdc_status status = sdc_model_open_memory(bytes.data(), bytes.size(),
                                              &options, &model, &error);
    if (status == SDC_OK) {
      EXPECT_GT(allocations.bytes, 0u);
      sdc_model_close(model);
      EXPECT_EQ(allocations.bytes, 0u);
      EXPECT_GT(allowed, 3u);
      break;
    }
    EXPECT_EQ(status, SDC_OUT_OF_MEMORY) << error.message;
    EXPECT_EQ(allocations.bytes, 0u) << "after " << allowed;
  }
}

// A warm open touches the header, the root, code and text, and so takes no
// longer for a file of 10 GB. The weights are a hole.
TEST(Executable, OpensALargeFileQuickly) {
  constexpr uint64_t size = uint64_t{10} << 30;
  ToyFile file = makeToyDecoder();
  auto segment = std::make_unique<fb::SegmentT>();
  file.root.segments.push_back(std::move(segment));
  file.segments.emplace_back();
  file.layOut();
  uint64_t small = file.write().size();
  fb::SegmentT &large = *file.root.segments.back();
  large.offset = (small + 4095) / 4096 * 4096;
  large.size = size;
  AlignedBytes head = file.writeWithFileSize(large.offset + size);
  TemporaryFile path(head);
  if (truncate(path.path.c_str(), off_t(large.offset + size)) != 0)
    GTEST_SKIP() << "no room for a sparse file";
  double best = 1;
  for (int i = 0; i < 3; ++i) {
    auto start = std::chrono::steady_clock::now();
    sdc_model *model = nullptr;
    EXPECT_OK(openPath(path.path, &model, &error));
    std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    sdc_model_close(model);
    best = std::min(best, took.count());
  }
  RecordProperty("milliseconds", std::to_string(best * 1e3));
  EXPECT_LT(best, 0.05);
}
