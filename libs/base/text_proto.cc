#include "libs/base/text_proto.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"

namespace weft {
namespace {

constexpr size_t kMaxBytes = std::numeric_limits<int>::max();
constexpr int kMaxDepth = 100;

// FirstMistake keeps the first error of a text, with its position.
class FirstMistake : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (!text_.empty()) return;
    text_ =
        absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  void AddWarning(int, google::protobuf::io::ColumnNumber,
                  const std::string&) override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

absl::Status ParseTextProto(absl::string_view text,
                            google::protobuf::Message& message,
                            const TextProtoOptions& options) {
  if (text.size() > kMaxBytes) {
    return absl::InvalidArgumentError("the text is larger than 2 GiB");
  }
  FirstMistake mistake;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&mistake);
  parser.AllowUnknownField(options.allow_unknown_fields);
  parser.SetRecursionLimit(kMaxDepth);
  google::protobuf::io::ArrayInputStream in(text.data(),
                                            static_cast<int>(text.size()));
  if (parser.Parse(&in, &message)) return absl::OkStatus();
  return absl::InvalidArgumentError(mistake.text());
}

}  // namespace weft
