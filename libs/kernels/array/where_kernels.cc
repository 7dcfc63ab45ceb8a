// The kernel of Where: the coordinates of nonzero elements.
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"

namespace weft {
namespace {

template <typename T>
bool IsTrue(const T& value) {
  return static_cast<Wide<T>>(value) != Wide<T>(0);
}

template <typename T>
std::vector<int64_t> PositionsOfTrue(absl::Span<const T> values) {
  std::vector<int64_t> positions;
  for (size_t i = 0; i < values.size(); ++i) {
    if (IsTrue(values[i])) positions.push_back(static_cast<int64_t>(i));
  }
  return positions;
}

using WhereTypes =
    TypeList<bool, float, double, half, bfloat16, int8_t, int16_t, int32_t,
             int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
             std::complex<float>, std::complex<double>>;

class WhereKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    std::vector<int64_t> positions;
    RETURN_IF_ERROR(
        DispatchType(WhereTypes{}, input.dtype(), [&]<typename T>(TypeTag<T>) {
          positions = PositionsOfTrue(input.flat<T>());
          return absl::OkStatus();
        }));
    const int rank = input.rank();
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(
                         0, {static_cast<int64_t>(positions.size()), rank}));
    int64_t* out = output->mutable_flat<int64_t>().data();
    for (const int64_t position : positions) {
      WriteCoordinates(input.shape(), position, out);
      out += rank;
    }
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterArrayWhereKernels(KernelRegistry& registry) {
  registry.Register<WhereKernel>("Where", {{"T", DataTypesOf(WhereTypes{})}});
}

}  // namespace weft
