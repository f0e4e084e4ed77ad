// Conversions: those that the vector unit has, with the rounding that each of them takes.
#ifndef ATC_PY_HOST_ASCENDC_CAST_H_
#define ATC_PY_HOST_ASCENDC_CAST_H_

#include <cmath>
#include <limits>

#include "arithmetic.h"

namespace AscendC {

enum class RoundMode {
  CAST_NONE, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD,
};

namespace host {

template <typename D, typename S, typename D0, typename S0>
inline constexpr bool kGoes = std::is_same_v<D, D0> && std::is_same_v<S, S0>;

// Exact conversions, which take CAST_NONE alone.
template <typename D, typename S>
inline constexpr bool kWidens =
    kGoes<D, S, float, half> || kGoes<D, S, float, bfloat16_t> || kGoes<D, S, half, int8_t> ||
    kGoes<D, S, half, uint8_t> || kGoes<D, S, float, int16_t> || kGoes<D, S, int64_t, int32_t>;

// Integers to narrower ones, which saturate.
template <typename D, typename S>
inline constexpr bool kNarrowsInteger =
    kGoes<D, S, int16_t, int32_t> || kGoes<D, S, int32_t, int64_t>;

// Conversions that round; CAST_NONE stands for CAST_RINT to floats and to 8 bits.
template <typename D, typename S>
inline constexpr bool kRounds =
    kGoes<D, S, half, float> || kGoes<D, S, bfloat16_t, float> || kGoes<D, S, half, int16_t> ||
    kGoes<D, S, float, int32_t> || kGoes<D, S, float, int64_t> || kGoes<D, S, int8_t, half> ||
    kGoes<D, S, uint8_t, half>;
template <typename D, typename S>
inline constexpr bool kRoundsToInteger =
    kGoes<D, S, int16_t, half> || kGoes<D, S, int32_t, half> || kGoes<D, S, int16_t, float> ||
    kGoes<D, S, int32_t, float> || kGoes<D, S, int64_t, float> ||
    kGoes<D, S, int32_t, bfloat16_t> || kGoes<D, S, float, float>;

template <typename D, typename S>
inline constexpr bool kCasts =
    kWidens<D, S> || kNarrowsInteger<D, S> || kRounds<D, S> || kRoundsToInteger<D, S>;

inline float Rounded(float x, RoundMode mode) {
  switch (mode) {
    case RoundMode::CAST_FLOOR:
      return std::floor(x);
    case RoundMode::CAST_CEIL:
      return std::ceil(x);
    case RoundMode::CAST_ROUND:
      return std::round(x);
    case RoundMode::CAST_TRUNC:
      return std::trunc(x);
    default:
      return std::nearbyint(x);
  }
}

// A whole float as an integer: NaN is 0, what is beyond the range its end.
template <typename D>
inline D Saturated(float x) {
  constexpr D kLow = std::numeric_limits<D>::min();
  constexpr D kHigh = std::numeric_limits<D>::max();
  if (x != x) {
    return 0;
  }
  if (x >= static_cast<float>(kHigh)) {
    return kHigh;
  }
  return x <= static_cast<float>(kLow) ? kLow : static_cast<D>(x);
}

template <typename D, typename S>
inline D Converted(S x, RoundMode mode) {
  if constexpr (std::is_same_v<D, float> && std::is_same_v<S, float>) {
    return Rounded(x, mode);
  } else if constexpr (kNarrowsInteger<D, S>) {
    constexpr S kLow = std::numeric_limits<D>::min();
    constexpr S kHigh = std::numeric_limits<D>::max();
    return static_cast<D>(x < kLow ? kLow : (x > kHigh ? kHigh : x));
  } else if constexpr (std::is_integral_v<D> && kIsFloat<S>) {
    return Saturated<D>(Rounded(static_cast<float>(x), mode));
  } else {
    return static_cast<D>(static_cast<Wide<S>>(x));
  }
}

}  // namespace host

template <typename D, typename S>
inline void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, RoundMode mode,
                 uint32_t count, Where where = Where::Here()) {
  static_assert(host::kCasts<D, S>, "the vector unit has no conversion between these types");
  const bool none = mode == RoundMode::CAST_NONE;
  const bool rint = mode == RoundMode::CAST_RINT || none;
  if (host::kWidens<D, S> || host::kNarrowsInteger<D, S>) {
    host::Require(none, where, "this conversion takes RoundMode::CAST_NONE");
  } else if (host::kRoundsToInteger<D, S>) {
    host::Require(!none, where, "this conversion needs a way of rounding");
  } else if (host::kIsFloat<D>) {
    host::Require(rint, where, "on the host this conversion takes CAST_RINT and CAST_NONE");
  }
  const S* const from = src.Vector(count, host::Use::kRead, where);
  D* const to = dst.Vector(count, host::Use::kWrite, where);
  for (uint32_t at = 0; at < count; ++at) {
    to[at] = host::Converted<D, S>(from[at], mode);
  }
}

}  // namespace AscendC

#endif  // ATC_PY_HOST_ASCENDC_CAST_H_
