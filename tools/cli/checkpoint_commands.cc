#include "tools/cli/checkpoint_commands.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "libs/base/saturated.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/checkpoint/bundle_writer.h"
#include "libs/checkpoint/checkpoint_reader.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/fs/path.h"
#include "libs/tensor/variant.h"
#include "tools/cli/json_text.h"
#include "tools/cli/table.h"
#include "tools/cli/tensor_json.h"
#include "tools/cli/tensor_statistics.h"

namespace weft::tools {
namespace {

using checkpoint::BundleWriter;
using checkpoint::CheckpointReader;
using checkpoint::TensorSlice;

using Stored = CheckpointReader::Listed;

// An open checkpoint and its entries.
struct Checkpoint {
  std::string prefix;
  std::unique_ptr<CheckpointReader> reader;
  std::map<std::string, Stored> tensors;
};

// Returns an error for a path that is probably a file of a checkpoint instead
// of its prefix.
absl::Status CheckIsPrefix(absl::string_view path) {
  absl::string_view prefix = path;
  if (!absl::ConsumeSuffix(&prefix, ".index") &&
      !absl::ConsumeSuffix(&prefix, ".meta")) {
    const size_t data = path.rfind(".data-");
    if (data == absl::string_view::npos) return absl::OkStatus();
    prefix = path.substr(0, data);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path, " is one file of a checkpoint; its prefix is ", prefix));
}

bool IsDirectory(FileSystem& files, const std::string& path) {
  return files.IsDirectory(path).value_or(false);
}

absl::StatusOr<std::string> FindPrefix(FileSystem& files,
                                       const std::string& path) {
  RETURN_IF_ERROR(CheckIsPrefix(path));
  if (!IsDirectory(files, path)) return path;
  ASSIGN_OR_RETURN(const auto newest,
                   checkpoint::LatestCheckpoint(files, path));
  if (newest.has_value()) return *newest;
  return absl::NotFoundError(absl::StrCat(
      path,
      ": its file \"checkpoint\" names no checkpoint that is there; name "
      "a prefix, PATH/model.ckpt-100"));
}

absl::StatusOr<Checkpoint> Open(FileSystem& files, const std::string& path) {
  Checkpoint checkpoint;
  ASSIGN_OR_RETURN(checkpoint.prefix, FindPrefix(files, path));
  ASSIGN_OR_RETURN(checkpoint.reader,
                   CheckpointReader::Open(files, checkpoint.prefix));
  ASSIGN_OR_RETURN(checkpoint.tensors, checkpoint.reader->ListTensors());
  return checkpoint;
}

// Returns the names of tensors that contain a part of `name`, or are a part of
// it.
std::string NamesLike(const Checkpoint& checkpoint, const std::string& name) {
  std::vector<std::string> like;
  const std::string last(Basename(name));
  for (const auto& [known, stored] : checkpoint.tensors) {
    const bool is_like = absl::StrContains(known, last) ||
                         absl::StrContains(name, Basename(known));
    if (is_like && like.size() < 5) like.push_back(known);
  }
  return like.empty() ? absl::StrCat("; `weft checkpoint ls ",
                                     checkpoint.prefix, "` lists its tensors")
                      : absl::StrCat("; it has ", absl::StrJoin(like, ", "));
}

absl::StatusOr<const Stored*> FindTensor(const Checkpoint& checkpoint,
                                         const std::string& name) {
  const auto it = checkpoint.tensors.find(name);
  if (it != checkpoint.tensors.end()) return &it->second;
  return absl::NotFoundError(absl::StrCat(checkpoint.prefix,
                                          " has no tensor \"", name, "\"",
                                          NamesLike(checkpoint, name)));
}

std::string ShapeText(const TensorShape& shape) { return shape.ToString(); }

std::string SlicesText(const Stored& stored) {
  std::vector<std::string> texts;
  for (const TensorSlice& slice : stored.slices) {
    texts.push_back(slice.ToString());
  }
  return absl::StrJoin(texts, " ");
}

// ---- ls

std::string FormatName(const CheckpointReader& reader) {
  return absl::StrCat("V", reader.format());
}

std::string TensorsView(const Checkpoint& checkpoint, Format format) {
  Table table(
      {{"tensor"}, {"type"}, {"shape"}, {"bytes", true}, {"file"}, {"slices"}});
  Json json = {{"prefix", checkpoint.prefix},
               {"format", FormatName(*checkpoint.reader)},
               {"tensors", Json::array()}};
  int64_t bytes = 0;
  // their number, because not all names of data files contain the number of
  // files
  std::set<int> data_files;
  for (const auto& [name, stored] : checkpoint.tensors) {
    bytes = SaturatedAdd(bytes, stored.bytes);
    data_files.insert(stored.files.begin(), stored.files.end());
    const std::string shards = absl::StrJoin(stored.files, ",");
    table.AddRow({name, DataTypeName(stored.dtype), ShapeText(stored.shape),
                  BytesText(stored.bytes), shards, SlicesText(stored)});
    Json slices = Json::array();
    for (const TensorSlice& slice : stored.slices) {
      slices.push_back(slice.ToString());
    }
    json["tensors"].push_back({{"name", name},
                               {"dtype", DataTypeName(stored.dtype)},
                               {"shape", ShapeText(stored.shape)},
                               {"bytes", stored.bytes},
                               {"files", stored.files},
                               {"slices", slices}});
  }
  json["bytes"] = bytes;
  if (format == Format::kJson) return JsonText(json);
  return absl::StrCat(
      checkpoint.prefix, "\n", table.ToString(),
      CountText(static_cast<int64_t>(checkpoint.tensors.size()), "tensor"),
      ", ", BytesText(bytes), " in ",
      CountText(static_cast<int64_t>(data_files.size()), "data file"),
      " of format ", FormatName(*checkpoint.reader), "\n");
}

std::string TimeText(double seconds) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S",
                          absl::UnixEpoch() + absl::Seconds(seconds),
                          absl::LocalTimeZone());
}

// Lists the checkpoints of a directory, oldest first.
absl::StatusOr<std::string> FolderView(FileSystem& files,
                                       const std::string& folder,
                                       Format format) {
  ASSIGN_OR_RETURN(const auto state,
                   checkpoint::ReadCheckpointState(files, folder));
  Table table(
      {{"checkpoint"}, {"tensors", true}, {"bytes", true}, {"saved"}, {""}});
  Json json = Json::array();
  const auto& paths = state.all_model_checkpoint_paths;
  const auto& times = state.all_model_checkpoint_timestamps;
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto checkpoint = Open(files, paths[i]);
    const bool is_newest = paths[i] == state.model_checkpoint_path;
    const std::string saved = i < times.size() ? TimeText(times[i]) : "";
    Json row = {{"prefix", paths[i]}, {"newest", is_newest}, {"saved", saved}};
    std::string tensors, bytes_text;
    std::string note = is_newest ? "newest" : "";
    if (checkpoint.ok()) {
      int64_t bytes = 0;
      for (const auto& [name, stored] : checkpoint->tensors) {
        bytes = SaturatedAdd(bytes, stored.bytes);
      }
      tensors = absl::StrCat(checkpoint->tensors.size());
      bytes_text = BytesText(bytes);
      row["tensors"] = checkpoint->tensors.size();
      row["bytes"] = bytes;
    } else {
      note = absl::IsNotFound(checkpoint.status())
                 ? "gone"
                 : std::string(checkpoint.status().message());
      row["error"] = note;
    }
    table.AddRow({paths[i], tensors, bytes_text, saved, note});
    json.push_back(std::move(row));
  }
  return format == Format::kJson ? JsonText(json) : table.ToString();
}

absl::StatusOr<std::string> List(FileSystem& files,
                                 const Invocation& invocation) {
  const std::string& path = invocation.arguments[0];
  RETURN_IF_ERROR(CheckIsPrefix(path));
  if (IsDirectory(files, path)) {
    return FolderView(files, path, invocation.format);
  }
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, Open(files, path));
  return TensorsView(checkpoint, invocation.format);
}

// ---- show

Json StatisticsJson(const TensorStatistics& of) {
  return {{"count", of.count},
          {"min", of.min},
          {"max", of.max},
          {"mean", of.mean},
          {"standard_deviation", of.standard_deviation},
          {"zeros", of.zeros},
          {"nans", of.nans},
          {"infinities", of.infinities}};
}

std::string StatisticsText(const TensorStatistics& of) {
  return absl::StrFormat(
      "min %g, max %g, mean %g, standard deviation %g\n%d zeros, %d NaN, %d "
      "infinite\n",
      of.min, of.max, of.mean, of.standard_deviation, of.zeros, of.nans,
      of.infinities);
}

// Returns a copy of the first elements.
Tensor FirstElements(const Tensor& tensor, int64_t count) {
  if (tensor.num_elements() <= count) return tensor;
  Tensor first(tensor.dtype(), TensorShape({count}));
  if (tensor.dtype() == DT_STRING) {
    std::copy_n(tensor.flat<std::string>().begin(), count,
                first.mutable_flat<std::string>().begin());
  } else if (tensor.dtype() == DT_VARIANT) {
    std::copy_n(tensor.flat<Variant>().begin(), count,
                first.mutable_flat<Variant>().begin());
  } else {
    std::memcpy(first.mutable_data(), tensor.data(), first.num_bytes());
  }
  return first;
}

absl::StatusOr<std::string> Show(FileSystem& files,
                                 const Invocation& invocation) {
  const std::string& name = invocation.arguments[1];
  ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                   Open(files, invocation.arguments[0]));
  ASSIGN_OR_RETURN(const Stored* stored, FindTensor(checkpoint, name));
  TensorSlice slice(stored->shape.rank());
  if (!invocation.slice.empty()) {
    ASSIGN_OR_RETURN(slice, TensorSlice::Parse(invocation.slice));
  }
  ASSIGN_OR_RETURN(const Tensor tensor,
                   checkpoint.reader->ReadSlice(name, slice, HeapAllocator()));
  const auto statistics = StatisticsOf(tensor);
  const Tensor first = FirstElements(tensor, invocation.limit);
  const Json values = TensorToJson(first);
  if (invocation.format == Format::kJson) {
    Json json = {{"name", name},
                 {"dtype", DataTypeName(stored->dtype)},
                 {"shape", ShapeText(tensor.shape())},
                 {"values", values}};
    if (statistics) json["statistics"] = StatisticsJson(*statistics);
    return JsonText(json);
  }
  const int64_t left = tensor.num_elements() - first.num_elements();
  return absl::StrCat(
      name, ": ", DataTypeName(stored->dtype), " ", ShapeText(tensor.shape()),
      "\n", statistics ? StatisticsText(*statistics) : "",
      values.dump(-1, ' ', false, Json::error_handler_t::replace), "\n",
      left > 0 ? absl::StrCat("and ", left, " more (--limit)\n") : "");
}

// ---- verify

absl::StatusOr<std::string> Verify(FileSystem& files,
                                   const Invocation& invocation) {
  ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                   Open(files, invocation.arguments[0]));
  std::vector<std::string> bad;
  int64_t bytes = 0;
  for (const auto& [name, stored] : checkpoint.tensors) {
    bytes = SaturatedAdd(bytes, stored.bytes);
    const absl::Status status =
        checkpoint.reader->Verify(name, HeapAllocator());
    if (status.ok()) continue;
    bad.push_back(
        absl::StrCat(Printable(name), ": ", Printable(status.message())));
  }
  if (!bad.empty()) {
    return absl::DataLossError(absl::StrCat(
        checkpoint.prefix, ": ", bad.size(), " of ", checkpoint.tensors.size(),
        " tensors can't be read\n", absl::StrJoin(bad, "\n")));
  }
  if (invocation.format == Format::kJson) {
    return JsonText(Json{{"prefix", checkpoint.prefix},
                         {"tensors", checkpoint.tensors.size()},
                         {"bytes", bytes},
                         {"whole", true}});
  }
  return absl::StrCat(
      checkpoint.prefix, ": ",
      CountText(static_cast<int64_t>(checkpoint.tensors.size()), "tensor"),
      ", ", BytesText(bytes), ", all checksums right\n");
}

// ---- diff

// Returns how the tensor `name` differs between a and b, or "" if it is equal.
absl::StatusOr<std::string> DifferenceText(const Checkpoint& a,
                                           const Checkpoint& b,
                                           const std::string& name,
                                           const Invocation& invocation) {
  const Stored& x = a.tensors.at(name);
  const Stored& y = b.tensors.at(name);
  if (x.dtype != y.dtype || !(x.shape == y.shape)) {
    return absl::StrCat(DataTypeName(x.dtype), " ", ShapeText(x.shape), " and ",
                        DataTypeName(y.dtype), " ", ShapeText(y.shape));
  }
  ASSIGN_OR_RETURN(const Tensor left, a.reader->Read(name, HeapAllocator()));
  ASSIGN_OR_RETURN(const Tensor right, b.reader->Read(name, HeapAllocator()));
  const TensorDifference of =
      DifferenceOf(left, right, invocation.atol, invocation.rtol);
  if (of.count == 0) return std::string();
  return absl::StrFormat(
      "%d of %d elements, the first at %d, by %g at most (at %d)", of.count,
      left.num_elements(), of.first, of.largest, of.largest_at);
}

absl::StatusOr<std::string> Diff(FileSystem& files,
                                 const Invocation& invocation) {
  ASSIGN_OR_RETURN(const Checkpoint a, Open(files, invocation.arguments[0]));
  ASSIGN_OR_RETURN(const Checkpoint b, Open(files, invocation.arguments[1]));
  std::vector<std::string> lines;
  for (const auto& [name, stored] : a.tensors) {
    if (b.tensors.count(name) > 0) {
      ASSIGN_OR_RETURN(const std::string text,
                       DifferenceText(a, b, name, invocation));
      if (!text.empty()) {
        lines.push_back(absl::StrCat("  ", Printable(name), ": ", text));
      }
    } else {
      lines.push_back(absl::StrCat("- ", Printable(name)));
    }
  }
  for (const auto& [name, stored] : b.tensors) {
    if (a.tensors.count(name) == 0) {
      lines.push_back(absl::StrCat("+ ", Printable(name)));
    }
  }
  if (lines.empty()) {
    return absl::StrCat(
        CountText(static_cast<int64_t>(a.tensors.size()), "tensor"),
        ", no difference\n");
  }
  return absl::FailedPreconditionError(absl::StrCat(
      a.prefix, " and ", b.prefix, " differ\n", absl::StrJoin(lines, "\n")));
}

// ---- convert

// How a tensor is partitioned when it is written.
struct Parts {
  int axis = 0;
  int64_t count = 0;
};

absl::StatusOr<std::map<std::string, Parts>> ParseParts(
    const std::vector<std::string>& texts, const Checkpoint& checkpoint) {
  std::map<std::string, Parts> all;
  for (const std::string& text : texts) {
    // A tensor name may contain "=" and ":", but the numbers after it do not.
    const size_t equals = text.rfind('=');
    const size_t colon = text.rfind(':');
    Parts parts;
    if (equals == std::string::npos || colon == std::string::npos ||
        colon < equals ||
        !absl::SimpleAtoi(text.substr(equals + 1, colon - equals - 1),
                          &parts.axis) ||
        !absl::SimpleAtoi(text.substr(colon + 1), &parts.count)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--parts=", text, " says no parts; write --parts=NAME=AXIS:COUNT"));
    }
    const std::string name = text.substr(0, equals);
    ASSIGN_OR_RETURN(const Stored* stored, FindTensor(checkpoint, name));
    const bool fits = parts.axis >= 0 && parts.axis < stored->shape.rank() &&
                      parts.count >= 1 &&
                      parts.count <= stored->shape.dim(parts.axis);
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--parts=", text, ": ", name, " is ", ShapeText(stored->shape),
          "; an axis has at most as many parts as elements"));
    }
    all[name] = parts;
  }
  return all;
}

absl::StatusOr<std::map<std::string, std::string>> ParseRenames(
    const std::vector<std::string>& texts, const Checkpoint& checkpoint) {
  std::map<std::string, std::string> renames;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 ||
        equals + 1 == text.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--rename=", text, " names nothing; write --rename=OLD=NEW"));
    }
    const std::string name = text.substr(0, equals);
    RETURN_IF_ERROR(FindTensor(checkpoint, name).status());
    renames[name] = text.substr(equals + 1);
  }
  return renames;
}

// Partitions a shape. As in TensorFlow's partitioners, the first parts are
// longer by one.
absl::StatusOr<std::vector<TensorSlice>> Cut(const TensorShape& shape,
                                             const Parts& parts) {
  std::vector<TensorSlice> slices;
  const int64_t size = shape.dim(parts.axis);
  int64_t start = 0;
  for (int64_t i = 0; i < parts.count; ++i) {
    const int64_t length = size / parts.count + (i < size % parts.count);
    std::vector<TensorSlice::Extent> extents(shape.rank());
    extents[parts.axis] = {start, length};
    ASSIGN_OR_RETURN(slices.emplace_back(),
                     TensorSlice::Create(std::move(extents)));
    start += length;
  }
  return slices;
}

absl::Status Write(const Checkpoint& from, const std::string& name,
                   const std::vector<TensorSlice>& slices,
                   const std::string& new_name, BundleWriter& to) {
  const TensorShape& shape = from.tensors.at(name).shape;
  if (slices.empty()) {
    ASSIGN_OR_RETURN(const Tensor tensor,
                     from.reader->Read(name, HeapAllocator()));
    return to.Add(new_name, tensor);
  }
  for (const TensorSlice& slice : slices) {
    ASSIGN_OR_RETURN(const Tensor tensor,
                     from.reader->ReadSlice(name, slice, HeapAllocator()));
    RETURN_IF_ERROR(to.AddSlice(new_name, shape, slice, tensor));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Convert(FileSystem& files, Random& random,
                                    const Invocation& invocation) {
  const std::string& target = invocation.arguments[1];
  RETURN_IF_ERROR(CheckIsPrefix(target));
  ASSIGN_OR_RETURN(const Checkpoint from, Open(files, invocation.arguments[0]));
  ASSIGN_OR_RETURN(const auto parts, ParseParts(invocation.parts, from));
  ASSIGN_OR_RETURN(const auto renames, ParseRenames(invocation.renames, from));
  const std::string index = checkpoint::IndexFilename(target);
  const absl::Status there = files.FileExists(index);
  if (!absl::IsNotFound(there)) {
    RETURN_IF_ERROR(there);
    return absl::AlreadyExistsError(
        absl::StrCat(index, " is there already; name another prefix"));
  }
  ASSIGN_OR_RETURN(const auto writer,
                   BundleWriter::Create(files, target, random));
  for (const auto& [name, stored] : from.tensors) {
    std::vector<TensorSlice> slices;
    if (!invocation.merge) slices = stored.slices;
    if (const auto it = parts.find(name); it != parts.end()) {
      ASSIGN_OR_RETURN(slices, Cut(stored.shape, it->second));
    }
    const auto renamed = renames.find(name);
    RETURN_IF_ERROR(Write(from, name, slices,
                          renamed == renames.end() ? name : renamed->second,
                          *writer));
  }
  RETURN_IF_ERROR(writer->Finish());
  return absl::StrCat(
      CountText(static_cast<int64_t>(from.tensors.size()), "tensor"),
      " written to ", target, "\n");
}

}  // namespace

absl::StatusOr<std::string> RunCheckpointCommand(FileSystem& files,
                                                 Random& random,
                                                 const Invocation& invocation) {
  const std::string& verb = invocation.checkpoint_verb;
  if (verb == "ls") return List(files, invocation);
  if (verb == "show") return Show(files, invocation);
  if (verb == "verify") return Verify(files, invocation);
  if (verb == "diff") return Diff(files, invocation);
  return Convert(files, random, invocation);
}

}  // namespace weft::tools
