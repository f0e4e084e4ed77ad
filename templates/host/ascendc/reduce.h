// Reductions of a run of elements to one.
#ifndef ATC_PY_HOST_ASCENDC_REDUCE_H_
#define ATC_PY_HOST_ASCENDC_REDUCE_H_

#include "arithmetic.h"

namespace AscendC {
namespace host {

// The sum in the order of a tree, as the vector unit adds.
inline float TreeSum(const float* from, uint32_t count) {
  constexpr uint32_t kLeaf = 16;
  if (count > kLeaf) {
    const uint32_t middle = (count / 2 + kLeaf - 1) / kLeaf * kLeaf;
    return TreeSum(from, middle) + TreeSum(from + middle, count - middle);
  }
  float sum = 0.0f;
  for (uint32_t at = 0; at < count; ++at) {
    sum += from[at];
  }
  return sum;
}

// A reduction keeps a value for each repeat of 256 bytes in its working space, in whole blocks.
template <typename T>
inline void CheckWork(const LocalTensor<T>& work, uint32_t count, Where where) {
  constexpr uint32_t kRepeat = ONE_REPEAT_BYTE_SIZE / sizeof(T);
  constexpr uint32_t kBlock = ONE_BLK_SIZE / sizeof(T);
  const uint32_t kept = (count + kRepeat - 1) / kRepeat;
  work.Vector((kept + kBlock - 1) / kBlock * kBlock, Use::kWrite, where);
}

template <typename T, typename Better>
inline void Extreme(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                    const LocalTensor<T>& work, uint32_t count, bool index, Where where,
                    Better better) {
  static_assert(kComputesFloat<T>, "ReduceMax and ReduceMin take half and float");
  Require(count >= 1, where, "a reduction needs an element");
  CheckWork(work, count, where);
  const T* const from = src.Vector(count, Use::kRead, where);
  uint32_t best = 0;
  for (uint32_t at = 1; at < count; ++at) {
    const float x = from[at];
    const float found = from[best];
    if (better(x, found) || (x != x && found == found)) {
      best = at;
    }
  }
  const T value = from[best];
  T* const to = dst.Vector(index ? 2 : 1, Use::kWrite, where);
  to[0] = value;
  if (index) {
    using Word = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;
    to[1] = Bits<T>(static_cast<Word>(best));
  }
}

}  // namespace host

// dst[0] = the sum of `count` elements.
template <typename T>
inline void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                      const LocalTensor<T>& work, uint32_t count, Where where = Where::Here()) {
  static_assert(std::is_same_v<T, float>, "on the host ReduceSum takes float");
  host::Require(count >= 1, where, "a reduction needs an element");
  host::CheckWork(work, count, where);
  const float sum = host::TreeSum(src.Vector(count, host::Use::kRead, where), count);
  dst.Vector(1, host::Use::kWrite, where)[0] = sum;
}

// dst[0] = the largest of `count` elements, NaN where there is one; dst[1] its place, in its bits.
template <typename T>
inline void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                      const LocalTensor<T>& work, uint32_t count, bool index = false,
                      Where where = Where::Here()) {
  host::Extreme(dst, src, work, count, index, where, [](float a, float b) { return a > b; });
}

// As ReduceMax, of the smallest.
template <typename T>
inline void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                      const LocalTensor<T>& work, uint32_t count, bool index = false,
                      Where where = Where::Here()) {
  host::Extreme(dst, src, work, count, index, where, [](float a, float b) { return a < b; });
}

}  // namespace AscendC

#endif  // ATC_PY_HOST_ASCENDC_REDUCE_H_
