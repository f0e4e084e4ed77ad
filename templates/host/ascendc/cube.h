// The cube: matrices as fractals of 16 rows of 32 bytes, and their product.
//
// With C0 = 32 / sizeof(T) elements in a fractal's row, an operand in L1 is a column of columns of
// fractals (C0 wide), in L0A it is stored fractal row by fractal row, in L0B by steps of the
// summed axis with the columns of the result as the fractals' rows, and the result in L0C is
// columns of fractals of 16 x 16.
#ifndef ATC_PY_HOST_ASCENDC_CUBE_H_
#define ATC_PY_HOST_ASCENDC_CUBE_H_

#include <algorithm>
#include <cstring>
#include <vector>

#include "arithmetic.h"
#include "copy.h"

namespace AscendC {

// Rows of a matrix in the device's memory become columns of fractals in L1.
struct Nd2NzParams {
  uint16_t ndNum = 1;
  uint16_t nValue = 0;
  uint32_t dValue = 0;
  uint64_t srcNdMatrixStride = 0;
  uint64_t srcDValue = 0;
  uint32_t dstNzC0Stride = 0;
  uint32_t dstNzNStride = 1;
  uint64_t dstNzMatrixStride = 0;
};

// Fractals of 512 bytes, one after the other.
struct LoadData2DParams {
  uint16_t startIndex = 0;
  uint8_t repeatTimes = 1;
  uint16_t srcStride = 1;
  uint8_t sid = 0;
  uint16_t dstGap = 0;
  bool ifTranspose = false;
  uint8_t addrMode = 0;
};

// Squares that are turned: start and source stride in squares, gaps in fractals.
struct LoadData2dTransposeParams {
  uint16_t startIndex = 0;
  uint8_t repeatTimes = 0;
  uint16_t srcStride = 0;
  uint16_t dstGap = 0;
  uint16_t dstFracGap = 0;
};

struct MmadParams {
  uint16_t m = 0;
  uint16_t n = 0;
  uint16_t k = 0;
  bool cmatrixInitVal = true;
  bool cmatrixSource = false;
  bool isBias = false;
  uint8_t unitFlag = 0;
  bool kDirectionAlign = false;
};

namespace host {

constexpr uint32_t kSide = 16;
constexpr uint32_t kFractalBytes = 512;
constexpr uint64_t kLongestPitch = 65535;

template <typename T>
inline constexpr uint32_t kC0 = ONE_BLK_SIZE / sizeof(T);

// Elements of a side of the square that is turned at once: one fractal of 16 bits, else two.
template <typename T>
inline constexpr uint32_t kSquare = kC0<T> > kSide ? kC0<T> : kSide;

inline uint32_t Tiles(uint32_t length, uint32_t tile) { return (length + tile - 1) / tile; }

template <typename A>
using Sums = std::conditional_t<std::is_same_v<A, int8_t>, int32_t, float>;

}  // namespace host

template <typename T>
inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                     const Nd2NzParams& nd, Where where = Where::Here()) {
  constexpr uint32_t kC0 = host::kC0<T>;
  host::Require(nd.nValue >= 1 && nd.nValue <= 16384, where, "nValue must be 1 to 16384");
  host::Require(nd.dValue >= 1 && nd.dValue <= 65535, where, "dValue must be 1 to 65535");
  host::Require(nd.srcDValue >= 1 && nd.srcDValue <= host::kLongestPitch, where,
                "srcDValue must be 1 to 65535");
  const uint64_t columns = host::Tiles(nd.dValue, kC0);
  const uint64_t last = (nd.ndNum - 1u) * nd.dstNzMatrixStride;
  const uint64_t reach = (columns - 1) * nd.dstNzC0Stride * kC0 +
                         (nd.nValue - 1u) * static_cast<uint64_t>(nd.dstNzNStride) * kC0 + kC0;
  T* const to = dst.Vector(last + reach, host::Use::kCopyIn, where);
  for (uint64_t matrix = 0; matrix < nd.ndNum; ++matrix) {
    for (uint64_t n = 0; n < nd.nValue; ++n) {
      const T* const from =
          src.Data(matrix * nd.srcNdMatrixStride + n * nd.srcDValue, nd.dValue, where);
      for (uint64_t d = 0; d < columns * kC0; ++d) {
        to[matrix * nd.dstNzMatrixStride + d / kC0 * nd.dstNzC0Stride * kC0 +
           n * nd.dstNzNStride * kC0 + d % kC0] = d < nd.dValue ? from[d] : T{};
      }
    }
  }
}

// Runs of whole blocks from the unified buffer to L1.
template <typename T>
inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                     const DataCopyParams& blocks, Where where = Where::Here()) {
  constexpr uint64_t kC0 = host::kC0<T>;
  host::Require(blocks.blockCount >= 1 && blocks.blockCount <= host::kMostBlocks, where,
                "DataCopy takes 1 to 4095 runs");
  host::Require(blocks.blockLen >= 1, where, "DataCopy takes runs of at least a block");
  const uint64_t gaps = blocks.blockCount - 1u;
  const uint64_t length = blocks.blockLen;
  const T* const from = src.Vector((gaps * (length + blocks.srcStride) + length) * kC0,
                                   host::Use::kCopyOut, where);
  T* const to = dst.Vector((gaps * (length + blocks.dstStride) + length) * kC0,
                           host::Use::kCopyIn, where);
  for (uint64_t run = 0; run <= gaps; ++run) {
    std::memcpy(to + run * (length + blocks.dstStride) * kC0,
                from + run * (length + blocks.srcStride) * kC0, length * ONE_BLK_SIZE);
  }
}

template <typename T>
inline void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                     const LoadData2DParams& load, Where where = Where::Here()) {
  constexpr uint64_t kFractal = host::kFractalBytes / sizeof(T);
  host::Require(load.repeatTimes >= 1, where, "repeatTimes must be 1 to 255");
  host::Require(!load.ifTranspose || sizeof(T) == 2, where,
                "ifTranspose turns fractals of 16 bits alone");
  const uint64_t repeats = load.repeatTimes;
  const uint64_t source = load.startIndex + (repeats - 1) * load.srcStride + 1;
  const uint64_t target = (repeats - 1) * (load.dstGap + 1u) + 1;
  const T* const from = src.Vector(source * kFractal, host::Use::kRead, where);
  T* const to = dst.Vector(target * kFractal, host::Use::kCopyIn, where);
  for (uint64_t repeat = 0; repeat < repeats; ++repeat) {
    const T* const one = from + (load.startIndex + repeat * load.srcStride) * kFractal;
    T* const other = to + repeat * (load.dstGap + 1u) * kFractal;
    for (uint64_t at = 0; at < kFractal; ++at) {
      other[at] = load.ifTranspose ? one[at % 16 * 16 + at / 16] : one[at];
    }
  }
}

// Squares of 16 x 16, of bytes 32 x 32, are turned. A square of bytes or of 32 bits is two
// fractals side by side in memory; the results are `dstFracGap` fractals apart.
template <typename T>
inline void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                  const LoadData2dTransposeParams& load,
                                  Where where = Where::Here()) {
  constexpr uint64_t kC0 = host::kC0<T>;
  constexpr uint64_t kSide = host::kSquare<T>;
  constexpr uint64_t kFractal = host::kFractalBytes / sizeof(T);
  constexpr uint64_t kParts = kSide * kSide / kFractal;
  host::Require(load.repeatTimes >= 1, where, "repeatTimes must be 1 to 255");
  const uint64_t repeats = load.repeatTimes;
  const uint64_t source = load.startIndex + (repeats - 1) * load.srcStride + 1;
  const uint64_t target =
      (repeats - 1) * (load.dstGap + 1u) + (kParts - 1) * (load.dstFracGap + 1u) + 1;
  const T* const from = src.Vector(source * kSide * kSide, host::Use::kRead, where);
  T* const to = dst.Vector(target * kFractal, host::Use::kCopyIn, where);
  for (uint64_t repeat = 0; repeat < repeats; ++repeat) {
    const T* const square = from + (load.startIndex + repeat * load.srcStride) * kSide * kSide;
    T* const first = to + repeat * (load.dstGap + 1u) * kFractal;
    for (uint64_t row = 0; row < kSide; ++row) {
      for (uint64_t column = 0; column < kSide; ++column) {
        // Element (row, column) becomes (column, row) of fractals 16 rows high and C0 wide.
        const uint64_t part = column / host::kSide + row / kC0;
        const uint64_t at = column % host::kSide * kC0 + row % kC0;
        first[part * (load.dstFracGap + 1u) * kFractal + at] =
            square[column / kC0 * kSide * kC0 + row * kC0 + column % kC0];
      }
    }
  }
}

namespace host {

// Whether the cube rounds floats to HF32, and ties away from zero.
inline bool hf32 = false;
inline bool hf32Away = false;

// An operand as the cube multiplies it: HF32 keeps 11 bits of a float's fraction.
template <typename C, typename T>
inline C Factor(T value) {
  if constexpr (std::is_same_v<T, float>) {
    if (hf32 && value == value) {
      uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof(bits));
      bits += 0x7FF + (hf32Away ? 1 : bits >> 12 & 1);
      bits &= 0xFFFFF000;
      std::memcpy(&value, &bits, sizeof(bits));
    }
  }
  return static_cast<C>(value);
}

// Four sums side by side; those of integers wrap around.
template <typename C>
struct Lanes {
  using Number = std::conditional_t<std::is_integral_v<C>, uint32_t, C>;
  typedef Number Type __attribute__((vector_size(16)));
  static constexpr uint32_t kCount = 4;
  static constexpr uint32_t kParts = kSide / kCount;
};

// The right operand as panels: 16 columns of every step of the summed axis.
template <typename C, typename B>
inline std::vector<typename Lanes<C>::Type> Panels(const B* right, const MmadParams& size) {
  using Number = typename Lanes<C>::Number;
  const uint32_t columns = Tiles(size.n, kSide);
  std::vector<typename Lanes<C>::Type> panels(static_cast<size_t>(columns) * size.k *
                                              Lanes<C>::kParts);
  size_t at = 0;
  for (uint32_t column = 0; column < columns; ++column) {
    for (uint32_t k = 0; k < size.k; ++k) {
      const B* const from = right + (static_cast<size_t>(k / kC0<B>) * columns + column) * kSide *
                                        kC0<B> + k % kC0<B>;
      for (uint32_t part = 0; part < Lanes<C>::kParts; ++part, ++at) {
        for (uint32_t lane = 0; lane < Lanes<C>::kCount; ++lane) {
          const uint32_t n = part * Lanes<C>::kCount + lane;
          panels[at][lane] = static_cast<Number>(Factor<C>(from[n * kC0<B>]));
        }
      }
    }
  }
  return panels;
}

// 16 sums of one line: products are added in the order of the summed axis, each rounded.
template <typename C>
inline void AddProducts(const typename Lanes<C>::Number* line, const typename Lanes<C>::Type* panel,
                        uint32_t k, C* sums) {
  typename Lanes<C>::Type found[Lanes<C>::kParts] = {};
  for (uint32_t step = 0; step < k; ++step, panel += Lanes<C>::kParts) {
    for (uint32_t part = 0; part < Lanes<C>::kParts; ++part) {
      found[part] += line[step] * panel[part];
    }
  }
  std::memcpy(sums, found, kSide * sizeof(C));
}

// Where sums start: as they are, at zero, or at a value for each column.
template <typename C>
inline C Start(C sum, const C* bias, uint32_t column, bool zero) {
  if (bias != nullptr) {
    return bias[column];
  }
  return zero ? C{} : sum;
}

template <typename C, typename A, typename B>
inline void Multiply(const LocalTensor<C>& c, const LocalTensor<A>& a, const LocalTensor<B>& b,
                     const C* bias, const MmadParams& size, Where where) {
  static_assert(std::is_same_v<A, B>, "both operands of the cube have one type");
  static_assert(std::is_same_v<C, Sums<A>>, "the cube sums up in float, of int8_t in int32_t");
  constexpr uint32_t kLine = kC0<A>;
  Require(size.m >= 1 && size.n >= 1 && size.k >= 1, where, "m, n and k must be at least 1");
  Require(!size.kDirectionAlign || sizeof(A) == 4, where,
          "kDirectionAlign is for operands of 32 bits");
  const uint64_t lines = Tiles(size.m, kSide);
  const uint64_t columns = Tiles(size.n, kSide);
  const uint64_t steps = Tiles(size.k, kLine);
  const uint64_t pitch = size.kDirectionAlign ? Tiles(size.k, kSide) * (kSide / kLine) : steps;
  const A* const left = a.Vector(lines * pitch * kSide * kLine, Use::kRead, where);
  const B* const right = b.Vector(columns * steps * kSide * kLine, Use::kRead, where);
  C* const sums = c.Vector(lines * columns * kSide * kSide, Use::kWrite, where);
  const auto panels = Panels<C>(right, size);
  std::vector<typename Lanes<C>::Number> line(size.k);
  C found[kSide];
  for (uint32_t m = 0; m < size.m; ++m) {
    for (uint32_t k = 0; k < size.k; ++k) {
      const uint64_t fractal = m / kSide * pitch + k / kLine;
      line[k] = Factor<C>(left[fractal * kSide * kLine + m % kSide * kLine + k % kLine]);
    }
    for (uint32_t column = 0; column < columns; ++column) {
      AddProducts(line.data(), panels.data() + column * size.k * Lanes<C>::kParts, size.k, found);
      C* const to = sums + ((column * lines + m / kSide) * kSide + m % kSide) * kSide;
      const uint32_t left_over = size.n - column * kSide;
      for (uint32_t n = 0; n < (left_over < kSide ? left_over : kSide); ++n) {
        to[n] = Sum{}(Start(to[n], bias, column * kSide + n, size.cmatrixInitVal), found[n]);
      }
    }
  }
}

}  // namespace host

// Products of float round what they multiply to HF32 from now on, or no more.
inline void SetHF32Mode(bool hf32Mode) { host::hf32 = hf32Mode; }

// Which of two equally near numbers HF32 takes: the even one, or with true the one away from zero.
inline void SetHF32TransMode(bool hf32TransMode) { host::hf32Away = hf32TransMode; }

// c = a b, or c += a b where cmatrixInitVal is false. With kDirectionAlign the left operand's
// rows of 32-bit fractals are even in number, as turned squares leave them.
template <typename C, typename A, typename B>
inline void Mmad(const LocalTensor<C>& c, const LocalTensor<A>& a, const LocalTensor<B>& b,
                 const MmadParams& size, Where where = Where::Here()) {
  host::Multiply<C>(c, a, b, nullptr, size, where);
}

// c = a b + bias, a value for each column from the bias table.
template <typename C, typename A, typename B>
inline void Mmad(const LocalTensor<C>& c, const LocalTensor<A>& a, const LocalTensor<B>& b,
                 const LocalTensor<C>& bias, const MmadParams& size,
                 Where where = Where::Here()) {
  host::Require(!size.cmatrixInitVal && size.cmatrixSource, where,
                "a bias needs cmatrixInitVal false and cmatrixSource true");
  host::Multiply(c, a, b, bias.Vector(size.n, host::Use::kRead, where), size, where);
}

}  // namespace AscendC

#endif  // ATC_PY_HOST_ASCENDC_CUBE_H_
