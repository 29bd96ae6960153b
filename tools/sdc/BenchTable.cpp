// Prints rows as tables.

#include "tools/sdc/BenchTable.h"

#include <algorithm>
#include <cstdio>

using namespace sdc;

void sdc::printMarkdown(const std::vector<Row> &rows) {
  std::vector<std::pair<std::string, size_t>> columns;
  for (const Row &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      if (i >= columns.size())
        columns.push_back({row[i].first, row[i].first.size()});
      // "±" is one column wide and two bytes long.
      size_t width = row[i].second.size() -
                     (row[i].second.find("±") != std::string::npos ? 1 : 0);
      columns[i].second = std::max(columns[i].second, width);
    }
  auto cell = [](const std::string &text, size_t width) {
    size_t shown = text.size() - (text.find("±") != std::string::npos ? 1 : 0);
    std::printf(" %*s%s |", static_cast<int>(width - shown), "", text.c_str());
  };
  std::printf("|");
  for (auto &[name, width] : columns)
    cell(name, width);
  std::printf("\n|");
  for (auto &[name, width] : columns)
    std::printf(" %s: |", std::string(width - 1, '-').c_str());
  for (const Row &row : rows) {
    std::printf("\n|");
    for (size_t i = 0; i < columns.size(); ++i)
      cell(i < row.size() ? row[i].second : "", columns[i].second);
  }
  std::printf("\n");
}

void sdc::printCsv(const std::vector<Row> &rows) {
  const Row *widest = &rows.front();
  for (const Row &row : rows)
    if (row.size() > widest->size())
      widest = &row;
  for (size_t i = 0; i < widest->size(); ++i)
    std::printf("%s\"%s\"", i ? "," : "", (*widest)[i].first.c_str());
  for (const Row &row : rows) {
    std::printf("\n");
    for (size_t i = 0; i < widest->size(); ++i)
      std::printf("%s\"%s\"", i ? "," : "",
                  i < row.size() ? row[i].second.c_str() : "");
  }
  std::printf("\n");
}
