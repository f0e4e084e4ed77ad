// What AI CPU kernels share their work with.
#ifndef ATC_PY_HOST_CPU_KERNEL_UTILS_H_
#define ATC_PY_HOST_CPU_KERNEL_UTILS_H_

#include <functional>

#include "cpu_kernel.h"

namespace aicpu {

class CpuKernelUtils {
 public:
  // Shards of `unit` elements, one after the other.
  static uint32_t ParallelFor(const CpuKernelContext&, int64_t total, int64_t unit,
                              const std::function<void(int64_t, int64_t)>& work) {
    for (int64_t begin = 0; begin < total; begin += unit) {
      work(begin, begin + unit < total ? begin + unit : total);
    }
    return 0;
  }
};

}  // namespace aicpu

#endif  // ATC_PY_HOST_CPU_KERNEL_UTILS_H_
