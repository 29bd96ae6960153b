// The dense build with the weights of a sparse executable.

#include "tools/sdc/SparseReference.h"
#include "kernels/Format/Bitmask.h"
#include "tools/sdc/Compile.h"

#include <cstdio>
#include <memory>
#include <unistd.h>

using namespace sdc;

namespace {

/// A temporary file without a name; its path lives as long as it does.
class UnnamedFile {
public:
  UnnamedFile() : file(std::tmpfile()) {}
  ~UnnamedFile() {
    if (file)
      std::fclose(file);
  }
  UnnamedFile(const UnnamedFile &) = delete;
  UnnamedFile &operator=(const UnnamedFile &) = delete;

  explicit operator bool() const { return file != nullptr; }
  std::string path() const {
    return "/proc/self/fd/" + std::to_string(fileno(file));
  }
  bool append(const std::vector<float> &values) {
    return std::fwrite(values.data(), sizeof(float), values.size(), file) ==
           values.size();
  }
  bool flush() { return std::fflush(file) == 0; }

private:
  std::FILE *file;
};

/// The values of a row-major weight.
std::vector<float> readPlain(const sdc_weight_info &weight) {
  size_t size = sdc_element_size(weight.element);
  std::vector<float> values(weight.bytes / size);
  const auto *bytes = static_cast<const uint8_t *>(weight.data);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] =
        static_cast<float>(loadElement(weight.element, bytes + i * size));
  return values;
}

/// Makes the values that `model` holds, unpacked, the build's weights.
bool unpackWeights(const sdc_model *model, UnnamedFile &file,
                   Compilation &compilation) {
  sdc_weight_info weight = {};
  weight.struct_size = sizeof(weight);
  int64_t offset = 0;
  for (uint32_t i = 0; sdc_model_weight(model, i, &weight); ++i) {
    std::vector<float> values;
    if (!*weight.tile) {
      values = readPlain(weight);
    } else {
      std::string problem;
      std::optional<Tile> tile = Tile::parse(weight.tile, problem);
      if (!tile || weight.rank != 2) {
        printError(std::string(weight.name) + ": " + problem);
        return false;
      }
      PackedLayout layout;
      layout.rows = weight.shape[0];
      layout.columns = weight.shape[1];
      layout.tile = *tile;
      layout.type = weight.element == SDC_F32   ? ElementType::F32
                    : weight.element == SDC_F16 ? ElementType::F16
                                                : ElementType::BF16;
      layout.pattern = weight.pattern_m
                           ? Pattern{weight.pattern_n, weight.pattern_m}
                           : Pattern::dense();
      values.resize(static_cast<size_t>(layout.rows * layout.columns));
      unpackBlocks(layout, 0, layout.numBlocks(),
                   static_cast<const uint8_t *>(weight.data), values.data(),
                   layout.columns, nullptr);
    }
    compilation.setWeightSource(weight.name, file.path(), offset);
    if (!file.append(values)) {
      printError("no room for the unpacked weights");
      return false;
    }
    offset += static_cast<int64_t>(values.size()) * 4;
  }
  return file.flush();
}

} // namespace

bool sdc::computeSparseReference(const std::string &onnx,
                                 const sdc_model *model, unsigned threads,
                                 std::vector<TestData> &sets) {
  sdc_model_info info = {};
  info.struct_size = sizeof(info);
  sdc_model_query(model, &info);
  CompileOptions options;
  options.model = onnx;
  options.pattern = "dense";
  options.dtype = options.kvDtype = "f32";
  options.tokenizer = "none";
  options.optimization = 0;
  options.allLogits = true;
  options.batch = info.batch;
  options.context = info.context;
  options.prefillChunk = info.prefill_chunk;
  options.common.quiet = true;
  options.common.threads = threads;

  UnnamedFile weights;
  if (!weights) {
    printError("no temporary file for the unpacked weights");
    return false;
  }
  char name[] = "/tmp/sdc-reference-XXXXXX";
  int fd = mkstemp(name);
  if (fd < 0) {
    printError("no temporary file for the reference");
    return false;
  }
  ::close(fd);
  options.output = name;
  Compilation compilation(options);
  std::unique_ptr<char, void (*)(char *)> remove(
      name, [](char *path) { ::unlink(path); });
  if (!unpackWeights(model, weights, compilation) || !compilation.load() ||
      !compilation.run(Phase::Plan) || !compilation.emit(name))
    return false;

  sdc_error error = {};
  sdc_model *opened = nullptr;
  sdc_session *session = nullptr;
  sdc_session_options sessionOptions = {};
  sessionOptions.struct_size = sizeof(sessionOptions);
  sessionOptions.threads = threads;
  bool good =
      sdc_model_open(name, nullptr, &opened, &error) == SDC_OK &&
      sdc_session_create(opened, &sessionOptions, &session, &error) == SDC_OK;
  if (!good)
    printError(std::string("reference: ") + error.message);
  for (TestData &data : sets)
    good = good && replaceOutputs(opened, session, data);
  sdc_session_destroy(session);
  sdc_model_close(opened);
  return good;
}
