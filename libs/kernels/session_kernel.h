// SessionKernel is implemented by kernels that may hold the functions of their
// session, and thereby themselves: an iterator of a map's function holds the
// function of its own dataset.
#ifndef WEFT_LIBS_KERNELS_SESSION_KERNEL_H_
#define WEFT_LIBS_KERNELS_SESSION_KERNEL_H_

namespace weft {

class SessionKernel {
 public:
  virtual ~SessionKernel() = default;
  // Called when the session is over: releases the kernel's private objects.
  // Steps may still run the kernel for sessions that share resources with it.
  // May be called on any thread; released objects may wait for their own
  // threads.
  virtual void EndSession() = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SESSION_KERNEL_H_
