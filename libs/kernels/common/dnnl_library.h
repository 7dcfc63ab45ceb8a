// DnnlLibrary holds the functions of oneDNN (Debian's libdnnl2, version 2.6)
// that kernels use. It is loaded when first needed. Weft does not link to it:
// without the library, Weft's own loops run.
//
// The library is built with OpenMP threads, which are never used: each call is
// restricted to one thread (OneThread), and kernels split their work over the
// Scheduler's threads.
#ifndef WEFT_LIBS_KERNELS_COMMON_DNNL_LIBRARY_H_
#define WEFT_LIBS_KERNELS_COMMON_DNNL_LIBRARY_H_

#include <oneapi/dnnl/dnnl.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weft {

// The members are oneDNN's own functions, without the prefix "dnnl_".
struct DnnlLibrary {
  decltype(&dnnl_engine_create) engine_create = nullptr;
  decltype(&dnnl_stream_create) stream_create = nullptr;
  decltype(&dnnl_stream_destroy) stream_destroy = nullptr;
  decltype(&dnnl_stream_wait) stream_wait = nullptr;
  decltype(&dnnl_memory_desc_init_by_tag) memory_desc_init_by_tag = nullptr;
  decltype(&dnnl_memory_desc_init_by_strides) memory_desc_init_by_strides =
      nullptr;
  decltype(&dnnl_memory_desc_init_submemory) memory_desc_init_submemory =
      nullptr;
  decltype(&dnnl_memory_desc_get_size) memory_desc_get_size = nullptr;
  decltype(&dnnl_memory_create) memory_create = nullptr;
  decltype(&dnnl_memory_destroy) memory_destroy = nullptr;
  decltype(&dnnl_dilated_convolution_forward_desc_init)
      dilated_convolution_forward_desc_init = nullptr;
  decltype(&dnnl_dilated_convolution_backward_data_desc_init)
      dilated_convolution_backward_data_desc_init = nullptr;
  decltype(&dnnl_dilated_convolution_backward_weights_desc_init)
      dilated_convolution_backward_weights_desc_init = nullptr;
  decltype(&dnnl_matmul_desc_init) matmul_desc_init = nullptr;
  decltype(&dnnl_primitive_attr_create) primitive_attr_create = nullptr;
  decltype(&dnnl_primitive_attr_destroy) primitive_attr_destroy = nullptr;
  decltype(&dnnl_primitive_attr_set_scratchpad_mode)
      primitive_attr_set_scratchpad_mode = nullptr;
  decltype(&dnnl_primitive_desc_create) primitive_desc_create = nullptr;
  decltype(&dnnl_primitive_desc_destroy) primitive_desc_destroy = nullptr;
  decltype(&dnnl_primitive_desc_query) primitive_desc_query = nullptr;
  decltype(&dnnl_primitive_desc_query_md) primitive_desc_query_md = nullptr;
  decltype(&dnnl_reorder_primitive_desc_create) reorder_primitive_desc_create =
      nullptr;
  decltype(&dnnl_primitive_create) primitive_create = nullptr;
  decltype(&dnnl_primitive_destroy) primitive_destroy = nullptr;
  decltype(&dnnl_primitive_execute) primitive_execute = nullptr;
  // OpenMP's functions for the number of threads. They apply to the calling
  // thread.
  void (*omp_set_num_threads)(int) = nullptr;
  int (*omp_get_max_threads)() = nullptr;
  // The CPU engine; lives as long as the process.
  dnnl_engine_t engine = nullptr;

  // Returns NOT_FOUND if `library` cannot be opened or lacks a function.
  static absl::StatusOr<DnnlLibrary> Open(const std::string& library);
  // Returns the library, or null if it is missing or the environment variable
  // WEFT_DNNL is "off". Another value of WEFT_DNNL names a library to open
  // instead of "libdnnl.so.2". Searched once, in the first call. Thread-safe.
  static const DnnlLibrary* Best();
};

// Restricts oneDNN to the calling thread while it lives.
class OneThread {
 public:
  explicit OneThread(const DnnlLibrary& library);
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const DnnlLibrary& library_;
  const int before_;
};

// DnnlDescriptor describes oneDNN's implementation of an op for certain
// layouts, not compiled yet. Immutable.
class DnnlDescriptor {
 public:
  // Creates a descriptor from oneDNN's descriptor of an op. Returns
  // UNIMPLEMENTED if oneDNN has no implementation, or only plain loops ("ref").
  // For a backward op, `hint` is the descriptor of the forward op; otherwise it
  // is null.
  static absl::StatusOr<DnnlDescriptor> Create(const DnnlLibrary& library,
                                               const void* op_desc,
                                               const DnnlDescriptor* hint);
  // Creates the descriptor of a copy from one layout to another.
  static absl::StatusOr<DnnlDescriptor> CreateReorder(
      const DnnlLibrary& library, const dnnl_memory_desc_t& from,
      const dnnl_memory_desc_t& to);

  DnnlDescriptor(DnnlDescriptor&& other) noexcept
      : library_(other.library_), desc_(std::exchange(other.desc_, nullptr)) {}
  ~DnnlDescriptor();

  const DnnlLibrary& library() const { return *library_; }
  const_dnnl_primitive_desc_t get() const { return desc_; }
  // Returns the memory layout of an argument.
  const dnnl_memory_desc_t& layout(int argument) const;
  // Returns oneDNN's name of the implementation.
  absl::string_view implementation() const;

 private:
  DnnlDescriptor(const DnnlLibrary& library, dnnl_primitive_desc_t desc)
      : library_(&library), desc_(desc) {}

  const DnnlLibrary* library_;
  dnnl_primitive_desc_t desc_;  // null: moved from
};

// DnnlPrimitive is a compiled descriptor. Immutable, so any number of threads
// may run it concurrently, each with its own scratchpad.
class DnnlPrimitive {
 public:
  // An argument: DNNL_ARG_SRC or a similar number, and its memory. oneDNN takes
  // read-only memory as void*, too.
  struct Argument {
    int index;
    const void* data;
  };

  static absl::StatusOr<std::unique_ptr<DnnlPrimitive>> Create(
      DnnlDescriptor descriptor);
  ~DnnlPrimitive();
  DnnlPrimitive(const DnnlPrimitive&) = delete;
  DnnlPrimitive& operator=(const DnnlPrimitive&) = delete;

  // Returns the memory layout of an argument.
  const dnnl_memory_desc_t& layout(int argument) const {
    return descriptor_.layout(argument);
  }
  size_t bytes(int argument) const;
  size_t scratchpad_bytes() const { return bytes(DNNL_ARG_SCRATCHPAD); }

  // Runs the primitive. REQUIRES: `scratchpad` has scratchpad_bytes() bytes and
  // is aligned to 64 bytes.
  absl::Status Run(absl::Span<const Argument> arguments,
                   void* scratchpad) const;

 private:
  DnnlPrimitive(DnnlDescriptor descriptor, dnnl_primitive_t primitive)
      : descriptor_(std::move(descriptor)), primitive_(primitive) {}

  const DnnlDescriptor descriptor_;
  const dnnl_primitive_t primitive_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_COMMON_DNNL_LIBRARY_H_
