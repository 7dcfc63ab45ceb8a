// Strings have no gradients.
#include "libs/gradients/registry/gradient_registry.h"

namespace weft {

void RegisterStringGradients(GradientRegistry& registry) {
  for (const char* op : {"AsString",
                         "DecodeBase64",
                         "DecodeRaw",
                         "EncodeBase64",
                         "ReduceJoin",
                         "RegexFullMatch",
                         "RegexReplace",
                         "StaticRegexFullMatch",
                         "StaticRegexReplace",
                         "StringJoin",
                         "StringLength",
                         "StringNGrams",
                         "StringLower",
                         "StringUpper",
                         "StringStrip",
                         "StringSplit",
                         "StringSplitV2",
                         "StringToHashBucket",
                         "StringToHashBucketFast",
                         "StringToHashBucketStrong",
                         "StringToNumber",
                         "Substr",
                         "UnsortedSegmentJoin"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
