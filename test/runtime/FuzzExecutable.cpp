// A libFuzzer target: opens bytes as an executable. Before that, sizes and
// digests of the header are made to fit, without which nothing behind the header
// would ever be reached. A file that opens is queried, and its memory computed;
// it is not run, as its code would be trusted.

#include "sdc/sdc.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

static void repair(uint8_t *bytes, uint64_t size) {
  auto put = [&](uint64_t offset, uint64_t value) {
    memcpy(bytes + offset, &value, sizeof(value));
  };
  uint64_t rootSize;
  memcpy(&rootSize, bytes + 16, sizeof(rootSize));
  memcpy(bytes, "SDCEXEC", 8);
  if (rootSize > size - 64)
    put(16, rootSize = size - 64);
  put(24, size);
  put(32, XXH3_64bits(bytes + 64, rootSize));
  put(56, XXH3_64bits(bytes, 56));
}

static void query(const sdc_model *model) {
  sdc_model_info info = {};
  info.struct_size = sizeof(info);
  sdc_model_query(model, &info);
  for (uint32_t i = 0; i < info.weight_count; ++i) {
    sdc_weight_info weight = {};
    weight.struct_size = sizeof(weight);
    sdc_model_weight(model, i, &weight);
    if (weight.bytes) // The last byte must be there.
      (void)*(static_cast<const volatile uint8_t *>(weight.data) +
              weight.bytes - 1);
  }
  for (uint32_t i = 0; i < info.entry_count; ++i) {
    sdc_entry_info entry = {};
    entry.struct_size = sizeof(entry);
    sdc_model_entry(model, i, &entry);
    for (uint32_t j = 0; j < entry.launch_count; ++j) {
      sdc_launch_info launch = {};
      launch.struct_size = sizeof(launch);
      sdc_model_launch(model, i, j, &launch);
    }
  }
  sdc_session_options options = {};
  options.struct_size = sizeof(options);
  sdc_memory memory = {};
  memory.struct_size = sizeof(memory);
  (void)sdc_session_memory(model, &options, &memory, nullptr);
  (void)sdc_model_verify_weights(model, nullptr);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Its own piece of memory, so that a read beyond the end is seen.
  auto *bytes =
      static_cast<uint8_t *>(aligned_alloc(64, (size + 64) / 64 * 64));
  memcpy(bytes, data, size);
  sdc_open_options options = {};
  options.struct_size = sizeof(options);
  options.flags = SDC_OPEN_WITHOUT_CODE;
  for (bool repaired : {false, true}) {
    if (repaired && size >= 64)
      repair(bytes, size);
    sdc_model *model = nullptr;
    sdc_error error;
    if (sdc_model_open_memory(bytes, size, &options, &model, &error) != SDC_OK)
      continue;
    query(model);
    sdc_model_close(model);
  }
  free(bytes);
  return 0;
}
