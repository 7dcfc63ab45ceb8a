#include "libs/ops/io/reader.h"

#include <utility>

namespace weft::ops {
namespace {

Output NewReader(const Scope& scope, const char* op, const ReaderAttrs& sharing,
                 AttrMap attrs) {
  attrs["shared_name"] = sharing.shared_name;
  if (!sharing.container.empty()) attrs["container"] = sharing.container;
  return scope.AddOutput(op, {}, std::move(attrs));
}

Reader::Record RecordOf(const Node* node) {
  return {OutputOf(node, 0), OutputOf(node, 1)};
}

}  // namespace

Reader Reader::TextLine(const Scope& scope, const TextLineReaderAttrs& attrs) {
  return Reader(NewReader(scope, "TextLineReaderV2", attrs.sharing,
                          {{"skip_header_lines", attrs.skip_header_lines}}));
}

Reader Reader::FixedLengthRecord(const Scope& scope, int64_t record_bytes,
                                 const FixedLengthRecordReaderAttrs& attrs) {
  return Reader(NewReader(scope, "FixedLengthRecordReaderV2", attrs.sharing,
                          {{"record_bytes", record_bytes},
                           {"header_bytes", attrs.header_bytes},
                           {"footer_bytes", attrs.footer_bytes},
                           {"hop_bytes", attrs.hop_bytes},
                           {"encoding", attrs.encoding}}));
}

Reader Reader::TFRecord(const Scope& scope, const TFRecordReaderAttrs& attrs) {
  return Reader(NewReader(scope, "TFRecordReaderV2", attrs.sharing,
                          {{"compression_type", attrs.compression_type}}));
}

Reader Reader::WholeFile(const Scope& scope, const ReaderAttrs& attrs) {
  return Reader(NewReader(scope, "WholeFileReaderV2", attrs, {}));
}

Reader Reader::Identity(const Scope& scope, const ReaderAttrs& attrs) {
  return Reader(NewReader(scope, "IdentityReaderV2", attrs, {}));
}

Reader::Record Reader::Read(const Scope& scope, const Input& queue) const {
  return RecordOf(scope.AddNode("ReaderReadV2", {handle_, queue}));
}

Reader::Record Reader::ReadUpTo(const Scope& scope, const Input& queue,
                                const Input& num_records) const {
  return RecordOf(
      scope.AddNode("ReaderReadUpToV2", {handle_, queue, num_records}));
}

Output Reader::NumRecordsProduced(const Scope& scope) const {
  return scope.AddOutput("ReaderNumRecordsProducedV2", {handle_});
}

Output Reader::NumWorkUnitsCompleted(const Scope& scope) const {
  return scope.AddOutput("ReaderNumWorkUnitsCompletedV2", {handle_});
}

Output Reader::SerializeState(const Scope& scope) const {
  return scope.AddOutput("ReaderSerializeStateV2", {handle_});
}

Operation Reader::RestoreState(const Scope& scope, const Input& state) const {
  return scope.AddNode("ReaderRestoreStateV2", {handle_, state});
}

Operation Reader::Reset(const Scope& scope) const {
  return scope.AddNode("ReaderResetV2", {handle_});
}

}  // namespace weft::ops
