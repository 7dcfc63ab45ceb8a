// DatasetHarness creates datasets by their kernels and iterates over them
// without a session. Functions are C++; files are in an in-memory file system.
//
//   DatasetHarness harness;
//   auto lines = harness.Make("TextLineDataset", {paths, type, buffer}, {});
//   EXPECT_THAT(harness.PullAll(lines), ElementsAre("a line", "end"));
//
// Threads: call from one thread at a time. Kernels and functions get a real
// scheduler.
#ifndef WEFT_LIBS_KERNELS_DATA_TESTING_DATASET_HARNESS_H_
#define WEFT_LIBS_KERNELS_DATA_TESTING_DATASET_HARNESS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/status.h"
#include "libs/fs/memory_file_system.h"
#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset.h"
#include "libs/kernels/data/iterator_state.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {

// TestFunctions holds functions by name, like the library of a graph.
class TestFunctions : public FunctionRuntime {
 public:
  using Body =
      std::function<absl::StatusOr<std::vector<Tensor>>(std::vector<Tensor>)>;

  // `later`: calls complete on another thread, after Run has returned.
  void Add(const std::string& name, DataTypeVector args, DataTypeVector results,
           Body body, bool later = false) {
    functions_[name] = std::make_unique<Function>(
        std::move(args), std::move(results), std::move(body), later);
  }

  absl::StatusOr<const RunnableFunction*> Find(
      const NameAttrList& function) override {
    const auto it = functions_.find(function.name);
    if (it != functions_.end()) return it->second.get();
    return absl::NotFoundError(
        absl::StrCat("Function '", function.name, "' is not defined"));
  }

 private:
  class Function : public RunnableFunction {
   public:
    Function(DataTypeVector args, DataTypeVector results, Body body, bool later)
        : args_(std::move(args)),
          results_(std::move(results)),
          body_(std::move(body)),
          later_(later) {}

    const DataTypeVector& arg_types() const override { return args_; }
    const DataTypeVector& result_types() const override { return results_; }
    void Run(const StepContext& step, std::vector<Tensor> args,
             Done done) const override {
      if (!later_) return done(body_(std::move(args)));
      step.scheduler->Schedule(
          Pool::kCompute,
          [this, args = std::move(args), done = std::move(done)]() mutable {
            done(body_(std::move(args)));
          });
    }

   private:
    const DataTypeVector args_, results_;
    const Body body_;
    const bool later_;
  };

  std::map<std::string, std::unique_ptr<Function>> functions_;
};

class DatasetHarness {
 public:
  DatasetHarness() : kernels_(RegisterDataKernels) {
    kernels_.set_functions(functions_.get());
    kernels_.set_file_system(files_);
  }

  KernelTestHarness& kernels() { return kernels_; }
  TestFunctions& functions() { return *functions_; }
  MemoryFileSystem& files() { return files_; }
  Scheduler& scheduler() { return kernels_.scheduler(); }
  IteratorContext Context() {
    return IteratorContext(kernels_.step(), functions_);
  }

  // Returns the dataset that the op creates. `spec` holds the types and shapes
  // of its elements; it is empty if the attrs contain them.
  absl::StatusOr<Tensor> Make(absl::string_view op, std::vector<Tensor> inputs,
                              ElementSpec spec, AttrMap attrs = {}) {
    std::vector<KernelInput> all(inputs.begin(), inputs.end());
    const OpDef* def = kernels_.ops().Find(op);
    for (const AttrDef& attr : def->attrs) {
      if (spec.types.empty()) break;
      if (attr.name == "output_types") attrs["output_types"] = spec.types;
      if (attr.name == "output_shapes") attrs["output_shapes"] = spec.shapes;
    }
    return kernels_.RunOne(op, std::move(all), std::move(attrs));
  }
  // Returns the numbers 0 to `size` - 1.
  Tensor Range(int64_t size) {
    return *Make("RangeDataset",
                 {Tensor::Scalar(int64_t{0}), Tensor::Scalar(size),
                  Tensor::Scalar(int64_t{1})},
                 Ints());
  }
  static ElementSpec Ints() { return {{DT_INT64}, {PartialShape::Scalar()}}; }
  static ElementSpec IntsOf(PartialShape shape) {
    return {{DT_INT64}, {std::move(shape)}};
  }
  static AttrValue Function(const std::string& name) {
    return NameAttrList{name, nullptr};
  }

  absl::StatusOr<std::unique_ptr<DatasetIterator>> Walk(const Tensor& dataset) {
    ASSIGN_OR_RETURN(const DatasetPtr found, DatasetFrom(dataset));
    IteratorContext context = Context();
    return found->MakeIterator(context);
  }
  // Returns the first component of the next element; OUT_OF_RANGE at the end.
  absl::StatusOr<Tensor> Next(DatasetIterator& iterator) {
    IteratorContext context = Context();
    DatasetElement element;
    ASSIGN_OR_RETURN(const bool has, iterator.GetNext(context, &element));
    if (!has) return absl::OutOfRangeError("the end");
    return element[0];
  }
  // Returns the values that Next returns, up to the end or an error, and at
  // most `most`.
  template <typename T>
  std::vector<T> Rest(DatasetIterator& iterator, size_t most = 10000) {
    std::vector<T> values;
    while (values.size() < most) {
      const absl::StatusOr<Tensor> next = Next(iterator);
      if (!next.ok()) break;
      values.push_back(next->flat<T>()[0]);
    }
    return values;
  }

  // Returns up to `most` elements, each as a text of its components' values. An
  // error is represented by its message, and the end by "end".
  std::vector<std::string> Pull(DatasetIterator& iterator, int most = 100) {
    std::vector<std::string> texts;
    IteratorContext context = Context();
    for (int i = 0; i < most; ++i) {
      DatasetElement element;
      const absl::StatusOr<bool> has = iterator.GetNext(context, &element);
      if (!has.ok()) {
        texts.push_back(std::string(has.status().message()));
        continue;
      }
      if (!*has) {
        texts.push_back("end");
        break;
      }
      texts.push_back(TextOf(element));
    }
    return texts;
  }
  std::vector<std::string> PullAll(const absl::StatusOr<Tensor>& dataset,
                                   int most = 100) {
    if (!dataset.ok()) return {std::string(dataset.status().message())};
    auto iterator = Walk(*dataset);
    if (!iterator.ok()) return {std::string(iterator.status().message())};
    return Pull(**iterator, most);
  }

  // Returns the encoded state.
  absl::StatusOr<Variant> Save(DatasetIterator& iterator) {
    IteratorContext context = Context();
    IteratorStateWriter::Values values;
    RETURN_IF_ERROR(iterator.Save(context, IteratorStateWriter(values)));
    return EncodeIteratorState(values);
  }
  absl::Status Restore(DatasetIterator& iterator, const Variant& state) {
    ASSIGN_OR_RETURN(const auto values, DecodeIteratorState(state));
    IteratorContext context = Context();
    return iterator.Restore(context, IteratorStateReader(values));
  }

  static std::string TextOf(const DatasetElement& element) {
    std::string text;
    for (const Tensor& tensor : element) {
      if (!text.empty()) text += "; ";
      text += ValuesOf(tensor);
    }
    return text;
  }

 private:
  // Returns "[2,2] 1 2 3 4", for example; only the value for a scalar.
  static std::string ValuesOf(const Tensor& tensor) {
    const std::string text = tensor.ToString(100);
    std::string values = text.substr(text.find("values:") + 7);
    if (!values.empty() && values.back() == '>') values.pop_back();
    if (!values.empty() && values.front() == ' ') values.erase(0, 1);
    if (tensor.rank() == 0) return values;
    return absl::StrCat(tensor.shape().ToString(), " ", values);
  }

  const std::shared_ptr<TestFunctions> functions_ =
      std::make_shared<TestFunctions>();
  MemoryFileSystem files_;
  KernelTestHarness kernels_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_TESTING_DATASET_HARNESS_H_
