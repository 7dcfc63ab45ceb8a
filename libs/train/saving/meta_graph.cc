#include "libs/train/saving/meta_graph.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/base/text_proto.h"
#include "libs/train/saving/saver_defs.h"
#include "schemas/tf/meta_graph.pb.h"

namespace weft::train {
namespace {

constexpr size_t kMaxMetaGraphBytes = std::numeric_limits<int>::max();

absl::Status CheckMetaGraphSize(size_t size) {
  if (size <= kMaxMetaGraphBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a MetaGraphDef must not be larger than 2 GiB, but is ",
                   size, " bytes large"));
}

}  // namespace

MetaGraph::MetaGraph() : MetaGraph(tf::MetaGraphDef()) {}

MetaGraph::MetaGraph(tf::MetaGraphDef message)
    : message_(std::make_shared<const tf::MetaGraphDef>(std::move(message))) {}

MetaGraph::MetaGraph(std::shared_ptr<const tf::MetaGraphDef> message)
    : message_(std::move(message)) {}

absl::StatusOr<MetaGraph> MetaGraph::Parse(absl::string_view content) {
  RETURN_IF_ERROR(CheckMetaGraphSize(content.size()));
  return CatchExceptions([&] { return ParseSized(content); });
}

// Parses into an arena, because a protobuf map on the heap is corrupted if it
// cannot allocate memory to grow. Even its destructor then fails.
absl::StatusOr<MetaGraph> MetaGraph::ParseSized(absl::string_view content) {
  const auto arena = std::make_shared<google::protobuf::Arena>();
  const std::shared_ptr<tf::MetaGraphDef> message(
      arena,
      google::protobuf::Arena::CreateMessage<tf::MetaGraphDef>(arena.get()));
  if (message->ParseFromArray(content.data(),
                              static_cast<int>(content.size()))) {
    return MetaGraph(message);
  }
  const absl::Status as_text =
      ParseTextProto(content, *message, {.allow_unknown_fields = true});
  if (as_text.ok()) return MetaGraph(message);
  return absl::InvalidArgumentError(
      absl::StrCat("neither the bytes of a MetaGraphDef, or cut short, nor its "
                   "text: ",
                   as_text.message()));
}

std::string MetaGraph::Serialize() const {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);  // sorts map entries by key
  message_->SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

absl::StatusOr<std::optional<SaverDef>> MetaGraph::saver_def() const {
  if (!message_->has_saver_def()) return std::optional<SaverDef>();
  ASSIGN_OR_RETURN(SaverDef def, ReadSaverDef(message_->saver_def()));
  return std::optional<SaverDef>(std::move(def));
}

std::vector<std::string> MetaGraph::CollectionNames() const {
  std::vector<std::string> names;
  for (const auto& [name, def] : message_->collection_def()) {
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> MetaGraph::tags() const {
  const auto& tags = message_->meta_info_def().tags();
  return {tags.begin(), tags.end()};
}

std::string MetaGraphFilename(absl::string_view checkpoint) {
  return absl::StrCat(checkpoint, ".meta");
}

absl::StatusOr<MetaGraph> ReadMetaGraph(FileSystem& files,
                                        absl::string_view path) {
  const auto read = [&]() -> absl::StatusOr<MetaGraph> {
    ASSIGN_OR_RETURN(const uint64_t size, files.GetFileSize(path));
    RETURN_IF_ERROR(Annotate(CheckMetaGraphSize(size), path));
    ASSIGN_OR_RETURN(const std::string content, files.ReadFile(path));
    absl::StatusOr<MetaGraph> meta_graph = MetaGraph::Parse(content);
    if (!meta_graph.ok()) return Annotate(meta_graph.status(), path);
    return meta_graph;
  };
  return CatchExceptions(read);
}

absl::Status WriteMetaGraph(FileSystem& files, absl::string_view path,
                            const MetaGraph& meta_graph) {
  return CatchExceptions(
      [&] { return files.WriteFileAtomically(path, meta_graph.Serialize()); });
}

}  // namespace weft::train
