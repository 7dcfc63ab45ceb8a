// Kernels that convert numbers to strings and back.
#include <algorithm>
#include <complex>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/base/text_numbers.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/string/string_kernels.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// Formats with printf; `format` is never user input.
[[gnu::format(printf, 1, 0)]] std::string FormatList(const char* format,
                                                     va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, arguments);
  std::string text(size < 0 ? 0 : static_cast<size_t>(size) + 1, '\0');
  if (!text.empty()) {
    std::vsnprintf(text.data(), text.size(), format, again);
    text.pop_back();
  }
  va_end(again);
  return text;
}

std::string Format(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = FormatList(format, arguments);
  va_end(arguments);
  return text;
}

using PrintableTypes =
    TypeList<float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t,
             uint8_t, uint16_t, uint32_t, uint64_t, std::complex<float>,
             std::complex<double>, bool, std::string>;

class AsStringKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<AsStringKernel>(construction);
    ASSIGN_OR_RETURN(const DataType type, construction.GetAttr<DataType>("T"));
    ASSIGN_OR_RETURN(const std::string flags, ReadFlags(construction));
    ASSIGN_OR_RETURN(const int64_t precision,
                     construction.GetAttr<int64_t>("precision"));
    if (type == DT_STRING) {
      ASSIGN_OR_RETURN(const int64_t width,
                       construction.GetAttr<int64_t>("width"));
      kernel->width_ = static_cast<size_t>(std::max<int64_t>(width, 0));
      kernel->at_left_ = absl::StartsWith(flags, "-");
      if (precision >= 0 && width > 0) {
        kernel->most_ = static_cast<size_t>(precision);
      }
      return kernel;
    }
    const bool fraction = IsFloatingType(type) || IsComplexType(type);
    if (precision >= 0 && !fraction) {
      return absl::InvalidArgumentError(absl::StrCat(
          "precision not supported for datatype ", DataTypeName(type)));
    }
    ASSIGN_OR_RETURN(const char letter,
                     ReadNotation(construction, fraction, type));
    std::string& format = kernel->format_;
    // Bools are never padded.
    format = absl::StrCat("%", type == DT_BOOL ? "" : flags);
    if (precision >= 0) absl::StrAppend(&format, ".", precision);
    if (!fraction && type != DT_BOOL) format += "l";
    format += letter;
    if (IsComplexType(type))
      format = absl::StrCat("(", format, ",", format, ")");
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, input.shape()));
    HeapCharge charge(context.host_allocator());
    return DispatchType(
        PrintableTypes{}, input.dtype(),
        [&]<typename T>(TypeTag<T>) -> absl::Status {
          const auto in = input.flat<T>();
          auto out = output->mutable_flat<std::string>();
          for (size_t i = 0; i < in.size(); ++i) {
            if constexpr (std::is_same_v<T, std::string>) {
              RETURN_IF_ERROR(
                  charge.AddStrings(1, std::max(width_, in[i].size())));
            }
            out[i] = Print(in[i]);
            if constexpr (!std::is_same_v<T, std::string>) {
              RETURN_IF_ERROR(charge.AddStrings(1, out[i].size()));
            }
          }
          return absl::OkStatus();
        });
  }

 private:
  // The flags between "%" and the precision: fill and width.
  static absl::StatusOr<std::string> ReadFlags(
      const OpKernelConstruction& construction) {
    constexpr int64_t kMaxWidth = 10000;
    ASSIGN_OR_RETURN(const std::string fill,
                     construction.GetAttr<std::string>("fill"));
    ASSIGN_OR_RETURN(const int64_t width,
                     construction.GetAttr<int64_t>("width"));
    ASSIGN_OR_RETURN(const int64_t precision,
                     construction.GetAttr<int64_t>("precision"));
    if (fill.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Fill string must be one or fewer characters, got: ", fill));
    }
    if (!fill.empty() &&
        absl::string_view(" +-0#").find(fill[0]) == absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("Fill argument not supported: \"", fill, "\""));
    }
    if (width > kMaxWidth || precision > kMaxWidth) {
      return absl::InvalidArgumentError(
          absl::StrCat("width and precision must be at most ", kMaxWidth,
                       ", got ", width, " and ", precision));
    }
    return width < 0 ? fill : absl::StrCat(fill, width);
  }

  static absl::StatusOr<char> ReadNotation(
      const OpKernelConstruction& construction, bool fraction, DataType type) {
    ASSIGN_OR_RETURN(const bool scientific,
                     construction.GetAttr<bool>("scientific"));
    ASSIGN_OR_RETURN(const bool shortest,
                     construction.GetAttr<bool>("shortest"));
    if (scientific && shortest) {
      return absl::InvalidArgumentError(
          "Cannot select both scientific and shortest notation");
    }
    if (fraction) return scientific ? 'e' : shortest ? 'g' : 'f';
    if (scientific || shortest) {
      return absl::InvalidArgumentError(
          absl::StrCat("scientific and shortest format not supported for "
                       "datatype ",
                       DataTypeName(type)));
    }
    if (type == DT_BOOL) return 's';
    const bool is_unsigned = type == DT_UINT8 || type == DT_UINT16 ||
                             type == DT_UINT32 || type == DT_UINT64;
    return is_unsigned ? 'u' : 'd';
  }

  template <typename T>
  std::string Print(const T& value) const {
    const char* const format = format_.c_str();
    if constexpr (std::is_same_v<T, std::string>) {
      return Padded(value);
    } else if constexpr (std::is_same_v<T, bool>) {
      return Format(format, value ? "true" : "false");
    } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                         std::is_same_v<T, std::complex<double>>) {
      return Format(format, static_cast<double>(value.real()),
                    static_cast<double>(value.imag()));
    } else if constexpr (std::is_unsigned_v<T>) {
      return Format(format, static_cast<unsigned long>(value));  // NOLINT
    } else if constexpr (std::is_integral_v<T>) {
      return Format(format, static_cast<long>(value));  // NOLINT
    } else {
      return Format(format, static_cast<double>(static_cast<Wide<T>>(value)));
    }
  }

  // Does not use printf, which would stop at a NUL byte.
  std::string Padded(absl::string_view text) const {
    text = text.substr(0, most_);
    const std::string blanks(width_ - std::min(width_, text.size()), ' ');
    return at_left_ ? absl::StrCat(text, blanks) : absl::StrCat(blanks, text);
  }

  std::string format_;
  // For strings: the maximum length, and the width and alignment.
  size_t most_ = absl::string_view::npos;
  size_t width_ = 0;
  bool at_left_ = false;
};

using ParsedTypes =
    TypeList<float, double, int32_t, int64_t, uint32_t, uint64_t>;

class StringToNumberKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const auto in = context.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, context.input(0).shape()));
    return DispatchType(
        ParsedTypes{}, output->dtype(),
        [&]<typename T>(TypeTag<T>) -> absl::Status {
          auto out = output->mutable_flat<T>();
          for (size_t i = 0; i < in.size(); ++i) {
            if (ParseNumber(in[i], out[i])) continue;
            return absl::InvalidArgumentError(absl::StrCat(
                "StringToNumberOp could not correctly convert string: ",
                in[i]));
          }
          return absl::OkStatus();
        });
  }
};

}  // namespace

void RegisterStringNumberKernels(KernelRegistry& registry) {
  KernelDef as_string;
  as_string.op = "AsString";
  as_string.types = {{"T", DataTypesOf(PrintableTypes{})}};
  registry.Register(std::move(as_string), AsStringKernel::Make);
  registry.Register<StringToNumberKernel>("StringToNumber");
}

}  // namespace weft
