// Tests of MetaGraphDef messages: what is imported, what is rejected and why,
// and that a rejected message leaves nothing behind.
// integration_tests/checkpoints/meta_graph_test.cc runs imported graphs.
#include "libs/train/saving/meta_graph.h"

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/failing_memory.h"
#include "libs/base/text_proto.h"
#include "libs/fs/memory_file_system.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/variable.h"
#include "libs/train/saving/import_meta_graph.h"
#include "libs/train/saving/saver.h"
#include "schemas/tf/meta_graph.pb.h"
#include "schemas/tf/variable.pb.h"

namespace weft::train {
namespace {

// The message has a reference variable and its saver, with the names in
// TensorFlow's collections.
class MetaGraphTest : public testing::Test {
 protected:
  MetaGraphTest() {
    const Scope root = Scope::Root();
    const ops::Variable w(root.WithName("w"), Tensor(DT_FLOAT, {4, 2}),
                          {.use_resource = false});
    root.AddToCollection(collection::kLosses,
                         ops::Add(root.WithName("loss"), w, w));
    const Saver saver(root);
    const auto meta = ExportMetaGraph(root, {.saver_def = saver.def()});
    EXPECT_OK(meta);
    if (meta.ok()) message_ = meta->message();
  }

  tf::CollectionDef& Collection(const std::string& name) {
    return (*message_.mutable_collection_def())[name];
  }
  tf::VariableDef W() {
    tf::VariableDef def;
    def.ParseFromString(Collection("variables").bytes_list().value(0));
    return def;
  }
  void SetVariables(const std::vector<tf::VariableDef>& defs) {
    message_.clear_collection_def();
    for (const tf::VariableDef& def : defs) {
      Collection("variables")
          .mutable_bytes_list()
          ->add_value(def.SerializeAsString());
    }
  }
  // Expects that `message_` is rejected and leaves the scope unchanged, so that
  // the correct message can be imported afterwards.
  template <typename Matcher>
  void ExpectRefused(const Matcher& matcher) {
    const Scope root = Scope::Root();
    EXPECT_THAT(ImportMetaGraph(root, MetaGraph(message_)).status(), matcher);
    EXPECT_OK(root.status());
    EXPECT_EQ(root.graph().num_nodes(), 0);
    EXPECT_TRUE(root.state().collections.empty());
    EXPECT_TRUE(root.state().foreign_collections.empty());
  }

  tf::MetaGraphDef message_;
};

TEST_F(MetaGraphTest, ExportFailsWhenOutOfMemory) {
  const Scope root = Scope::Root();
  const MetaGraph meta(message_);
  MemoryFileSystem files;
  constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
  const auto without_memory = [](auto call) {
    const FailingMemory failing(1);
    return absl::Status(call());
  };
  EXPECT_THAT(without_memory([&] { return ExportMetaGraph(root).status(); }),
              StatusIs(kExhausted));
  EXPECT_THAT(
      without_memory([&] { return WriteMetaGraph(files, "model.meta", meta); }),
      StatusIs(kExhausted));
  EXPECT_OK(ExportMetaGraph(root));
  EXPECT_OK(WriteMetaGraph(files, "model.meta", meta));
  EXPECT_THAT(without_memory(
                  [&] { return ReadMetaGraph(files, "model.meta").status(); }),
              StatusIs(kExhausted));
  EXPECT_OK(ReadMetaGraph(files, "model.meta"));
}

// Each allocation fails once, including those of protobuf maps, whose
// destructors must not run after a failure.
TEST_F(MetaGraphTest, ParsingFailsWhenOutOfMemory) {
  const std::string bytes = MetaGraph(message_).Serialize();
  absl::Status status = absl::UnknownError("nothing was parsed");
  for (int64_t nth = 1; !status.ok(); ++nth) {
    const FailingMemory failing(nth);
    status = MetaGraph::Parse(bytes).status();
    if (status.ok()) break;
    ASSERT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
  }
  EXPECT_EQ(MetaGraph::Parse(bytes)->Serialize(), bytes);
}

TEST_F(MetaGraphTest, BinaryAndTextFormsParse) {
  const MetaGraph meta(message_);
  const std::string bytes = meta.Serialize();
  ASSERT_OK_AND_ASSIGN(const MetaGraph again, MetaGraph::Parse(bytes));
  EXPECT_EQ(again.Serialize(), bytes);
  ASSERT_OK_AND_ASSIGN(const MetaGraph text,
                       MetaGraph::Parse(message_.DebugString()));
  EXPECT_EQ(text.Serialize(), bytes);
  EXPECT_EQ(
      again.CollectionNames(),
      (std::vector<std::string>{"losses", "trainable_variables", "variables"}));
}

TEST_F(MetaGraphTest, ReadErrorsNameTheFile) {
  MemoryFileSystem files;
  EXPECT_THAT(ReadMetaGraph(files, "/m.meta").status(),
              StatusIs(absl::StatusCode::kNotFound, "/m.meta"));
  ASSERT_OK(files.WriteFileAtomically("/m.meta", "\xff\xff"));
  EXPECT_THAT(ReadMetaGraph(files, "/m.meta").status(),
              StatusIs(kInvalid, "/m.meta"));
}

// A truncated message is rejected, or its fields before the cut are read.
TEST_F(MetaGraphTest, TruncatedBytesDoNotCrash) {
  const std::string bytes = MetaGraph(message_).Serialize();
  int refused = 0;
  for (size_t size = 0; size < bytes.size(); size += 3) {
    const auto meta = MetaGraph::Parse(bytes.substr(0, size));
    const Scope root = Scope::Root();
    if (meta.ok() && ImportMetaGraph(root, *meta).ok()) continue;
    EXPECT_EQ(root.graph().num_nodes(), 0);
    ++refused;
  }
  EXPECT_GT(refused, 10);
}

TEST_F(MetaGraphTest, MissingTensorsAreNamedInErrors) {
  Collection("losses").mutable_node_list()->add_value("none:0");
  ExpectRefused(StatusIs(kInvalid, "collection 'losses': Tensor 'none:0'"));
  Collection("losses").mutable_node_list()->set_value(1, "w:7");
  ExpectRefused(StatusIs(kInvalid, "has only 1 outputs"));
  Collection("losses").mutable_node_list()->set_value(1, "none");
  ExpectRefused(StatusIs(kInvalid, "operation 'none' is not in the graph"));
}

TEST_F(MetaGraphTest, InvalidVariableDefsAreRejected) {
  const tf::VariableDef w = W();
  const struct {
    std::function<void(tf::VariableDef&)> change;
    const char* why;
  } cases[] = {
      {[](auto& def) { def.set_variable_name("v:0"); }, "'v:0'"},
      {[](auto& def) { def.set_initializer_name(""); }, "operation ''"},
      {[](auto& def) { def.set_snapshot_name("x:0"); }, "'x:0'"},
      {[](auto& def) { def.set_is_resource(true); }, "is_resource is 1"},
      {[](auto& def) { def.set_variable_name("w/read:0"); },
       "is not a variable"},
      {[](auto& def) { def.set_snapshot_name("save/Const:0"); },
       "is not a variable"},
      {[](auto& def) {
         def.mutable_save_slice_info_def()->set_full_name("all");
       },
       "is not a part of 'all'"},
      {[](auto& def) {
         auto& slice = *def.mutable_save_slice_info_def();
         slice.set_full_name("all");
         for (int i = 0; i < 2; ++i) {
           slice.add_full_shape(4);
           slice.add_var_offset(int64_t{1} << 62);
         }
       },
       "is not a part of 'all'"},
      {[](auto& def) {
         auto& slice = *def.mutable_save_slice_info_def();
         for (int i = 0; i < 300; ++i) slice.add_full_shape(int64_t{1} << 40);
       },
       "variable 'w:0'"},
  };
  for (const auto& [change, why] : cases) {
    tf::VariableDef def = w;
    change(def);
    SetVariables({def});
    ExpectRefused(StatusIs(kInvalid, why));
  }
  tf::VariableDef other = w;
  other.set_trainable(!w.trainable());
  SetVariables({w, other});
  ExpectRefused(StatusIs(kInvalid, "is described twice"));
  Collection("variables").mutable_bytes_list()->set_value(1, "\xff");
  ExpectRefused(
      StatusIs(kInvalid, "contains an item that is not a VariableDef"));
}

TEST_F(MetaGraphTest, InvalidSaverDefsAreRejected) {
  const tf::SaverDef saver = message_.saver_def();
  message_.mutable_saver_def()->set_save_tensor_name("save/none:0");
  ExpectRefused(StatusIs(kInvalid, "'save/none:0' is not in the graph"));
  message_.mutable_saver_def()->set_save_tensor_name("w:0");
  ExpectRefused(StatusIs(kInvalid, "or no string"));
  *message_.mutable_saver_def() = saver;
  message_.mutable_saver_def()->set_restore_op_name("");
  ExpectRefused(StatusIs(kInvalid, "must specify"));
  *message_.mutable_saver_def() = saver;
  message_.mutable_saver_def()->set_keep_checkpoint_every_n_hours(-1);
  ExpectRefused(StatusIs(kInvalid, "keep_checkpoint_every_n_hours"));
  message_.mutable_saver_def()->set_version(
      static_cast<tf::SaverDef::CheckpointFormatVersion>(3));
  ExpectRefused(StatusIs(absl::StatusCode::kUnimplemented, "SaverDef.V2"));
}

TEST_F(MetaGraphTest, InvalidGraphsAreRejected) {
  message_.mutable_graph_def()->mutable_node(0)->add_input("nowhere");
  ExpectRefused(StatusIs(kInvalid, "Unknown input node 'nowhere'"));
  message_.clear_graph_def();
  ExpectRefused(StatusIs(kInvalid, "holds no graph"));
}

// An import is rejected while another thread changes the graph, even if the
// import fails: undoing it would also undo the other change.
TEST_F(MetaGraphTest, ConcurrentImportIsRejected) {
  message_.clear_graph_def();
  const Scope root = Scope::Root();
  const GraphWriter::Turn turn(root.graph().writer());
  absl::Status status;
  std::thread second(
      [&] { status = ImportMetaGraph(root, MetaGraph(message_)).status(); });
  second.join();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               "Another thread"));
}

// Two concatenated messages are parsed as one message with duplicate nodes. Of
// duplicate collections, the last is used, as in protobuf.
TEST_F(MetaGraphTest, DuplicateNodesFailAndLastCollectionWins) {
  const std::string bytes = MetaGraph(message_).Serialize();
  ASSERT_OK_AND_ASSIGN(const MetaGraph twice, MetaGraph::Parse(bytes + bytes));
  const Scope root = Scope::Root();
  EXPECT_THAT(ImportMetaGraph(root, twice).status(),
              StatusIs(kInvalid, "is not unique"));
  EXPECT_EQ(root.graph().num_nodes(), 0);
  tf::MetaGraphDef more;
  (*more.mutable_collection_def())["losses"].mutable_node_list()->add_value(
      "w/read:0");
  ASSERT_OK_AND_ASSIGN(const MetaGraph last,
                       MetaGraph::Parse(bytes + more.SerializeAsString()));
  ASSERT_OK(ImportMetaGraph(root, last).status());
  ASSERT_EQ(root.GetCollection("losses").size(), 1u);
  EXPECT_EQ(root.GetCollection("losses")[0].name(), "w/read:0");
}

TEST_F(MetaGraphTest, CollectionKindMismatchIsRejected) {
  Collection("mine").mutable_int64_list()->add_value(1);
  const MetaGraph numbers(message_);
  const Scope root = Scope::Root();
  ASSERT_OK(ImportMetaGraph(root, numbers, {.import_scope = "a"}).status());
  Collection("mine").mutable_float_list()->add_value(1);
  EXPECT_THAT(ImportMetaGraph(root, MetaGraph(message_), {.import_scope = "b"})
                  .status(),
              StatusIs(kInvalid,
                       "collection 'mine': the graph's collection is of "
                       "another kind"));
  // Items of the same kind are added to the collection.
  ASSERT_OK(ImportMetaGraph(root, numbers, {.import_scope = "c"}).status());
  ASSERT_OK_AND_ASSIGN(const MetaGraph out, ExportMetaGraph(root));
  EXPECT_EQ(out.message().collection_def().at("mine").int64_list().value_size(),
            2);
  root.AddToCollection("mine", root.GetCollection("losses")[0]);
  EXPECT_THAT(ExportMetaGraph(root).status(),
              StatusIs(kInvalid, "collection 'mine' can't be exported"));
  EXPECT_OK(ExportMetaGraph(
      root, {.collections = std::vector<std::string>{"losses"}}));
}

// Collection contents of newer writers are preserved.
TEST_F(MetaGraphTest, UnknownCollectionKindsArePreserved) {
  // The bytes are field 9, "new", which neither a CollectionDef nor a NodeList
  // has.
  const std::string unknown = "\x4a\x03new";
  Collection("newer").ParseFromString(unknown);
  Collection("losses").mutable_node_list()->MergeFromString(unknown);
  Collection("empty").mutable_node_list();
  const Scope root = Scope::Root();
  ASSERT_OK(ImportMetaGraph(root, MetaGraph(message_)).status());
  ASSERT_OK_AND_ASSIGN(const MetaGraph out, ExportMetaGraph(root));
  for (const char* name : {"newer", "losses", "empty"}) {
    EXPECT_EQ(out.message().collection_def().at(name).SerializeAsString(),
              Collection(name).SerializeAsString())
        << name;
  }
}

TEST_F(MetaGraphTest, TrainableIsIgnoredBeforeTensorFlow19) {
  tf::VariableDef w = W();
  w.set_trainable(false);
  for (const char* version : {"1.8.0", "1.9.0"}) {
    SetVariables({w});
    Collection("trainable_variables")
        .mutable_bytes_list()
        ->add_value(w.SerializeAsString());
    message_.mutable_meta_info_def()->set_tensorflow_version(version);
    const Scope root = Scope::Root();
    ASSERT_OK(ImportMetaGraph(root, MetaGraph(message_)).status());
    EXPECT_EQ(ops::GlobalVariables(root)[0].trainable(),
              std::string(version) == "1.8.0");
  }
}

// The message has attrs that this program's ops do not have, with the defaults
// of the writer's ops.
TEST_F(MetaGraphTest, UnknownDefaultAttrsAreDroppedSilently) {
  tf::NodeDef& node = *message_.mutable_graph_def()->mutable_node(0);
  (*node.mutable_attr())["newer"].set_i(7);
  const auto warns = [this] {
    const Scope root = Scope::Root();
    testing::internal::CaptureStderr();
    EXPECT_OK(ImportMetaGraph(root, MetaGraph(message_)).status());
    const std::string text = testing::internal::GetCapturedStderr();
    return absl::StrContains(text, "Ignored attrs: 'newer' of op");
  };
  EXPECT_TRUE(warns());
  for (auto& op : *message_.mutable_meta_info_def()
                       ->mutable_stripped_op_list()
                       ->mutable_op()) {
    if (op.name() != node.op()) continue;
    auto& attr = *op.add_attr();
    attr.set_name("newer");
    attr.mutable_default_value()->set_i(7);
  }
  EXPECT_FALSE(warns());
}

TEST_F(MetaGraphTest, DevicesAreCleared) {
  for (tf::NodeDef& node : *message_.mutable_graph_def()->mutable_node()) {
    node.set_device("/job:ps/task:3");
  }
  const Scope root = Scope::Root();
  ASSERT_OK(ImportMetaGraph(root, MetaGraph(message_), {.clear_devices = true})
                .status());
  for (const Node* node : root.graph().nodes()) {
    EXPECT_EQ(node->requested_device(), "");
  }
}

TEST_F(MetaGraphTest, ExportIncludesUsedOpDefs) {
  bool found = false;
  for (const auto& op : message_.meta_info_def().stripped_op_list().op()) {
    if (op.name() != "RestoreV2") continue;
    found = true;
    tf::OpDef expected;
    ASSERT_OK(ParseTextProto(
        "name: 'RestoreV2' "
        "input_arg { name: 'prefix' type: DT_STRING } "
        "input_arg { name: 'tensor_names' type: DT_STRING } "
        "input_arg { name: 'shape_and_slices' type: DT_STRING } "
        "output_arg { name: 'tensors' type_list_attr: 'dtypes' } "
        "attr { name: 'dtypes' type: 'list(type)' has_minimum: true "
        "minimum: 1 } is_stateful: true",
        expected));
    EXPECT_EQ(op.DebugString(), expected.DebugString());
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace weft::train
