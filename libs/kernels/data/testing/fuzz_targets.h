// Target of the fuzzer of iterator states and of the replay of its corpus.
#ifndef WEFT_LIBS_KERNELS_DATA_TESTING_FUZZ_TARGETS_H_
#define WEFT_LIBS_KERNELS_DATA_TESTING_FUZZ_TARGETS_H_

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/testing/fuzz_corpus.h"
#include "libs/kernels/data/testing/dataset_harness.h"

namespace weft {

// PipelineForFuzz is a pipeline of datasets whose iterators have state. It is
// created once, because starting its threads takes longer than rejecting a
// state.
class PipelineForFuzz {
 public:
  // Returns a pipeline of cached, shuffled, windowed and prefetched lines.
  static PipelineForFuzz& OfLines() {
    static auto& pipeline = *new PipelineForFuzz(&PipelineForFuzz::MakeLines);
    return pipeline;
  }
  // Returns a pipeline that combines and splits numbers, also by functions.
  static PipelineForFuzz& OfNumbers() {
    static auto& pipeline = *new PipelineForFuzz(&PipelineForFuzz::MakeNumbers);
    return pipeline;
  }

  // Restores an arbitrary state and continues. Each result must be an element
  // or an error.
  void Restore(const Variant& state) {
    const auto walk = harness_.Walk(dataset_);
    RequireForFuzz(walk.ok());
    if (!harness_.Restore(**walk, state).ok()) return;
    for (int i = 0; i < 50; ++i) {
      const auto next = harness_.Next(**walk);
      if (!next.ok()) break;
      RequireForFuzz(next->dtype() != DT_INVALID);
    }
  }
  Variant StateAfter(size_t elements) {
    const auto walk = harness_.Walk(dataset_);
    RequireForFuzz(walk.ok());
    for (size_t i = 0; i < elements; ++i) {
      harness_.Next(**walk).status().IgnoreError();
    }
    return harness_.Save(**walk).value();
  }

 private:
  explicit PipelineForFuzz(void (PipelineForFuzz::*make)()) { (this->*make)(); }

  void MakeLines() {
    RequireForFuzz(
        harness_.files().WriteFileAtomically("lines", "a\nb\n\nc\nd\n").ok());
    dataset_ = *harness_.Make("TextLineDataset",
                              {Tensor::Vector<std::string>({"lines", "lines"}),
                               Tensor::Scalar<std::string>(""), Number(0)},
                              {});
    const DataTypeVector texts = {DT_STRING};
    Over("CacheDataset", texts, {Tensor::Scalar<std::string>("")});
    Over("RepeatDataset", texts, {Number(3)});
    Over("ShuffleDataset", texts, {Number(4), Number(1), Number(2)});
    Over("BatchDatasetV2", texts, {Number(2), Tensor::Scalar<bool>(false)});
    // The windows are walked separately.
    Over("WindowDataset", {DT_VARIANT},
         {Number(3), Number(2), Number(1), Tensor::Scalar<bool>(false)});
    Over("FlatMapDataset", texts, {},
         {{"f", First(1)}, {"Targuments", DataTypeVector()}});
    Over("PrefetchDataset", texts, {Number(2)});
  }

  void MakeNumbers() {
    dataset_ = harness_.Range(12);
    const DataTypeVector one = {DT_INT64}, two = {DT_INT64, DT_INT64};
    Over("ScanDataset", one, {Number(3)},
         {{"f", Function("swap", two, two,
                         [](std::vector<Tensor> args) {
                           std::swap(args[0], args[1]);
                           return args;
                         })},
          {"Tstate", one},
          {"Targuments", DataTypeVector()}});
    Over("BatchDatasetV2", one, {Number(2), Tensor::Scalar<bool>(false)});
    Over("RebatchDatasetV2", one,
         {Tensor::Vector<int64_t>({3, 1}), Tensor::Scalar<bool>(false)});
    Over("UnbatchDataset", one, {});
    Over("ZipDataset", two, {harness_.Range(9)});
    Over("GroupByWindowDataset", two, {},
         {{"key_func", Function("parity", two, one,
                                [](std::vector<Tensor> args) {
                                  const int64_t n = args[1].scalar<int64_t>();
                                  return std::vector<Tensor>{Number(n % 2)};
                                })},
          {"reduce_func",
           Function("window", {DT_INT64, DT_VARIANT}, {DT_VARIANT},
                    [](std::vector<Tensor> args) {
                      return std::vector<Tensor>{args[1]};
                    })},
          {"window_size_func", Function("three", one, one,
                                        [](std::vector<Tensor>) {
                                          return std::vector<Tensor>{Number(3)};
                                        })},
          {"Tkey_func_other_arguments", DataTypeVector()},
          {"Treduce_func_other_arguments", DataTypeVector()},
          {"Twindow_size_func_other_arguments", DataTypeVector()}});
    Over("WindowDataset", {DT_VARIANT, DT_VARIANT},
         {Number(2), Number(1), Number(1), Tensor::Scalar<bool>(false)});
    Over("InterleaveDataset", one, {Number(2), Number(2)},
         {{"f", First(2)}, {"Targuments", DataTypeVector()}});
    Over("PaddedBatchDatasetV2", {},
         {Number(2), Tensor(DT_INT64, {0}), Number(7),
          Tensor::Scalar<bool>(false)},
         {{"Toutput_types", one},
          {"output_shapes", std::vector<PartialShape>(1)},
          {"N", 1}});
  }

  static Tensor Number(int64_t n) { return Tensor::Scalar<int64_t>(n); }
  AttrValue Function(const std::string& name, DataTypeVector args,
                     DataTypeVector results, TestFunctions::Body body) {
    harness_.functions().Add(name, std::move(args), std::move(results),
                             std::move(body));
    return DatasetHarness::Function(name);
  }
  // Returns a function that returns the first of `count` datasets.
  AttrValue First(size_t count) {
    return Function(
        "first", DataTypeVector(count, DT_VARIANT), {DT_VARIANT},
        [](std::vector<Tensor> args) { return std::vector<Tensor>{args[0]}; });
  }
  // Replaces the dataset with one that has the dataset as its input.
  void Over(const char* op, const DataTypeVector& types,
            std::vector<Tensor> inputs, AttrMap attrs = {}) {
    inputs.insert(inputs.begin(), dataset_);
    dataset_ = *harness_.Make(op, std::move(inputs),
                              {types, std::vector<PartialShape>(types.size())},
                              std::move(attrs));
  }

  DatasetHarness harness_;
  Tensor dataset_;
};

// Changes a valid state. Each three bytes select a tensor and its replacement:
// another value, another type, or none.
inline void FuzzIteratorState(absl::string_view bytes) {
  struct StateForFuzz {
    StateForFuzz(PipelineForFuzz& of, size_t elements)
        : pipeline(&of), state(of.StateAfter(elements)) {}
    PipelineForFuzz* pipeline;
    Variant state;
  };
  auto& lines = PipelineForFuzz::OfLines();
  auto& numbers = PipelineForFuzz::OfNumbers();
  static const auto& states = *new std::vector<StateForFuzz>{
      {lines, 0},   {lines, 3},   {lines, 100},
      {numbers, 0}, {numbers, 3}, {numbers, 100}};
  if (bytes.empty()) return;
  const StateForFuzz& chosen =
      states[static_cast<uint8_t>(bytes[0]) % states.size()];
  Variant state = chosen.state;
  bytes.remove_prefix(1);
  std::vector<Tensor> tensors = *state.tensors;
  for (; bytes.size() >= 3; bytes.remove_prefix(3)) {
    Tensor& tensor = tensors[static_cast<uint8_t>(bytes[0]) % tensors.size()];
    const auto value = static_cast<int8_t>(bytes[2]);
    switch (static_cast<uint8_t>(bytes[1]) % 7) {
      case 0:
        tensor = Tensor::Scalar<int64_t>(value);
        break;
      case 1:
        tensor = Tensor::Scalar<int64_t>(int64_t{value} << 56);
        break;
      case 2:
        tensor = Tensor::Scalar<std::string>(std::string(1, bytes[2]));
        break;
      case 3:
        tensor = Tensor::Vector<int64_t>({value, -value});
        break;
      case 4:
        tensor = Tensor(DT_INT64, {0});
        break;
      case 5:
        tensor = Tensor::Scalar<float>(value);
        break;
      default:
        state.metadata.resize(state.metadata.size() / 2);
    }
  }
  state.tensors = std::make_shared<const std::vector<Tensor>>(tensors);
  chosen.pipeline->Restore(state);
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_TESTING_FUZZ_TARGETS_H_
