#include "libs/ops/string/string_ops.h"

namespace weft::ops {
namespace {

StringSplitOutputs PartsOf(const Node* node) {
  if (node == nullptr) return {};
  return {Output(node, 0), Output(node, 1), Output(node, 2)};
}

}  // namespace

Output AsString(const Scope& scope, const Input& input,
                const AsStringAttrs& attrs) {
  return scope.AddOutput("AsString", {input},
                         {{"precision", attrs.precision},
                          {"scientific", attrs.scientific},
                          {"shortest", attrs.shortest},
                          {"width", attrs.width},
                          {"fill", attrs.fill}});
}

Output StringToNumber(const Scope& scope, const Input& string_tensor,
                      DataType out_type) {
  return scope.AddOutput("StringToNumber", {string_tensor},
                         {{"out_type", out_type}});
}

Output DecodeRaw(const Scope& scope, const Input& bytes, DataType out_type,
                 bool little_endian) {
  return scope.AddOutput(
      "DecodeRaw", {bytes},
      {{"out_type", out_type}, {"little_endian", little_endian}});
}

Output EncodeBase64(const Scope& scope, const Input& input, bool pad) {
  return scope.AddOutput("EncodeBase64", {input}, {{"pad", pad}});
}

Output DecodeBase64(const Scope& scope, const Input& input) {
  return scope.AddOutput("DecodeBase64", {input});
}

Output StringJoin(const Scope& scope, const InputList& inputs,
                  const std::string& separator) {
  return scope.AddOutput("StringJoin", inputs, {{"separator", separator}});
}

Output ReduceJoin(const Scope& scope, const Input& inputs,
                  const Input& reduction_indices,
                  const ReduceJoinAttrs& attrs) {
  return scope.AddOutput(
      "ReduceJoin", {inputs, reduction_indices},
      {{"keep_dims", attrs.keep_dims}, {"separator", attrs.separator}});
}

Output StringLength(const Scope& scope, const Input& input,
                    const std::string& unit) {
  return scope.AddOutput("StringLength", {input}, {{"unit", unit}});
}

Output Substr(const Scope& scope, const Input& input, const Input& pos,
              const Input& len, const std::string& unit) {
  return scope.AddOutput("Substr", {input, pos, len}, {{"unit", unit}});
}

Output StringLower(const Scope& scope, const Input& input,
                   const std::string& encoding) {
  return scope.AddOutput("StringLower", {input}, {{"encoding", encoding}});
}

Output StringUpper(const Scope& scope, const Input& input,
                   const std::string& encoding) {
  return scope.AddOutput("StringUpper", {input}, {{"encoding", encoding}});
}

Output StringStrip(const Scope& scope, const Input& input) {
  return scope.AddOutput("StringStrip", {input});
}

StringSplitOutputs StringSplit(const Scope& scope, const Input& input,
                               const Input& delimiter, bool skip_empty) {
  return PartsOf(scope.AddNode("StringSplit", {input, delimiter},
                               {{"skip_empty", skip_empty}}));
}

StringSplitOutputs StringSplitV2(const Scope& scope, const Input& input,
                                 const Input& sep, int64_t maxsplit) {
  return PartsOf(
      scope.AddNode("StringSplitV2", {input, sep}, {{"maxsplit", maxsplit}}));
}

Output StringToHashBucket(const Scope& scope, const Input& string_tensor,
                          int64_t num_buckets) {
  return scope.AddOutput("StringToHashBucket", {string_tensor},
                         {{"num_buckets", num_buckets}});
}

Output StringToHashBucketFast(const Scope& scope, const Input& input,
                              int64_t num_buckets) {
  return scope.AddOutput("StringToHashBucketFast", {input},
                         {{"num_buckets", num_buckets}});
}

Output StringToHashBucketStrong(const Scope& scope, const Input& input,
                                int64_t num_buckets,
                                const std::vector<int64_t>& key) {
  return scope.AddOutput("StringToHashBucketStrong", {input},
                         {{"num_buckets", num_buckets}, {"key", key}});
}

Output RegexReplace(const Scope& scope, const Input& input,
                    const Input& pattern, const Input& rewrite,
                    bool replace_global) {
  return scope.AddOutput("RegexReplace", {input, pattern, rewrite},
                         {{"replace_global", replace_global}});
}

Output StaticRegexReplace(const Scope& scope, const Input& input,
                          const std::string& pattern,
                          const std::string& rewrite, bool replace_global) {
  return scope.AddOutput("StaticRegexReplace", {input},
                         {{"pattern", pattern},
                          {"rewrite", rewrite},
                          {"replace_global", replace_global}});
}

Output RegexFullMatch(const Scope& scope, const Input& input,
                      const Input& pattern) {
  return scope.AddOutput("RegexFullMatch", {input, pattern});
}

Output StaticRegexFullMatch(const Scope& scope, const Input& input,
                            const std::string& pattern) {
  return scope.AddOutput("StaticRegexFullMatch", {input},
                         {{"pattern", pattern}});
}

}  // namespace weft::ops
