// Checks that every op has the same signature as in TensorFlow: its inputs,
// outputs, attributes, defaults, flags and the version that removed it equal
// those of TensorFlow's registry. testdata/tensorflow_signatures.txt lists them
// (tools/tensorflow_signatures.py writes it).
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "libs/base/test_matchers.h"
#include "libs/graph/import/graph_def.h"
#include "libs/graph/inference_context.h"
#include "libs/graph/op_def.h"
#include "libs/graph/version_rules.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

using Lines = std::set<std::string>;

constexpr char kFile[] = "integration_tests/testdata/tensorflow_signatures.txt";

// An intended difference between Weft and TensorFlow. Lines that only Weft has
// begin with "+", and lines that only TensorFlow has begin with "-".
struct Difference {
  std::string reason;
  Lines lines;
};
const std::map<std::string, Difference>& IntendedDifferences() {
  constexpr char kEdges[] =
      "created only by the runtime: an edge between partitions has a number "
      "where TensorFlow has a key with a device's incarnation";
  static const auto& differences = *new std::map<std::string, Difference>{
      {"_Send",
       {kEdges,
        {"+ attr edge: int {}", "- attr client_terminated: bool {} = false",
         "- attr send_device_incarnation: int {}"}}},
      {"_Recv",
       {kEdges,
        {"+ attr T: type {}", "+ attr edge: int {}", "+ output 0 tensor: T",
         "- attr client_terminated: bool {} = false",
         "- attr send_device_incarnation: int {}",
         "- attr tensor_type: type {}", "- output 0 tensor: tensor_type"}}}};
  return differences;
}

// Returns the ops that TensorFlow lacks or that only its own passes create,
// with a reason for each. Only Weft's runtime creates these ops, so no exported
// graph contains them.
const std::map<std::string, std::string>& OwnOps() {
  constexpr char kMemory[] =
      "copies between a device's memory and the host's "
      "(libs/executor/memory_copies.h)";
  constexpr char kLookup[] =
      "replaces lookups of sparse ids (libs/passes/lookup_fusion.h)";
  constexpr char kPartedLookup[] =
      "replaces lookups in partitioned tables "
      "(libs/passes/parted_lookup_fusion.h)";
  constexpr char kElements[] =
      "replaces element-wise nodes (libs/passes/element_fusion.h)";
  constexpr char kProduct[] =
      "replaces a product and element-wise functions of it, as in TensorFlow, "
      "whose node does not name the replaced nodes "
      "(libs/passes/element_fusion.h)";
  static const auto& ops = *new std::map<std::string, std::string>{
      {"_MarkVariables",
       "replaces the IdentityN through which a saver of "
       "SaveConsistency::kStep reads its variables "
       "(libs/passes/variable_saving.h)"},
      {"_SaveVariables",
       "replaces a SaveV2 that reads variables of its own device "
       "(libs/passes/variable_saving.h)"},
      {"_UniqueRowIds", kLookup},
      {"_CombineRows", kLookup},
      {"_CombineRowsGrad", kLookup},
      {"_WhereHashed", kLookup},
      {"_CountIds", kLookup},
      {"_DecodeCSVAndPack",
       "replaces a Pack of all columns of a DecodeCSV "
       "(libs/passes/csv_fusion.h)"},
      {"_UniquePartition", kPartedLookup},
      {"_GatherStitched", kPartedLookup},
      {"_SumToParts", kPartedLookup},
      {"_MulInTurn",
       "replaces a Mul by a BroadcastTo of one number "
       "(libs/passes/scaling_fusion.h)"},
      {"_FusedElementwise", kElements},
      {"_FusedMatMul", kProduct},
      {"_SlicedMatMul",
       "replaces a MatMul whose only consumer is a Slice "
       "(libs/passes/slice_fusion.h)"},
      {"_FusedConv2D", kProduct},
      {"_FusedDepthwiseConv2dNative", kProduct},
      {"_CopyToDevice", kMemory},
      {"_CopyToHost", kMemory},
      {"WaitForVariable",
       "lets workers wait for the chief, which they poll in TensorFlow "
       "(libs/train/sessions/report_uninitialized.h)"},
      {"WaitForRefVariable", "the same, by reference"}};
  return ops;
}

// Returns the subset of OwnOps that clients may use in their graphs.
const std::set<std::string>& ForUsers() {
  static const auto& ops =
      *new std::set<std::string>{"WaitForVariable", "WaitForRefVariable"};
  return ops;
}

std::string Describe(const ArgDef& arg) {
  std::string type = absl::StrCat(arg.type_attr, arg.type_list_attr);
  if (type.empty()) type = DataTypeName(arg.type);
  return absl::StrCat(arg.name, ": ", arg.number_attr,
                      arg.number_attr.empty() ? "" : " * ",
                      arg.is_ref ? "Ref " : "", type);
}

std::string Describe(const AttrDef& attr) {
  Lines allowed(attr.allowed_strings.begin(), attr.allowed_strings.end());
  for (DataType type : attr.allowed_types) allowed.insert(DataTypeName(type));
  return absl::StrCat(
      "attr ", attr.name, ": ", attr.type, " {", absl::StrJoin(allowed, ", "),
      "}", attr.minimum ? absl::StrCat(" >= ", *attr.minimum) : "",
      attr.default_value ? absl::StrCat(" = ", attr.default_value->ToString())
                         : "");
}

// Describes an op in lines that can be compared. The lines of attributes are
// sorted, because their order is irrelevant.
Lines Describe(const OpDef& op) {
  Lines lines;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    lines.insert(absl::StrCat("input ", i, " ", Describe(op.inputs[i])));
  }
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    lines.insert(absl::StrCat("output ", i, " ", Describe(op.outputs[i])));
  }
  for (const AttrDef& attr : op.attrs) lines.insert(Describe(attr));
  if (op.is_stateful) lines.insert("is_stateful");
  if (op.is_commutative) lines.insert("is_commutative");
  if (op.is_aggregate) lines.insert("is_aggregate");
  if (op.allows_uninitialized_input) lines.insert("allows_uninitialized_input");
  return lines;
}

Lines Compare(const OpDef& ours, const OpDef& theirs) {
  const Lines a = Describe(ours), b = Describe(theirs);
  Lines result;
  for (const auto& line : a) {
    if (!b.count(line)) result.insert("+ " + line);
  }
  for (const auto& line : b) {
    if (!a.count(line)) result.insert("- " + line);
  }
  return result;
}

void AddLine(absl::string_view line, OpDefBuilder& builder) {
  if (absl::ConsumePrefix(&line, "attr ")) {
    builder.Attr(line);
  } else if (absl::ConsumePrefix(&line, "input ")) {
    builder.Input(line);
  } else if (absl::ConsumePrefix(&line, "output ")) {
    builder.Output(line);
  } else if (line == "is_stateful") {
    builder.Stateful();
  } else if (line == "is_commutative") {
    builder.Commutative();
  } else if (line == "is_aggregate") {
    builder.Aggregate();
  } else if (line == "allows_uninitialized_input") {
    builder.AllowsUninitializedInput();
  } else if (absl::StartsWith(line, "removed ")) {
    // ReadRemovedOps parses these lines.
  } else {
    ADD_FAILURE() << kFile << " has a strange line: " << line;
  }
}

std::map<std::string, OpDef> ReadTensorFlowsOps() {
  std::vector<OpDefBuilder> builders;
  std::ifstream file(kFile);
  for (std::string text; std::getline(file, text);) {
    absl::string_view line = text;
    if (line.empty() || line[0] == '#') continue;
    if (absl::ConsumePrefix(&line, "op ")) {
      builders.push_back(OpDefBuilder(line).Shape(shapes::Unknown));
    } else {
      AddLine(line, builders.back());
    }
  }
  std::map<std::string, OpDef> ops;
  for (const OpDefBuilder& builder : builders) {
    absl::StatusOr<OpDef> op = builder.Build();
    EXPECT_OK(op) << builder.name();
    if (op.ok()) ops[builder.name()] = *std::move(op);
  }
  return ops;
}

TEST(OpSignaturesTest, MatchTensorFlow) {
  const auto theirs = ReadTensorFlowsOps();
  ASSERT_FALSE(theirs.empty());
  std::vector<std::string> missing;
  for (const OpDef* ours : StandardOps()->List()) {
    const auto found = theirs.find(ours->name);
    if (found == theirs.end() && OwnOps().contains(ours->name)) continue;
    if (found == theirs.end()) {
      missing.push_back(ours->name);
      continue;
    }
    const auto intended = IntendedDifferences().find(ours->name);
    const Lines differences = Compare(*ours, found->second);
    const Lines allowed = intended == IntendedDifferences().end()
                              ? Lines{}
                              : intended->second.lines;
    EXPECT_EQ(differences, allowed)
        << ours->name << " differs from TensorFlow's:\n"
        << absl::StrJoin(differences, "\n");
  }
  EXPECT_TRUE(missing.empty()) << "run python3 tools/tensorflow_signatures.py "
                               << absl::StrJoin(missing, " ");
}

// The first version that lacks an op, and TensorFlow's advice.
struct Removal {
  int version = 0;
  std::string advice;
};

std::map<std::string, Removal> ReadRemovedOps() {
  std::map<std::string, Removal> removals;
  std::string op;
  std::ifstream file(kFile);
  for (std::string text; std::getline(file, text);) {
    absl::string_view line = text;
    if (absl::ConsumePrefix(&line, "op ")) op = std::string(line);
    if (!absl::ConsumePrefix(&line, "removed ")) continue;
    const size_t space = line.find(' ');
    Removal& removal = removals[op];
    EXPECT_TRUE(absl::SimpleAtoi(line.substr(0, space), &removal.version));
    removal.advice = std::string(line.substr(space + 1));
  }
  return removals;
}

TEST(OpSignaturesTest, RemovalVersionsMatchTensorFlow) {
  const auto removals = ReadRemovedOps();
  EXPECT_FALSE(removals.empty());
  for (const OpDef* op : StandardOps()->List()) {
    const auto removal = removals.find(op->name);
    if (removal == removals.end()) {
      EXPECT_OK(CheckNotRemoved(kGraphDefVersion, "n", op->name)) << op->name;
      continue;
    }
    const auto& [version, advice] = removal->second;
    EXPECT_OK(CheckNotRemoved(version - 1, "n", op->name)) << op->name;
    EXPECT_THAT(
        CheckNotRemoved(version, "n", op->name),
        StatusIs(absl::StatusCode::kUnimplemented,
                 absl::StrCat("removed in version ", version, ". ", advice)))
        << op->name;
  }
}

TEST(OpSignaturesTest, OnlyKnownOpsHaveExceptions) {
  for (const auto& [name, difference] : IntendedDifferences()) {
    EXPECT_NE(StandardOps()->Find(name), nullptr) << name;
    EXPECT_FALSE(difference.reason.empty()) << name;
  }
  for (const auto& [name, reason] : OwnOps()) {
    EXPECT_NE(StandardOps()->Find(name), nullptr) << name;
    EXPECT_TRUE(name[0] == '_' || ForUsers().contains(name))
        << name << ": as TensorFlow names what users may not add";
    EXPECT_FALSE(reason.empty()) << name;
  }
}

}  // namespace
}  // namespace weft
