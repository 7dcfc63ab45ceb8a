// DeviceContext provides the streams of a device that has its own memory and
// runs kernels asynchronously.
//
// Order: kernels are launched on one stream, the compute stream, and run in the
// order of their launches. Every kernel launched after a copy to the device was
// requested sees the copy; the copy may run before kernels that were launched
// earlier, except those that used the same memory. A copy to the host sees the
// results of every kernel launched before it. So device memory may be freed and
// reused while kernels that use it are still to run: later launches run later.
//
// Errors: a refused launch returns its error at once. A later failure fails
// everything that waits for the streams from then on (CopyToHost, WhenDone),
// because it is unknown which values are valid: the device is lost, and each
// error names it.
#ifndef WEFT_LIBS_DEVICE_DEVICE_CONTEXT_H_
#define WEFT_LIBS_DEVICE_DEVICE_CONTEXT_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/tensor.h"

namespace weft {

// Thread-safe; lives as long as its device. Tensors passed to copies between
// host and device are kept until these are done.
class DeviceContext {
 public:
  // Called once, on any thread, perhaps before the call that it was passed to
  // has returned.
  using Done = absl::AnyInvocable<void(absl::Status)>;

  virtual ~DeviceContext() = default;

  // Host memory that the device copies from and to asynchronously; the CPU
  // accesses it as any other memory.
  virtual Allocator& pinned_allocator() = 0;

  // Copies the elements of `from`, in host memory, to `to`, in the device's
  // memory. REQUIRES: equal types and numbers of elements, plain bytes; `to` is
  // new: no launch uses it yet; `from` is not written until the copy is done.
  // The context holds a reference to `from` until then.
  virtual absl::Status CopyToDevice(const Tensor& from, const Tensor& to) = 0;

  // The other direction. `done` is called when the elements are in `to`.
  virtual void CopyToHost(const Tensor& from, const Tensor& to, Done done) = 0;

  // Between tensors in the device's memory.
  virtual absl::Status CopyOnDevice(const Tensor& from, const Tensor& to) = 0;

  // Calls `done` when all earlier launches have ended.
  virtual void WhenDone(Done done) = 0;

  // The error that lost the device, as far as known without waiting; OK while
  // it works. Called after an allocation was refused: a lost device has no
  // memory.
  virtual absl::Status Failure() { return absl::OkStatus(); }
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_DEVICE_CONTEXT_H_
