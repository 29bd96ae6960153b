// Prints JSON on stdout. Names that are no UTF-8, as paths may be, lose what
// JSON can't say.

#ifndef SDC_TOOLS_SDC_PRINTJSON_H
#define SDC_TOOLS_SDC_PRINTJSON_H

#include <cstdio>
#include <nlohmann/json.hpp>

namespace sdc {

template <typename Json> void printJson(const Json &json) {
  std::printf("%s\n",
              json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

} // namespace sdc

#endif // SDC_TOOLS_SDC_PRINTJSON_H
