// Passes that a compile is given by name, and libraries that bring more.

#ifndef SDC_TOOLS_SDC_PLUGINS_H
#define SDC_TOOLS_SDC_PLUGINS_H

#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace sdc {

/// Loads the passes of each library, and its dialects if it has any. Prints an
/// error for each that can't be loaded; a static sdc loads none.
bool loadPlugins(const std::vector<std::string> &plugins,
                 mlir::MLIRContext &context);

/// Makes the passes that sdc-opt knows known by their names.
void registerPassNames();

} // namespace sdc

#endif // SDC_TOOLS_SDC_PLUGINS_H
