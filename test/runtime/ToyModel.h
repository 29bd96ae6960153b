// Executables made by hand: the toy decoder of ToyKernels.c and a plain graph,
// with every field of the file open to tests that want it wrong.

#ifndef SDC_TEST_RUNTIME_TOYMODEL_H
#define SDC_TEST_RUNTIME_TOYMODEL_H

#include "executable_object_generated.h"
#include "sdc/sdc.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace sdc::test {

constexpr int32_t kVocabulary = 37;
constexpr int64_t kHidden = 8;
constexpr uint32_t kBatch = 3;
constexpr uint32_t kChunk = 4;
constexpr uint32_t kContext = 32;

/// Bytes that start at a multiple of 4096.
class AlignedBytes {
public:
  AlignedBytes() = default;
  explicit AlignedBytes(size_t size);
  AlignedBytes(const AlignedBytes &other);
  AlignedBytes(AlignedBytes &&) = default;
  AlignedBytes &operator=(AlignedBytes &&) = default;

  uint8_t *data() { return memory.get(); }
  const uint8_t *data() const { return memory.get(); }
  size_t size() const { return length; }

private:
  struct Free {
    void operator()(uint8_t *bytes) const { free(bytes); }
  };
  std::unique_ptr<uint8_t, Free> memory;
  size_t length = 0;
};

/// A file before it is bytes.
struct ToyFile {
  fb::ExecutableT root;
  /// Content of root.segments, one for one.
  std::vector<std::vector<uint8_t>> segments;
  uint16_t major = 1;
  uint16_t minor = 0;

  /// Places the segments after the root and fills in their digests. Afterwards
  /// the root may be spoilt and then written.
  void layOut();
  /// Header, root and segments where the root says that they are; what the root
  /// says beyond the file's end is not written.
  AlignedBytes write() const { return writeWithFileSize(0); }
  /// The beginning of a file whose header claims to be of `size` bytes; 0 for
  /// the real size.
  AlignedBytes writeWithFileSize(uint64_t size) const;

private:
  uint64_t fileSize = 0;
};

struct ToyOptions {
  bool allLogits = false;
  bool recording = false;
  /// A text segment with these bytes; none if empty.
  std::string text = "tokenizer";
};

/// Already laid out.
ToyFile makeToyDecoder(ToyOptions options = {});
ToyFile makeToyPlain();

struct ToyCudaOptions {
  ToyOptions decoder;
  /// Bytes of a cubin; those that the fake driver takes if empty.
  std::vector<uint8_t> cubin;
  std::vector<std::string> levels = {"sm_90a"};
  /// With the function that chooses tokens on the device.
  bool greedy = true;
  /// The weights are not in the file.
  bool generated = false;
};

/// The toy decoder for a GPU: a unit is a block of one thread.
ToyFile makeToyCuda(const ToyCudaOptions &options = {});

/// The kernels of a file, linked into the tests: sanitizers see them.
std::vector<sdc_kernel> linkedKernels(const ToyFile &file);

/// Embedding and head, [vocabulary, hidden] each.
const std::vector<float> &toyEmbedding();
const std::vector<float> &toyHead();

/// What the toy decoder says after `tokens`: an independent computation.
std::vector<float> toyHiddenAfter(const std::vector<int32_t> &tokens);
std::vector<float> toyLogitsAfter(const std::vector<int32_t> &tokens);

} // namespace sdc::test

#endif // SDC_TEST_RUNTIME_TOYMODEL_H
