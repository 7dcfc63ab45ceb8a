#include "libs/checkpoint/bundle_entry.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/checkpoint/slice_protos.h"
#include "libs/fs/path.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor_proto_convert.h"
#include "schemas/tf/tensor_bundle.pb.h"

namespace weft::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little);

// The version of the format that TensorFlow has written since 1.0.
constexpr int kVersion = 1;

absl::Status DataLoss(absl::string_view key, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("entry '", absl::CHexEscape(key), "': ", what));
}

absl::StatusOr<BundleEntry> ReadEntry(absl::string_view bytes,
                                      HeapCharge& charge) {
  constexpr int kSlices = tf::BundleEntryProto::kSlicesFieldNumber;
  std::string rest;
  tf::BundleEntryProto proto;
  RETURN_IF_ERROR(SplitMessage(bytes, kSlices, &rest, [](absl::string_view) {
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(ParseRest(rest, proto));
  BundleEntry entry;
  entry.dtype = static_cast<DataType>(proto.dtype());
  ASSIGN_OR_RETURN(entry.shape, ReadShape(proto.shape()));
  if (proto.shard_id() < 0 || proto.offset() < 0 || proto.size() < 0 ||
      proto.offset() > INT64_MAX - proto.size()) {
    return absl::InvalidArgumentError("its location is invalid");
  }
  entry.shard = proto.shard_id();
  entry.offset = proto.offset();
  entry.size = proto.size();
  entry.masked_crc32c = proto.crc32c();
  RETURN_IF_ERROR(
      ForEachSlice(bytes, kSlices, entry.shape, charge, [&](TensorSlice slice) {
        entry.slices.push_back(std::move(slice));
        return absl::OkStatus();
      }));
  return entry;
}

// Removes "I-of-N" from the end of `text` and returns I. Returns nothing if
// `text` does not end in this way.
std::optional<uint32_t> ConsumeShard(absl::string_view* text) {
  const size_t of = text->rfind("-of-");
  if (of == absl::string_view::npos) return std::nullopt;
  const size_t before = text->find_last_not_of("0123456789", of - 1);
  const size_t begin = before == absl::string_view::npos ? 0 : before + 1;
  uint32_t shard = 0, num_shards = 0;
  if (of == 0 || !absl::SimpleAtoi(text->substr(begin, of - begin), &shard) ||
      !absl::SimpleAtoi(text->substr(of + 4), &num_shards)) {
    return std::nullopt;
  }
  *text = text->substr(0, begin);
  return shard;
}

bool ConsumeDigits(absl::string_view* text) {
  const size_t end = text->find_first_not_of("0123456789");
  const size_t digits = end == absl::string_view::npos ? text->size() : end;
  text->remove_prefix(digits);
  return digits > 0;
}

}  // namespace

std::string IndexFilename(absl::string_view prefix) {
  return absl::StrCat(prefix, ".index");
}

std::string DataFilename(absl::string_view prefix, int shard, int num_shards) {
  return absl::StrFormat("%s.data-%05d-of-%05d", prefix, shard, num_shards);
}

bool IsDataEnding(absl::string_view ending) {
  return absl::ConsumePrefix(&ending, ".data-") && ConsumeDigits(&ending) &&
         absl::ConsumePrefix(&ending, "-of-") && ConsumeDigits(&ending) &&
         ending.empty();
}

bool ConsumeTemporaryEnding(absl::string_view* name) {
  constexpr absl::string_view kTemporary = ".tempstate";
  const size_t begin = name->rfind(kTemporary);
  if (begin == absl::string_view::npos) return false;
  absl::string_view number = name->substr(begin + kTemporary.size());
  if (!ConsumeDigits(&number) || !number.empty()) return false;
  *name = name->substr(0, begin);
  return true;
}

std::optional<uint32_t> ShardOfDataFile(absl::string_view path) {
  absl::string_view name = path.substr(0, path.rfind(".tempstate"));
  const auto shard_of_bundle = ConsumeShard(&name);
  if (!shard_of_bundle || !absl::ConsumeSuffix(&name, ".data-")) {
    return std::nullopt;
  }
  // Before the merge of a save, each shard is a checkpoint by itself. Savers
  // name it by ShardedFilename.
  const auto shard_of_save = ConsumeShard(&name);
  const bool is_part = shard_of_save && Basename(name) == "part-" &&
                       absl::StrContains(Basename(Dirname(name)), "_temp");
  return is_part ? shard_of_save : shard_of_bundle;
}

std::string SerializeBundleHeader(const BundleHeader& header) {
  tf::BundleHeaderProto proto;
  proto.set_num_shards(header.num_shards);
  proto.set_endianness(header.big_endian ? tf::BundleHeaderProto::BIG
                                         : tf::BundleHeaderProto::LITTLE);
  proto.mutable_version()->set_producer(header.producer);
  proto.mutable_version()->set_min_consumer(header.min_consumer);
  for (const int bad : header.bad_consumers) {
    proto.mutable_version()->add_bad_consumers(bad);
  }
  return proto.SerializeAsString();
}

absl::StatusOr<BundleHeader> ParseBundleHeader(absl::string_view bytes) {
  tf::BundleHeaderProto proto;
  if (!ParseProto(bytes, proto)) {
    return absl::DataLossError("unable to parse header");
  }
  BundleHeader header;
  header.num_shards = proto.num_shards();
  header.big_endian = proto.endianness() == tf::BundleHeaderProto::BIG;
  header.producer = proto.version().producer();
  header.min_consumer = proto.version().min_consumer();
  header.bad_consumers.assign(proto.version().bad_consumers().begin(),
                              proto.version().bad_consumers().end());
  if (header.num_shards < 0) {
    return absl::DataLossError(
        absl::StrCat("a checkpoint of ", header.num_shards, " data files"));
  }
  return header;
}

absl::Status CheckReadable(const BundleHeader& header) {
  if (header.min_consumer > kVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("Checkpoint min consumer version ", header.min_consumer,
                     " above current version ", kVersion,
                     ": a newer version of Weft is needed to read it"));
  }
  const auto& bad = header.bad_consumers;
  if (std::find(bad.begin(), bad.end(), kVersion) != bad.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Checkpoint disallows consumer version ", kVersion,
                     ": its writer knows of a bug in reading it"));
  }
  if (header.big_endian) {
    return absl::UnimplementedError(
        "the checkpoint was written on a big-endian machine, and this machine "
        "is little-endian: convert it with TensorFlow on a big-endian machine");
  }
  return absl::OkStatus();
}

std::string SerializeBundleEntry(const BundleEntry& entry) {
  tf::BundleEntryProto proto;
  proto.set_dtype(static_cast<tf::DataType>(entry.dtype));
  ShapeToProto(entry.shape, proto.mutable_shape());
  proto.set_shard_id(entry.shard);
  proto.set_offset(entry.offset);
  proto.set_size(entry.size);
  proto.set_crc32c(entry.masked_crc32c);
  for (const TensorSlice& slice : entry.slices) {
    WriteSlice(slice, proto.add_slices());
  }
  return proto.SerializeAsString();
}

absl::StatusOr<BundleEntry> ParseBundleEntry(absl::string_view key,
                                             absl::string_view bytes,
                                             Allocator& allocator) {
  HeapCharge charge(allocator);
  absl::StatusOr<BundleEntry> entry = ReadEntry(bytes, charge);
  if (entry.ok() || absl::IsResourceExhausted(entry.status())) return entry;
  return DataLoss(key, entry.status().message());
}

}  // namespace weft::checkpoint
