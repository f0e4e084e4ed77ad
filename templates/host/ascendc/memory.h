// Tensors: in the device's memory, and in a core's buffers.
#ifndef ATC_PY_HOST_ASCENDC_MEMORY_H_
#define ATC_PY_HOST_ASCENDC_MEMORY_H_

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "numbers.h"
#include "report.h"

namespace AscendC {

constexpr uint32_t ONE_BLK_SIZE = 32;
constexpr uint32_t ONE_REPEAT_BYTE_SIZE = 256;

enum class TPosition {
  GM, VECIN, VECOUT, VECCALC, A1, B1, C1, A2, B2, C2, CO1, CO2,
};
using QuePosition = TPosition;

namespace host {

// Where a buffer is on its way: from AllocTensor over EnQue and DeQue to FreeTensor.
enum class State { kFree, kAllocated, kQueued, kTaken, kScratch };

// A piece of a core's memory.
struct Buffer {
  std::unique_ptr<uint8_t, void (*)(void*)> memory{nullptr, std::free};
  uint64_t bytes = 0;
  TPosition in = TPosition::VECCALC;
  TPosition out = TPosition::VECCALC;
  State state = State::kFree;
  Where where{"", 0};

  void Allocate(uint64_t size) {
    bytes = size;
    const uint64_t whole = (size + 511) / 512 * 512;
    memory.reset(static_cast<uint8_t*>(std::aligned_alloc(512, whole ? whole : 512)));
  }

  // Fresh memory is NaN to floats, so that whoever reads what nobody wrote shows.
  void Poison() { std::memset(memory.get(), 0xff, bytes); }
};

// What an instruction does with a tensor.
enum class Use { kCopyIn, kCopyOut, kRead, kWrite, kScalar };

inline void CheckState(const Buffer& buffer, Use use, Where where) {
  if (buffer.state == State::kScratch) {
    return;
  }
  Require(buffer.state != State::kFree, where, "the tensor is used after FreeTensor");
  Require(buffer.state != State::kQueued, where,
          "the tensor is used between EnQue and DeQue; DeQue hands it on");
  const bool fresh = buffer.state == State::kAllocated;
  if (use == Use::kRead && fresh && buffer.in == TPosition::VECIN) {
    Fail(where, "the tensor is computed with before EnQue and DeQue; its copy may still run");
  }
  if (use == Use::kCopyOut && fresh) {
    Fail(where, "the tensor is copied out before EnQue and DeQue; its results may not be there");
  }
  if (use == Use::kCopyIn && !fresh) {
    Fail(where, "the tensor is copied into after DeQue; AllocTensor gives one to copy into");
  }
}

}  // namespace host

// A tensor in a core's buffer, or a part of one.
template <typename T>
class LocalTensor {
 public:
  using PrimType = T;

  LocalTensor() = default;
  LocalTensor(host::Buffer* buffer, uint64_t offset, uint64_t bytes)
      : buffer_(buffer), offset_(offset), bytes_(bytes) {}

  uint32_t GetSize() const { return static_cast<uint32_t>(bytes_ / sizeof(T)); }

  LocalTensor operator[](uint64_t element) const {
    const uint64_t skipped = element * sizeof(T);
    return {buffer_, offset_ + skipped, skipped < bytes_ ? bytes_ - skipped : 0};
  }

  template <typename U>
  LocalTensor<U> ReinterpretCast() const {
    return {buffer_, offset_, bytes_};
  }

  T GetValue(uint64_t element, Where where = Where::Here()) const {
    return Data(element, 1, host::Use::kScalar, where)[0];
  }
  void SetValue(uint64_t element, T value, Where where = Where::Here()) const {
    Data(element, 1, host::Use::kScalar, where)[0] = value;
  }

  // Memory of `count` elements from `element` on, which must be there to be used so.
  T* Data(uint64_t element, uint64_t count, host::Use use, Where where) const {
    host::Require(buffer_ != nullptr, where, "the tensor was never allocated");
    host::CheckState(*buffer_, use, where);
    if ((element + count) * sizeof(T) > bytes_) {
      host::Fail(where, "buffer overrun: elements up to " + host::Text(element + count) +
                            " of a tensor of " + host::Text(bytes_ / sizeof(T)));
    }
    return reinterpret_cast<T*>(buffer_->memory.get() + offset_) + element;
  }

  // The same for an instruction of the vector unit, which starts at a whole block.
  T* Vector(uint64_t count, host::Use use, Where where) const {
    if (offset_ % ONE_BLK_SIZE != 0) {
      host::Fail(where, "misaligned: the tensor starts " + host::Text(offset_ % ONE_BLK_SIZE) +
                            " bytes past a block of 32");
    }
    return Data(0, count, use, where);
  }

  host::Buffer* buffer() const { return buffer_; }
  uint64_t bytes() const { return bytes_; }

 private:
  host::Buffer* buffer_ = nullptr;
  uint64_t offset_ = 0;
  uint64_t bytes_ = 0;
};

// A tensor in the device's memory; the launch knows how large the operand is.
template <typename T>
class GlobalTensor {
 public:
  void SetGlobalBuffer(T* start, uint64_t size = 0) {
    start_ = start;
    uint8_t* const bytes = reinterpret_cast<uint8_t*>(start);
    for (const host::Region& region : host::machine().regions) {
      if (bytes == region.start || (bytes > region.start && bytes < region.start + region.bytes)) {
        size_ = (region.bytes - static_cast<uint64_t>(bytes - region.start)) / sizeof(T);
      }
    }
    if (size != 0 && size < size_) {
      size_ = size;
    }
  }

  GlobalTensor operator[](uint64_t element) const {
    GlobalTensor part;
    part.start_ = element <= size_ ? start_ + element : start_;
    part.size_ = element < size_ ? size_ - element : 0;
    return part;
  }

  T GetValue(uint64_t element, Where where = Where::Here()) const {
    return *Data(element, 1, where);
  }
  void SetValue(uint64_t element, T value, Where where = Where::Here()) const {
    *Data(element, 1, where) = value;
  }

  uint64_t GetSize() const { return size_; }

  // Memory of `count` elements from `element` on, which must be there.
  T* Data(uint64_t element, uint64_t count, Where where) const {
    if (element + count > size_) {
      host::Fail(where, "operand overrun: elements up to " + host::Text(element + count) +
                            " where " + host::Text(size_) + " are left");
    }
    return start_ + element;
  }

 private:
  T* start_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace AscendC

#endif  // ATC_PY_HOST_ASCENDC_MEMORY_H_
