// Copies between the device's memory and a core's buffers.
#ifndef ATC_PY_HOST_ASCENDC_COPY_H_
#define ATC_PY_HOST_ASCENDC_COPY_H_

#include <cstdint>
#include <cstring>

#include "memory.h"

namespace AscendC {

// Lengths and gaps in blocks of 32 bytes.
struct DataCopyParams {
  uint16_t blockCount = 1;
  uint16_t blockLen = 0;
  uint16_t srcStride = 0;
  uint16_t dstStride = 0;
};

// Length in bytes; gaps in bytes in the device's memory, in blocks of 32 bytes in a buffer.
struct DataCopyExtParams {
  uint16_t blockCount = 1;
  uint32_t blockLen = 0;
  uint32_t srcStride = 0;
  uint32_t dstStride = 0;
  uint32_t rsv = 0;
};

// What fills the rest of a block after a copy that ends inside it.
template <typename T>
struct DataCopyPadExtParams {
  bool isPad = false;
  uint8_t leftPadding = 0;
  uint8_t rightPadding = 0;
  T paddingValue{};
};

namespace host {

constexpr uint32_t kMostBlocks = 4095;
constexpr uint32_t kLongestBlock = 2097151;

inline void CheckWhole(uint64_t bytes, Where where) {
  if (bytes % ONE_BLK_SIZE != 0) {
    Fail(where, "misaligned copy: " + Text(bytes) +
                    " bytes are no whole blocks of 32; DataCopyPad copies such");
  }
}

inline void CheckRuns(const DataCopyExtParams& runs, Where where) {
  Require(runs.blockCount >= 1 && runs.blockCount <= kMostBlocks, where,
          "DataCopyPad takes 1 to 4095 runs");
  Require(runs.blockLen >= 1 && runs.blockLen <= kLongestBlock, where,
          "DataCopyPad takes runs of 1 to 2097151 bytes");
}

inline uint64_t Blocks(uint64_t bytes) { return (bytes + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE; }

// Elements from the first of `count` runs to the last one's end, `pitch` bytes apart.
template <typename T>
inline uint64_t Reach(uint64_t count, uint64_t pitch, uint64_t bytes) {
  return ((count - 1) * pitch + bytes + sizeof(T) - 1) / sizeof(T);
}

}  // namespace host

template <typename T>
inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, uint32_t count,
                     Where where = Where::Here()) {
  host::CheckWhole(count * sizeof(T), where);
  T* const to = dst.Vector(count, host::Use::kCopyIn, where);
  std::memcpy(to, src.Data(0, count, where), count * sizeof(T));
}

template <typename T>
inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count,
                     Where where = Where::Here()) {
  host::CheckWhole(count * sizeof(T), where);
  const T* const from = src.Vector(count, host::Use::kCopyOut, where);
  std::memcpy(dst.Data(0, count, where), from, count * sizeof(T));
}

template <typename T>
inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count,
                     Where where = Where::Here()) {
  host::CheckWhole(count * sizeof(T), where);
  const T* const from = src.Vector(count, host::Use::kRead, where);
  std::memmove(dst.Vector(count, host::Use::kWrite, where), from, count * sizeof(T));
}

// Runs of whole blocks from the device's memory.
template <typename T>
inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                     const DataCopyParams& blocks, Where where = Where::Here()) {
  constexpr uint64_t kBlock = ONE_BLK_SIZE / sizeof(T);
  host::Require(blocks.blockCount >= 1 && blocks.blockCount <= host::kMostBlocks, where,
                "DataCopy takes 1 to 4095 runs");
  host::Require(blocks.blockLen >= 1, where, "DataCopy takes runs of at least a block");
  const uint64_t gaps = blocks.blockCount - 1u;
  const uint64_t length = blocks.blockLen;
  const T* const from = src.Data(0, (gaps * (length + blocks.srcStride) + length) * kBlock, where);
  T* const to = dst.Vector((gaps * (length + blocks.dstStride) + length) * kBlock,
                           host::Use::kCopyIn, where);
  for (uint64_t run = 0; run <= gaps; ++run) {
    std::memcpy(to + run * (length + blocks.dstStride) * kBlock,
                from + run * (length + blocks.srcStride) * kBlock, length * ONE_BLK_SIZE);
  }
}

// `blockCount` runs from the device's memory; each starts on a block in the buffer.
template <typename T>
inline void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                        const DataCopyExtParams& runs, const DataCopyPadExtParams<T>& pad,
                        Where where = Where::Here()) {
  host::CheckRuns(runs, where);
  const uint64_t left = pad.isPad ? pad.leftPadding * sizeof(T) : 0;
  const uint64_t right = pad.isPad ? pad.rightPadding * sizeof(T) : 0;
  host::Require(left <= ONE_BLK_SIZE && right <= ONE_BLK_SIZE, where,
                "DataCopyPad pads at most 32 bytes on each side");
  const uint64_t whole = host::Blocks(left + runs.blockLen + right) * ONE_BLK_SIZE;
  const uint64_t pitch = whole + static_cast<uint64_t>(runs.dstStride) * ONE_BLK_SIZE;
  const uint64_t step = static_cast<uint64_t>(runs.blockLen) + runs.srcStride;
  const uint64_t count = runs.blockCount;
  uint8_t* const to = reinterpret_cast<uint8_t*>(
      dst.Vector(host::Reach<T>(count, pitch, whole), host::Use::kCopyIn, where));
  const uint8_t* const from = reinterpret_cast<const uint8_t*>(
      src.Data(0, host::Reach<T>(count, step, runs.blockLen), where));
  for (uint64_t run = 0; run < count; ++run) {
    uint8_t* const start = to + run * pitch;
    if (pad.isPad) {
      for (uint64_t at = 0; at + sizeof(T) <= whole; at += sizeof(T)) {
        std::memcpy(start + at, &pad.paddingValue, sizeof(T));
      }
    }
    std::memcpy(start + left, from + run * step, runs.blockLen);
  }
}

// `blockCount` runs to the device's memory; each starts on a block in the buffer.
template <typename T>
inline void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                        const DataCopyExtParams& runs, Where where = Where::Here()) {
  host::CheckRuns(runs, where);
  const uint64_t pitch =
      (host::Blocks(runs.blockLen) + runs.srcStride) * static_cast<uint64_t>(ONE_BLK_SIZE);
  const uint64_t step = static_cast<uint64_t>(runs.blockLen) + runs.dstStride;
  const uint64_t count = runs.blockCount;
  const uint8_t* const from = reinterpret_cast<const uint8_t*>(
      src.Vector(host::Reach<T>(count, pitch, runs.blockLen), host::Use::kCopyOut, where));
  uint8_t* const to = reinterpret_cast<uint8_t*>(
      dst.Data(0, host::Reach<T>(count, step, runs.blockLen), where));
  for (uint64_t run = 0; run < count; ++run) {
    std::memcpy(to + run * step, from + run * pitch, runs.blockLen);
  }
}

}  // namespace AscendC

#endif  // ATC_PY_HOST_ASCENDC_COPY_H_
