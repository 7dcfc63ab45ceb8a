// Kernels on single strings: case, white space, substrings, length. Characters
// are bytes, or with unit UTF8_CHAR a byte that is not a continuation byte
// together with its continuation bytes.
#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/kernels/math/broadcast.h"
#include "libs/kernels/string/string_kernels.h"
#include "libs/kernels/string/unicode_case.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

bool BeginsCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

bool InCharacters(const OpKernelConstruction& construction) {
  return construction.GetAttr<std::string>("unit").value_or("BYTE") ==
         "UTF8_CHAR";
}

int64_t LengthOf(absl::string_view text, bool in_characters) {
  return in_characters
             ? std::count_if(text.begin(), text.end(), BeginsCharacter)
             : static_cast<int64_t>(text.size());
}

class StringLengthKernel : public OpKernel {
 public:
  explicit StringLengthKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), in_characters_(InCharacters(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const auto in = context.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, context.input(0).shape()));
    auto out = output->mutable_flat<int32_t>();
    for (size_t i = 0; i < in.size(); ++i) {
      out[i] = static_cast<int32_t>(LengthOf(in[i], in_characters_));
    }
    return absl::OkStatus();
  }

 private:
  const bool in_characters_;
};

// Applies `change` to each string; the result is at most `growth` times as
// long.
template <typename Change>
absl::Status ForEach(OpKernelContext& context, size_t growth,
                     const Change& change) {
  const auto in = context.input(0).flat<std::string>();
  ASSIGN_OR_RETURN(Tensor * output,
                   context.AllocateOutput(0, context.input(0).shape()));
  auto out = output->mutable_flat<std::string>();
  HeapCharge charge(context.host_allocator());
  for (size_t i = 0; i < in.size(); ++i) {
    const StringInMaking making(charge);
    RETURN_IF_ERROR(charge.AddStrings(growth, in[i].size()));
    out[i] = change(in[i]);
    making.KeepOnly(out[i]);
  }
  return absl::OkStatus();
}

class StringStripKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    return ForEach(context, 1, [](const std::string& text) {
      return std::string(absl::StripAsciiWhitespace(text));
    });
  }
};

// StringLower and StringUpper: for ASCII letters, or with encoding utf-8 for
// all letters.
template <bool upper>
class StringCaseKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(const std::string encoding,
                     construction.GetAttr<std::string>("encoding"));
    auto kernel = std::make_unique<StringCaseKernel>(construction);
    if (encoding.empty()) return kernel;
    if (encoding != "utf-8") {
      return absl::InvalidArgumentError(absl::StrCat(
          "only utf-8 or '' (no encoding) is supported, received ", encoding));
    }
    ASSIGN_OR_RETURN(kernel->unicode_, UnicodeCase::Make());
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    // Letters are handled as numbers of four bytes.
    constexpr size_t kUnicodeGrowth = 8;
    const size_t growth = unicode_ == nullptr ? 1 : kUnicodeGrowth;
    return ForEach(context, growth, [this](const std::string& text) {
      if (unicode_ == nullptr) {
        return upper ? absl::AsciiStrToUpper(text)
                     : absl::AsciiStrToLower(text);
      }
      return upper ? unicode_->Upper(text) : unicode_->Lower(text);
    });
  }

 private:
  std::unique_ptr<const UnicodeCase> unicode_;  // null without an encoding
};

// Finds bytes [begin, begin + length) of the substring in the unit of
// `in_characters`; returns false if `position` is out of range.
bool Cut(absl::string_view text, int64_t position, int64_t length,
         bool in_characters, std::string& result) {
  const int64_t size = LengthOf(text, in_characters);
  const int64_t begin = position < 0 ? position + size : position;
  if (begin < 0 || begin > size) return false;
  // In TensorFlow, a negative length means all remaining bytes, but zero
  // characters.
  const int64_t most = size - begin;
  const int64_t none_or_all = in_characters ? 0 : most;
  const int64_t end =
      begin + (length < 0 ? none_or_all : std::min(length, most));
  if (!in_characters) {
    result = std::string(text.substr(begin, end - begin));
    return true;
  }
  result.clear();
  int64_t character = -1;
  for (char byte : text) {
    if (BeginsCharacter(byte)) ++character;
    if (character >= begin && character < end) result += byte;
  }
  return true;
}

class SubstrKernel : public OpKernel {
 public:
  explicit SubstrKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), in_characters_(InCharacters(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    if (context.input(1).shape() != context.input(2).shape()) {
      return absl::InvalidArgumentError(
          absl::StrCat("pos and len should have the same shape, got: ",
                       context.input(1).shape().ToString(), " vs. ",
                       context.input(2).shape().ToString()));
    }
    RETURN_IF_ERROR(
        CheckRanks(context.input(0).shape(), context.input(1).shape()));
    return DispatchType(
        IndexTypes{}, context.input(1).dtype(),
        [&]<typename T>(TypeTag<T>) { return CutAll<T>(context); });
  }

 private:
  // The limit of TensorFlow's broadcasts; programs may rely on its error.
  static absl::Status CheckRanks(const TensorShape& texts,
                                 const TensorShape& parts) {
    constexpr int kMaxRank = 2;
    const int rank = std::max(texts.rank(), parts.rank());
    if (rank <= kMaxRank || parts.IsScalar() || texts == parts) {
      return absl::OkStatus();
    }
    return absl::UnimplementedError(absl::StrCat(
        "Substr broadcast not implemented for ", rank, " dimensions"));
  }

  template <typename T>
  absl::Status CutAll(OpKernelContext& context) const {
    const auto texts = context.input(0).flat<std::string>();
    const auto positions = context.input(1).flat<T>();
    const auto lengths = context.input(2).flat<T>();
    ASSIGN_OR_RETURN(
        const Broadcast broadcast,
        Broadcast::Of(context.input(0).shape(), context.input(1).shape()));
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, broadcast.shape()));
    auto out = output->mutable_flat<std::string>();
    HeapCharge charge(context.host_allocator());
    absl::Status status;
    broadcast.ForEachRow(
        0, broadcast.rows(),
        [&](int64_t row, const Broadcast::Offsets& offsets) {
          for (int64_t i = 0; i < broadcast.row_size() && status.ok(); ++i) {
            const int64_t at = row * broadcast.row_size() + i;
            const auto& text = texts[offsets[0] + i * broadcast.step(0)];
            const int64_t part = offsets[1] + i * broadcast.step(1);
            if (Cut(text, positions[part], lengths[part], in_characters_,
                    out[at])) {
              status = charge.AddStrings(1, out[at].size());
              continue;
            }
            status.Update(absl::InvalidArgumentError(absl::StrCat(
                "pos ", positions[part], " out of range for string b'", text,
                "' at index ", at)));
          }
        });
    return status;
  }

  const bool in_characters_;
};

}  // namespace

void RegisterStringTextKernels(KernelRegistry& registry) {
  registry.Register<StringLengthKernel>("StringLength");
  registry.Register<StringStripKernel>("StringStrip");
  registry.Register({.op = "StringLower"}, StringCaseKernel<false>::Make);
  registry.Register({.op = "StringUpper"}, StringCaseKernel<true>::Make);
  registry.Register<SubstrKernel>("Substr");
}

}  // namespace weft
