// Tests ParseTensor and SerializeTensor.
#include <string>

#include "libs/base/test_matchers.h"
#include "libs/kernels/parsing/parsing_kernels.h"
#include "libs/kernels/testing/expect_outputs.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

class TensorKernelsTest : public testing::Test {
 protected:
  KernelTestHarness harness_{RegisterParsingKernels};
};

TEST_F(TensorKernelsTest, TensorsSurviveSerialization) {
  const Tensor matrix = Tensor::FromValues<float>({1, 2}, {1, 1});
  for (const Tensor& tensor :
       {matrix, Tensor::Vector<std::string>({"a", ""}), Tensor::Scalar(true),
        Tensor(DT_INT8, {0, 3}), Tensor::Vector<half>({half(1.5f)})}) {
    ASSERT_OK_AND_ASSIGN(const Tensor bytes,
                         harness_.RunOne("SerializeTensor", {tensor}));
    ExpectOutputs(harness_, "ParseTensor", {bytes},
                  {{"out_type", tensor.dtype()}}, {tensor});
  }
  // As in TensorFlow, equal elements are written one by one.
  ExpectOutputs(harness_, "SerializeTensor", {matrix}, {},
                {Tensor::Scalar(std::string(
                    "\x08\x01\x12\x08\x12\x02\x08\x01\x12\x02\x08\x02\x22\x08"
                    "\x00\x00\x80\x3f\x00\x00\x80\x3f",
                    22))});
}

TEST_F(TensorKernelsTest, MalformedTensorsAreRejected) {
  const auto parse = [&](const Tensor& bytes, DataType type) {
    return harness_.Run("ParseTensor", {bytes}, {{"out_type", type}});
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  ASSERT_OK_AND_ASSIGN(
      const Tensor bytes,
      harness_.RunOne("SerializeTensor", {Tensor::Vector<float>({1, 2})}));
  EXPECT_THAT(parse(bytes, DT_INT32), StatusIs(kInvalid, "Type mismatch"));
  EXPECT_THAT(parse(bytes, DT_RESOURCE),
              StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(parse(Tensor::Scalar("junk"), DT_FLOAT), StatusIs(kInvalid));
  EXPECT_THAT(parse(Tensor::Scalar(""), DT_FLOAT), StatusIs(kInvalid));
  EXPECT_THAT(parse(Tensor::Vector<std::string>({"", ""}), DT_FLOAT),
              StatusIs(kInvalid, "scalar"));
  const std::string& text = bytes.scalar<std::string>();
  // A message cut off between two fields is a valid, smaller tensor.
  for (size_t size = 0; size < text.size(); ++size) {
    const absl::Status status =
        parse(Tensor::Scalar(text.substr(0, size)), DT_FLOAT).status();
    EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  }
}

}  // namespace
}  // namespace weft
