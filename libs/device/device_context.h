// DeviceContext: what a device does that has memory of its own and whose
// kernels end after they were called: its streams.
//
// Order: kernels are launched on one stream, the compute stream, and run in the
// order of their launches. A copy to the device is seen by every kernel that is
// launched after it was asked for, and may come before those that were launched
// earlier, but for what used the same memory; a copy to the host sees what
// every kernel that was launched before it left. So memory of the device may be
// given back, and handed out again, while kernels that use it are still to run:
// what is launched later comes later.
//
// Errors: a launch that is refused says so at once. What fails later fails all
// that waits for the streams from then on (CopyToHost, WhenDone), since nobody
// can say which values are good: the device is lost, and each text names it.
#ifndef WEFT_LIBS_DEVICE_DEVICE_CONTEXT_H_
#define WEFT_LIBS_DEVICE_DEVICE_CONTEXT_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/tensor.h"

namespace weft {

// Thread-safe; lives as long as its device. Tensors given to copies between
// host and device are kept until these are over.
class DeviceContext {
 public:
  // Called once, on any thread, perhaps before the call that it was given to
  // has returned.
  using Done = absl::AnyInvocable<void(absl::Status)>;

  virtual ~DeviceContext() = default;

  // Host memory that the device copies from and to while others run; the
  // processor reads and writes it as any other.
  virtual Allocator& pinned_allocator() = 0;

  // Copies the elements of `from`, in host memory, to `to`, in the device's.
  // REQUIRES: equal types and numbers of elements, plain bytes; `to` is new:
  // nothing was launched that uses it; nobody writes `from` until the copy is
  // done, for which the context keeps a reference.
  virtual absl::Status CopyToDevice(const Tensor& from, const Tensor& to) = 0;

  // The other way. `done` is called when the elements lie in `to`.
  virtual void CopyToHost(const Tensor& from, const Tensor& to, Done done) = 0;

  // Between tensors in the device's memory.
  virtual absl::Status CopyOnDevice(const Tensor& from, const Tensor& to) = 0;

  // Calls `done` when all that was launched before has ended.
  virtual void WhenDone(Done done) = 0;

  // What lost the device, as far as it knows without waiting; OK while it
  // works. Who was refused memory asks: a lost device has none.
  virtual absl::Status Failure() { return absl::OkStatus(); }
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_DEVICE_CONTEXT_H_
