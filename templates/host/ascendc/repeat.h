// Vector arithmetic in repeats whose operands have gaps between them, or do not advance.
#ifndef ATC_PY_HOST_ASCENDC_REPEAT_H_
#define ATC_PY_HOST_ASCENDC_REPEAT_H_

#include <cstdint>

#include "arithmetic.h"

namespace AscendC {

// Blocks of 32 bytes from block to block within a repeat, and from repeat to repeat.
struct BinaryRepeatParams {
  uint8_t dstBlkStride = 1;
  uint8_t src0BlkStride = 1;
  uint8_t src1BlkStride = 1;
  uint8_t dstRepStride = 8;
  uint8_t src0RepStride = 8;
  uint8_t src1RepStride = 8;
};

namespace host {

// The first `mask` elements of each repeat.
template <typename T, typename F>
inline void Repeats(const LocalTensor<T>& dst, const LocalTensor<T>& one,
                    const LocalTensor<T>& other, uint64_t mask, uint8_t repeats,
                    const BinaryRepeatParams& strides, Where where, F f) {
  constexpr uint64_t kBlock = ONE_BLK_SIZE / sizeof(T);
  Require(mask >= 1 && mask <= ONE_REPEAT_BYTE_SIZE / sizeof(T), where,
          "the mask must be 1 to the elements of 256 bytes");
  Require(repeats >= 1, where, "repeatTimes must be 1 to 255");
  Require(strides.dstBlkStride == 1 && strides.src0BlkStride == 1 && strides.src1BlkStride == 1,
          where, "on the host the blocks of a repeat follow one another");
  for (uint64_t repeat = 0; repeat < repeats; ++repeat) {
    f(dst[repeat * strides.dstRepStride * kBlock], one[repeat * strides.src0RepStride * kBlock],
      other[repeat * strides.src1RepStride * kBlock], static_cast<uint32_t>(mask), where);
  }
}

}  // namespace host

// dst = one + other for the first `mask` elements of each repeat.
template <typename T>
inline void Add(const LocalTensor<T>& dst, const LocalTensor<T>& one, const LocalTensor<T>& other,
                uint64_t mask, uint8_t repeats, const BinaryRepeatParams& strides,
                Where where = Where::Here()) {
  host::Repeats(dst, one, other, mask, repeats, strides, where,
                [](auto... operands) { Add(operands...); });
}

// dst = max(one, other) for the first `mask` elements of each repeat.
template <typename T>
inline void Max(const LocalTensor<T>& dst, const LocalTensor<T>& one, const LocalTensor<T>& other,
                uint64_t mask, uint8_t repeats, const BinaryRepeatParams& strides,
                Where where = Where::Here()) {
  host::Repeats(dst, one, other, mask, repeats, strides, where,
                [](auto... operands) { Max(operands...); });
}

// dst = one | other for the first `mask` elements of each repeat.
template <typename T>
inline void Or(const LocalTensor<T>& dst, const LocalTensor<T>& one, const LocalTensor<T>& other,
               uint64_t mask, uint8_t repeats, const BinaryRepeatParams& strides,
               Where where = Where::Here()) {
  host::Repeats(dst, one, other, mask, repeats, strides, where,
                [](auto... operands) { Or(operands...); });
}

// dst = one & other for the first `mask` elements of each repeat.
template <typename T>
inline void And(const LocalTensor<T>& dst, const LocalTensor<T>& one, const LocalTensor<T>& other,
                uint64_t mask, uint8_t repeats, const BinaryRepeatParams& strides,
                Where where = Where::Here()) {
  host::Repeats(dst, one, other, mask, repeats, strides, where,
                [](auto... operands) { And(operands...); });
}

}  // namespace AscendC

#endif  // ATC_PY_HOST_ASCENDC_REPEAT_H_
