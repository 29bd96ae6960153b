// Registers what the nm dialect consists of.

#include "dialects/NM/NMDialect.h"

using namespace sdc::nm;

#include "dialects/NM/NMDialect.cpp.inc"

void NMDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/NM/NMOps.cpp.inc"
      >();
}
