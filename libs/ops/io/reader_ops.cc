// Ops on readers, with handles of both kinds: resources (TextLineReaderV2, ...)
// and references to two strings (TextLineReader, ... of old graphs).
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/io/op_groups.h"
#include "libs/ops/resource/handle_family.h"

namespace weft {
namespace {

absl::Status RecordShape(InferenceContext& c) {
  c.set_output(0, PartialShape::Scalar());
  c.set_output(1, PartialShape::Scalar());
  return absl::OkStatus();
}

// The number of records depends on the file.
absl::Status RecordsShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  c.set_output(0, PartialShape::Vector(PartialShape::kUnknown));
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
  return absl::OkStatus();
}

absl::Status RestoreReaderShape(InferenceContext& c) {
  return c.InputWithRank(1, 0).status();
}

// An op that creates a reader.
OpDefBuilder ReaderMaker(const HandleFamily& family,
                         const HandleOpNames& names) {
  OpDefBuilder builder = family.Maker(names, "reader_handle");
  builder.Attr("container: string = ''").Attr("shared_name: string = ''");
  return builder;
}

// An op that uses a reader.
OpDefBuilder ReaderUser(const HandleFamily& family,
                        const HandleOpNames& names) {
  return family.User(names, "reader_handle");
}

void AddReaders(const HandleFamily& family) {
  family.Add(ReaderMaker(family, {"TextLineReader", "TextLineReaderV2"})
                 .Attr("skip_header_lines: int = 0")
                 .Doc("A reader of lines."));
  OpDefBuilder fixed_length = ReaderMaker(
      family, {"FixedLengthRecordReader", "FixedLengthRecordReaderV2"});
  fixed_length.Attr("header_bytes: int = 0")
      .Attr("record_bytes: int")
      .Attr("footer_bytes: int = 0")
      .Attr("hop_bytes: int = 0")
      .Doc("A reader of fixed-length records.");
  if (family.is_resource()) fixed_length.Attr("encoding: string = ''");
  family.Add(fixed_length);
  family.Add(ReaderMaker(family, {"TFRecordReader", "TFRecordReaderV2"})
                 .Attr("compression_type: string = ''")
                 .Doc("A reader of TFRecord files."));
  family.Add(ReaderMaker(family, {"WholeFileReader", "WholeFileReaderV2"})
                 .Doc("A reader of whole files."));
  family.Add(ReaderMaker(family, {"IdentityReader", "IdentityReaderV2"})
                 .Doc("A reader that returns the work units of the queue."));
}

void AddReads(const HandleFamily& family) {
  const char* queue = family.is_resource() ? "queue_handle: resource"
                                           : "queue_handle: Ref(string)";
  family.Add(ReaderUser(family, {"ReaderRead", "ReaderReadV2"})
                 .Input(queue)
                 .Output("key: string")
                 .Output("value: string")
                 .Doc("Reads the next record of the current file, or of the "
                      "next file in the queue.")
                 .Shape(RecordShape));
  family.Add(ReaderUser(family, {"ReaderReadUpTo", "ReaderReadUpToV2"})
                 .Input(queue)
                 .Input("num_records: int64")
                 .Output("keys: string")
                 .Output("values: string")
                 .Doc("Reads up to num_records records of one file.")
                 .Shape(RecordsShape));
}

void AddReaderState(const HandleFamily& family) {
  family.Add(
      ReaderUser(family,
                 {"ReaderNumRecordsProduced", "ReaderNumRecordsProducedV2"})
          .Output("records_produced: int64")
          .Doc("Returns the number of records that a reader has produced.")
          .Shape(shapes::Scalar));
  family.Add(
      ReaderUser(family, {"ReaderNumWorkUnitsCompleted",
                          "ReaderNumWorkUnitsCompletedV2"})
          .Output("units_completed: int64")
          .Doc("Returns the number of files that a reader has read completely.")
          .Shape(shapes::Scalar));
  family.Add(
      ReaderUser(family, {"ReaderSerializeState", "ReaderSerializeStateV2"})
          .Output("state: string")
          .Doc("Returns the position of a reader; some readers do not support "
               "this.")
          .Shape(shapes::Scalar));
  family.Add(ReaderUser(family, {"ReaderRestoreState", "ReaderRestoreStateV2"})
                 .Input("state: string")
                 .Doc("Restores the position of a reader.")
                 .Shape(RestoreReaderShape));
  family.Add(ReaderUser(family, {"ReaderReset", "ReaderResetV2"})
                 .Doc("Resets the current file and the counts of a reader.")
                 .Shape(shapes::NoOutputs));
}

}  // namespace

void RegisterReaderOps(OpRegistry& registry) {
  for (const HandleFamily& family :
       HandleFamily::ReferencesAndResources(registry)) {
    AddReaders(family);
    AddReads(family);
    AddReaderState(family);
  }
}

}  // namespace weft
