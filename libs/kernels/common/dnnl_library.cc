#include "libs/kernels/common/dnnl_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/base/status.h"

namespace weft {
namespace {

absl::Status ToStatus(dnnl_status_t status, absl::string_view what) {
  if (status == dnnl_success) return absl::OkStatus();
  const std::string text =
      absl::StrCat("oneDNN: ", what, ": error ", static_cast<int>(status));
  if (status == dnnl_unimplemented) return absl::UnimplementedError(text);
  if (status == dnnl_out_of_memory) return absl::ResourceExhaustedError(text);
  return absl::InternalError(text);
}

// Looks up `name` in an open library; `missing` is set to the first missing
// name.
template <typename Function>
void Find(void* handle, const char* name, Function& function,
          std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (function == nullptr && missing.empty()) missing = name;
}

std::string FindFunctions(void* handle, DnnlLibrary& library) {
  std::string missing;
  const auto find = [&](const char* name, auto& function) {
    Find(handle, name, function, missing);
  };
  find("dnnl_engine_create", library.engine_create);
  find("dnnl_stream_create", library.stream_create);
  find("dnnl_stream_destroy", library.stream_destroy);
  find("dnnl_stream_wait", library.stream_wait);
  find("dnnl_memory_desc_init_by_tag", library.memory_desc_init_by_tag);
  find("dnnl_memory_desc_init_by_strides", library.memory_desc_init_by_strides);
  find("dnnl_memory_desc_init_submemory", library.memory_desc_init_submemory);
  find("dnnl_memory_desc_get_size", library.memory_desc_get_size);
  find("dnnl_memory_create", library.memory_create);
  find("dnnl_memory_destroy", library.memory_destroy);
  find("dnnl_dilated_convolution_forward_desc_init",
       library.dilated_convolution_forward_desc_init);
  find("dnnl_dilated_convolution_backward_data_desc_init",
       library.dilated_convolution_backward_data_desc_init);
  find("dnnl_dilated_convolution_backward_weights_desc_init",
       library.dilated_convolution_backward_weights_desc_init);
  find("dnnl_matmul_desc_init", library.matmul_desc_init);
  find("dnnl_primitive_attr_create", library.primitive_attr_create);
  find("dnnl_primitive_attr_destroy", library.primitive_attr_destroy);
  find("dnnl_primitive_attr_set_scratchpad_mode",
       library.primitive_attr_set_scratchpad_mode);
  find("dnnl_primitive_desc_create", library.primitive_desc_create);
  find("dnnl_primitive_desc_destroy", library.primitive_desc_destroy);
  find("dnnl_primitive_desc_query", library.primitive_desc_query);
  find("dnnl_primitive_desc_query_md", library.primitive_desc_query_md);
  find("dnnl_reorder_primitive_desc_create",
       library.reorder_primitive_desc_create);
  find("dnnl_primitive_create", library.primitive_create);
  find("dnnl_primitive_destroy", library.primitive_destroy);
  find("dnnl_primitive_execute", library.primitive_execute);
  find("omp_set_num_threads", library.omp_set_num_threads);
  find("omp_get_max_threads", library.omp_get_max_threads);
  return missing;
}

// The attributes of all primitives: callers provide the scratchpad, so that
// many threads may run one primitive.
absl::StatusOr<dnnl_primitive_attr_t> NewAttributes(
    const DnnlLibrary& library) {
  dnnl_primitive_attr_t attributes = nullptr;
  RETURN_IF_ERROR(ToStatus(library.primitive_attr_create(&attributes),
                           "primitive_attr_create"));
  library.primitive_attr_set_scratchpad_mode(attributes,
                                             dnnl_scratchpad_mode_user);
  return attributes;
}

// Memory is a oneDNN memory object that refers to Weft's memory.
class Memory {
 public:
  Memory(const DnnlLibrary& library, const dnnl_memory_desc_t& layout,
         const void* data)
      : library_(library) {
    status_ = library.memory_create(&memory_, &layout, library.engine,
                                    const_cast<void*>(data));
  }
  Memory(Memory&& other) noexcept
      : library_(other.library_),
        memory_(std::exchange(other.memory_, nullptr)),
        status_(other.status_) {}
  ~Memory() {
    if (memory_ != nullptr) library_.memory_destroy(memory_);
  }
  dnnl_memory_t get() const { return memory_; }
  dnnl_status_t status() const { return status_; }

 private:
  const DnnlLibrary& library_;
  dnnl_memory_t memory_ = nullptr;
  dnnl_status_t status_;
};

}  // namespace

absl::StatusOr<DnnlLibrary> DnnlLibrary::Open(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("oneDNN: ", library, " cannot be opened: ", dlerror()));
  }
  DnnlLibrary found;
  const std::string missing = FindFunctions(handle, found);
  if (!missing.empty()) {
    dlclose(handle);
    return absl::NotFoundError(
        absl::StrCat("no oneDNN: ", library, " has no ", missing));
  }
  RETURN_IF_ERROR(ToStatus(found.engine_create(&found.engine, dnnl_cpu, 0),
                           "engine_create"));
  return found;
}

const DnnlLibrary* DnnlLibrary::Best() {
  static const absl::StatusOr<DnnlLibrary> best =
      []() -> absl::StatusOr<DnnlLibrary> {
    const char* const wanted = std::getenv("WEFT_DNNL");
    if (wanted == nullptr) return Open("libdnnl.so.2");
    if (absl::string_view(wanted) == "off") {
      return absl::NotFoundError("WEFT_DNNL is off");
    }
    return Open(wanted);
  }();
  return best.ok() ? &*best : nullptr;
}

OneThread::OneThread(const DnnlLibrary& library)
    : library_(library), before_(library.omp_get_max_threads()) {
  if (before_ != 1) library_.omp_set_num_threads(1);
}

OneThread::~OneThread() {
  if (before_ != 1) library_.omp_set_num_threads(before_);
}

absl::StatusOr<DnnlDescriptor> DnnlDescriptor::Create(
    const DnnlLibrary& library, const void* op_desc,
    const DnnlDescriptor* hint) {
  const OneThread one_thread(library);
  ASSIGN_OR_RETURN(const dnnl_primitive_attr_t attributes,
                   NewAttributes(library));
  dnnl_primitive_desc_t desc = nullptr;
  const dnnl_status_t status =
      library.primitive_desc_create(&desc, op_desc, attributes, library.engine,
                                    hint == nullptr ? nullptr : hint->get());
  library.primitive_attr_destroy(attributes);
  RETURN_IF_ERROR(ToStatus(status, "primitive_desc_create"));
  DnnlDescriptor result(library, desc);
  if (absl::StartsWith(result.implementation(), "ref")) {
    return absl::UnimplementedError(
        absl::StrCat("oneDNN has only plain loops: ", result.implementation()));
  }
  return result;
}

absl::string_view DnnlDescriptor::implementation() const {
  const char* name = "";
  library_->primitive_desc_query(desc_, dnnl_query_impl_info_str, 0, &name);
  return name;
}

absl::StatusOr<DnnlDescriptor> DnnlDescriptor::CreateReorder(
    const DnnlLibrary& library, const dnnl_memory_desc_t& from,
    const dnnl_memory_desc_t& to) {
  const OneThread one_thread(library);
  ASSIGN_OR_RETURN(const dnnl_primitive_attr_t attributes,
                   NewAttributes(library));
  dnnl_primitive_desc_t desc = nullptr;
  const dnnl_status_t status = library.reorder_primitive_desc_create(
      &desc, &from, library.engine, &to, library.engine, attributes);
  library.primitive_attr_destroy(attributes);
  RETURN_IF_ERROR(ToStatus(status, "reorder_primitive_desc_create"));
  return DnnlDescriptor(library, desc);
}

DnnlDescriptor::~DnnlDescriptor() {
  if (desc_ != nullptr) library_->primitive_desc_destroy(desc_);
}

const dnnl_memory_desc_t& DnnlDescriptor::layout(int argument) const {
  return *library_->primitive_desc_query_md(desc_, dnnl_query_exec_arg_md,
                                            argument);
}

absl::StatusOr<std::unique_ptr<DnnlPrimitive>> DnnlPrimitive::Create(
    DnnlDescriptor descriptor) {
  const DnnlLibrary& library = descriptor.library();
  const OneThread one_thread(library);
  dnnl_primitive_t primitive = nullptr;
  RETURN_IF_ERROR(
      ToStatus(library.primitive_create(&primitive, descriptor.get()),
               "primitive_create"));
  return absl::WrapUnique(new DnnlPrimitive(std::move(descriptor), primitive));
}

DnnlPrimitive::~DnnlPrimitive() {
  descriptor_.library().primitive_destroy(primitive_);
}

size_t DnnlPrimitive::bytes(int argument) const {
  return descriptor_.library().memory_desc_get_size(&layout(argument));
}

absl::Status DnnlPrimitive::Run(absl::Span<const Argument> arguments,
                                void* scratchpad) const {
  const DnnlLibrary& library = descriptor_.library();
  const OneThread one_thread(library);
  std::vector<Memory> memories;
  std::vector<dnnl_exec_arg_t> given;
  memories.reserve(arguments.size() + 1);
  const auto give = [&](int index, const void* data) {
    memories.emplace_back(library, layout(index), data);
    given.push_back({index, memories.back().get()});
    return ToStatus(memories.back().status(), "memory_create");
  };
  for (const Argument& argument : arguments) {
    RETURN_IF_ERROR(give(argument.index, argument.data));
  }
  RETURN_IF_ERROR(give(DNNL_ARG_SCRATCHPAD, scratchpad));
  dnnl_stream_t stream = nullptr;
  RETURN_IF_ERROR(ToStatus(
      library.stream_create(&stream, library.engine, dnnl_stream_default_flags),
      "stream_create"));
  dnnl_status_t status = library.primitive_execute(
      primitive_, stream, static_cast<int>(given.size()), given.data());
  if (status == dnnl_success) status = library.stream_wait(stream);
  library.stream_destroy(stream);
  return ToStatus(status, "primitive_execute");
}

}  // namespace weft
