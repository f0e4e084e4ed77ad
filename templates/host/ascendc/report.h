// Findings: what a kernel did that the hardware would punish, and where. The cores of a launch.
#ifndef ATC_PY_HOST_ASCENDC_REPORT_H_
#define ATC_PY_HOST_ASCENDC_REPORT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#define __aicore__
#define __global__
#define __gm__
#define GM_ADDR uint8_t*

namespace AscendC {

// The place of a call in a kernel; as a default argument it is that of the caller.
struct Where {
  const char* file;
  int line;

  static constexpr Where Here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

namespace host {

// Stops a kernel at its first fault.
struct Violation {};

// Sizes of a core's buffers in bytes.
struct BufferSizes {
  uint64_t ub = 256 * 1024;
  uint64_t l1 = 1024 * 1024;
  uint64_t l0a = 64 * 1024;
  uint64_t l0b = 64 * 1024;
  uint64_t l0c = 256 * 1024;
  uint64_t bias = 1024;
};

// A tensor's memory on the device.
struct Region {
  uint8_t* start;
  uint64_t bytes;
};

// What runs now: the core, the launch, the device's memory, and the faults found so far.
struct Machine {
  uint32_t core = 0;
  uint32_t cores = 1;
  BufferSizes sizes;
  std::vector<Region> regions;
  std::vector<std::string> faults;
  float deq_scale = 1.0f;
};

inline Machine& machine() {
  static Machine instance;
  return instance;
}

// Notes a fault; for destructors, which cannot stop a kernel.
inline void Note(Where where, const std::string& text) {
  const std::string file = where.file;
  const std::string name = file.substr(file.find_last_of('/') + 1);
  machine().faults.push_back(name + ":" + std::to_string(where.line) + ": " + text);
}

[[noreturn]] inline void Fail(Where where, const std::string& text) {
  Note(where, text);
  throw Violation{};
}

inline void Require(bool holds, Where where, const char* text) {
  if (!holds) {
    Fail(where, text);
  }
}

inline std::string Text(uint64_t value) { return std::to_string(value); }

}  // namespace host

inline int64_t GetBlockIdx() { return host::machine().core; }
inline int64_t GetBlockNum() { return host::machine().cores; }

// Cores run one after the other, so there is nothing to wait for.
inline void SyncAll() {}

enum pipe_t { PIPE_ALL, PIPE_V, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_S, PIPE_M };

template <pipe_t Pipe>
inline void PipeBarrier() {}

}  // namespace AscendC

using AscendC::PIPE_ALL;
using AscendC::PIPE_V;

#endif  // ATC_PY_HOST_ASCENDC_REPORT_H_
