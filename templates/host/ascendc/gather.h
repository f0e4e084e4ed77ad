// Elements picked out of a buffer by their offsets.
#ifndef ATC_PY_HOST_ASCENDC_GATHER_H_
#define ATC_PY_HOST_ASCENDC_GATHER_H_

#include <cstdint>

#include "memory.h"

namespace AscendC {

// dst[i] is what is stored `base` + offsets[i] bytes after the start of src.
template <typename T>
inline void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                   const LocalTensor<uint32_t>& offsets, uint32_t base, uint32_t count,
                   Where where = Where::Here()) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Gather moves 16 and 32 bits");
  const uint32_t* const at = offsets.Vector(count, host::Use::kRead, where);
  const T* const from = src.Vector(src.bytes() / sizeof(T), host::Use::kRead, where);
  T* const to = dst.Vector(count, host::Use::kWrite, where);
  for (uint32_t number = 0; number < count; ++number) {
    const uint64_t place = static_cast<uint64_t>(base) + at[number];
    if (place % sizeof(T) != 0) {
      host::Fail(where, "misaligned gather: offset " + host::Text(place) +
                            " is no multiple of the element's " + host::Text(sizeof(T)) + " bytes");
    }
    if (place + sizeof(T) > src.bytes()) {
      host::Fail(where, "gather overrun: offset " + host::Text(place) + " of a tensor of " +
                            host::Text(src.bytes()) + " bytes");
    }
    to[number] = from[place / sizeof(T)];
  }
}

}  // namespace AscendC

#endif  // ATC_PY_HOST_ASCENDC_GATHER_H_
