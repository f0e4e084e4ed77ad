// Runs kernels on the host: reads jobs, calls each kernel once for every core, writes its results.
//
// A job file has a line for each job and, after it, one for each operand:
//   job <kernel> <row> <cores> <workspace bytes>
//   in <file>
//   out <bytes> <file>
// For each job the answer is a line `done <number>`, or lines `fault <number> <what>`.
#ifndef ATC_PY_HOST_RUNNER_H_
#define ATC_PY_HOST_RUNNER_H_

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernel_operator.h"

namespace AscendC {
namespace host {

using Address = uint8_t*;

// A kernel by its name; `call` takes the addresses of operands, workspace and tiling.
struct Entry {
  const char* name;
  void (*call)(Address* operands);
};

template <typename... Operands, size_t... Index>
inline void Spread(void (*kernel)(Operands...), Address* operands, std::index_sequence<Index...>) {
  kernel(operands[Index]...);
}

template <typename... Operands>
inline void Spread(void (*kernel)(Operands...), Address* operands) {
  Spread(kernel, operands, std::index_sequence_for<Operands...>{});
}

template <auto Kernel>
inline void Call(Address* operands) {
  Spread(Kernel, operands);
}

// An operand: its file, and its memory, which ends where the tensor ends.
struct Operand {
  bool output = false;
  std::string file;
  std::vector<uint8_t> data;
};

struct Job {
  std::string kernel;
  uint32_t row = 0;
  uint32_t cores = 1;
  uint64_t workspace = 0;
  std::vector<Operand> operands;
};

// The bytes of a file, and no more memory than that; none if it cannot be opened.
inline std::vector<uint8_t> ReadFile(const std::string& path) {
  std::vector<uint8_t> data;
  if (std::FILE* file = std::fopen(path.c_str(), "rb")) {
    std::fseek(file, 0, SEEK_END);
    data.resize(static_cast<size_t>(std::max(0L, std::ftell(file))));
    std::rewind(file);
    if (!data.empty()) {  // which has no address that fread takes
      data.resize(std::fread(data.data(), 1, data.size(), file));
    }
    std::fclose(file);
  }
  return data;
}

inline void WriteFile(const std::string& path, const std::vector<uint8_t>& data) {
  if (std::FILE* file = std::fopen(path.c_str(), "wb")) {
    if (!data.empty()) {
      std::fwrite(data.data(), 1, data.size(), file);
    }
    std::fclose(file);
  }
}

// A line, taken word by word: streams would take longer to compile than most kernels.
struct Words {
  const char* at;

  std::string Next() {
    const char* start = at + std::strspn(at, " ");
    at = start + std::strcspn(start, " ");
    return {start, at};
  }

  uint64_t Number() { return std::strtoull(Next().c_str(), nullptr, 10); }

  std::string Rest() { return at + std::strspn(at, " "); }
};

inline std::vector<Job> ReadJobs(const char* path) {
  constexpr uint8_t kUnwritten = 0xa5;
  std::vector<Job> jobs;
  const std::vector<uint8_t> data = ReadFile(path);
  for (auto start = data.begin(); start != data.end();) {
    const auto end = std::find(start, data.end(), '\n');
    const std::string line(start, end);
    start = end == data.end() ? end : end + 1;
    Words words{line.c_str()};
    const std::string kind = words.Next();
    if (kind == "job") {
      Job job;
      job.kernel = words.Next();
      job.row = static_cast<uint32_t>(words.Number());
      job.cores = static_cast<uint32_t>(words.Number());
      job.workspace = words.Number();
      jobs.push_back(std::move(job));
    } else if (!jobs.empty()) {
      Operand operand;
      operand.output = kind == "out";
      operand.data.assign(operand.output ? words.Number() : 0, kUnwritten);
      operand.file = words.Rest();
      jobs.back().operands.push_back(std::move(operand));
    }
  }
  return jobs;
}

// One launch: every core in turn; the first fault ends it.
inline void Launch(const Entry& entry, Job& job) {
  Machine& now = machine();
  now.regions.clear();
  now.faults.clear();
  now.cores = job.cores;
  std::vector<uint8_t> workspace(job.workspace);
  uint32_t row = job.row;
  std::vector<Address> addresses;
  uint8_t nothing = 0;
  const auto add = [&](std::vector<uint8_t>& memory) {
    addresses.push_back(memory.empty() ? &nothing : memory.data());
    now.regions.push_back({addresses.back(), memory.size()});
  };
  for (Operand& operand : job.operands) {
    if (!operand.output) {
      operand.data = ReadFile(operand.file);
    }
    add(operand.data);
  }
  add(workspace);
  addresses.push_back(reinterpret_cast<Address>(&row));
  for (now.core = 0; now.core < now.cores && now.faults.empty(); ++now.core) {
    try {
      entry.call(addresses.data());
    } catch (const Violation&) {
    }
  }
  for (const Operand& operand : job.operands) {
    if (operand.output) {
      WriteFile(operand.file, operand.data);
    }
  }
}

inline void Report(size_t number) {
  for (const std::string& fault : machine().faults) {
    std::printf("fault %zu %s\n", number, fault.c_str());
  }
  if (machine().faults.empty()) {
    std::printf("done %zu\n", number);
  }
  std::fflush(stdout);
}

// The program: without a job file it names the kernels that it holds.
inline int Main(int argc, char** argv, const Entry* entries, size_t count,
                const BufferSizes& sizes) {
  machine().sizes = sizes;
  if (argc < 2) {
    for (size_t at = 0; at < count; ++at) {
      std::printf("%s\n", entries[at].name);
    }
    return 0;
  }
  std::vector<Job> jobs = ReadJobs(argv[1]);
  for (size_t number = 0; number < jobs.size(); ++number) {
    for (size_t at = 0; at < count; ++at) {
      if (jobs[number].kernel == entries[at].name) {
        std::printf("start %zu\n", number);
        std::fflush(stdout);
        Launch(entries[at], jobs[number]);
        Report(number);
        jobs[number].operands.clear();
      }
    }
  }
  return 0;
}

}  // namespace host
}  // namespace AscendC

#endif  // ATC_PY_HOST_RUNNER_H_
