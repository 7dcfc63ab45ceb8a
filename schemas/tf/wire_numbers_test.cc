// Tests that Weft's messages have the field numbers of TensorFlow, on which
// files and graphs depend.
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "gtest/gtest.h"
#include "schemas/tf/checkpoint_state.pb.h"
#include "schemas/tf/cluster.pb.h"
#include "schemas/tf/config.pb.h"
#include "schemas/tf/control_flow.pb.h"
#include "schemas/tf/device_attributes.pb.h"
#include "schemas/tf/error_codes.pb.h"
#include "schemas/tf/event.pb.h"
#include "schemas/tf/example.pb.h"
#include "schemas/tf/graph.pb.h"
#include "schemas/tf/meta_graph.pb.h"
#include "schemas/tf/named_tensor.pb.h"
#include "schemas/tf/queue_runner.pb.h"
#include "schemas/tf/saved_model.pb.h"
#include "schemas/tf/saved_tensor_slice.pb.h"
#include "schemas/tf/saver.pb.h"
#include "schemas/tf/summary.pb.h"
#include "schemas/tf/tensor_bundle.pb.h"
#include "schemas/tf/variable.pb.h"

namespace weft {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

// Maps "Message number" to the type and name of a field, such as "repeated type
// name", and "Enum" to its values in order.
using Table = std::map<std::string, std::string>;

// Returns the name without its package, for example "RunOptions.TraceLevel" for
// "weft.tf.RunOptions.TraceLevel".
std::string ShortName(absl::string_view full_name) {
  return std::string(full_name.substr(absl::string_view("weft.tf.").size()));
}

std::string TypeName(const FieldDescriptor& field) {
  std::string name = field.type_name();
  if (const Descriptor* message = field.message_type()) {
    name = message->full_name();
  } else if (const EnumDescriptor* values = field.enum_type()) {
    name = values->full_name();
  }
  return absl::StartsWith(name, "weft.tf.") ? ShortName(name) : name;
}

std::string FieldText(const FieldDescriptor& field) {
  if (field.is_map()) {
    const Descriptor& entry = *field.message_type();
    return absl::StrCat("map<", TypeName(*entry.field(0)), ", ",
                        TypeName(*entry.field(1)), "> ", field.name());
  }
  return absl::StrCat(field.is_repeated() ? "repeated " : "", TypeName(field),
                      " ", field.name());
}

void AddEnum(const EnumDescriptor& values, absl::string_view name,
             Table* table) {
  for (int i = 0; i < values.value_count(); ++i) {
    const auto& value = *values.value(i);
    (*table)[absl::StrCat(name, " ", value.number())] = value.name();
  }
}

void AddMessage(const Descriptor& message, Table* table) {
  if (message.options().map_entry()) return;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    (*table)[absl::StrCat(ShortName(message.full_name()), " ",
                          field.number())] = FieldText(field);
  }
  for (int i = 0; i < message.nested_type_count(); ++i) {
    AddMessage(*message.nested_type(i), table);
  }
  for (int i = 0; i < message.enum_type_count(); ++i) {
    const EnumDescriptor& values = *message.enum_type(i);
    AddEnum(values, ShortName(values.full_name()), table);
  }
}

// Adds the messages of a file and of its imports to `table`. Skips protobuf's
// own files.
void AddFile(const FileDescriptor& file, Table* table) {
  if (!absl::StartsWith(file.package(), "weft.tf")) return;
  for (int i = 0; i < file.message_type_count(); ++i) {
    AddMessage(*file.message_type(i), table);
  }
  for (int i = 0; i < file.enum_type_count(); ++i) {
    AddEnum(*file.enum_type(i), file.enum_type(i)->name(), table);
  }
  for (int i = 0; i < file.dependency_count(); ++i) {
    AddFile(*file.dependency(i), table);
  }
}

Table OurTable() {
  Table table;
  for (const Descriptor* message :
       {tf::GraphDef::descriptor(), tf::NamedTensorProto::descriptor(),
        tf::ConfigProto::descriptor(), tf::BundleEntryProto::descriptor(),
        tf::SaverDef::descriptor(), tf::CheckpointState::descriptor(),
        tf::SavedTensorSlices::descriptor(), tf::VariableDef::descriptor(),
        tf::QueueRunnerDef::descriptor(),
        tf::ControlFlowContextDef::descriptor(), tf::SavedModel::descriptor(),
        tf::Event::descriptor(), tf::ClusterDef::descriptor(),
        tf::DeviceAttributes::descriptor(), tf::Example::descriptor()}) {
    AddFile(*message->file(), &table);
  }
  return table;
}

Table TableOfFile(const std::string& path) {
  Table table;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::MaxSplits(' ', 2));
    table[absl::StrCat(words[0], " ", words[1])] = words[2];
  }
  return table;
}

TEST(WireNumbersTest, FieldNumbersMatchTensorFlow) {
  const Table ours = OurTable();
  const Table theirs = TableOfFile("schemas/tf/testdata/wire_numbers.txt");
  ASSERT_GT(theirs.size(), 500u);
  for (const auto& [number, text] : theirs) {
    const auto it = ours.find(number);
    ASSERT_NE(it, ours.end()) << number << " " << text << " is missing";
    EXPECT_EQ(it->second, text) << number;
  }
  EXPECT_EQ(ours.size(), theirs.size());
}

TEST(WireNumbersTest, UnknownFieldsSurvive) {
  // Field 5 (debug_info) exists only in TensorFlow's GraphDef.
  const std::string bytes = {'\x2a', '\x02', 'h', 'i'};
  tf::GraphDef graph;
  ASSERT_TRUE(graph.ParseFromString(bytes));
  EXPECT_EQ(graph.SerializeAsString(), bytes);
}

}  // namespace
}  // namespace weft
