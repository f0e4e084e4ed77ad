// Vector arithmetic: results are rounded once to their dtype, integers wrap around.
#ifndef ATC_PY_HOST_ASCENDC_ARITHMETIC_H_
#define ATC_PY_HOST_ASCENDC_ARITHMETIC_H_

#include <cstdint>
#include <type_traits>

#include "memory.h"

namespace AscendC {
namespace host {

// dst[i] = f(src[i]) for all of `count` elements; f sees 16-bit floats as float.
template <typename D, typename S, typename F>
inline void Each(const LocalTensor<D>& dst, const LocalTensor<S>& src, uint32_t count, Where where,
                 F f) {
  const S* const from = src.Vector(count, Use::kRead, where);
  D* const to = dst.Vector(count, Use::kWrite, where);
  for (uint32_t at = 0; at < count; ++at) {
    to[at] = static_cast<D>(f(static_cast<Wide<S>>(from[at])));
  }
}

// dst[i] = f(one[i], other[i]).
template <typename D, typename S, typename F>
inline void Pairs(const LocalTensor<D>& dst, const LocalTensor<S>& one,
                  const LocalTensor<S>& other, uint32_t count, Where where, F f) {
  const S* const left = one.Vector(count, Use::kRead, where);
  const S* const right = other.Vector(count, Use::kRead, where);
  D* const to = dst.Vector(count, Use::kWrite, where);
  for (uint32_t at = 0; at < count; ++at) {
    to[at] = static_cast<D>(f(static_cast<Wide<S>>(left[at]), static_cast<Wide<S>>(right[at])));
  }
}

// Integers are added in an unsigned type wide enough that nothing overflows.
template <typename T>
using Modular = std::conditional_t<(sizeof(T) < 8), uint32_t, uint64_t>;

struct Sum {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a + b;
    } else {
      return static_cast<T>(static_cast<Modular<T>>(a) + static_cast<Modular<T>>(b));
    }
  }
};

struct Difference {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a - b;
    } else {
      return static_cast<T>(static_cast<Modular<T>>(a) - static_cast<Modular<T>>(b));
    }
  }
};

struct Product {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a * b;
    } else {
      return static_cast<T>(static_cast<Modular<T>>(a) * static_cast<Modular<T>>(b));
    }
  }
};

struct Quotient {
  float operator()(float a, float b) const { return a / b; }
};

// NaN where one of the two is.
struct Larger {
  template <typename T>
  T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

struct Smaller {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};

}  // namespace host

template <typename T>
inline void Add(const LocalTensor<T>& dst, const LocalTensor<T>& one, const LocalTensor<T>& other,
                uint32_t count, Where where = Where::Here()) {
  static_assert(host::kComputes<T>, "the vector unit adds half, float, int16_t and int32_t");
  host::Pairs(dst, one, other, count, where, host::Sum{});
}

template <typename T>
inline void Sub(const LocalTensor<T>& dst, const LocalTensor<T>& one, const LocalTensor<T>& other,
                uint32_t count, Where where = Where::Here()) {
  static_assert(host::kComputes<T>, "the vector unit subtracts half, float, int16_t and int32_t");
  host::Pairs(dst, one, other, count, where, host::Difference{});
}

template <typename T>
inline void Mul(const LocalTensor<T>& dst, const LocalTensor<T>& one, const LocalTensor<T>& other,
                uint32_t count, Where where = Where::Here()) {
  static_assert(host::kComputes<T>, "the vector unit multiplies half, float, int16_t and int32_t");
  host::Pairs(dst, one, other, count, where, host::Product{});
}

template <typename T>
inline void Div(const LocalTensor<T>& dst, const LocalTensor<T>& one, const LocalTensor<T>& other,
                uint32_t count, Where where = Where::Here()) {
  static_assert(host::kComputesFloat<T>, "the vector unit divides half and float");
  host::Pairs(dst, one, other, count, where, host::Quotient{});
}

template <typename T>
inline void Max(const LocalTensor<T>& dst, const LocalTensor<T>& one, const LocalTensor<T>& other,
                uint32_t count, Where where = Where::Here()) {
  static_assert(host::kComputes<T>, "the vector unit compares half, float, int16_t and int32_t");
  host::Pairs(dst, one, other, count, where, host::Larger{});
}

template <typename T>
inline void Min(const LocalTensor<T>& dst, const LocalTensor<T>& one, const LocalTensor<T>& other,
                uint32_t count, Where where = Where::Here()) {
  static_assert(host::kComputes<T>, "the vector unit compares half, float, int16_t and int32_t");
  host::Pairs(dst, one, other, count, where, host::Smaller{});
}

template <typename T>
inline void Adds(const LocalTensor<T>& dst, const LocalTensor<T>& src, T value, uint32_t count,
                 Where where = Where::Here()) {
  static_assert(host::kComputes<T>, "the vector unit adds half, float, int16_t and int32_t");
  const auto wide = static_cast<host::Wide<T>>(value);
  host::Each(dst, src, count, where, [wide](auto x) { return host::Sum{}(x, wide); });
}

template <typename T>
inline void Muls(const LocalTensor<T>& dst, const LocalTensor<T>& src, T value, uint32_t count,
                 Where where = Where::Here()) {
  static_assert(host::kComputes<T>, "the vector unit multiplies half, float, int16_t and int32_t");
  const auto wide = static_cast<host::Wide<T>>(value);
  host::Each(dst, src, count, where, [wide](auto x) { return host::Product{}(x, wide); });
}

template <typename T>
inline void Maxs(const LocalTensor<T>& dst, const LocalTensor<T>& src, T value, uint32_t count,
                 Where where = Where::Here()) {
  static_assert(host::kComputes<T>, "the vector unit compares half, float, int16_t and int32_t");
  const auto wide = static_cast<host::Wide<T>>(value);
  host::Each(dst, src, count, where, [wide](auto x) { return host::Larger{}(x, wide); });
}

template <typename T>
inline void Mins(const LocalTensor<T>& dst, const LocalTensor<T>& src, T value, uint32_t count,
                 Where where = Where::Here()) {
  static_assert(host::kComputes<T>, "the vector unit compares half, float, int16_t and int32_t");
  const auto wide = static_cast<host::Wide<T>>(value);
  host::Each(dst, src, count, where, [wide](auto x) { return host::Smaller{}(x, wide); });
}

// dst += src * value.
template <typename T>
inline void Axpy(const LocalTensor<T>& dst, const LocalTensor<T>& src, T value, uint32_t count,
                 Where where = Where::Here()) {
  static_assert(host::kComputesFloat<T>, "Axpy takes half and float");
  const float factor = value;
  host::Pairs(dst, dst, src, count, where, [factor](float y, float x) { return y + x * factor; });
}

template <typename T>
inline void Abs(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count,
                Where where = Where::Here()) {
  static_assert(host::kComputesFloat<T>, "Abs takes half and float");
  host::Each(dst, src, count, where, [](float x) { return __builtin_fabsf(x); });
}

template <typename T>
inline void Relu(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count,
                 Where where = Where::Here()) {
  static_assert(host::kComputesFloat<T> || std::is_same_v<T, int32_t>,
                "Relu takes half, float and int32_t");
  host::Each(dst, src, count, where, [](auto x) { return host::Larger{}(x, decltype(x){}); });
}

template <typename T>
inline void Duplicate(const LocalTensor<T>& dst, T value, uint32_t count,
                      Where where = Where::Here()) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Duplicate fills with 16 and 32 bits");
  T* const to = dst.Vector(count, host::Use::kWrite, where);
  for (uint32_t at = 0; at < count; ++at) {
    to[at] = value;
  }
}

template <typename T>
inline void And(const LocalTensor<T>& dst, const LocalTensor<T>& one, const LocalTensor<T>& other,
                uint32_t count, Where where = Where::Here()) {
  static_assert(sizeof(T) == 2 && std::is_integral_v<T>, "And takes 16-bit integers");
  host::Pairs(dst, one, other, count, where, [](T a, T b) { return a & b; });
}

template <typename T>
inline void Or(const LocalTensor<T>& dst, const LocalTensor<T>& one, const LocalTensor<T>& other,
               uint32_t count, Where where = Where::Here()) {
  static_assert(sizeof(T) == 2 && std::is_integral_v<T>, "Or takes 16-bit integers");
  host::Pairs(dst, one, other, count, where, [](T a, T b) { return a | b; });
}

template <typename T>
inline void Not(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count,
                Where where = Where::Here()) {
  static_assert(sizeof(T) == 2 && std::is_integral_v<T>, "Not takes 16-bit integers");
  host::Each(dst, src, count, where, [](T x) { return ~x; });
}

// Toward minus infinity for signed integers.
template <typename T>
inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, T bits,
                       uint32_t count, Where where = Where::Here()) {
  static_assert(std::is_integral_v<T> && sizeof(T) >= 2, "ShiftRight takes 16 and 32 bits");
  host::Each(dst, src, count, where, [bits](T x) { return x >> bits; });
}

template <typename T>
inline void ShiftLeft(const LocalTensor<T>& dst, const LocalTensor<T>& src, T bits, uint32_t count,
                      Where where = Where::Here()) {
  static_assert(std::is_integral_v<T> && sizeof(T) >= 2, "ShiftLeft takes 16 and 32 bits");
  host::Each(dst, src, count, where,
             [bits](T x) { return static_cast<host::Modular<T>>(x) << bits; });
}

}  // namespace AscendC

#endif  // ATC_PY_HOST_ASCENDC_ARITHMETIC_H_
