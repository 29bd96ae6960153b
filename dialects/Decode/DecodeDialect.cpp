// Registers what the decode dialect consists of.

#include "dialects/Decode/DecodeDialect.h"

using namespace sdc::decode;

#include "dialects/Decode/DecodeDialect.cpp.inc"

void DecodeDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/Decode/DecodeOps.cpp.inc"
      >();
}
