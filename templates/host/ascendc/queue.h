// TPipe allocates a core's memory; TQue passes buffers from one unit to the next; TBuf is scratch.
#ifndef ATC_PY_HOST_ASCENDC_QUEUE_H_
#define ATC_PY_HOST_ASCENDC_QUEUE_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "memory.h"

namespace AscendC {
namespace host {

// The memory of a position.
struct Storage {
  const char* name;
  uint64_t BufferSizes::*size;
};

inline Storage StorageOf(TPosition position) {
  switch (position) {
    case TPosition::A1:
    case TPosition::B1:
    case TPosition::C1:
      return {"L1", &BufferSizes::l1};
    case TPosition::A2:
      return {"L0A", &BufferSizes::l0a};
    case TPosition::B2:
      return {"L0B", &BufferSizes::l0b};
    case TPosition::CO1:
      return {"L0C", &BufferSizes::l0c};
    case TPosition::C2:
      return {"the bias table", &BufferSizes::bias};
    default:
      return {"the unified buffer", &BufferSizes::ub};
  }
}

}  // namespace host

// A queue of `Depth` buffers between the units at two positions.
template <TPosition Source, TPosition Target, int32_t Depth>
class TQueBind {
 public:
  TQueBind() = default;
  TQueBind(const TQueBind&) = delete;
  TQueBind& operator=(const TQueBind&) = delete;

  ~TQueBind() {
    for (const host::Buffer& buffer : buffers_) {
      if (buffer.state != host::State::kFree) {
        host::Note(buffer.where, "queue leak: the tensor from this AllocTensor is never freed");
      }
    }
  }

  template <typename T>
  LocalTensor<T> AllocTensor(Where where = Where::Here()) {
    host::Require(!buffers_.empty(), where, "AllocTensor before InitBuffer");
    for (host::Buffer& buffer : buffers_) {
      if (buffer.state == host::State::kFree) {
        buffer.state = host::State::kAllocated;
        buffer.where = where;
        buffer.Poison();
        return {&buffer, 0, buffer.bytes};
      }
    }
    host::Fail(where, "AllocTensor finds no free buffer: none of the queue's " +
                          host::Text(buffers_.size()) + " was given back by FreeTensor");
  }

  template <typename T>
  bool EnQue(const LocalTensor<T>& tensor, Where where = Where::Here()) {
    host::Buffer* const buffer = Own(tensor, where);
    host::Require(buffer->state == host::State::kAllocated, where,
                  "EnQue of a tensor that does not come from AllocTensor");
    buffer->state = host::State::kQueued;
    waiting_.push_back(buffer);
    return true;
  }

  template <typename T>
  LocalTensor<T> DeQue(Where where = Where::Here()) {
    host::Require(!waiting_.empty(), where, "DeQue without EnQue: the queue is empty");
    host::Buffer* const buffer = waiting_.front();
    waiting_.pop_front();
    buffer->state = host::State::kTaken;
    return {buffer, 0, buffer->bytes};
  }

  template <typename T>
  void FreeTensor(const LocalTensor<T>& tensor, Where where = Where::Here()) {
    host::Buffer* const buffer = Own(tensor, where);
    host::Require(buffer->state != host::State::kFree, where, "FreeTensor of a free tensor");
    host::Require(buffer->state != host::State::kQueued, where,
                  "FreeTensor between EnQue and DeQue");
    buffer->state = host::State::kFree;
  }

  bool HasTensorInQue() const { return !waiting_.empty(); }

  static constexpr TPosition kSource = Source;

  void Init(uint32_t count, uint64_t bytes, Where where) {
    host::Require(count >= 1 && count <= static_cast<uint32_t>(Depth), where,
                  "InitBuffer asks for more buffers than the queue is deep");
    for (uint32_t number = 0; number < count; ++number) {
      buffers_.emplace_back();
      host::Buffer& buffer = buffers_.back();
      buffer.in = Source;
      buffer.out = Target;
      buffer.where = where;
      buffer.Allocate(bytes);
    }
  }

 private:
  template <typename T>
  host::Buffer* Own(const LocalTensor<T>& tensor, Where where) {
    for (host::Buffer& buffer : buffers_) {
      if (&buffer == tensor.buffer()) {
        return &buffer;
      }
    }
    host::Fail(where, "the tensor does not belong to this queue");
  }

  std::deque<host::Buffer> buffers_;
  std::deque<host::Buffer*> waiting_;
};

namespace host {

// Where a queue that starts at `source` leads.
constexpr TPosition Next(TPosition source) {
  switch (source) {
    case TPosition::VECIN:
      return TPosition::VECCALC;
    case TPosition::VECOUT:
    case TPosition::CO2:
      return TPosition::GM;
    case TPosition::A1:
      return TPosition::A2;
    case TPosition::B1:
      return TPosition::B2;
    case TPosition::C1:
      return TPosition::C2;
    case TPosition::A2:
    case TPosition::B2:
    case TPosition::C2:
      return TPosition::CO1;
    default:
      return TPosition::CO2;
  }
}

}  // namespace host

template <TPosition Source, int32_t Depth>
using TQue = TQueBind<Source, host::Next(Source), Depth>;

// Scratch memory that stays with its kernel.
template <TPosition Position = TPosition::VECCALC>
class TBuf {
 public:
  template <typename T>
  LocalTensor<T> Get(Where where = Where::Here()) {
    host::Require(buffer_.memory != nullptr, where, "Get before InitBuffer");
    return {&buffer_, 0, buffer_.bytes};
  }

  template <typename T>
  LocalTensor<T> Get(uint32_t count, Where where = Where::Here()) {
    host::Require(count * sizeof(T) <= buffer_.bytes, where, "Get of more than the buffer has");
    return {&buffer_, 0, count * sizeof(T)};
  }

  static constexpr TPosition kSource = Position;

  void Init(uint64_t bytes, Where where) {
    buffer_.where = where;
    buffer_.in = Position;
    buffer_.state = host::State::kScratch;
    buffer_.Allocate(bytes);
    buffer_.Poison();
  }

 private:
  host::Buffer buffer_;
};

// The memory of one core, as far as it is given to queues and scratch.
class TPipe {
 public:
  template <TPosition Source, TPosition Target, int32_t Depth>
  bool InitBuffer(TQueBind<Source, Target, Depth>& queue, uint32_t count, uint64_t bytes,
                  Where where = Where::Here()) {
    Take(Source, count * Whole(bytes), where);
    queue.Init(count, Whole(bytes), where);
    return true;
  }

  template <TPosition Position>
  bool InitBuffer(TBuf<Position>& buffer, uint64_t bytes, Where where = Where::Here()) {
    Take(Position, Whole(bytes), where);
    buffer.Init(Whole(bytes), where);
    return true;
  }

 private:
  static uint64_t Whole(uint64_t bytes) {
    return (bytes + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE;
  }

  void Take(TPosition position, uint64_t bytes, Where where) {
    const host::Storage storage = host::StorageOf(position);
    uint64_t& used = used_.*storage.size;
    used += bytes;
    const uint64_t size = host::machine().sizes.*storage.size;
    if (used > size) {
      host::Fail(where, "the tile is larger than the buffer: " + host::Text(used) + " bytes of " +
                            storage.name + ", which has " + host::Text(size));
    }
  }

  host::BufferSizes used_{0, 0, 0, 0, 0, 0};
};

}  // namespace AscendC

#endif  // ATC_PY_HOST_ASCENDC_QUEUE_H_
