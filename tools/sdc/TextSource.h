// Where a tokenizer comes from: the files beside a model, or a folder or file
// that the command line names.

#ifndef SDC_TOOLS_SDC_TEXTSOURCE_H
#define SDC_TOOLS_SDC_TEXTSOURCE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sdc {

/// Builds the flat table of schema/text.fbs from a folder that holds
/// tokenizer.json and its kin, or from a tokenizer.json. `vocabulary` is the
/// number of rows of the embedding; ids beyond it are an error. The table's
/// `size` bytes begin at words.data(), aligned as sdc_text_open wants it.
/// Prints what is wrong and gives false.
bool loadTextTable(const std::string &path, uint32_t vocabulary,
                   std::vector<uint64_t> &words, size_t &size);

} // namespace sdc

#endif // SDC_TOOLS_SDC_TEXTSOURCE_H
