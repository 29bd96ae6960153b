// Names of tiles.

#include "kernels/Format/Tile.h"

using namespace sdc;

std::optional<Tile> Tile::parse(std::string_view text, std::string &problem) {
  for (unsigned rows : {1u, 2u, 4u, 8u, 16u}) {
    Tile tile = interleavedRows(rows);
    if (text == tile.str())
      return tile;
  }
  for (Tile tile : {lanes(), fragments()})
    if (text == tile.str())
      return tile;
  problem =
      "tile '" + std::string(text) +
      "' is not known, expected rows1, rows2, rows4, rows8, rows16, lanes32 "
      "or mma16";
  return std::nullopt;
}

std::string Tile::problem() const {
  std::string text;
  if (parse(str(), text))
    return "";
  return text;
}

std::string Tile::str() const {
  const char *name = kind == Kind::Rows    ? "rows"
                     : kind == Kind::Lanes ? "lanes"
                                           : "mma";
  return name + std::to_string(rows);
}
