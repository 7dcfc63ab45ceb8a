// The client of failure_test.py. It reads commands line by line, and replies to
// each with one line, "COMMAND: OK ..." or "COMMAND: CODE: text":
//
//   init       initializes the variables to 0
//   hold       runs a step that increments the begun count, waits for the
//              queue, and increments the ended count; replies when the step
//              has ended
//   open       adds an element to the queue, which ends the wait of one hold
//   read       returns the counts of begun and ended holds
//   other      runs a step that needs only the task of --other
//   reconnect  replaces the session by a new one
//   train N    counts to N in steps that use both kinds of variables; restarts
//              from the remaining values when a step fails, and prints each
//              restart as a line
//
// The counts are on --counter and the queue is on --gate. The element from the
// queue is sent via --through before it is counted.
#include <cstdio>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"
#include "libs/base/status.h"

ABSL_FLAG(std::string, target, "", "zmq://host:port");
ABSL_FLAG(std::string, counter, "/job:ps/task:0", "Device of the counts");
ABSL_FLAG(std::string, gate, "/job:ps/task:0", "Device of the queue");
ABSL_FLAG(std::string, through, "/job:worker/task:0",
          "Device between the queue and the ended count");
ABSL_FLAG(std::string, other, "/job:ps/task:1", "Device of the other variable");

namespace weft {
namespace {

// Prints one line. Thread-safe.
void Say(const std::string& line) {
  static std::mutex mutex;  // static is fine: a program, not a library
  std::lock_guard<std::mutex> lock(mutex);
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void Say(const std::string& word, const absl::Status& status,
         const std::string& result = "") {
  Say(absl::StrCat(
      word, ": ",
      status.ok() ? absl::StrCat("OK", result) : status.ToString()));
}

std::string Numbers(const absl::StatusOr<std::vector<Tensor>>& values) {
  std::string text;
  if (!values.ok()) return text;
  for (const Tensor& value : *values) {
    absl::StrAppend(&text, " ", value.scalar<float>());
  }
  return text;
}

struct Program {
  Program()
      : counter(root.WithDevice(absl::GetFlag(FLAGS_counter))),
        begun(counter.WithName("begun"), 0.0f),
        ended(counter.WithName("ended"), 0.0f),
        other(root.WithDevice(absl::GetFlag(FLAGS_other)).WithName("other"),
              0.0f) {
    const Scope gate = root.WithDevice(absl::GetFlag(FLAGS_gate));
    Output queue = ops::FIFOQueue(
        gate, {DT_FLOAT},
        {.shapes = {PartialShape::Scalar()}, .shared_name = "gate"});
    Output begin = ops::AssignAdd(counter, begun, 1.0f);
    Output passed = ops::QueueDequeue(gate.WithControlDependencies({begin}),
                                      queue, {DT_FLOAT})[0];
    Output through =
        ops::Identity(root.WithDevice(absl::GetFlag(FLAGS_through)), passed);
    hold = ops::AssignAdd(counter, ended, through);
    open = ops::QueueEnqueue(gate, queue, {1.0f});
    Output one_more = ops::AssignAdd(other_scope(), other, 1.0f);
    touch = one_more;
    train = ops::AssignAdd(counter.WithControlDependencies({one_more}), begun,
                           1.0f);
  }

  Scope other_scope() const {
    return root.WithDevice(absl::GetFlag(FLAGS_other));
  }

  Scope root = Scope::Root();
  Scope counter;
  ops::Variable begun, ended, other;
  Output hold, touch, train;
  Operation open;
};

class Client {
 public:
  absl::Status Connect() {
    ASSIGN_OR_RETURN(
        std::unique_ptr<Session> session,
        Session::Connect(absl::GetFlag(FLAGS_target), program_.root,
                         {.operation_timeout = absl::Seconds(30),
                          .connect_timeout = absl::Seconds(30),
                          .peer_timeout = absl::Seconds(2)}));
    session_ = std::move(session);
    return absl::OkStatus();
  }

  void Do(const std::string& word, const std::string& argument) {
    if (word == "init") return Say(word, Init());
    if (word == "hold") return Hold();
    if (word == "open") return Say(word, session_->Run(program_.open));
    if (word == "read") return Read();
    if (word == "other") {
      auto value = session_->Run({}, std::vector<Output>{program_.touch});
      return Say(word, value.status(), Numbers(value));
    }
    if (word == "reconnect") return Say(word, Connect());
    float goal = 0;
    if (word == "train" && absl::SimpleAtof(argument, &goal)) {
      return Train(goal);
    }
    Say(absl::StrCat(word, ": unknown command"));
  }

 private:
  absl::Status Init() {
    for (const ops::Variable* variable :
         {&program_.begun, &program_.ended, &program_.other}) {
      RETURN_IF_ERROR(session_->Run(variable->initializer()));
    }
    return absl::OkStatus();
  }

  void Hold() {
    auto callable = session_->MakeCallable({}, {program_.hold});
    if (!callable.ok()) return Say("hold", callable.status());
    holds_.push_back({session_, *std::move(callable)});
    holds_.back().callable->RunAsync(
        {}, [](const absl::StatusOr<std::vector<Tensor>>& result) {
          Say("hold", result.status());
        });
  }

  void Read() {
    auto values =
        session_->Run({}, std::vector<Output>{program_.begun, program_.ended});
    Say("read", values.status(), Numbers(values));
  }

  // Initializes the variables that were lost.
  absl::Status InitMissing() {
    for (const ops::Variable* variable : {&program_.begun, &program_.other}) {
      const absl::Status status = session_->Run(*variable).status();
      if (absl::IsFailedPrecondition(status)) {
        RETURN_IF_ERROR(session_->Run(variable->initializer()));
        Say(absl::StrCat("train: anew ", variable->name()));
      } else if (!status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  void Train(float goal) {
    float at = 0;
    while (at < goal) {
      auto step = session_->Run(program_.train);
      if (step.ok()) {
        at = step->scalar<float>();
        Say(absl::StrCat("train: at ", at));
        continue;
      }
      Say("train", step.status());
      while (true) {
        absl::Status back = Connect();
        if (back.ok()) back = InitMissing();
        if (back.ok()) break;
        Say("train", back);
      }
    }
    auto values =
        session_->Run({}, std::vector<Output>{program_.begun, program_.other});
    Say("trained", values.status(), Numbers(values));
  }

  Program program_;
  std::shared_ptr<Session> session_;
  struct Held {
    std::shared_ptr<Session> session;
    std::unique_ptr<Session::Callable> callable;
  };
  std::vector<Held> holds_;
};

int Main() {
  Client client;
  const absl::Status connected = client.Connect();
  Say("connect", connected);
  if (!connected.ok()) return 1;
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::pair<std::string, std::string> words =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    client.Do(words.first, words.second);
  }
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  weft::ParseFlags(
      argc, argv,
      "A client for failure_test.py, which executes commands from stdin.");
  return weft::Main();
}
