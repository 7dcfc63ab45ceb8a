// Tests element-wise ops on special values: infinities, NaN, zeros of both
// signs, subnormal numbers, the largest and the smallest numbers. Results match
// TensorFlow's in testdata/tensorflow_special_values.txt
// (tools/tensorflow_special_values.py), and have the same bits at any position
// in a vector.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/standard/standard_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

constexpr char kFile[] =
    "integration_tests/testdata/tensorflow_special_values.txt";

using Words = std::vector<std::string>;
using Bits = std::vector<uint64_t>;  // the bits of each element

struct Row {
  std::string op;
  DataType type = DT_INVALID;
  DataType result = DT_INVALID;
  Words values;
};

struct Table {
  std::map<DataType, Bits> unary, binary;  // operands for unary and binary ops
  std::vector<Row> rows;

  // Returns one list of operands for each input of the op in `row`.
  std::vector<Bits> OperandsOf(const Row& row) const {
    const Bits& alone = unary.at(row.type);
    if (row.values.size() == alone.size()) return {alone};
    std::vector<Bits> pairs(2);
    for (uint64_t x : binary.at(row.type)) {
      for (uint64_t y : binary.at(row.type)) {
        pairs[0].push_back(x);
        pairs[1].push_back(y);
      }
    }
    return pairs;
  }
};

// Returns the number of mantissa bits of a floating-point type, or 0 for other
// types.
int MantissaBits(DataType type) {
  switch (type) {
    case DT_DOUBLE:
      return 52;
    case DT_FLOAT:
      return 23;
    case DT_HALF:
      return 10;
    case DT_BFLOAT16:
      return 7;
    default:
      return 0;
  }
}
size_t SizeOf(DataType type) { return static_cast<size_t>(DataTypeSize(type)); }
uint64_t SignBit(DataType type) { return 1ull << (8 * SizeOf(type) - 1); }
uint64_t InfinityBits(DataType type) {
  const uint64_t mantissa = (1ull << MantissaBits(type)) - 1;
  return (SignBit(type) - 1) & ~mantissa;
}
uint64_t Magnitude(DataType type, uint64_t bits) {
  return bits & (SignBit(type) - 1);
}
bool IsNan(DataType type, uint64_t bits) {
  return MantissaBits(type) > 0 && Magnitude(type, bits) > InfinityBits(type);
}

std::string Notation(DataType type, uint64_t bits) {
  return IsNan(type, bits) ? "nan" : absl::StrCat(absl::Hex(bits));
}

uint64_t ParseBits(DataType type, const std::string& word) {
  if (word == "nan") {
    return InfinityBits(type) | 1ull << (MantissaBits(type) - 1);
  }
  uint64_t bits = 0;
  EXPECT_TRUE(absl::SimpleHexAtoi(word, &bits)) << word;
  return bits;
}

DataType ParseType(const std::string& name) {
  for (DataType type :
       {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT8, DT_UINT8, DT_INT16,
        DT_UINT16, DT_INT32, DT_UINT32, DT_INT64, DT_UINT64, DT_BOOL}) {
    if (DataTypeName(type) == name) return type;
  }
  ADD_FAILURE() << kFile << " has a strange type: " << name;
  return DT_INVALID;
}

Bits ParseOperands(DataType type, absl::Span<const std::string> words) {
  Bits bits;
  for (const std::string& word : words) bits.push_back(ParseBits(type, word));
  return bits;
}

// Parses a row of the table. "OP TYPE = OTHER" has the values of an earlier
// row. "OP TYPE none" has no values, because TensorFlow lacks this kernel.
Row ParseRow(const Words& words, const std::vector<Row>& before) {
  Row row;
  row.op = words[0];
  row.type = ParseType(words[1]);
  if (words[2] == "none") return row;
  if (words[2] == "=") {
    for (const Row& other : before) {
      if (other.op != words[3] || other.type != row.type) continue;
      row.result = other.result;
      row.values = other.values;
    }
  } else {
    row.result = ParseType(words[2]);
    row.values.assign(words.begin() + 3, words.end());
  }
  EXPECT_FALSE(row.values.empty()) << row.op << " has no values";
  return row;
}

Table ReadTable() {
  Table table;
  std::ifstream file(kFile);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const Words words = absl::StrSplit(line, ' ');
    if (words[0] != "unary" && words[0] != "binary") {
      table.rows.push_back(ParseRow(words, table.rows));
      continue;
    }
    const DataType type = ParseType(words[1]);
    (words[0] == "unary" ? table.unary : table.binary)[type] =
        ParseOperands(type, absl::MakeSpan(words).subspan(2));
  }
  return table;
}

const Table& TheTable() {
  static const Table& table = *new Table(ReadTable());
  return table;
}

// Returns a vector of n elements of `bits`, starting at `begin` and wrapping
// around at the end. Its memory begins `offset` elements after an aligned
// address.
Tensor MakeVector(DataType type, const Bits& bits, size_t begin, size_t n,
                  size_t offset = 0) {
  const size_t size = SizeOf(type);
  const Tensor memory(type, {static_cast<int64_t>(n + offset)});
  Tensor tensor = Tensor::FromBuffer(type, {static_cast<int64_t>(n)},
                                     memory.buffer(), offset * size);
  char* out = static_cast<char*>(tensor.mutable_data());
  for (size_t i = 0; i < n; ++i) {
    std::memcpy(out + i * size, &bits[(begin + i) % bits.size()], size);
  }
  return tensor;
}

Bits BitsOf(const Tensor& tensor) {
  const size_t size = SizeOf(tensor.dtype());
  const char* in = static_cast<const char*>(tensor.data());
  Bits bits(static_cast<size_t>(tensor.num_elements()), 0);
  for (size_t i = 0; i < bits.size(); ++i) {
    std::memcpy(&bits[i], in + i * size, size);
  }
  return bits;
}

Words NotationsOf(const Tensor& tensor) {
  Words words;
  for (uint64_t bits : BitsOf(tensor)) {
    words.push_back(Notation(tensor.dtype(), bits));
  }
  return words;
}

// Returns the allowed difference from TensorFlow's result in units in the last
// place. TensorFlow's results are not exact either, because its vector
// functions are polynomial approximations.
uint64_t Tolerance(DataType type) { return MantissaBits(type) < 23 ? 1 : 16; }

// Returns whether a row is not compared because TensorFlow's results are worse.
bool IsNotCompared(const std::string& op, DataType type) {
  // In TensorFlow, exp(x) - 1 for small x (in Elu and Selu) and Digamma near
  // its poles have few correct digits.
  static const auto& ops = *new std::set<std::string>{"Elu", "Selu", "Digamma"};
  // For 16-bit types, TensorFlow rounds to 16 bits after each operation.
  static const auto& in_16_bits = *new std::set<std::string>{
      "FloorDiv",     "InvGrad",  "ReciprocalGrad", "RsqrtGrad",
      "SoftsignGrad", "Softplus", "TanhGrad"};
  if (MantissaBits(type) == 0) return false;
  // TensorFlow returns NaN for large numbers.
  if (op == "Erf" && type == DT_DOUBLE) return true;
  return ops.contains(op) ||
         (MantissaBits(type) < 23 && in_16_bits.contains(op));
}

// Returns whether both results are zeros. Which of two zeros with different
// signs TensorFlow's Maximum and Minimum return depends on the type.
bool AreZeros(const std::string& op, DataType type, uint64_t got,
              const std::string& want) {
  return (op == "Maximum" || op == "Minimum") && want != "nan" && want != "?" &&
         Magnitude(type, got) == 0 &&
         Magnitude(type, ParseBits(type, want)) == 0;
}

bool IsNear(uint64_t got, const std::string& want, DataType type,
            uint64_t tolerance) {
  if (want == "?" || Notation(type, got) == want) return true;
  if (MantissaBits(type) == 0 || want == "nan" || IsNan(type, got)) {
    return false;
  }
  const uint64_t wanted = ParseBits(type, want);
  const uint64_t infinity = InfinityBits(type);
  const uint64_t a = Magnitude(type, got), b = Magnitude(type, wanted);
  if ((got ^ wanted) & SignBit(type)) return false;
  if (a == infinity || b == infinity || a == 0 || b == 0) return false;
  return (a > b ? a - b : b - a) <= tolerance;
}

// Runs the kernel of one op for one type on vectors that are given as bits.
class SpecialValuesTest : public ::testing::TestWithParam<Row> {
 protected:
  static void SetUpTestSuite() {
    harness_ = new KernelTestHarness(RegisterStandardKernels);
  }
  static void TearDownTestSuite() { delete harness_; }

  void SetUp() override {
    operands_ = TheTable().OperandsOf(GetParam());
    const std::vector<DataType> types(operands_.size(), GetParam().type);
    ASSERT_OK_AND_ASSIGN(kernel_, harness_->Make(GetParam().op, types));
  }

  // Returns the operands, where those that the op rejects are replaced by 1.
  std::vector<Bits> AcceptedOperands() const {
    std::vector<Bits> accepted = operands_;
    for (size_t i = 0; i < GetParam().values.size(); ++i) {
      if (GetParam().values[i] != "!") continue;
      for (Bits& bits : accepted) bits[i] = 1;
    }
    return accepted;
  }

  absl::StatusOr<Tensor> Run(std::vector<KernelInput> inputs) {
    auto outputs = kernel_->Run(std::move(inputs));
    if (!outputs.ok()) return outputs.status();
    return outputs->at(0);
  }

  absl::StatusOr<Tensor> RunVector(const std::vector<Bits>& operands,
                                   size_t begin, size_t n, size_t offset = 0) {
    std::vector<KernelInput> inputs;
    for (const Bits& bits : operands) {
      inputs.emplace_back(MakeVector(GetParam().type, bits, begin, n, offset));
    }
    return Run(std::move(inputs));
  }

  // Runs the op on each element in a separate vector.
  Words RunAlone(const std::vector<Bits>& operands) {
    Words results;
    for (size_t i = 0; i < operands[0].size(); ++i) {
      const auto result = RunVector(operands, i, 1);
      results.push_back(result.ok() ? NotationsOf(*result)[0]
                                    : result.status().ToString());
    }
    return results;
  }

  std::string OperandsAt(size_t i) const {
    Words words;
    for (const Bits& bits : operands_) {
      words.push_back(Notation(GetParam().type, bits[i % bits.size()]));
    }
    return absl::StrJoin(words, ", ");
  }

  static KernelTestHarness* harness_;
  std::vector<Bits> operands_;
  std::unique_ptr<KernelTestHarness::Kernel> kernel_;
};
KernelTestHarness* SpecialValuesTest::harness_ = nullptr;

TEST_P(SpecialValuesTest, ResultsMatchTensorFlow) {
  const Row& row = GetParam();
  const std::vector<Bits> operands = AcceptedOperands();
  ASSERT_OK_AND_ASSIGN(const Tensor result,
                       RunVector(operands, 0, operands[0].size()));
  ASSERT_EQ(result.dtype(), row.result);
  const Bits got = BitsOf(result);
  ASSERT_EQ(got.size(), row.values.size());
  if (IsNotCompared(row.op, row.type)) return;
  for (size_t i = 0; i < got.size(); ++i) {
    if (row.values[i] == "!") continue;
    EXPECT_TRUE(
        IsNear(got[i], row.values[i], row.result, Tolerance(row.result)) ||
        AreZeros(row.op, row.type, got[i], row.values[i]))
        << row.op << "(" << OperandsAt(i) << ") is "
        << Notation(row.result, got[i]) << ", of TensorFlow " << row.values[i];
  }
}

TEST_P(SpecialValuesTest, OperandsAreRejectedLikeInTensorFlow) {
  for (size_t i = 0; i < GetParam().values.size(); ++i) {
    if (GetParam().values[i] != "!") continue;
    EXPECT_EQ(RunVector(operands_, i, 1).status().code(),
              absl::StatusCode::kInvalidArgument)
        << GetParam().op << "(" << OperandsAt(i) << ")";
  }
}

TEST_P(SpecialValuesTest, BitsAreTheSameAtAnyOffset) {
  const std::vector<Bits> operands = AcceptedOperands();
  const Words alone = RunAlone(operands);
  for (size_t n : {7, 16, 33}) {
    for (size_t offset : {0, 1, 2, 3}) {
      for (size_t begin = 0; begin < alone.size(); begin += n) {
        ASSERT_OK_AND_ASSIGN(const Tensor result,
                             RunVector(operands, begin, n, offset));
        const Words got = NotationsOf(result);
        for (size_t i = 0; i < n; ++i) {
          EXPECT_EQ(got[i], alone[(begin + i) % alone.size()])
              << GetParam().op << "(" << OperandsAt(begin + i)
              << ") is element " << i << " of " << n << ", which begin at "
              << offset;
        }
      }
    }
  }
}

TEST_P(SpecialValuesTest, BitsAreTheSameBesideAScalar) {
  const std::vector<Bits> operands = AcceptedOperands();
  if (operands.size() != 2) return;  // nothing to broadcast
  const DataType type = GetParam().type;
  const Words alone = RunAlone(operands);
  const size_t n = TheTable().binary.at(type).size();
  for (size_t k = 0; k < n * n; ++k) {
    for (int scalar : {0, 1}) {
      std::vector<KernelInput> inputs;
      for (int i : {0, 1}) {
        // One operand is a vector of seven copies, and the other operand is a
        // scalar.
        const Bits same(i == scalar ? 1 : 7, operands[i][k]);
        Tensor tensor = MakeVector(type, same, 0, same.size());
        if (i == scalar) tensor = *tensor.Reshaped(TensorShape());
        inputs.emplace_back(std::move(tensor));
      }
      const auto result = Run(std::move(inputs));
      if (!result.ok()) return;  // gradient ops do not broadcast
      EXPECT_EQ(NotationsOf(*result), Words(7, alone[k]))
          << GetParam().op << "(" << OperandsAt(k) << "), operand " << scalar
          << " a scalar";
    }
  }
}

using OpAndType = std::pair<std::string, DataType>;

// Returns all pairs of an op and an operand type for which there is a kernel.
std::set<OpAndType> AllKernels() {
  KernelRegistry kernels;
  RegisterStandardKernels(kernels);
  std::set<OpAndType> all;
  for (const KernelDef* def : kernels.List()) {
    for (const auto& [attr, types] : def->types) {
      for (DataType type : types) all.emplace(def->op, type);
    }
  }
  return all;
}

std::vector<Row> RowsWithKernels() {
  const std::set<OpAndType> kernels = AllKernels();
  std::vector<Row> rows;
  for (const Row& row : TheTable().rows) {
    if (row.values.empty()) continue;
    if (kernels.contains({row.op, row.type})) rows.push_back(row);
  }
  return rows;
}

std::string NameOf(const ::testing::TestParamInfo<Row>& row) {
  return absl::StrCat(row.param.op, "_", DataTypeName(row.param.type));
}
INSTANTIATE_TEST_SUITE_P(Rows, SpecialValuesTest,
                         ::testing::ValuesIn(RowsWithKernels()), NameOf);

// Returns the ops without rows in the table: they are not element-wise, or
// their types are not in the table.
const std::set<std::string>& OpsWithoutRows() {
  static const auto& ops = *new std::set<std::string>{
      "AsString",        "Complex",       "Cross",      "Exit",
      "Identity",        "LogSoftmax",    "LowerBound", "NextIteration",
      "PreventGradient", "RandomShuffle", "Snapshot",   "Softmax",
      "Squeeze",         "StopGradient",  "UpperBound"};
  return ops;
}

// Returns whether the op has one or two operands of one type and a result with
// their shape.
bool IsElementwise(KernelTestHarness& harness, const OpDef& op, DataType type) {
  if (op.inputs.empty() || op.inputs.size() > 2 || op.outputs.size() != 1) {
    return false;
  }
  std::vector<ShapeInput> inputs;
  for (const ArgDef& input : op.inputs) {
    const bool is_one = input.number_attr.empty() && !input.is_ref;
    if (!is_one || input.type_attr.empty()) return false;
    if (input.type_attr != op.inputs[0].type_attr) return false;
    inputs.emplace_back(type, PartialShape({2, 3}));
  }
  const auto shapes = harness.InferShapes(op.name, inputs);
  return shapes.ok() && (*shapes)[0] == PartialShape({2, 3});
}

TEST(SpecialValuesTableTest, HasARowForEachElementwiseKernel) {
  KernelTestHarness harness(RegisterStandardKernels);
  std::set<OpAndType> rows;
  for (const Row& row : TheTable().rows) rows.emplace(row.op, row.type);
  ASSERT_FALSE(rows.empty());
  for (const auto& [op, type] : AllKernels()) {
    if (OpsWithoutRows().contains(op) || rows.contains({op, type})) continue;
    if (!TheTable().unary.contains(type)) continue;
    EXPECT_FALSE(IsElementwise(harness, *harness.ops().Find(op), type))
        << op << " " << DataTypeName(type) << " is not in " << kFile
        << "; tools/tensorflow_special_values.py writes it";
  }
}

}  // namespace
}  // namespace weft
