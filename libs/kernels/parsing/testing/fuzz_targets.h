// Targets of the CSV and Example fuzzers and of the replay of their corpora.
#ifndef WEFT_LIBS_KERNELS_PARSING_TESTING_FUZZ_TARGETS_H_
#define WEFT_LIBS_KERNELS_PARSING_TESTING_FUZZ_TARGETS_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "libs/base/testing/fuzz_corpus.h"
#include "libs/kernels/parsing/parsing_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {

// Created once, because starting threads takes longer than parsing an input.
inline KernelTestHarness& ParsingHarnessForFuzz() {
  static auto& harness = *new KernelTestHarness(RegisterParsingKernels);
  return harness;
}

// Requires that all outputs are set, or that the input was rejected.
inline void RequireOutputsForFuzz(
    const absl::StatusOr<std::vector<Tensor>>& outputs, size_t count) {
  if (!outputs.ok()) {
    RequireForFuzz(absl::IsInvalidArgument(outputs.status()));
    return;
  }
  RequireForFuzz(outputs->size() == count);
  for (const Tensor& output : *outputs) {
    RequireForFuzz(output.dtype() != DT_INVALID);
  }
}

// Parses the bytes as a record, with and without quoting, into all or some of
// the columns.
inline void FuzzCsv(absl::string_view bytes) {
  const Tensor record = Tensor::Vector<std::string>({std::string(bytes)});
  const Tensor text = Tensor::Vector<std::string>({"none"});
  for (const bool quotes : {true, false}) {
    RequireOutputsForFuzz(
        ParsingHarnessForFuzz().Run(
            "DecodeCSV",
            {record, text, Tensor::Vector<float>({1}),
             Tensor::Vector<int64_t>({1})},
            {{"use_quote_delim", quotes}, {"na_value", std::string("?")}}),
        3);
    RequireOutputsForFuzz(
        ParsingHarnessForFuzz().Run("DecodeCSV", {record, text},
                                    {{"use_quote_delim", quotes},
                                     {"select_cols", std::vector<int64_t>{2}}}),
        1);
  }
}

// Parses the bytes as one of two sequences and alone, with features of all
// kinds.
inline void FuzzParseSequences(absl::string_view bytes) {
  const auto names = [](std::initializer_list<std::string> keys) {
    return Tensor::Vector<std::string>(keys);
  };
  const std::string text(bytes);
  for (const Tensor& serialized : {names({"", text}), Tensor::Scalar(text)}) {
    RequireOutputsForFuzz(
        ParsingHarnessForFuzz().Run(
            "ParseSequenceExampleV2",
            {serialized, names({}), names({"i"}), names({"f"}), names({"r"}),
             names({"s"}), names({"f"}), names({"r"}),
             Tensor::Vector<bool>({true}), Tensor::Vector<float>({1, 2})},
            {{"Ncontext_sparse", int64_t{1}},
             {"context_sparse_types", DataTypeVector{DT_INT64}},
             {"context_ragged_value_types", DataTypeVector{DT_FLOAT}},
             {"context_ragged_split_types", DataTypeVector{DT_INT32}},
             {"context_dense_shapes", std::vector<PartialShape>{{2}}},
             {"Nfeature_list_sparse", int64_t{1}},
             {"Nfeature_list_dense", int64_t{1}},
             {"feature_list_dense_types", DataTypeVector{DT_FLOAT}},
             {"feature_list_sparse_types", DataTypeVector{DT_STRING}},
             {"feature_list_ragged_value_types", DataTypeVector{DT_FLOAT}},
             {"feature_list_ragged_split_types", DataTypeVector{DT_INT64}},
             {"feature_list_dense_shapes", std::vector<PartialShape>{{2}}}}),
        14);
  }
}

// Parses the bytes as one of two examples, the first of which is empty, with
// features of all kinds.
inline void FuzzParseExample(absl::string_view bytes) {
  FuzzParseSequences(bytes);
  const Tensor none = Tensor::Vector<std::string>({});
  const auto names = [](std::initializer_list<std::string> keys) {
    return Tensor::Vector<std::string>(keys);
  };
  RequireOutputsForFuzz(
      ParsingHarnessForFuzz().Run(
          "ParseExampleV2",
          {names({"", std::string(bytes)}), none, names({"i", "s"}),
           names({"f", "v"}), names({"r"}), Tensor::Vector<float>({1, 2}),
           Tensor::Vector<int64_t>({0})},
          {{"num_sparse", int64_t{2}},
           {"sparse_types", DataTypeVector{DT_INT64, DT_STRING}},
           {"ragged_value_types", DataTypeVector{DT_FLOAT}},
           {"ragged_split_types", DataTypeVector{DT_INT64}},
           {"Tdense", DataTypeVector{DT_FLOAT, DT_INT64}},
           {"dense_shapes",
            std::vector<PartialShape>{PartialShape({2}), PartialShape({-1})}}}),
      10);
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_PARSING_TESTING_FUZZ_TARGETS_H_
