// Takes a tokenizer from a folder or file that the command line names.

#include "tools/sdc/TextSource.h"
#include "compiler/Emit/TextTable.h"
#include "tools/sdc/Verbs.h"

#include <cstring>

using namespace sdc;

bool sdc::loadTextTable(const std::string &path, uint32_t vocabulary,
                        std::vector<uint64_t> &words, size_t &size) {
  TextTableOptions options;
  options.tokenizer = path;
  options.embeddingRows = vocabulary;
  llvm::Expected<std::optional<TextTable>> table = buildTextTable(options);
  if (!table) {
    printError(llvm::toString(table.takeError()));
    return false;
  }
  if (!*table) {
    printError(path + ": no tokenizer.json");
    return false;
  }
  for (const std::string &warning : (*table)->warnings)
    printWarning(warning);
  size = (*table)->bytes.size();
  words.assign((size + 7) / 8, 0);
  std::memcpy(words.data(), (*table)->bytes.data(), size);
  return true;
}
