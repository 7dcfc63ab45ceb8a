// Memory charges for strings that kernels copy: HeapCharge for tensors.
//
//   HeapCharge charge(context.host_allocator());
//   RETURN_IF_ERROR(ChargeStrings(charge, value, copies));
//
// For numeric tensors, this costs one comparison.
#ifndef WEFT_LIBS_KERNELS_COMMON_STRING_CHARGE_H_
#define WEFT_LIBS_KERNELS_COMMON_STRING_CHARGE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor.h"

namespace weft {

// The bytes of strings outside their objects.
inline size_t HeapBytesOf(absl::Span<const std::string> strings) {
  size_t bytes = 0;
  for (const std::string& text : strings) {
    bytes += HeapCharge::BytesOfString(text.size());
  }
  return bytes;
}

// Charges `copies` of each string of `tensor`; nothing for other types.
inline absl::Status ChargeStrings(HeapCharge& charge, const Tensor& tensor,
                                  size_t copies = 1) {
  if (tensor.dtype() != DT_STRING) return absl::OkStatus();
  return charge.AddObjects(copies, HeapBytesOf(tensor.flat<std::string>()));
}

// Charges the creation of one string, which may need more memory than the
// string:
//
//   const StringInMaking making(charge);
//   RETURN_IF_ERROR(charge.AddStrings(1, most));
//   text = Make();
//   making.KeepOnly(text);
class StringInMaking {
 public:
  explicit StringInMaking(HeapCharge& charge)
      : charge_(charge), before_(charge.used()) {}

  // Subtracts the bytes that were charged since the construction, except
  // `text`.
  void KeepOnly(const std::string& text) const {
    const size_t added = charge_.used() - before_;
    const size_t kept = HeapCharge::BytesOfString(text.capacity());
    if (added > kept) charge_.Subtract(added - kept);
  }

 private:
  HeapCharge& charge_;
  const size_t before_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_COMMON_STRING_CHARGE_H_
