// Tables of measurements, as llama-bench prints them.

#ifndef SDC_TOOLS_SDC_BENCHTABLE_H
#define SDC_TOOLS_SDC_BENCHTABLE_H

#include <string>
#include <utility>
#include <vector>

namespace sdc {

/// A row as cells: name and text.
using Row = std::vector<std::pair<std::string, std::string>>;

/// Rows may be of different length; the header is that of the longest.
void printMarkdown(const std::vector<Row> &rows);
void printCsv(const std::vector<Row> &rows);

} // namespace sdc

#endif // SDC_TOOLS_SDC_BENCHTABLE_H
