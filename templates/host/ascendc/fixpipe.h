// Copies of sums from L0C, and of a bias to the cube.
#ifndef ATC_PY_HOST_ASCENDC_FIXPIPE_H_
#define ATC_PY_HOST_ASCENDC_FIXPIPE_H_

#include <cstdint>

#include "cube.h"

namespace AscendC {

enum class BlockMode { BLOCK_MODE_NORMAL, BLOCK_MODE_MATRIX, BLOCK_MODE_VECTOR };

struct DataCopyEnhancedParams {
  BlockMode blockMode = BlockMode::BLOCK_MODE_NORMAL;
};

enum class QuantMode_t { NoQuant, F322F16, F322BF16 };

enum class CO2Layout : uint8_t { NZ, ROW_MAJOR };

struct FixpipeConfig {
  CO2Layout format;
};

constexpr FixpipeConfig CFG_NZ{CO2Layout::NZ};
constexpr FixpipeConfig CFG_ROW_MAJOR{CO2Layout::ROW_MAJOR};

// Columns of fractals, `srcStride` rows high, to rows `dstStride` elements apart, or with CFG_NZ to
// columns of fractals that are `dstStride` blocks of 32 bytes apart.
struct FixpipeParamsV220 {
  uint16_t nSize = 0;
  uint16_t mSize = 0;
  uint16_t srcStride = 0;
  uint32_t dstStride = 0;
  QuantMode_t quantPre = QuantMode_t::NoQuant;
  bool reluEn = false;
  bool isChannelSplit = false;  // float columns of 16 leave as two of 8, with CFG_NZ alone
};

// Fractals of 16 x 16 from L0C to the unified buffer, rounded to its dtype; lengths in fractals.
template <typename T, typename C>
inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<C>& src,
                     const DataCopyParams& blocks, const DataCopyEnhancedParams& how,
                     Where where = Where::Here()) {
  constexpr uint64_t kFractal = host::kSide * host::kSide;
  host::Require(how.blockMode == BlockMode::BLOCK_MODE_MATRIX, where,
                "L0C is read in BLOCK_MODE_MATRIX");
  host::Require(blocks.blockCount == 1, where, "on the host one run of fractals is read at once");
  const uint64_t count = blocks.blockLen * kFractal;
  const C* const from = src.Vector(count, host::Use::kRead, where);
  T* const to = dst.Vector(count, host::Use::kWrite, where);
  for (uint64_t at = 0; at < count; ++at) {
    to[at] = static_cast<T>(from[at]);
  }
}

// The same from cores whose L0C has no path to the unified buffer: to the device's memory.
template <typename T, typename C, const FixpipeConfig& Config = CFG_ROW_MAJOR>
inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<C>& src,
                    const FixpipeParamsV220& fix, Where where = Where::Here()) {
  constexpr QuantMode_t kMode = std::is_same_v<T, C>       ? QuantMode_t::NoQuant
                                : std::is_same_v<T, half> ? QuantMode_t::F322F16
                                                          : QuantMode_t::F322BF16;
  constexpr uint64_t kSide = host::kSide;
  host::Require(fix.quantPre == kMode, where, "quantPre must name the dtype of the result");
  host::Require(fix.mSize >= 1 && fix.nSize >= 1, where, "mSize and nSize must be at least 1");
  host::Require(fix.srcStride >= fix.mSize, where, "srcStride must be at least mSize");
  const bool halves = fix.isChannelSplit;
  host::Require(!halves || (Config.format == CO2Layout::NZ && std::is_same_v<T, float>), where,
                "isChannelSplit is for columns of float");
  const uint64_t width = halves ? kSide / 2 : kSide;
  host::Require(Config.format == CO2Layout::ROW_MAJOR || fix.nSize % width == 0, where,
                halves ? "nSize must be whole columns of 8" : "nSize must be whole columns of 16");
  const uint64_t columns = host::Tiles(fix.nSize, kSide);
  const C* const from = src.Vector(columns * fix.srcStride * kSide, host::Use::kCopyOut, where);
  const auto kept = [&fix](C sum) { return fix.reluEn ? host::Larger{}(sum, C{}) : sum; };
  if constexpr (Config.format == CO2Layout::NZ) {
    const uint64_t apart = fix.dstStride * static_cast<uint64_t>(ONE_BLK_SIZE) / sizeof(T);
    for (uint64_t first = 0; first < fix.nSize; first += width) {
      T* const to = dst.Data(first / width * apart, fix.mSize * width, where);
      const C* const column = from + first / kSide * fix.srcStride * kSide + first % kSide;
      for (uint64_t at = 0; at < fix.mSize * width; ++at) {
        to[at] = static_cast<T>(kept(column[at / width * kSide + at % width]));
      }
    }
    return;
  }
  for (uint64_t m = 0; m < fix.mSize; ++m) {
    T* const row = dst.Data(m * fix.dstStride, fix.nSize, where);
    for (uint64_t n = 0; n < fix.nSize; ++n) {
      row[n] = static_cast<T>(kept(from[(n / kSide * fix.srcStride + m) * kSide + n % kSide]));
    }
  }
}

// A bias from L1 to the bias table, as wide as the sums; lengths in blocks, of 64 bytes there.
template <typename T, typename S>
inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<S>& src,
                     const DataCopyParams& blocks, Where where = Where::Here()) {
  host::Require(blocks.blockCount == 1, where, "on the host a bias is one run");
  const uint64_t count = blocks.blockLen * static_cast<uint64_t>(ONE_BLK_SIZE) / sizeof(S);
  const S* const from = src.Vector(count, host::Use::kRead, where);
  T* const to = dst.Vector(count, host::Use::kCopyIn, where);
  for (uint64_t at = 0; at < count; ++at) {
    to[at] = static_cast<T>(from[at]);
  }
}

template <typename T>
struct InitConstValueParams {
  uint16_t repeatTimes = 1;
  uint16_t blockNum = 1;
  uint16_t dstGap = 0;
  T initValue{};
};

// One value in fractals of L0A or L0B, or in blocks of 32 bytes of L1.
template <typename T>
inline void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<T>& init,
                           Where where = Where::Here()) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "InitConstValue fills with 16 and 32 bits");
  host::Require(init.repeatTimes == 1, where, "on the host one run of fractals is filled at once");
  const TPosition place = dst.buffer() == nullptr ? TPosition::A2 : dst.buffer()->in;
  const bool blocks =
      place == TPosition::A1 || place == TPosition::B1 || place == TPosition::C1;
  const uint64_t bytes = blocks ? ONE_BLK_SIZE : host::kFractalBytes;
  const uint64_t count = init.blockNum * bytes / sizeof(T);
  T* const to = dst.Vector(count, host::Use::kCopyIn, where);
  for (uint64_t at = 0; at < count; ++at) {
    to[at] = init.initValue;
  }
}

}  // namespace AscendC

#endif  // ATC_PY_HOST_ASCENDC_FIXPIPE_H_
