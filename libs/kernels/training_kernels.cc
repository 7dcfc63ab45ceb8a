// The kernels that apply an optimizer's rule to a variable and its slots, in
// both variable families, to all elements or to some rows. Everything happens
// in place and in one pass, under the locks of all variables at once.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/number_types.h"
#include "libs/kernels/parallel_loop.h"
#include "libs/kernels/standard_kernels.h"
#include "libs/kernels/state_lookup.h"
#include "libs/kernels/training_rules.h"

namespace weft {
namespace {

// Where an op has its inputs, by the names of its definition.
struct ApplyInputs {
  std::vector<std::string> names;
  int gradient = -1;
  int indices = -1;  // -1: the gradient is dense

  explicit ApplyInputs(const OpDef& op) {
    for (const ArgDef& input : op.inputs) {
      const int i = static_cast<int>(names.size());
      names.push_back(input.name);
      if (input.name == "grad" || input.name == "delta") gradient = i;
      if (input.name == "indices") indices = i;
    }
  }
  int Find(absl::string_view name) const {
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == std::string(name)) return static_cast<int>(i);
    }
    return -1;
  }
};

absl::Status CheckSameShape(const std::string& name, const TensorShape& var,
                            const TensorShape& other) {
  if (var == other) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("var and ", name, " do not have the same shape",
                   var.ToString(), " ", other.ToString()));
}

// `gradient` holds a row of `var` for each of `indices`.
absl::Status CheckSparse(const TensorShape& var, const Tensor& gradient,
                         const Tensor& indices) {
  if (!indices.shape().IsVector()) {
    return absl::InvalidArgumentError("indices must be one-dimensional");
  }
  if (var.rank() < 1) {
    return absl::InvalidArgumentError("var must be at least 1 dimensional");
  }
  if (gradient.rank() != var.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("var and grad do not have the same rank: ", var.ToString(),
                     " ", gradient.shape().ToString()));
  }
  for (int d = 1; d < var.rank(); ++d) {
    if (var.dim(d) == gradient.dim(d)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("var and grad must match in dimension ", d));
  }
  if (gradient.dim(0) != indices.dim(0)) {
    return absl::InvalidArgumentError(
        "grad must be the same size as indices in the first dimension.");
  }
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    const int64_t index = IndexAt(indices, i);
    if (index >= 0 && index < var.dim(0)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "Index ", index, " at offset ", i, " in indices is out of range"));
  }
  return absl::OkStatus();
}

template <template <typename> class Rule, typename T>
class ApplyKernel : public OpKernel {
 public:
  explicit ApplyKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        inputs_(construction.node().op()),
        rule_(construction) {}

  absl::Status Compute(OpKernelContext& context) override {
    std::array<std::shared_ptr<Variable>, kVariables> variables;
    std::array<Variable*, kVariables> pointers;
    for (int i = 0; i < kVariables; ++i) {
      ASSIGN_OR_RETURN(variables[i], lookups_[i].FromInput(context, i));
      RETURN_IF_ERROR(CheckVariableType(*variables[i], DataTypeOf<T>::value));
      pointers[i] = variables[i].get();
    }
    Rule<W> rule = rule_;
    RETURN_IF_ERROR(ReadScalars(context, rule));
    RETURN_IF_ERROR(Variable::UpdateAll(context.cancellation(),
                                        context.allocator(), pointers,
                                        [&](absl::Span<Tensor* const> values) {
                                          return Apply(context, rule, values);
                                        }));
    ForwardReference(context);
    return absl::OkStatus();
  }

 private:
  using W = Wide<T>;
  static constexpr int kVariables = Rule<W>::kVariables;
  static constexpr size_t kScalars = Rule<W>::kScalars.size();

  absl::Status ReadScalars(const OpKernelContext& context,
                           Rule<W>& rule) const {
    std::array<W, kScalars> scalars;
    for (size_t i = 0; i < kScalars; ++i) {
      const Tensor& tensor = context.input(inputs_.Find(Rule<W>::kScalars[i]));
      if (!tensor.shape().IsScalar()) {
        return absl::InvalidArgumentError(
            absl::StrCat(Rule<W>::kScalars[i],
                         " is not a scalar: ", tensor.shape().ToString()));
      }
      scalars[i] = tensor.dtype() == DT_INT64
                       ? static_cast<W>(tensor.scalar<int64_t>())
                       : static_cast<W>(tensor.scalar<T>());
    }
    rule.Set(scalars);
    if constexpr (requires { rule.CheckSparse(); }) {
      if (inputs_.indices >= 0) return rule.CheckSparse();
    }
    return absl::OkStatus();
  }

  absl::Status Apply(OpKernelContext& context, const Rule<W>& rule,
                     absl::Span<Tensor* const> values) const {
    std::array<T*, kVariables> v;
    const TensorShape& shape = values[0]->shape();
    for (int i = 0; i < kVariables; ++i) {
      RETURN_IF_ERROR(
          CheckSameShape(inputs_.names[i], shape, values[i]->shape()));
      v[i] = values[i]->mutable_flat<T>().data();
    }
    const Tensor& gradient = context.input(inputs_.gradient);
    const T* g = gradient.flat<T>().data();
    if (inputs_.indices < 0) {
      RETURN_IF_ERROR(CheckSameShape(inputs_.names[inputs_.gradient], shape,
                                     gradient.shape()));
      ParallelLoop(context, shape.num_elements(), kVariables,
                   [&](int64_t begin, int64_t end) {
                     Loop(rule, v, begin, g + begin, end - begin);
                   });
      return absl::OkStatus();
    }
    const Tensor& indices = context.input(inputs_.indices);
    RETURN_IF_ERROR(CheckSparse(shape, gradient, indices));
    const int64_t rows = indices.num_elements();
    const int64_t row = rows == 0 ? 0 : gradient.num_elements() / rows;
    for (int64_t i = 0; i < rows; ++i) {
      Loop(rule, v, IndexAt(indices, i) * row, g + i * row, row);
    }
    return absl::OkStatus();
  }

  // Elements [begin, begin + n) of the variables; `g` is their gradient.
  static void Loop(const Rule<W>& rule, std::array<T*, kVariables> v,
                   int64_t begin, const T* g, int64_t n) {
    for (T*& variable : v) variable += begin;
    if constexpr (std::is_same_v<T, W>) {
      rule.Loop(v.data(), g, n);
    } else {
      LoopWide(rule, v, g, n);
    }
  }

  // The same for types that are computed with as another.
  static void LoopWide(const Rule<W>& rule, std::array<T*, kVariables> v,
                       const T* g, int64_t n) {
    constexpr int64_t kBlock = 256;
    W blocks[kVariables + 1][kBlock];
    W* wide[kVariables];
    for (int k = 0; k < kVariables; ++k) wide[k] = blocks[k];
    W* const wide_g = blocks[kVariables];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t size = std::min(kBlock, n - begin);
      for (int k = 0; k < kVariables; ++k) {
        Convert(v[k] + begin, wide[k], size);
      }
      Convert(g + begin, wide_g, size);
      rule.Loop(wide, wide_g, size);
      for (int k = 0; k < kVariables; ++k) {
        Convert(wide[k], v[k] + begin, size);
      }
    }
  }

  template <typename From, typename To>
  static void Convert(const From* from, To* to, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
  }

  const ApplyInputs inputs_;
  const Rule<W> rule_;
  std::array<VariableLookup, kVariables> lookups_;
};

template <template <typename> class Rule, typename T>
void RegisterRuleForType(KernelRegistry& registry, const std::string& name,
                         bool has_sparse) {
  using Kernel = ApplyKernel<Rule, T>;
  const std::map<std::string, std::vector<DataType>> types = {
      {"T", {DataTypeOf<T>::value}}};
  registry.Register<Kernel>("Apply" + name, types, /*is_cheap=*/true);
  registry.Register<Kernel>("ResourceApply" + name, types, /*is_cheap=*/true);
  if (!has_sparse) return;
  registry.Register<Kernel>("SparseApply" + name, types);
  registry.Register<Kernel>("ResourceSparseApply" + name, types);
}

template <template <typename> class Rule>
void RegisterRule(KernelRegistry& registry, const std::string& name,
                  bool has_sparse = true) {
  RegisterRuleForType<Rule, float>(registry, name, has_sparse);
  RegisterRuleForType<Rule, double>(registry, name, has_sparse);
  RegisterRuleForType<Rule, half>(registry, name, has_sparse);
  RegisterRuleForType<Rule, bfloat16>(registry, name, has_sparse);
}

}  // namespace

void RegisterTrainingKernels(KernelRegistry& registry) {
  constexpr bool kDenseOnly = false;
  RegisterRule<GradientDescentRule>(registry, "GradientDescent", kDenseOnly);
  RegisterRule<MomentumRule>(registry, "Momentum");
  RegisterRule<AdagradRule>(registry, "Adagrad");
  RegisterRule<AdagradV2Rule>(registry, "AdagradV2");
  RegisterRule<AdamRule>(registry, "Adam", kDenseOnly);
  RegisterRule<AdaMaxRule>(registry, "AdaMax", kDenseOnly);
  RegisterRule<AdadeltaRule>(registry, "Adadelta");
  RegisterRule<AdagradDARule>(registry, "AdagradDA");
  RegisterRule<RMSPropRule>(registry, "RMSProp");
  RegisterRule<CenteredRMSPropRule>(registry, "CenteredRMSProp");
  RegisterRule<FtrlRule>(registry, "Ftrl");
  RegisterRule<FtrlV2Rule>(registry, "FtrlV2");
  RegisterRule<ProximalGradientDescentRule>(registry,
                                            "ProximalGradientDescent");
  RegisterRule<ProximalAdagradRule>(registry, "ProximalAdagrad");
}

}  // namespace weft
