// avg_pool_v2_f32_6c395692: AvgPoolV2 on sim.
// Mean over sliding windows; `exclusive` leaves padding out of the count.
//   x: float32 NCHW
//   y: float32 NCHW

#include "Eigen/Core"
#include "cpu_kernel.h"
#include "cpu_kernel_utils.h"

#include "avg_pool_v2_f32_6c395692_tiling.h"

namespace avg_pool_v2_f32_6c395692_impl {
constexpr bool kCeilMode = false;
constexpr char const* kDataFormat = "NCHW";
constexpr int64_t kDivisorOverride = 0;
constexpr bool kExclusive = true;
constexpr bool kGlobalPooling = false;
constexpr int64_t kKsize[] = {1, 1, 1, 1};
constexpr uint32_t kKsizeCount = 4;
constexpr char const* kPaddingMode = "CALCULATED";
constexpr int64_t kPads[] = {0, 0, 0, 0};
constexpr uint32_t kPadsCount = 4;
constexpr int64_t kStrides[] = {1, 1, 1, 1};
constexpr uint32_t kStridesCount = 4;
// Its own name, not the operator's, so that kernels of several dtypes fit in one library.
constexpr char const* kName = "avg_pool_v2_f32_6c395692";
constexpr uint32_t kInvalid = 1;
}  // namespace avg_pool_v2_f32_6c395692_impl

namespace aicpu {

class AvgPoolV2F326c395692CpuKernel : public CpuKernel {
 public:
  uint32_t Compute(CpuKernelContext& context) override {
    using namespace avg_pool_v2_f32_6c395692_impl;
    Tensor* x = context.Input(0);
    Tensor* y = context.Output(0);
    if (x == nullptr || y == nullptr) {
      return kInvalid;
    }
    const auto* xData = static_cast<const float*>(x->GetData());
    auto* yData = static_cast<float*>(y->GetData());
    const int64_t total = y->NumElements();
    const Tiling* row = FindRow(total);
    if (row == nullptr) {
      return kInvalid;
    }
    const auto work = [&](int64_t begin, int64_t end) {
      (void)begin;
      (void)end;
      (void)xData;
      (void)yData;
      // to write: Mean over sliding windows; `exclusive` leaves padding out of the count.
      // Elements [begin, end) of the results, counted one result after the other.
    };
    return CpuKernelUtils::ParallelFor(context, total, row->shardLength, work);
  }

 private:
  static const avg_pool_v2_f32_6c395692_impl::Tiling* FindRow(int64_t total) {
    for (const auto& row : avg_pool_v2_f32_6c395692_impl::kRows) {
      if (row.totalLength == static_cast<uint64_t>(total)) {
        return &row;
      }
    }
    return nullptr;
  }
};

REGISTER_CPU_KERNEL(avg_pool_v2_f32_6c395692_impl::kName, AvgPoolV2F326c395692CpuKernel);

}  // namespace aicpu
