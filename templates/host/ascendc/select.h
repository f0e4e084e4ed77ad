// Comparisons, which give one bit an element, and choices by such bits.
#ifndef ATC_PY_HOST_ASCENDC_SELECT_H_
#define ATC_PY_HOST_ASCENDC_SELECT_H_

#include "arithmetic.h"

namespace AscendC {

enum class CMPMODE { LT, GT, EQ, LE, GE, NE };
enum class SELMODE { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };

namespace host {

template <typename T>
inline bool Holds(T a, T b, CMPMODE mode) {
  switch (mode) {
    case CMPMODE::LT:
      return a < b;
    case CMPMODE::GT:
      return a > b;
    case CMPMODE::EQ:
      return a == b;
    case CMPMODE::LE:
      return a <= b;
    case CMPMODE::GE:
      return a >= b;
    default:
      return a != b;
  }
}

template <typename T>
inline void CheckCompared(uint32_t count, CMPMODE mode, Where where) {
  static_assert(kComputesFloat<T> || std::is_same_v<T, int32_t>,
                "Compare takes half, float and int32_t");
  Require(kIsFloat<T> || mode == CMPMODE::EQ, where, "of int32_t the vector unit compares EQ alone");
  Require(count * sizeof(T) % ONE_REPEAT_BYTE_SIZE == 0, where,
          "Compare takes whole repeats of 256 bytes");
}

inline void SetBit(uint8_t* mask, uint32_t at, bool bit) {
  const uint8_t place = static_cast<uint8_t>(1u << at % 8);
  mask[at / 8] = static_cast<uint8_t>(bit ? mask[at / 8] | place : mask[at / 8] & ~place);
}

inline bool Bit(const uint8_t* mask, uint32_t at) { return (mask[at / 8] >> at % 8 & 1) != 0; }

}  // namespace host

template <typename T>
inline void Compare(const LocalTensor<uint8_t>& dst, const LocalTensor<T>& one,
                    const LocalTensor<T>& other, CMPMODE mode, uint32_t count,
                    Where where = Where::Here()) {
  host::CheckCompared<T>(count, mode, where);
  const T* const left = one.Vector(count, host::Use::kRead, where);
  const T* const right = other.Vector(count, host::Use::kRead, where);
  uint8_t* const mask = dst.Vector(count / 8, host::Use::kWrite, where);
  for (uint32_t at = 0; at < count; ++at) {
    host::SetBit(mask, at, host::Holds<host::Wide<T>>(left[at], right[at], mode));
  }
}

template <typename T>
inline void CompareScalar(const LocalTensor<uint8_t>& dst, const LocalTensor<T>& src, T value,
                          CMPMODE mode, uint32_t count, Where where = Where::Here()) {
  host::CheckCompared<T>(count, mode, where);
  const T* const from = src.Vector(count, host::Use::kRead, where);
  uint8_t* const mask = dst.Vector(count / 8, host::Use::kWrite, where);
  for (uint32_t at = 0; at < count; ++at) {
    host::SetBit(mask, at, host::Holds<host::Wide<T>>(from[at], value, mode));
  }
}

// dst = one where the bit is set, other elsewhere.
template <typename T>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<uint8_t>& mask,
                   const LocalTensor<T>& one, const LocalTensor<T>& other, SELMODE mode,
                   uint32_t count, Where where = Where::Here()) {
  static_assert(host::kComputesFloat<T>, "Select takes half and float");
  host::Require(mode == SELMODE::VSEL_TENSOR_TENSOR_MODE, where,
                "two tensors need VSEL_TENSOR_TENSOR_MODE");
  const uint8_t* const bits = mask.Vector((count + 7) / 8, host::Use::kRead, where);
  const T* const yes = one.Vector(count, host::Use::kRead, where);
  const T* const no = other.Vector(count, host::Use::kRead, where);
  T* const to = dst.Vector(count, host::Use::kWrite, where);
  for (uint32_t at = 0; at < count; ++at) {
    to[at] = host::Bit(bits, at) ? yes[at] : no[at];
  }
}

// dst = one where the bit is set, a value elsewhere.
template <typename T>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<uint8_t>& mask,
                   const LocalTensor<T>& one, T other, SELMODE mode, uint32_t count,
                   Where where = Where::Here()) {
  static_assert(host::kComputesFloat<T>, "Select takes half and float");
  host::Require(mode == SELMODE::VSEL_TENSOR_SCALAR_MODE, where,
                "a tensor and a value need VSEL_TENSOR_SCALAR_MODE");
  const uint8_t* const bits = mask.Vector((count + 7) / 8, host::Use::kRead, where);
  const T* const yes = one.Vector(count, host::Use::kRead, where);
  T* const to = dst.Vector(count, host::Use::kWrite, where);
  for (uint32_t at = 0; at < count; ++at) {
    to[at] = host::Bit(bits, at) ? yes[at] : other;
  }
}

}  // namespace AscendC

#endif  // ATC_PY_HOST_ASCENDC_SELECT_H_
