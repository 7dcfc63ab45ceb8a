// Builders of string ops, one for each op, with TensorFlow's names.
//
// All add one node to `scope`; outputs are null after an error (see Scope).
#ifndef WEFT_LIBS_OPS_STRING_STRING_OPS_H_
#define WEFT_LIBS_OPS_STRING_STRING_OPS_H_

#include <string>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

struct AsStringAttrs {
  int64_t precision = -1;  // digits after the point; -1: as printf does
  bool scientific = false;
  bool shortest = false;
  int64_t width = -1;
  std::string fill;  // one of " +-0#", or none
};
Output AsString(const Scope& scope, const Input& input,
                const AsStringAttrs& attrs = {});
Output StringToNumber(const Scope& scope, const Input& string_tensor,
                      DataType out_type = DT_FLOAT);
Output DecodeRaw(const Scope& scope, const Input& bytes, DataType out_type,
                 bool little_endian = true);
Output EncodeBase64(const Scope& scope, const Input& input, bool pad = false);
Output DecodeBase64(const Scope& scope, const Input& input);

Output StringJoin(const Scope& scope, const InputList& inputs,
                  const std::string& separator = "");
struct ReduceJoinAttrs {
  bool keep_dims = false;
  std::string separator;
};
Output ReduceJoin(const Scope& scope, const Input& inputs,
                  const Input& reduction_indices,
                  const ReduceJoinAttrs& attrs = {});

// `unit` is "BYTE" or "UTF8_CHAR".
Output StringLength(const Scope& scope, const Input& input,
                    const std::string& unit = "BYTE");
Output Substr(const Scope& scope, const Input& input, const Input& pos,
              const Input& len, const std::string& unit = "BYTE");
Output StringLower(const Scope& scope, const Input& input,
                   const std::string& encoding = "");
Output StringUpper(const Scope& scope, const Input& input,
                   const std::string& encoding = "");
Output StringStrip(const Scope& scope, const Input& input);

// A sparse tensor of shape [rows, maximum number of parts].
struct StringSplitOutputs {
  Output indices;
  Output values;
  Output shape;
};
StringSplitOutputs StringSplit(const Scope& scope, const Input& input,
                               const Input& delimiter, bool skip_empty = true);
StringSplitOutputs StringSplitV2(const Scope& scope, const Input& input,
                                 const Input& sep, int64_t maxsplit = -1);

Output StringToHashBucket(const Scope& scope, const Input& string_tensor,
                          int64_t num_buckets);
Output StringToHashBucketFast(const Scope& scope, const Input& input,
                              int64_t num_buckets);
Output StringToHashBucketStrong(const Scope& scope, const Input& input,
                                int64_t num_buckets,
                                const std::vector<int64_t>& key);

// ---- Regular expressions ----
//
// Patterns have RE2's syntax. In a rewrite, \1 to \9 are the text of a group,
// \0 the whole match, and \\ is a backslash.

// Replaces every match, or only the first of each string.
Output RegexReplace(const Scope& scope, const Input& input,
                    const Input& pattern, const Input& rewrite,
                    bool replace_global = true);
Output StaticRegexReplace(const Scope& scope, const Input& input,
                          const std::string& pattern,
                          const std::string& rewrite,
                          bool replace_global = true);

Output RegexFullMatch(const Scope& scope, const Input& input,
                      const Input& pattern);
Output StaticRegexFullMatch(const Scope& scope, const Input& input,
                            const std::string& pattern);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_STRING_STRING_OPS_H_
