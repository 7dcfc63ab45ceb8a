// Kernels of regular expressions, with RE2: RegexReplace and RegexFullMatch,
// with a pattern from an input or an attribute.
//
// As in TensorFlow, a rewrite that refers to a missing group changes nothing.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/status.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/kernels/string/string_kernels.h"
#include "libs/tensor/heap_charge.h"
#include "re2/re2.h"

namespace weft {
namespace {

using Regex = std::shared_ptr<const RE2>;

absl::StatusOr<Regex> Compile(const std::string& pattern) {
  auto regex = std::make_shared<const RE2>(pattern, RE2::Quiet);
  if (regex->ok()) return regex;
  return absl::InvalidArgumentError(
      absl::StrCat("Invalid pattern: ", pattern, ", error: ", regex->error()));
}

// Caches the compiled pattern of the last step: most steps use the same.
class RegexCache {
 public:
  absl::StatusOr<Regex> Get(const std::string& pattern) {
    {
      absl::MutexLock lock(&mutex_);
      if (last_ != nullptr && last_->pattern() == pattern) return last_;
    }
    ASSIGN_OR_RETURN(Regex regex, Compile(pattern));
    absl::MutexLock lock(&mutex_);
    last_ = regex;
    return regex;
  }

 private:
  absl::Mutex mutex_;
  Regex last_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::string> ScalarInput(const OpKernelContext& context, int i,
                                        absl::string_view what) {
  const Tensor& input = context.input(i);
  if (input.shape().IsScalar()) return input.scalar<std::string>();
  return absl::InvalidArgumentError(absl::StrCat(
      what, " must be scalar, but received ", input.shape().ToString()));
}

absl::Status FullMatch(OpKernelContext& context, const RE2& regex) {
  const auto in = context.input(0).flat<std::string>();
  ASSIGN_OR_RETURN(Tensor * output,
                   context.AllocateOutput(0, context.input(0).shape()));
  auto out = output->mutable_flat<bool>();
  for (size_t i = 0; i < in.size(); ++i) {
    out[i] = RE2::FullMatch(in[i], regex);
  }
  return absl::OkStatus();
}

// At least the number of matches of GlobalReplace.
size_t CountMatches(const std::string& text, const RE2& regex) {
  size_t count = 0;
  re2::StringPiece match;
  for (size_t at = 0; at <= text.size();) {
    if (!regex.Match(text, at, text.size(), RE2::UNANCHORED, &match, 1)) break;
    ++count;
    const size_t end = static_cast<size_t>(match.data() - text.data()) +
                       static_cast<size_t>(match.size());
    at = match.empty() ? end + 1 : end;
  }
  return count;
}

// An upper bound of the length after replacement. Each group in the rewrite is
// a part of a match, and matches do not overlap.
size_t LengthOfReplaced(size_t length, size_t matches,
                        const std::string& rewrite) {
  const auto groups =
      static_cast<size_t>(std::count(rewrite.begin(), rewrite.end(), '\\'));
  size_t rewritten = 0, kept = 0, replaced = 0;
  if (__builtin_mul_overflow(matches, rewrite.size(), &rewritten) ||
      __builtin_mul_overflow(length, groups + 1, &kept) ||
      __builtin_add_overflow(rewritten, kept, &replaced)) {
    return std::numeric_limits<size_t>::max() - 1;
  }
  return replaced;
}

// Extending a string takes twice its size, because it is copied.
absl::Status ChargeReplaced(HeapCharge& charge, const std::string& text,
                            const RE2& regex, const std::string& rewrite,
                            bool all) {
  size_t most =
      LengthOfReplaced(text.size(), all ? text.size() + 1 : 1, rewrite);
  if (all && most > HeapCharge::kFreeBytes) {
    most = LengthOfReplaced(text.size(), CountMatches(text, regex), rewrite);
  }
  return charge.AddStrings(2, most);
}

absl::Status Replace(OpKernelContext& context, const RE2& regex,
                     const std::string& rewrite, bool all) {
  const auto in = context.input(0).flat<std::string>();
  ASSIGN_OR_RETURN(Tensor * output,
                   context.AllocateOutput(0, context.input(0).shape()));
  auto out = output->mutable_flat<std::string>();
  HeapCharge charge(context.host_allocator());
  for (size_t i = 0; i < in.size(); ++i) {
    const StringInMaking making(charge);
    RETURN_IF_ERROR(ChargeReplaced(charge, in[i], regex, rewrite, all));
    out[i] = in[i];
    if (all) {
      RE2::GlobalReplace(&out[i], regex, rewrite);
    } else {
      RE2::Replace(&out[i], regex, rewrite);
    }
    making.KeepOnly(out[i]);
  }
  return absl::OkStatus();
}

bool ReplacesAll(const OpKernelConstruction& construction) {
  return construction.GetAttr<bool>("replace_global").value_or(true);
}

class RegexFullMatchKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const std::string pattern,
                     ScalarInput(context, 1, "Pattern"));
    ASSIGN_OR_RETURN(const Regex regex, cache_.Get(pattern));
    return FullMatch(context, *regex);
  }

 private:
  RegexCache cache_;
};

class RegexReplaceKernel : public OpKernel {
 public:
  explicit RegexReplaceKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), all_(ReplacesAll(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const std::string pattern,
                     ScalarInput(context, 1, "Pattern"));
    ASSIGN_OR_RETURN(const std::string rewrite,
                     ScalarInput(context, 2, "Rewrite"));
    ASSIGN_OR_RETURN(const Regex regex, cache_.Get(pattern));
    return Replace(context, *regex, rewrite, all_);
  }

 private:
  const bool all_;
  RegexCache cache_;
};

class StaticRegexFullMatchKernel : public OpKernel {
 public:
  StaticRegexFullMatchKernel(const OpKernelConstruction& construction,
                             Regex regex)
      : OpKernel(construction), regex_(std::move(regex)) {}

  absl::Status Compute(OpKernelContext& context) override {
    return FullMatch(context, *regex_);
  }

 private:
  const Regex regex_;
};

class StaticRegexReplaceKernel : public OpKernel {
 public:
  StaticRegexReplaceKernel(const OpKernelConstruction& construction,
                           Regex regex)
      : OpKernel(construction),
        regex_(std::move(regex)),
        rewrite_(construction.GetAttr<std::string>("rewrite").value_or("")),
        all_(ReplacesAll(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    return Replace(context, *regex_, rewrite_, all_);
  }

 private:
  const Regex regex_;
  const std::string rewrite_;
  const bool all_;
};

// For kernels whose pattern is an attribute.
template <typename Kernel>
absl::StatusOr<std::unique_ptr<OpKernel>> Make(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(const std::string pattern,
                   construction.GetAttr<std::string>("pattern"));
  ASSIGN_OR_RETURN(Regex regex, Compile(pattern));
  return std::make_unique<Kernel>(construction, std::move(regex));
}

template <typename Kernel>
void RegisterStatic(KernelRegistry& registry, const char* op) {
  KernelDef def;
  def.op = op;
  registry.Register(std::move(def), Make<Kernel>);
}

}  // namespace

void RegisterStringRegexKernels(KernelRegistry& registry) {
  registry.Register<RegexFullMatchKernel>("RegexFullMatch");
  registry.Register<RegexReplaceKernel>("RegexReplace");
  RegisterStatic<StaticRegexFullMatchKernel>(registry, "StaticRegexFullMatch");
  RegisterStatic<StaticRegexReplaceKernel>(registry, "StaticRegexReplace");
}

}  // namespace weft
