// The order of packed bytes for CUDA: two kinds of tiles, both cut into units
// of 128 columns (four words), so that a warp takes a unit by one bulk copy and
// 16-byte loads. The grammar's masks and values are the same; only their order
// is another one.
//
//   block = unit{ceil(K / 128)}            words at or beyond ceil(K / 32) keep
//                                          the lowest N of each group, all zero
//
// `lanes32`: lane = row; every pattern and type.
//
//   unit   = masks plane{P}                P = ceil(4 V value bytes / 16)
//   masks  = u32{32 lanes x 4 words}       512 bytes; none of a dense pattern
//   plane  = 16 bytes{32 lanes}            512 bytes
//
//   Bytes 16 p .. 16 p + 15 of a lane's values are in plane p: the V values of
//   word 0, then those of words 1, 2 and 3, then zeros to fill the last plane.
//   Values of a word lie by *descending* column, since a lane finds the highest
//   bit of a mask first (dense: ascending). 16:32 in bf16, P = 8:
//
//     byte  0         16             512            528             1024
//           masks of  masks of  ...  word 0, lane 0 word 0, lane 1  word 0, lane 0
//           lane 0    lane 1         columns high   columns high    columns low
//
// `mma16`: fragments of mma.m16n8k16 and mma.sp.m16n8k32, 16 rows; dense or 2:4
// in f16 or bf16.
//
//   unit   = fragment{S} codes             S = 4 for 2:4, 8 dense
//   fragment = 16 bytes{32 lanes}          lane 4 g + t, four registers of two
//                                          values: register 2 h + r is of row
//                                          8 r + g and
//            2:4    group 4 h + t of word s: its two values, ascending
//            dense  columns 16 s + 8 h + 2 t and the next
//   codes  = u32{8 g x 2 h x 4 words}      2:4 only, 256 bytes: the low half is
//                                          of row g, the high one of row 8 + g;
//                                          bits 4 t .. 4 t + 3 are the two
//                                          columns kept in group 4 h + t of the
//                                          word, the lower in the lower bits

#ifndef SDC_KERNELS_FORMAT_CUDATILE_H
#define SDC_KERNELS_FORMAT_CUDATILE_H

#include "kernels/Format/Bitmask.h"

namespace sdc {

constexpr int64_t kUnitWords = 4;
constexpr int64_t kUnitColumns = kUnitWords * kWordColumns;

/// Bytes of one unit of a tile of lanes or fragments.
int64_t unitBytes(const PackedLayout &layout);

/// Bytes from the begin of row's block to value `index` (ascending by column)
/// of word `word`.
int64_t unitValueOffset(const PackedLayout &layout, int64_t lane, int64_t word,
                        int64_t index);

/// The mask of a row's word, whatever its coding; not for dense patterns.
uint32_t loadUnitMask(const PackedLayout &layout, const uint8_t *block,
                      int64_t lane, int64_t word);
void storeUnitMask(const PackedLayout &layout, uint8_t *block, int64_t lane,
                   int64_t word, uint32_t mask);

} // namespace sdc

#endif // SDC_KERNELS_FORMAT_CUDATILE_H
