// Operations of the exec dialect: verifiers. (Cx) are the constraints numbered
// in ExecOps.td.

#include "dialects/Exec/ExecDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace sdc::exec;

/// operands = access value {`,` access value}
static ParseResult
parseAccesses(OpAsmParser &parser,
              SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
              DenseI32ArrayAttr &access) {
  SmallVector<int32_t> codes;
  auto parseOne = [&]() -> ParseResult {
    StringRef keyword;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return failure();
    std::optional<Access> code = symbolizeAccess(keyword);
    if (!code)
      return parser.emitError(loc, "expected in, out or inout, got ")
             << keyword;
    codes.push_back(static_cast<int32_t>(*code));
    return parser.parseOperand(operands.emplace_back());
  };
  if (parser.parseCommaSeparatedList(parseOne))
    return failure();
  access = DenseI32ArrayAttr::get(parser.getContext(), codes);
  return success();
}

static void printAccesses(OpAsmPrinter &printer, Operation *,
                          OperandRange operands, DenseI32ArrayAttr access) {
  for (auto [index, operand] : llvm::enumerate(operands))
    printer << (index ? ", " : "")
            << stringifyAccess(static_cast<Access>(access[index])) << " "
            << operand;
}

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.cpp.inc"

int sdc::exec::elementCode(Type type) {
  if (type.isF32())
    return 0;
  if (type.isF16())
    return 1;
  if (type.isBF16())
    return 2;
  if (type.isUnsignedInteger(8))
    return 4;
  if (type.isInteger(8))
    return 3;
  if (type.isInteger(32))
    return 5;
  if (type.isInteger(64))
    return 6;
  if (type.isInteger(1))
    return 7;
  if (type.isF64())
    return 8;
  if (type.isInteger(16))
    return 9;
  return -1;
}

int64_t sdc::exec::tensorBytes(RankedTensorType type) {
  int64_t bits =
      type.getElementType().isInteger(1) ? 8 : type.getElementTypeBitWidth();
  return type.getNumElements() * bits / 8;
}

/// Checks that `type` is a static tensor of elements that the schema knows.
static LogicalResult verifyTensor(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() ||
      elementCode(tensor.getElementType()) < 0)
    return op->emitOpError("expected a static tensor of elements that the "
                           "executable knows, got ")
           << type;
  return success();
}

static LogicalResult verifyStrings(Operation *op, ArrayAttr array,
                                   StringRef what) {
  for (Attribute value : array)
    if (!isa<StringAttr>(value))
      return op->emitOpError("expected strings as ")
             << what << ", got " << value;
  return success();
}

/// Checks that `op` is the only one of its kind in its module.
template <typename Op> static LogicalResult verifyOnlyOne(Op op) {
  for (Operation &other : *op->getBlock())
    if (isa<Op>(other) && other.isBeforeInBlock(op))
      return op.emitOpError("is there twice");
  return success();
}

//===----------------------------------------------------------------------===//
// Module level
//===----------------------------------------------------------------------===//

LogicalResult ModelOp::verify() {
  std::pair<StringRef, int64_t> numbers[] = {
      {"layers", getLayers()},         {"hidden", getHidden()},
      {"vocabulary", getVocabulary()}, {"batch", getBatch()},
      {"context", getMaxContext()},    {"model context", getModelContext()},
      {"chunk", getPrefillChunk()}};
  for (auto [name, value] : numbers)
    if (value < 0 || value > UINT32_MAX) // (C1)
      return emitOpError(name)
             << " is " << value << ", expected 0 to " << UINT32_MAX;
  return verifyOnlyOne(*this); // (C2)
}

LogicalResult ProvenanceOp::verify() {
  if (failed(verifyStrings(*this, getFlags(), "flags")) || // (C1)
      failed(verifyStrings(*this, getNotes(), "notes")))
    return failure();
  return verifyOnlyOne(*this); // (C2)
}

LogicalResult SegmentOp::verify() {
  if (getSize() < 0) // (C1)
    return emitOpError("expected a size of at least 0");
  return success();
}

LogicalResult WeightOp::verify() {
  if (failed(verifyTensor(*this, getType()))) // (C1)
    return failure();
  if (std::optional<int64_t> n = getPatternN()) {
    int64_t m = getPatternM().value_or(0);
    if (*n < 1 || *n >= m || m > 32) // (C2)
      return emitOpError("expected 1 <= n < m <= 32 in a pattern, got ")
             << *n << ":" << m;
    if (!getTile()) // (C2)
      return emitOpError("a pattern needs a tile");
  }
  int64_t size = getSize();
  if (size < 0 || (!getTile() && size != tensorBytes(getTensorType()))) // (C3)
    return emitOpError("has ") << size << " bytes, the tensor takes "
                               << tensorBytes(getTensorType());
  if (getSegment().has_value() != getOffset().has_value()) // (C5)
    return emitOpError("the segment and the offset are given together");
  if (getOffset() && *getOffset() % kAlignment) // (C4)
    return emitOpError("the offset ")
           << *getOffset() << " is not a multiple of " << kAlignment;
  if (getNotes())
    return verifyStrings(*this, *getNotes(), "notes"); // (C6)
  return success();
}

LogicalResult WeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getSegment())
    return success();
  auto segment =
      symbols.lookupNearestSymbolFrom<SegmentOp>(*this, getSegmentAttr());
  if (!segment || segment.getKind() != SegmentKind::Weights) // (C4)
    return emitOpError("no segment of weights of the name ")
           << getSegmentAttr();
  if (getSize() > segment.getSize() ||
      *getOffset() > segment.getSize() - getSize()) // (C4)
    return emitOpError("bytes ")
           << *getOffset() << " to " << *getOffset() + getSize()
           << " are not in the " << segment.getSize() << " of "
           << getSegmentAttr();
  return success();
}

LogicalResult StateOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  Type element = type ? type.getElementType() : Type();
  if (!type || !type.hasStaticShape() || type.getRank() != 4 ||
      !(element.isF32() || element.isF16() || element.isBF16())) // (C1)
    return emitOpError("expected a static tensor of rank 4 of f32, f16 or "
                       "bf16, got ")
           << getType();
  return success();
}

LogicalResult KernelOp::verify() {
  int64_t scratch = getScratch();
  if (scratch < 0 || scratch % kAlignment) // (C1)
    return emitOpError("scratch is ")
           << scratch << ", expected a multiple of " << kAlignment;
  return success();
}

LogicalResult ImageOp::verify() {
  for (int64_t offset : getKernelOffsets())
    if (offset < 0 || offset >= getCodeSize()) // (C2)
      return emitOpError("a kernel begins at ")
             << offset << ", outside the code of " << getCodeSize() << " bytes";
  return success();
}

LogicalResult ImageOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto segment =
      symbols.lookupNearestSymbolFrom<SegmentOp>(*this, getSegmentAttr());
  if (!segment || segment.getKind() != SegmentKind::Code) // (C1)
    return emitOpError("no segment of code of the name ") << getSegmentAttr();
  if (getCodeSize() > segment.getSize()) // (C1)
    return emitOpError("the code has ")
           << getCodeSize() << " bytes, its segment " << segment.getSize();
  return success();
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

LogicalResult EntryOp::verify() {
  int64_t batch = getBatch(), rows = getRows();
  if (batch < 1 || rows < 1 || batch > INT32_MAX || rows > INT32_MAX) // (C1)
    return emitOpError("expected a batch and rows of at least 1, got ")
           << batch << " and " << rows;
  if (getKind() == EntryKind::Decode && rows != 1) // (C1)
    return emitOpError("a decode entry has rows 1, got ") << rows;
  if (getKind() == EntryKind::Prefill && batch != 1) // (C1)
    return emitOpError("a prefill entry has batch 1, got ") << batch;
  if (getArenaSize() && *getArenaSize() % kAlignment) // (C2)
    return emitOpError("the arena's size ")
           << *getArenaSize() << " is not a multiple of " << kAlignment;
  for (Operation &op : getBody().front())
    if (isa<ModelOp, ProvenanceOp, SegmentOp, WeightOp, StateOp, KernelOp,
            ImageOp, EntryOp>(op)) // (C3)
      return op.emitOpError("belongs to the module, not to an entry");
  return success();
}

LogicalResult BufferOp::verify() {
  if (getSize() < 1) // (C1)
    return emitOpError("expected a size of at least 1");
  if (getOffset() && *getOffset() % kAlignment) // (C2)
    return emitOpError("the offset ")
           << *getOffset() << " is not a multiple of " << kAlignment;
  return success();
}

LogicalResult WeightRefOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<WeightOp>(*this,
                                                 getWeightAttr())) // (C1)
    return emitOpError("no weight of the name ") << getWeightAttr();
  return success();
}

LogicalResult StateRefOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<StateOp>(*this, getStateAttr())) // (C1)
    return emitOpError("no state of the name ") << getStateAttr();
  return success();
}

bool BindOp::isHostInput() {
  Role role = getRole();
  return role == Role::Tokens || role == Role::Positions ||
         role == Role::Slots || role == Role::Input;
}

LogicalResult BindOp::verify() {
  auto buffer = getBuffer().getDefiningOp<BufferOp>();
  if (!buffer) // (C1)
    return emitOpError("expected an exec.buffer");
  if (failed(verifyTensor(*this, getType()))) // (C2)
    return failure();
  RankedTensorType type = getTensorType();
  if (tensorBytes(type) > buffer.getSize()) // (C2)
    return emitOpError("takes ")
           << tensorBytes(type) << " bytes of a buffer of " << buffer.getSize();
  switch (getRole()) {
  case Role::Tokens:
  case Role::Positions:
  case Role::Slots:
    if (type.getRank() != 1 || !type.getElementType().isInteger(32)) // (C3)
      return emitOpError("expected i32 of rank 1, got ") << type;
    return success();
  case Role::Logits:
  case Role::Tap:
    if (type.getRank() != 2 || !type.getElementType().isF32()) // (C3)
      return emitOpError("expected f32 of rank 2, got ") << type;
    break;
  case Role::Input:
  case Role::Output:
    break;
  }
  if (getRole() != Role::Logits && getBindingName().empty()) // (C4)
    return emitOpError("needs a name");
  return success();
}

bool LaunchOp::reads(unsigned operand) {
  return static_cast<Access>(getAccess()[operand]) != Access::Out;
}

bool LaunchOp::writes(unsigned operand) {
  return static_cast<Access>(getAccess()[operand]) != Access::In;
}

LogicalResult LaunchOp::verify() {
  int64_t units = getUnits();
  if (units < 1 || units > UINT32_MAX) // (C2)
    return emitOpError("expected units of 1 to ")
           << UINT32_MAX << ", got " << units;
  if (getAccess().size() != getNumOperands()) // (C3)
    return emitOpError("has ") << getNumOperands() << " operands and "
                               << getAccess().size() << " accesses";
  for (auto [index, operand] : llvm::enumerate(getOperands())) {
    if (getAccess()[index] < 0 ||
        getAccess()[index] > static_cast<int32_t>(getMaxEnumValForAccess()))
      return emitOpError("access ")
             << getAccess()[index] << " is not known"; // (C3)
    if (!writes(index))
      continue;
    if (isa_and_nonnull<WeightRefOp, ParamsOp>(operand.getDefiningOp())) // (C4)
      return emitOpError("writes operand ") << index << ", a constant";
    if (llvm::count(getOperands(), operand) > 1) // (C5)
      return emitOpError("writes operand ")
             << index << ", which is given twice";
  }
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<KernelOp>(*this,
                                                 getKernelAttr())) // (C1)
    return emitOpError("no kernel of the name ") << getKernelAttr();
  return success();
}

//===----------------------------------------------------------------------===//
// While lowering
//===----------------------------------------------------------------------===//

LogicalResult GroupOp::verify() {
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  if (yield.getOperandTypes() != getResultTypes()) // (C1)
    return emitOpError("gives ")
           << getNumResults() << " results of other types than the "
           << yield.getNumOperands() << " values yielded";
  return success();
}
