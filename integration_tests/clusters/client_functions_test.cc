// Tests functions of the program that graphs call (tf.py_func): within one
// process, and in a cluster, where each function belongs to the program of one
// task.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using absl::StatusCode;

using Results = absl::StatusOr<std::vector<Tensor>>;

Results Double(const ClientFunctionCall& call) {
  return std::vector{Tensor::Scalar(2 * call.inputs[0].scalar<float>())};
}

class ClientFunctionsTest : public ::testing::Test {
 protected:
  void Connect() {
    ASSERT_OK(root_.status());
    auto connected =
        Session::Connect("", root_, {.client_functions = functions_});
    ASSERT_OK(connected);
    session_ = *std::move(connected);
  }

  // Calls `function` from a graph with one float argument. Returns its float
  // result.
  absl::StatusOr<Tensor> Call(ClientFunction function) {
    functions_["f"] = std::move(function);
    const std::vector<Output> results =
        ops::PyFunc(root_.WithName("call"), "f", {3.0f}, {DT_FLOAT});
    Connect();
    return session_->Run(results[0]);
  }

  Process other_{{.compute_threads = 1}};  // used when the test itself waits
  ClientFunctions functions_ = {{"double", Double}};
  Scope root_ = Scope::Root();
  std::unique_ptr<Session> session_;
};

TEST_F(ClientFunctionsTest, ResultsAreReturned) {
  functions_["swap"] = [](const ClientFunctionCall& call) -> Results {
    EXPECT_EQ(call.node, "swapped");
    return std::vector{call.inputs[1], call.inputs[0]};
  };
  const std::vector<Output> swapped =
      ops::PyFunc(root_.WithName("swapped"), "swap", {1.5f, "text"},
                  {DT_STRING, DT_FLOAT}, {.stateful = false});
  Connect();
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values,
                       session_->Run({}, swapped));
  EXPECT_EQ(values[0].scalar<std::string>(), "text");
  EXPECT_EQ(values[1].scalar<float>(), 1.5f);
}

TEST_F(ClientFunctionsTest, FunctionRunsForItsSideEffects) {
  int calls = 0;
  functions_["count"] = [&](const ClientFunctionCall&) -> Results {
    ++calls;
    return std::vector<Tensor>();
  };
  ops::PyFunc(root_.WithName("count"), "count", {}, {});
  Connect();
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(session_->Run(Operation(root_.graph().FindNode("count"))));
  }
  EXPECT_EQ(calls, 3);
}

TEST_F(ClientFunctionsTest, LoopsAndFunctionsCallFunctions) {
  const ops::Function doubling(
      root_, "doubling", {DT_FLOAT},
      [](const Scope& s, const std::vector<Output>& v) {
        return ops::PyFunc(s, "double", {v[0]}, {DT_FLOAT});
      });
  const std::vector<Output> last = ops::WhileLoop(
      root_, {0, 1.0f},
      [](const Scope& s, const std::vector<Output>& v) {
        return ops::Less(s, v[0], 3);
      },
      [&](const Scope& s, const std::vector<Output>& v) {
        const Output once = ops::PyFunc(s, "double", {v[1]}, {DT_FLOAT})[0];
        const Output twice = doubling(s, {once})[0];
        return std::vector{ops::Add(s, v[0], 1), twice};
      },
      {.shape_invariants = {PartialShape::Scalar(),
                            PartialShape::UnknownRank()}});
  Connect();
  ASSERT_OK_AND_ASSIGN(const Tensor value, session_->Run(last[1]));
  EXPECT_EQ(value.scalar<float>(), 64);
}

// Like Python's from_generator: when the function reports its end, the dataset
// ends.
TEST_F(ClientFunctionsTest, FunctionFeedsADataset) {
  int64_t calls = 0;
  functions_["next"] = [&](const ClientFunctionCall&) -> Results {
    const bool is_there = ++calls <= 3;
    return std::vector{Tensor::Scalar(calls), Tensor::Scalar<bool>(is_there)};
  };
  const ops::Iterator iterator =
      ops::Dataset::Range(root_, 100)
          .Map([](const Scope& s, const std::vector<Output>&) {
            return ops::PyFunc(s, "next", {}, {DT_INT64, DT_BOOL});
          })
          .TakeWhile([](const Scope& s, const std::vector<Output>& v) {
            return ops::EnsureShape(s, v[1], PartialShape::Scalar());
          })
          .MakeInitializableIterator();
  const Output next = iterator.GetNext(root_)[0];
  Connect();
  ASSERT_OK(session_->Run(iterator.initializer()));
  for (int64_t expected = 1; expected <= 3; ++expected) {
    ASSERT_OK_AND_ASSIGN(const Tensor value, session_->Run(next));
    EXPECT_EQ(value.scalar<int64_t>(), expected);
  }
  EXPECT_THAT(session_->Run(next), StatusIs(StatusCode::kOutOfRange));
}

// An element passes through a prefetching pipeline without being copied: its
// address in the step equals its address in the function that created it.
TEST_F(ClientFunctionsTest, DatasetElementIsNotCopied) {
  // Keeps all elements alive, so that their addresses differ.
  std::vector<Tensor> made;
  std::vector<const void*> used;
  functions_["make"] = [&](const ClientFunctionCall&) -> Results {
    const Tensor page(DT_FLOAT, {1024});
    made.push_back(page);
    return std::vector{page};
  };
  functions_["use"] = [&](const ClientFunctionCall& call) -> Results {
    used.push_back(call.inputs[0].data());
    return std::vector<Tensor>();
  };
  const ops::Iterator iterator =
      ops::Dataset::Range(root_, 5)
          .Map([](const Scope& s, const std::vector<Output>&) {
            return ops::PyFunc(s, "make", {}, {DT_FLOAT});
          })
          .Shuffle(3)
          .Take(5)
          .Prefetch(5)
          .MakeInitializableIterator();
  ops::PyFunc(root_.WithName("use"), "use", {iterator.GetNext(root_)[0]}, {});
  const Operation use(root_.graph().FindNode("use"));
  Connect();
  ASSERT_OK(session_->Run(iterator.initializer()));
  for (int i = 0; i < 5; ++i) ASSERT_OK(session_->Run(use));
  EXPECT_THAT(session_->Run(use), StatusIs(StatusCode::kOutOfRange));
  std::vector<const void*> places;
  for (const Tensor& page : made) places.push_back(page.data());
  EXPECT_EQ(places.size(), 5);
  EXPECT_THAT(used, testing::UnorderedElementsAreArray(places));
}

TEST_F(ClientFunctionsTest, WrongNumberOfResultsIsRejected) {
  EXPECT_THAT(Call([](const ClientFunctionCall&) -> Results {
                return std::vector<Tensor>();
              }),
              StatusIs(StatusCode::kInvalidArgument,
                       "f returns 0 values, but expects to see 1 values."));
}

TEST_F(ClientFunctionsTest, WrongResultTypeIsRejected) {
  EXPECT_THAT(Call([](const ClientFunctionCall&) -> Results {
                return std::vector{Tensor::Scalar(1)};
              }),
              StatusIs(StatusCode::kInvalidArgument,
                       "0-th value returned by f is int32, but expects float"));
}

TEST_F(ClientFunctionsTest, ErrorFailsStepAndNamesFunction) {
  EXPECT_THAT(Call([](const ClientFunctionCall&) -> Results {
                return absl::DataLossError("the disk is gone");
              }),
              StatusIs(StatusCode::kDataLoss, "the disk is gone"));
  EXPECT_THAT(session_->Run(Output(root_.graph().FindNode("call"))),
              StatusIs(StatusCode::kDataLoss, "Client function 'f'"));
  EXPECT_THAT(session_->Run(Output(root_.graph().FindNode("call"))),
              StatusIs(StatusCode::kDataLoss, "[[node call (PyFunc)]]"));
}

TEST_F(ClientFunctionsTest, AnExceptionFailsTheStep) {
  functions_["range"] = [](const ClientFunctionCall&) -> Results {
    throw std::out_of_range("row 7");
  };
  functions_["end"] = [](const ClientFunctionCall&) -> Results {
    return absl::OutOfRangeError("no more rows");
  };
  functions_["number"] = [](const ClientFunctionCall&) -> Results { throw 7; };
  const Output range = ops::PyFunc(root_, "range", {}, {DT_FLOAT})[0];
  const Output number = ops::PyFunc(root_, "number", {}, {DT_FLOAT})[0];
  const Output end = ops::PyFunc(root_, "end", {}, {DT_FLOAT})[0];
  Connect();
  // An exception is an error, not the end of the data.
  EXPECT_THAT(session_->Run(range),
              StatusIs(StatusCode::kInvalidArgument, "an exception: row 7"));
  EXPECT_THAT(session_->Run(end),
              StatusIs(StatusCode::kOutOfRange, "no more rows"));
  EXPECT_THAT(session_->Run(number), StatusIs(StatusCode::kUnknown));
  ASSERT_OK(session_->Close());
}

TEST_F(ClientFunctionsTest, AnUnknownNameIsNotFound) {
  const Output y = ops::PyFunc(root_, "triple", {3.0f}, {DT_FLOAT})[0];
  Connect();
  EXPECT_THAT(session_->Run(y),
              StatusIs(StatusCode::kNotFound,
                       "client function 'triple' is not registered on "
                       "/job:localhost/replica:0/task:0/device:CPU:0 "
                       "(registered: 'double')"));
}

// Waits until the step that made the call has ended.
Results WaitForTheEnd(const ClientFunctionCall& call, Scheduler& scheduler,
                      Event* begun = nullptr) {
  const std::unique_ptr<Event> ended = scheduler.NewEvent();
  const Cancellation::Token token =
      call.cancellation.Register([&](const absl::Status&) { ended->Set(); });
  if (begun != nullptr) begun->Set();
  if (token != 0) ended->Wait();
  call.cancellation.Deregister(token);
  return call.cancellation.status();
}

TEST_F(ClientFunctionsTest, FunctionObservesStepDeadline) {
  functions_["waits"] = [&](const ClientFunctionCall& call) {
    return WaitForTheEnd(call, other_.scheduler());
  };
  const Output y = ops::PyFunc(root_, "waits", {}, {DT_FLOAT})[0];
  Connect();
  EXPECT_THAT(session_->Run({}, y, {.timeout = absl::Milliseconds(20)}),
              StatusIs(StatusCode::kDeadlineExceeded));
}

TEST_F(ClientFunctionsTest, FunctionObservesSessionClose) {
  const std::unique_ptr<Event> begun = other_.scheduler().NewEvent();
  functions_["waits"] = [&](const ClientFunctionCall& call) {
    return WaitForTheEnd(call, other_.scheduler(), begun.get());
  };
  const Output y = ops::PyFunc(root_, "waits", {}, {DT_FLOAT})[0];
  Connect();
  const std::unique_ptr<Event> closed = other_.scheduler().NewEvent();
  other_.scheduler().Schedule(Pool::kBlocking, [&] {
    begun->Wait();
    EXPECT_OK(session_->Close());
    closed->Set();
  });
  EXPECT_THAT(session_->Run(y), StatusIs(StatusCode::kCancelled));
  closed->Wait();
}

TEST_F(ClientFunctionsTest, CallHasNoGradient) {
  const Output x = ops::Placeholder(root_, DT_FLOAT);
  const Output y = ops::PyFunc(root_, "double", {x}, {DT_FLOAT})[0];
  const auto gradients = AddGradients(root_, {y}, {x});
  ASSERT_OK(gradients);
  EXPECT_TRUE((*gradients)[0].IsNone());
}

TEST_F(ClientFunctionsTest, SessionOfGivenProcessRejectsFunctions) {
  Process process({.compute_threads = 1});
  EXPECT_THAT(
      Session::Connect("", root_,
                       {.client_functions = functions_, .process = &process}),
      StatusIs(StatusCode::kInvalidArgument,
               "ProcessOptions::client_functions"));
}

constexpr char kWorker[] = "/job:worker/replica:0/task:0";

TEST(ClusterClientFunctionsTest, FunctionsRunInTheProgramThatOffersThem) {
  for (const ClusterKind kind :
       {ClusterKind::kSockets, ClusterKind::kSimulated}) {
    TestCluster cluster(
        {.kind = kind, .client_functions = [](const std::string& name) {
           return name == kWorker ? ClientFunctions{{"double", Double}}
                                  : ClientFunctions();
         }});
    const Scope root = Scope::Root();
    const Scope ps = root.WithDevice("/job:ps/task:0");
    const Scope worker = root.WithDevice("/job:worker/task:0");
    const Output x = ops::Const(ps, Tensor::Scalar(4.0f));
    const Output y =
        ops::Neg(ps, ops::PyFunc(worker, "double", {x}, {DT_FLOAT})[0]);
    const Output wrong = ops::PyFunc(ps, "double", {x}, {DT_FLOAT})[0];
    auto session = Session::Connect(cluster.target("ps", 0), root,
                                    cluster.session_options());
    ASSERT_OK(session);
    ASSERT_OK_AND_ASSIGN(const Tensor value, (*session)->Run(y));
    EXPECT_EQ(value.scalar<float>(), -8);
    EXPECT_THAT(
        (*session)->Run(wrong),
        StatusIs(StatusCode::kNotFound,
                 "client function 'double' is not registered on "
                 "/job:ps/replica:0/task:0/device:CPU:0 (registered: none)"));
  }
}

}  // namespace
}  // namespace weft
