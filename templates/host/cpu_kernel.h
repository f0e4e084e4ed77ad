// The part of CANN's interface for AI CPU kernels that atc-py's kernels use, on plain C++17.
#ifndef ATC_PY_HOST_CPU_KERNEL_H_
#define ATC_PY_HOST_CPU_KERNEL_H_

#include <cstdint>
#include <vector>

namespace aicpu {

// A tensor: its memory and how many elements it has.
class Tensor {
 public:
  Tensor(void* data, int64_t elements) : data_(data), elements_(elements) {}
  void* GetData() const { return data_; }
  int64_t NumElements() const { return elements_; }

 private:
  void* data_;
  int64_t elements_;
};

// The operands of one launch.
class CpuKernelContext {
 public:
  CpuKernelContext(std::vector<Tensor*> inputs, std::vector<Tensor*> outputs)
      : inputs_(inputs), outputs_(outputs) {}
  Tensor* Input(uint32_t at) const { return at < inputs_.size() ? inputs_[at] : nullptr; }
  Tensor* Output(uint32_t at) const { return at < outputs_.size() ? outputs_[at] : nullptr; }

 private:
  std::vector<Tensor*> inputs_;
  std::vector<Tensor*> outputs_;
};

class CpuKernel {
 public:
  virtual ~CpuKernel() = default;
  virtual uint32_t Compute(CpuKernelContext& context) = 0;
};

// On the device a library registers its kernels by name; on the host nothing asks for them.
#define REGISTER_CPU_KERNEL(name, type) static_assert(sizeof(type) > 0 && name != nullptr, #type)

}  // namespace aicpu

#endif  // ATC_PY_HOST_CPU_KERNEL_H_
