// Kernels that apply an optimizer's rule to a variable and its slots, for both
// kinds of variables, and for all elements or some rows. Everything happens in
// one pass, under the locks of all variables, and in place, unless the value of
// a variable is held elsewhere: its elements are then written to new memory.
#include "libs/kernels/training/training_kernels.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/common/row_copies.h"
#include "libs/kernels/isa/narrow_loops.h"
#include "libs/kernels/resource/update_checks.h"
#include "libs/kernels/resource/variable_lookup.h"
#include "libs/kernels/training/training_rules.h"

namespace weft {
namespace {

// The positions of an op's inputs, from the names in its definition.
struct ApplyInputs {
  std::vector<std::string> names;
  int gradient = -1;
  int indices = -1;  // -1: dense gradient

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

// `gradient` must have a row of `var` for each of `indices`.
absl::Status CheckSparse(const TensorShape& var, const Tensor& gradient,
                         const Tensor& indices) {
  RETURN_IF_ERROR(CheckGradientOfRows(var, gradient.shape(), indices.shape()));
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    const int64_t index = IndexAt(indices, i);
    if (index >= 0 && index < var.dim(0)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "Index ", index, " at offset ", i, " in indices is out of range"));
  }
  return absl::OkStatus();
}

// Changes n elements of each variable with those of the gradient; all are
// floats or all are doubles.
using StepLoop = absl::FunctionRef<void(void* const* variables,
                                        const void* gradient, int64_t n)>;

// The maximum number of variables of a rule.
constexpr int kMaxVariables = 4;

// A set of distinct rows of a table; may have false positives.
class DifferentRows {
 public:
  // Returns false if the row is, or may be, in the set.
  bool Add(int64_t row) {
    constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    const uint64_t hash = static_cast<uint64_t>(row) * kGoldenRatio >> 54;
    uint64_t& word = bits_[hash / 64];
    const uint64_t bit = uint64_t{1} << hash % 64;
    if ((word & bit) != 0) return false;
    word |= bit;
    return true;
  }

 private:
  std::array<uint64_t, 1024 / 64> bits_ = {};
};

// The base for all rules and types; RuleKernel adds the rule.
class ApplyKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& context) final {
    std::array<std::shared_ptr<Variable>, kMaxVariables> variables;
    std::array<Variable*, kMaxVariables> pointers;
    for (int i = 0; i < variables_; ++i) {
      ASSIGN_OR_RETURN(variables[i], lookups_[i].FromInput(context, i));
      RETURN_IF_ERROR(CheckVariableType(*variables[i], type_));
      pointers[i] = variables[i].get();
    }
    Scalars scalars;
    for (size_t i = 0; i < scalar_names_.size(); ++i) {
      scalars.push_back(&context.input(scalars_at_[i]));
      RETURN_IF_ERROR(CheckScalar(scalar_names_[i], scalars.back()->shape()));
    }
    const auto all = absl::MakeSpan(pointers.data(), variables_);
    RETURN_IF_ERROR(WithLoop(scalars, is_sparse(), [&](const StepLoop& loop) {
      return is_sparse() ? UpdateRows(context, all, loop)
                         : UpdateElements(context, all, loop);
    }));
    ForwardReference(context);
    return absl::OkStatus();
  }

 protected:
  using Scalars = absl::InlinedVector<const Tensor*, 6>;

  ApplyKernel(const OpKernelConstruction& construction, DataType type,
              int variables, absl::Span<const char* const> scalar_names)
      : OpKernel(construction),
        inputs_(construction.node().op()),
        type_(type),
        variables_(variables),
        scalar_names_(scalar_names) {
    for (const char* name : scalar_names_) {
      scalars_at_.push_back(inputs_.Find(name));
    }
  }

 private:
  // Calls `apply` with the rule's loop for these scalars; the loop takes
  // doubles if the op has them, else floats.
  virtual absl::Status WithLoop(
      const Scalars& scalars, bool is_sparse,
      absl::FunctionRef<absl::Status(const StepLoop&)> apply) const = 0;

  bool is_sparse() const { return inputs_.indices >= 0; }

  absl::Status UpdateElements(OpKernelContext& context,
                              absl::Span<Variable* const> variables,
                              const StepLoop& loop) const {
    return Variable::UpdateAll(
        context.cancellation(), context.allocator(), variables,
        [&](absl::Span<const Variable::FromTo> values) {
          return ApplyToElements(context, loop, values);
        },
        context.when_locked());
  }

  absl::Status UpdateRows(OpKernelContext& context,
                          absl::Span<Variable* const> variables,
                          const StepLoop& loop) const {
    const Tensor& indices = context.input(inputs_.indices);
    return Variable::UpdateAllRows(
        context.cancellation(), context.allocator(), variables,
        [&](Variable::RowVisitor visit) {
          for (int64_t i = 0; i < indices.num_elements(); ++i) {
            visit(IndexAt(indices, i));
          }
        },
        [&](absl::Span<Tensor* const> values) {
          return ApplyToRows(context.input(inputs_.gradient), indices, loop,
                             values);
        },
        context.when_locked());
  }

  // The memory of the variables, which have the same shape.
  using Memory = std::array<char*, kMaxVariables>;

  absl::Status ApplyToElements(
      OpKernelContext& context, const StepLoop& loop,
      absl::Span<const Variable::FromTo> values) const {
    Memory to;
    std::array<const char*, kMaxVariables> from;
    const TensorShape& shape = values[0].from->shape();
    for (int i = 0; i < variables_; ++i) {
      RETURN_IF_ERROR(
          CheckSameShape(inputs_.names[i], shape, values[i].from->shape()));
      from[i] = static_cast<const char*>(values[i].from->data());
      to[i] = static_cast<char*>(values[i].to->mutable_data());
    }
    const Tensor& gradient = context.input(inputs_.gradient);
    RETURN_IF_ERROR(CheckSameShape(inputs_.names[inputs_.gradient], shape,
                                   gradient.shape()));
    const char* const g = static_cast<const char*>(gradient.data());
    ParallelLoop(context, shape.num_elements(), variables_,
                 [&](int64_t begin, int64_t end) {
                   CopyAndLoop(loop, from, to, g, begin, end);
                 });
    return absl::OkStatus();
  }

  // Copies values that are held elsewhere, in blocks that fit into the cache,
  // and changes the copies.
  void CopyAndLoop(const StepLoop& loop,
                   const std::array<const char*, kMaxVariables>& from,
                   const Memory& to, const char* gradient, int64_t begin,
                   int64_t end) const {
    constexpr int64_t kBlock = 4096;
    const auto size = static_cast<int64_t>(DataTypeSize(type_));
    const bool is_in_place =
        std::equal(to.begin(), to.begin() + variables_, from.begin());
    const int64_t step = is_in_place ? end - begin : kBlock;
    for (; begin < end; begin += step) {
      const int64_t n = std::min(step, end - begin);
      for (int k = 0; k < variables_; ++k) {
        if (to[k] == from[k]) continue;
        std::memcpy(to[k] + begin * size, from[k] + begin * size, n * size);
      }
      Loop(loop, to, begin, gradient + begin * size, n);
    }
  }

  absl::Status ApplyToRows(const Tensor& gradient, const Tensor& indices,
                           const StepLoop& loop,
                           absl::Span<Tensor* const> values) const {
    Memory v;
    const TensorShape& shape = values[0]->shape();
    for (int i = 0; i < variables_; ++i) {
      RETURN_IF_ERROR(
          CheckSameShape(inputs_.names[i], shape, values[i]->shape()));
      v[i] = static_cast<char*>(values[i]->mutable_data());
    }
    RETURN_IF_ERROR(CheckSparse(shape, gradient, indices));
    const char* const g = static_cast<const char*>(gradient.data());
    const auto size = static_cast<int64_t>(DataTypeSize(type_));
    const int64_t rows = indices.num_elements();
    const int64_t row = rows == 0 ? 0 : gradient.num_elements() / rows;
    if (ApplyToShortRows(row, indices, loop, v, g)) return absl::OkStatus();
    for (int64_t i = 0; i < rows; ++i) {
      if (i + kRowsAhead < rows) {
        const int64_t next = IndexAt(indices, i + kRowsAhead) * row * size;
        for (int k = 0; k < variables_; ++k)
          PrefetchRow(v[k] + next, row * size);
      }
      Loop(loop, v, IndexAt(indices, i) * row, g + i * row * size, row);
    }
    return absl::OkStatus();
  }

  // For rows so short that calling the loop would take longer than its work.
  // Returns false for longer rows.
  bool ApplyToShortRows(int64_t row, const Tensor& indices,
                        const StepLoop& loop, const Memory& v,
                        const char* g) const {
    switch (row * static_cast<int64_t>(DataTypeSize(type_))) {
      case 2:
        ApplyTogether<2>(row, indices, loop, v, g);
        return true;
      case 4:
        ApplyTogether<4>(row, indices, loop, v, g);
        return true;
      case 8:
        ApplyTogether<8>(row, indices, loop, v, g);
        return true;
      default:
        return false;
    }
  }

  // Changes copies of distinct rows of kBytes, side by side.
  template <int64_t kBytes>
  void ApplyTogether(int64_t row, const Tensor& indices, const StepLoop& loop,
                     const Memory& v, const char* g) const {
    constexpr int64_t kRows = 64;
    alignas(64) char copies[kMaxVariables][kRows * kBytes];
    Memory together = {};
    for (int k = 0; k < variables_; ++k) together[k] = copies[k];
    int64_t at[kRows];
    const int64_t rows = indices.num_elements();
    for (int64_t begin = 0, n = 0; begin < rows; begin += n) {
      DifferentRows different;
      for (n = 0; n < std::min(kRows, rows - begin); ++n) {
        at[n] = IndexAt(indices, begin + n) * kBytes;
        if (!different.Add(at[n])) break;
      }
      for (int k = 0; k < variables_; ++k) {
        for (int64_t i = 0; i < n; ++i) {
          std::memcpy(copies[k] + i * kBytes, v[k] + at[i], kBytes);
        }
      }
      Loop(loop, together, 0, g + begin * kBytes, n * row);
      for (int k = 0; k < variables_; ++k) {
        for (int64_t i = 0; i < n; ++i) {
          std::memcpy(v[k] + at[i], copies[k] + i * kBytes, kBytes);
        }
      }
    }
  }

  // Elements [begin, begin + n) of the variables; `g` is their gradient.
  void Loop(const StepLoop& loop, const Memory& v, int64_t begin, const char* g,
            int64_t n) const {
    const auto size = static_cast<int64_t>(DataTypeSize(type_));
    std::array<void*, kMaxVariables> some;
    for (int k = 0; k < variables_; ++k) some[k] = v[k] + begin * size;
    if (type_ == DT_HALF) {
      LoopWide<half>(loop, some, g, n);
    } else if (type_ == DT_BFLOAT16) {
      LoopWide<bfloat16>(loop, some, g, n);
    } else {
      loop(some.data(), g, n);
    }
  }

  // For types that are computed as floats.
  template <typename T>
  void LoopWide(const StepLoop& loop, const std::array<void*, kMaxVariables>& v,
                const void* g, int64_t n) const {
    const NarrowLoops<T>& loops = BestNarrowLoops<T>();
    constexpr int64_t kBlock = 256;
    float blocks[kMaxVariables + 1][kBlock];
    void* wide[kMaxVariables];
    for (int k = 0; k < kMaxVariables; ++k) wide[k] = blocks[k];
    float* const wide_g = blocks[kMaxVariables];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t size = std::min(kBlock, n - begin);
      for (int k = 0; k < variables_; ++k) {
        loops.widen(static_cast<T*>(v[k]) + begin, blocks[k], size);
      }
      loops.widen(static_cast<const T*>(g) + begin, wide_g, size);
      loop(wide, wide_g, size);
      for (int k = 0; k < variables_; ++k) {
        loops.narrow(blocks[k], static_cast<T*>(v[k]) + begin, size);
      }
    }
  }

  const ApplyInputs inputs_;
  const DataType type_;
  const int variables_;
  const absl::Span<const char* const> scalar_names_;
  absl::InlinedVector<int, 6> scalars_at_;  // positions of scalar inputs
  std::array<VariableLookup, kMaxVariables> lookups_;
};

// A scalar input in the type used for computation.
template <typename W>
W ScalarAs(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DT_INT64:
      return static_cast<W>(tensor.scalar<int64_t>());
    case DT_HALF:
      return static_cast<W>(tensor.scalar<half>());
    case DT_BFLOAT16:
      return static_cast<W>(tensor.scalar<bfloat16>());
    default:
      return tensor.scalar<W>();
  }
}

// `Rule` computes with W, float or double.
template <typename Rule, typename W>
class RuleKernel : public ApplyKernel {
 public:
  RuleKernel(const OpKernelConstruction& construction, DataType type)
      : ApplyKernel(construction, type, Rule::kVariables, Rule::kScalars),
        rule_(construction) {
    static_assert(Rule::kVariables <= kMaxVariables);
  }

 private:
  absl::Status WithLoop(
      const Scalars& scalars, bool is_sparse,
      absl::FunctionRef<absl::Status(const StepLoop&)> apply) const override {
    std::array<W, Rule::kScalars.size()> values;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = ScalarAs<W>(*scalars[i]);
    }
    Rule rule = rule_;
    rule.Set(values);
    if constexpr (requires { rule.Check(); }) RETURN_IF_ERROR(rule.Check());
    if constexpr (requires { rule.CheckSparse(); }) {
      if (is_sparse) RETURN_IF_ERROR(rule.CheckSparse());
    }
    return apply(
        [&rule](void* const* variables, const void* gradient, int64_t n) {
          W* v[Rule::kVariables];
          for (int k = 0; k < Rule::kVariables; ++k) {
            v[k] = static_cast<W*>(variables[k]);
          }
          rule.Loop(v, static_cast<const W*>(gradient), n);
        });
  }

  const Rule rule_;
};

template <typename Rule, typename W>
absl::StatusOr<std::unique_ptr<OpKernel>> MakeRuleKernel(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(const DataType type, construction.GetAttr<DataType>("T"));
  return std::make_unique<RuleKernel<Rule, W>>(construction, type);
}

// The names of a rule's ops; those for sparse gradients are null if there are
// none.
struct OpNames {
  const char* on_reference;
  const char* on_resource;
  const char* sparse_on_reference = nullptr;
  const char* sparse_on_resource = nullptr;
};

void RegisterRuleForType(KernelRegistry& registry, const OpNames& names,
                         DataType type, const KernelFactory& factory) {
  const auto add = [&](const char* op, bool is_cheap) {
    if (op == nullptr) return;
    registry.Register(
        {.op = op, .types = {{"T", {type}}}, .is_cheap = is_cheap}, factory);
  };
  add(names.on_reference, true);
  add(names.on_resource, true);
  add(names.sparse_on_reference, false);
  add(names.sparse_on_resource, false);
}

template <template <typename> class Rule>
void RegisterRule(KernelRegistry& registry, const OpNames& names) {
  const auto add = [&](DataType type, const KernelFactory& factory) {
    RegisterRuleForType(registry, names, type, factory);
  };
  add(DT_FLOAT, MakeRuleKernel<Rule<float>, float>);
  add(DT_DOUBLE, MakeRuleKernel<Rule<double>, double>);
  add(DT_HALF, MakeRuleKernel<Rule<float>, float>);
  add(DT_BFLOAT16, MakeRuleKernel<Rule<float>, float>);
}

}  // namespace

void RegisterTrainingKernels(KernelRegistry& registry) {
  RegisterRule<GradientDescentRule>(
      registry, {"ApplyGradientDescent", "ResourceApplyGradientDescent"});
  RegisterRule<MomentumRule>(
      registry, {"ApplyMomentum", "ResourceApplyMomentum",
                 "SparseApplyMomentum", "ResourceSparseApplyMomentum"});
  RegisterRule<AdagradRule>(
      registry, {"ApplyAdagrad", "ResourceApplyAdagrad", "SparseApplyAdagrad",
                 "ResourceSparseApplyAdagrad"});
  RegisterRule<AdagradV2Rule>(
      registry, {"ApplyAdagradV2", "ResourceApplyAdagradV2",
                 "SparseApplyAdagradV2", "ResourceSparseApplyAdagradV2"});
  RegisterRule<AdamRule>(registry, {"ApplyAdam", "ResourceApplyAdam"});
  RegisterRule<AdaMaxRule>(registry, {"ApplyAdaMax", "ResourceApplyAdaMax"});
  RegisterRule<AdadeltaRule>(
      registry, {"ApplyAdadelta", "ResourceApplyAdadelta",
                 "SparseApplyAdadelta", "ResourceSparseApplyAdadelta"});
  RegisterRule<AdagradDARule>(
      registry, {"ApplyAdagradDA", "ResourceApplyAdagradDA",
                 "SparseApplyAdagradDA", "ResourceSparseApplyAdagradDA"});
  RegisterRule<RMSPropRule>(
      registry, {"ApplyRMSProp", "ResourceApplyRMSProp", "SparseApplyRMSProp",
                 "ResourceSparseApplyRMSProp"});
  RegisterRule<CenteredRMSPropRule>(
      registry,
      {"ApplyCenteredRMSProp", "ResourceApplyCenteredRMSProp",
       "SparseApplyCenteredRMSProp", "ResourceSparseApplyCenteredRMSProp"});
  RegisterRule<FtrlRule>(registry,
                         {"ApplyFtrl", "ResourceApplyFtrl", "SparseApplyFtrl",
                          "ResourceSparseApplyFtrl"});
  RegisterRule<FtrlV2Rule>(
      registry, {"ApplyFtrlV2", "ResourceApplyFtrlV2", "SparseApplyFtrlV2",
                 "ResourceSparseApplyFtrlV2"});
  RegisterRule<KerasMomentumRule>(
      registry, {nullptr, "ResourceApplyKerasMomentum", nullptr,
                 "ResourceSparseApplyKerasMomentum"});
  RegisterRule<AmsgradRule>(registry,
                            {nullptr, "ResourceApplyAdamWithAmsgrad"});
  RegisterRule<AddSignRule>(registry, {"ApplyAddSign", "ResourceApplyAddSign"});
  RegisterRule<PowerSignRule>(registry,
                              {"ApplyPowerSign", "ResourceApplyPowerSign"});
  RegisterRule<ProximalGradientDescentRule>(
      registry,
      {"ApplyProximalGradientDescent", "ResourceApplyProximalGradientDescent",
       "SparseApplyProximalGradientDescent",
       "ResourceSparseApplyProximalGradientDescent"});
  RegisterRule<ProximalAdagradRule>(
      registry,
      {"ApplyProximalAdagrad", "ResourceApplyProximalAdagrad",
       "SparseApplyProximalAdagrad", "ResourceSparseApplyProximalAdagrad"});
}

}  // namespace weft
