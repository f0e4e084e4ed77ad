// half and bfloat16_t: 16 bits in memory, every result rounded once, half to even.
#ifndef ATC_PY_HOST_ASCENDC_NUMBERS_H_
#define ATC_PY_HOST_ASCENDC_NUMBERS_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace AscendC {
namespace host {

template <typename To, typename From>
inline To Bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits in another type");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// Float16 from float32: a subnormal is rounded by adding 0.5, whose last place is 2^-24.
inline uint16_t HalfFromFloat(float value) {
  const uint32_t bits = Bits<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) {
    return static_cast<uint16_t>(sign | 0x7e00u);
  }
  if (size >= 0x477ff000u) {
    return static_cast<uint16_t>(sign | 0x7c00u);
  }
  if (size < 0x38800000u) {
    const float shifted = Bits<float>(size) + 0.5f;
    return static_cast<uint16_t>(sign | (Bits<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = size + 0xfffu + (size >> 13 & 1u);
  return static_cast<uint16_t>(sign | (rounded - 0x38000000u) >> 13);
}

inline float FloatFromHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t size = static_cast<uint32_t>(half & 0x7fffu) << 13;
  const uint32_t wide = (half & 0x7c00u) == 0x7c00u
                            ? size | 0x7f800000u
                            : Bits<uint32_t>(Bits<float>(size) * 0x1p112f);
  return Bits<float>(sign | wide);
}

inline uint16_t BrainFromFloat(float value) {
  const uint32_t bits = Bits<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return static_cast<uint16_t>(bits >> 16 | 0x40u);
  }
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

inline float FloatFromBrain(uint16_t brain) {
  return Bits<float>(static_cast<uint32_t>(brain) << 16);
}

template <uint16_t (*Narrow)(float), float (*Widen)(uint16_t)>
class Float16 {
 public:
  Float16() = default;
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  constexpr explicit Float16(T value) : bits_(Narrow(static_cast<float>(value))) {}
  operator float() const { return Widen(bits_); }

 private:
  uint16_t bits_;
};

}  // namespace host
}  // namespace AscendC

using half = AscendC::host::Float16<AscendC::host::HalfFromFloat, AscendC::host::FloatFromHalf>;
using bfloat16_t =
    AscendC::host::Float16<AscendC::host::BrainFromFloat, AscendC::host::FloatFromBrain>;

namespace AscendC {
namespace host {

template <typename T>
inline constexpr bool kIsHalf = std::is_same_v<T, half>;
template <typename T>
inline constexpr bool kIsBrain = std::is_same_v<T, bfloat16_t>;
template <typename T>
inline constexpr bool kIsFloat = std::is_same_v<T, float> || kIsHalf<T> || kIsBrain<T>;

// What the vector unit computes in; everything else goes through Cast.
template <typename T>
inline constexpr bool kComputes = kIsHalf<T> || std::is_same_v<T, float> ||
                                  std::is_same_v<T, int16_t> || std::is_same_v<T, int32_t>;
template <typename T>
inline constexpr bool kComputesFloat = kIsHalf<T> || std::is_same_v<T, float>;

// A value as the host computes with it: 16-bit floats in float, integers as they are.
template <typename T>
using Wide = std::conditional_t<kIsFloat<T>, float, T>;

}  // namespace host
}  // namespace AscendC

#endif  // ATC_PY_HOST_ASCENDC_NUMBERS_H_
