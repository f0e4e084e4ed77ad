// Elementary functions of half and float, computed in float and rounded once.
#ifndef ATC_PY_HOST_ASCENDC_FUNCTIONS_H_
#define ATC_PY_HOST_ASCENDC_FUNCTIONS_H_

#include <cmath>

#include "arithmetic.h"

namespace AscendC {
namespace host {

template <typename T, typename F>
inline void Function(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count,
                     Where where, F f) {
  static_assert(kComputesFloat<T>, "elementary functions take half and float");
  Each(dst, src, count, where, f);
}

}  // namespace host

#define ATC_PY_FUNCTION(Name, result)                                                           \
  template <typename T>                                                                         \
  inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count,        \
                   Where where = Where::Here()) {                                               \
    host::Function(dst, src, count, where, [](float x) -> float { return result; });            \
  }

ATC_PY_FUNCTION(Exp, std::exp(x))
ATC_PY_FUNCTION(Ln, std::log(x))
ATC_PY_FUNCTION(Sqrt, std::sqrt(x))
ATC_PY_FUNCTION(Rsqrt, 1.0f / std::sqrt(x))
ATC_PY_FUNCTION(Reciprocal, 1.0f / x)
ATC_PY_FUNCTION(Sin, std::sin(x))
ATC_PY_FUNCTION(Cos, std::cos(x))
ATC_PY_FUNCTION(Tan, std::tan(x))
ATC_PY_FUNCTION(Asin, std::asin(x))
ATC_PY_FUNCTION(Acos, std::acos(x))
ATC_PY_FUNCTION(Atan, std::atan(x))
ATC_PY_FUNCTION(Sinh, std::sinh(x))
ATC_PY_FUNCTION(Cosh, std::cosh(x))
ATC_PY_FUNCTION(Tanh, std::tanh(x))
ATC_PY_FUNCTION(Asinh, std::asinh(x))
ATC_PY_FUNCTION(Acosh, std::acosh(x))
ATC_PY_FUNCTION(Atanh, std::atanh(x))
ATC_PY_FUNCTION(Erf, std::erf(x))
ATC_PY_FUNCTION(Erfc, std::erfc(x))
ATC_PY_FUNCTION(Floor, std::floor(x))
ATC_PY_FUNCTION(Ceil, std::ceil(x))
ATC_PY_FUNCTION(Trunc, std::trunc(x))
ATC_PY_FUNCTION(Sign, x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : x * 0.0f))

#undef ATC_PY_FUNCTION

template <typename T>
inline void Power(const LocalTensor<T>& dst, const LocalTensor<T>& base,
                  const LocalTensor<T>& exponent, uint32_t count, Where where = Where::Here()) {
  static_assert(host::kComputesFloat<T>, "Power takes half and float");
  host::Pairs(dst, base, exponent, count, where,
              [](float x, float y) -> float { return std::pow(x, y); });
}

// The remainder of x1 / x2 with the fraction cut off, of x1's sign.
template <typename T>
inline void Fmod(const LocalTensor<T>& dst, const LocalTensor<T>& x1, const LocalTensor<T>& x2,
                 uint32_t count, Where where = Where::Here()) {
  static_assert(host::kComputesFloat<T>, "Fmod takes half and float");
  host::Pairs(dst, x1, x2, count, where,
              [](float x, float y) -> float { return std::fmod(x, y); });
}

}  // namespace AscendC

#endif  // ATC_PY_HOST_ASCENDC_FUNCTIONS_H_
