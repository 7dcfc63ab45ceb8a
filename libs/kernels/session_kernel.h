// SessionKernel: what a kernel is besides that may hold what keeps its
// session's functions, and with them the kernel itself: an iterator of a map's
// function holds the function of its own dataset.
#ifndef WEFT_LIBS_KERNELS_SESSION_KERNEL_H_
#define WEFT_LIBS_KERNELS_SESSION_KERNEL_H_

namespace weft {

class SessionKernel {
 public:
  virtual ~SessionKernel() = default;
  // The session is over: lets go of what is the kernel's alone. Steps may still
  // run it, for who shares what its session has made. Any thread; what is let
  // go of may wait for its own threads.
  virtual void EndSession() = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SESSION_KERNEL_H_
