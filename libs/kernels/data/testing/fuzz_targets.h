// What the fuzzer of iterators' states and the replay of its corpus run.
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

// A pipeline of what keeps a position, made once: threads take longer to start
// than a state to be refused.
class PipelineForFuzz {
 public:
  PipelineForFuzz() {
    RequireForFuzz(
        harness_.files().WriteFileAtomically("lines", "a\nb\n\nc\nd\n").ok());
    const auto number = [](int64_t n) { return Tensor::Scalar<int64_t>(n); };
    dataset_ = *harness_.Make("TextLineDataset",
                              {Tensor::Vector<std::string>({"lines", "lines"}),
                               Tensor::Scalar<std::string>(""), number(0)},
                              {});
    const auto over = [&](const char* op, std::vector<Tensor> inputs,
                          AttrMap attrs = {}) {
      inputs.insert(inputs.begin(), dataset_);
      dataset_ =
          *harness_.Make(op, std::move(inputs), {{DT_STRING}, {PartialShape()}},
                         std::move(attrs));
    };
    over("CacheDataset", {Tensor::Scalar<std::string>("")});
    over("RepeatDataset", {number(3)});
    over("ShuffleDataset", {number(4), number(1), number(2)});
    over("BatchDatasetV2", {number(2), Tensor::Scalar<bool>(false)});
    // Windows, each gone through by itself.
    harness_.functions().Add("same", {DT_VARIANT}, {DT_VARIANT},
                             [](std::vector<Tensor> args) { return args; });
    dataset_ = *harness_.Make("WindowDataset",
                              {dataset_, number(3), number(2), number(1),
                               Tensor::Scalar<bool>(false)},
                              {{DT_VARIANT}, {PartialShape::Scalar()}});
    over("FlatMapDataset", {},
         {{"f", DatasetHarness::Function("same")},
          {"Targuments", DataTypeVector()}});
    over("PrefetchDataset", {number(2)});
  }

  // Restores and walks on, whatever the state; what comes is an element or an
  // error.
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
  DatasetHarness harness_;
  Tensor dataset_;
};

inline PipelineForFuzz& FuzzedPipeline() {
  static auto& pipeline = *new PipelineForFuzz();
  return pipeline;
}

// Changes a good state: each three bytes say which tensor, and what becomes of
// it: another value, another type, or none.
inline void FuzzIteratorState(absl::string_view bytes) {
  static const auto& states = *new std::vector<Variant>{
      FuzzedPipeline().StateAfter(0), FuzzedPipeline().StateAfter(3),
      FuzzedPipeline().StateAfter(100)};
  if (bytes.empty()) return;
  Variant state = states[static_cast<uint8_t>(bytes[0]) % states.size()];
  bytes.remove_prefix(1);
  std::vector<Tensor> tensors = *state.tensors;
  for (; bytes.size() >= 3; bytes.remove_prefix(3)) {
    Tensor& tensor = tensors[static_cast<uint8_t>(bytes[0]) % tensors.size()];
    const auto value = static_cast<int8_t>(bytes[2]);
    switch (static_cast<uint8_t>(bytes[1]) % 5) {
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
      default:
        state.metadata.resize(state.metadata.size() / 2);
    }
  }
  state.tensors = std::make_shared<const std::vector<Tensor>>(tensors);
  FuzzedPipeline().Restore(state);
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_TESTING_FUZZ_TARGETS_H_
