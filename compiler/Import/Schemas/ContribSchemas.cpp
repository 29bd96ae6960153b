// Registers the schemas of all families, once.

#include "compiler/Import/Schemas/ContribSchemas.h"

#include "onnx/defs/schema.h"
#include <mutex>

void sdc::registerContribSchemas() {
  static std::once_flag once;
  std::call_once(once, [] {
    onnx::OpSchemaRegistry::DomainToVersionRange::Instance().AddDomainToVersion(
        kMicrosoftDomain, 1, 1);
    registerNormSchemas();
    registerAttentionSchemas();
    registerRotarySchemas();
    registerQuantSchemas();
  });
}
