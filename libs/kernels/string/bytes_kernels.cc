// Kernels of binary data in strings: DecodeRaw, EncodeBase64, DecodeBase64.
#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/kernels/string/string_kernels.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

class DecodeRawKernel : public OpKernel {
 public:
  explicit DecodeRawKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        little_endian_(
            construction.GetAttr<bool>("little_endian").value_or(true)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    const DataType type = context.output_type(0);
    const int64_t element_size = static_cast<int64_t>(DataTypeSize(type));
    ASSIGN_OR_RETURN(const int64_t length, CommonLength(input));
    if (length % element_size != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input to DecodeRaw has length ", length,
                       " that is not a multiple of ", element_size,
                       ", the size of ", DataTypeName(type)));
    }
    Dims dims(input.shape().dims().begin(), input.shape().dims().end());
    dims.push_back(length / element_size);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    char* out = static_cast<char*>(output->mutable_data());
    for (const std::string& bytes : input.flat<std::string>()) {
      out = std::copy(bytes.begin(), bytes.end(), out);
    }
    if (type == DT_BOOL) MendBools(*output);
    if (!little_endian_) SwapBytes(*output);
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<int64_t> CommonLength(const Tensor& input) {
    const auto strings = input.flat<std::string>();
    for (size_t i = 0; i < strings.size(); ++i) {
      if (strings[i].size() == strings[0].size()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "DecodeRaw requires input strings to all be the same size, but "
          "element ",
          i, " has size ", strings[i].size(), " != ", strings[0].size()));
    }
    return strings.empty() ? 0 : static_cast<int64_t>(strings[0].size());
  }

  // A byte other than 0 or 1 is not a bool, and reading it would be undefined.
  static void MendBools(Tensor& tensor) {
    auto* bytes = static_cast<uint8_t*>(tensor.mutable_data());
    const int64_t count = tensor.num_elements();
    for (int64_t i = 0; i < count; ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
  }

  // The two parts of a complex number are swapped separately.
  static void SwapBytes(Tensor& tensor) {
    const size_t size = DataTypeSize(tensor.dtype());
    const size_t number = IsComplexType(tensor.dtype()) ? size / 2 : size;
    char* at = static_cast<char*>(tensor.mutable_data());
    char* const end = at + tensor.num_bytes();
    for (; at < end; at += number) std::reverse(at, at + number);
  }

  const bool little_endian_;
};

class EncodeBase64Kernel : public OpKernel {
 public:
  explicit EncodeBase64Kernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        pad_(construction.GetAttr<bool>("pad").value_or(false)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const auto in = context.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, context.input(0).shape()));
    auto out = output->mutable_flat<std::string>();
    HeapCharge charge(context.host_allocator());
    for (size_t i = 0; i < in.size(); ++i) {
      RETURN_IF_ERROR(charge.AddStrings(1, in[i].size() / 3 * 4 + 4));
      out[i] = absl::WebSafeBase64Escape(in[i]);
      if (pad_) out[i].resize((out[i].size() + 3) / 4 * 4, '=');
    }
    return absl::OkStatus();
  }

 private:
  const bool pad_;
};

// Decodes web-safe base64 as TensorFlow does: Abseil skips blanks and accepts
// any padding; TensorFlow accepts no blanks, and only padding to four
// characters.
absl::Status DecodeBase64(absl::string_view text, std::string& bytes) {
  if (text.size() % 4 == 0 && absl::ConsumeSuffix(&text, "=")) {
    absl::ConsumeSuffix(&text, "=");
  }
  const bool is_clean = std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
           c == '_';
  });
  if (!is_clean) {
    return absl::InvalidArgumentError("Invalid character found in base64.");
  }
  if (text.size() % 4 == 1 || !absl::WebSafeBase64Unescape(text, &bytes)) {
    return absl::InvalidArgumentError(
        "Base64 string length cannot be 1 modulo 4.");
  }
  return absl::OkStatus();
}

class DecodeBase64Kernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const auto in = context.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, context.input(0).shape()));
    auto out = output->mutable_flat<std::string>();
    HeapCharge charge(context.host_allocator());
    for (size_t i = 0; i < in.size(); ++i) {
      RETURN_IF_ERROR(charge.AddStrings(1, in[i].size()));
      RETURN_IF_ERROR(DecodeBase64(in[i], out[i]));
    }
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterStringBytesKernels(KernelRegistry& registry) {
  registry.Register<DecodeRawKernel>("DecodeRaw");
  registry.Register<EncodeBase64Kernel>("EncodeBase64");
  registry.Register<DecodeBase64Kernel>("DecodeBase64");
}

}  // namespace weft
