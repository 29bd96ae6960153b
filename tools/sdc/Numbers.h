// Checks of numbers on the command line.

#ifndef SDC_TOOLS_SDC_NUMBERS_H
#define SDC_TOOLS_SDC_NUMBERS_H

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>

namespace sdc {

/// A real number from `low` to `high`; unlike CLI::Range it refuses NaN.
inline CLI::Validator realNumber(double low, double high) {
  auto show = [](double value) {
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    return text.back() == '.' ? text.substr(0, text.size() - 1) : text;
  };
  std::string range = show(low) + " to " + show(high);
  return CLI::Validator(
      [=](std::string &text) -> std::string {
        double value = 0;
        bool number = CLI::detail::lexical_cast(text, value);
        return number && value >= low && value <= high
                   ? ""
                   : "expected a number from " + range + ", got '" + text + "'";
      },
      "FLOAT in [" + show(low) + " - " + show(high) + "]");
}

/// A whole number of 64 bits, written in decimal digits.
inline CLI::Validator wholeNumber() {
  return CLI::Validator(
      [](std::string &text) -> std::string {
        static const std::string largest = "18446744073709551615";
        bool digits = !text.empty() &&
                      text.find_first_not_of("0123456789") == std::string::npos;
        bool fits = text.size() < largest.size() ||
                    (text.size() == largest.size() && text <= largest);
        return digits && fits ? ""
                              : "expected a whole number up to " + largest +
                                    ", got '" + text + "'";
      },
      "UINT");
}

} // namespace sdc

#endif // SDC_TOOLS_SDC_NUMBERS_H
