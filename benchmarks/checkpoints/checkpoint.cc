// checkpoint measures a sharded Saver on two ps tasks that hold half a gigabyte
// each. It measures saves and restores on an idle cluster, and the effect of
// saves on concurrent steps. Another session runs these steps through worker:1:
//
//   --stepping=other steps of cross_task_step, which write no saved variable
//   --stepping=training Momentum on one of the saved variables (100 MB), and
//   4,096 rows added to another one
//
// A save has ended when its checkpoint is durable. Files are written below
// --dir.
//
// Bounds are measured in the same run. The bounds of a save are writing the
// same number of bytes to one file in --dir and syncing it, as dd does, and
// pulling 100 MB from a ps. The bound of the steps is their rate while one
// thread writes the same number of bytes to one file, in the time that the save
// took, and syncs it (*_disk).
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/common/child_process.h"
#include "benchmarks/common/report.h"
#include "benchmarks/common/server_processes.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/command_line.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/local_file_system.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(int, pieces, 5, "Variables of 100 MB on each ps.");
ABSL_FLAG(int, repeats, 3, "Saves and restores of each kind.");
ABSL_FLAG(std::string, stepping, "other", "other or training");
ABSL_FLAG(bool, between_steps, false,
          "Saves beside steps are between them (SaveConsistency::kStep).");
ABSL_FLAG(int64_t, max_bytes_per_second, 250'000'000,
          "Of each ps, while it saves beside steps; 0: no bound.");
ABSL_FLAG(std::string, dir, "/tmp", "Where the checkpoints go.");

namespace weft::benchmarks {
namespace {

constexpr int32_t kRows = 390'625;
constexpr int32_t kRow = 64;  // 25,000,000 floats, which are 100 MB
constexpr int32_t kScattered = 4096;

struct Span {
  double begin = 0;
  double end = 0;
  double seconds() const { return end - begin; }
};

template <typename Work>
Span Time(const Work& work) {
  const double begin = Now();
  work();
  return {begin, Now()};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The saved variables, and ops that change them.
struct Model {
  std::vector<ops::Variable> variables;
  Output pulled;  // last element of a variable, which a worker pulls as a whole
  Operation init;
  Output probe;       // one element of each variable
  Operation clobber;  // sets all variables to 0
};

Scope OnPs(const Scope& root, int task) {
  return root.WithDevice(absl::StrCat("/job:ps/task:", task, "/cpu:0"));
}

Model BuildModel(const Scope& root) {
  Model model;
  std::vector<Operation> cleared;
  InputList elements;
  for (int ps = 0; ps < 2; ++ps) {
    const Scope at = OnPs(root, ps);
    for (int i = 0; i < absl::GetFlag(FLAGS_pieces); ++i) {
      const ops::Variable v(at.WithName(absl::StrCat("v", ps, "_", i)),
                            ops::initializers::RandomUniform(),
                            TensorShape({kRows, kRow}), {.dtype = DT_FLOAT});
      model.variables.push_back(v);
      cleared.emplace_back(ops::AssignSub(at, v, v));
      elements.emplace_back(ops::Slice(at, v,
                                       ops::Const(at, {kRows - 1, kRow - 1}),
                                       ops::Const(at, {1, 1})));
    }
  }
  const Scope worker = root.WithDevice("/job:worker/task:0/cpu:0");
  model.pulled = ops::Slice(worker, model.variables.front(),
                            ops::Const(worker, {kRows - 1, kRow - 1}),
                            ops::Const(worker, {1, 1}));
  model.probe = ops::Stack(root, elements);
  model.clobber = ops::Group(root, cleared);
  return model;
}

// Builds the step of the session that continues during saves. Appends its
// initializers to `init` and returns its fetch.
Output BuildOtherStep(const Scope& root, std::vector<Operation>& init) {
  const ops::Variable a(OnPs(root, 0).WithName("a"), 1.0f);
  init.push_back(a.initializer());
  const Output b =
      ops::Add(root.WithDevice("/job:worker/task:0/cpu:0"), a, 2.0f);
  return ops::Add(root.WithDevice("/job:worker/task:1/cpu:0"), a, b);
}

Operation BuildTrainingStep(const Scope& root, const Model& model) {
  const Scope first = OnPs(root, 0);
  const Output loss =
      ops::Sum(first, model.variables.front(), ops::Const(first, {0, 1}));
  const Operation momentum =
      train::Momentum(1e-6f, 0.9f)
          .Minimize(first, loss, {.var_list = {model.variables.front()}});
  const Scope second = OnPs(root, 1);
  const Output rows =
      ops::RandomUniformInt(second, ops::Const(second, {kScattered}), 0, kRows);
  const Output updates =
      ops::Fill(second, ops::Const(second, {kScattered, kRow}),
                ops::Const(second, 1e-6f));
  const Operation scattered = ops::ResourceScatterAdd(
      second, model.variables.back().handle(), rows, updates);
  return ops::Group(root, {momentum, scattered});
}

// The rate and the longest duration of the steps in a period.
struct Pace {
  double rate = 0;     // steps per second
  double longest = 0;  // milliseconds
};

Pace PaceOf(const std::vector<double>& steps, double seconds) {
  Pace pace{.rate = static_cast<double>(steps.size()) / seconds};
  for (const double step : steps) {
    pace.longest = std::max(pace.longest, step * 1e3);
  }
  return pace;
}

double Total(const std::vector<Span>& spans) {
  double seconds = 0;
  for (const Span& span : spans) seconds += span.seconds();
  return seconds;
}

// Reports the steps during saves, during plain disk writes, and in the
// remaining time.
void AddSteps(Report& report, const std::vector<Span>& steps,
              const std::vector<Span>& saves, const std::vector<Span>& writes) {
  std::vector<double> during, beside, outside;
  for (const Span& step : steps) {
    const auto overlaps = [&step](const Span& other) {
      return step.end > other.begin && step.begin < other.end;
    };
    const bool saving = std::any_of(saves.begin(), saves.end(), overlaps);
    const bool writing = std::any_of(writes.begin(), writes.end(), overlaps);
    (saving ? during : writing ? beside : outside).push_back(step.seconds());
  }
  const double all = steps.back().end - steps.front().begin;
  const Pace save = PaceOf(during, Total(saves));
  const Pace write = PaceOf(beside, Total(writes));
  const Pace alone = PaceOf(outside, all - Total(saves) - Total(writes));
  report.Value("longest_outside_save", alone.longest, "ms");
  report.Value("longest_during_save", save.longest, "ms");
  report.Value("longest_beside_disk", write.longest, "ms");
  report.Value("rate_outside_save", alone.rate, "steps/s");
  report.Value("rate_during_save", save.rate, "steps/s");
  report.Value("rate_beside_disk", write.rate, "steps/s");
  report.Value("rate_ratio", save.rate / alone.rate, "during/outside");
  report.Value("rate_ratio_of_disk", write.rate / alone.rate, "beside/outside");
}

class Benchmark {
 public:
  Benchmark()
      : folder_(absl::StrCat(absl::GetFlag(FLAGS_dir),
                             "/weft_checkpoint_benchmark_", getpid())) {}
  ~Benchmark() { (void)files_.DeleteRecursively(folder_); }

  void Run(const ServerProcesses& servers, Report& report) {
    const bool is_training = absl::GetFlag(FLAGS_stepping) == "training";
    Scope root = Scope::Root();
    model_ = BuildModel(root);
    std::vector<Operation> init;
    std::vector<Operation> targets;
    std::vector<Output> fetches;
    if (is_training) {
      targets = {BuildTrainingStep(root, model_)};
    } else {
      fetches = {BuildOtherStep(root, init)};
    }
    train::SaverOptions options;
    options.sharded = true;
    options.max_to_keep = 1;
    saver_.emplace(root, options);
    options.max_bytes_per_second = absl::GetFlag(FLAGS_max_bytes_per_second);
    if (absl::GetFlag(FLAGS_between_steps)) {
      options.consistency = train::SaveConsistency::kStep;
    }
    gentle_saver_.emplace(root, std::move(options));
    init.push_back(ops::GlobalVariablesInitializer(root));
    auto session = Session::Connect(servers.Target("worker", 0), root);
    Check(session.status());
    session_ = *std::move(session);
    for (const Operation& operation : init) Check(session_->Run(operation));

    const double gigabytes =
        static_cast<double>(model_.variables.size()) * kRows * kRow * 4 / 1e9;
    ps_ = servers.pids("ps");
    SaveAndRestore(gigabytes, report);
    auto other = Session::Connect(servers.Target("worker", 1), root);
    Check(other.status());
    auto step = (*other)->MakeCallable({}, fetches, targets);
    Check(step.status());
    SaveWhileStepping(**step, gigabytes, report);
  }

 private:
  Span Save(train::Saver& saver) {
    sync();
    return Time([&] {
      auto path =
          saver.Save(*session_, folder_ + "/m", {.global_step = number_++});
      Check(path.status());
      path_ = *std::move(path);
    });
  }

  void SaveAndRestore(double gigabytes, Report& report) {
    auto before = session_->Run(model_.probe);
    Check(before.status());
    std::vector<double> saves, restores, shares, disks, pulls;
    double growth = 0;
    for (int i = 0; i < absl::GetFlag(FLAGS_repeats); ++i) {
      // The order alternates, because the first write changes the state of the
      // disk.
      const bool disk_goes_first = i % 2 == 1;
      if (disk_goes_first) disks.push_back(DiskRate(gigabytes));
      const MemoryGrowth growing(ps_);
      saves.push_back(Save(*saver_).seconds());
      growth = std::max(growth, growing.Mebibytes());
      if (!disk_goes_first) disks.push_back(DiskRate(gigabytes));
      pulls.push_back(PullRate());
      shares.push_back(gigabytes / saves.back() /
                       std::min(disks.back(), pulls.back()));
      Check(session_->Run(model_.clobber));
      restores.push_back(
          Time([&] { Check(saver_->Restore(*session_, path_)); }).seconds());
      auto after = session_->Run(model_.probe);
      Check(after.status());
      if (!SameBytes(*before, *after)) {
        Check(absl::InternalError(
            "the restored values differ from the saved ones"));
      }
    }
    report.Value("ps_growth_save", growth, "MiB");
    report.Value("save", Median(saves), "s");
    report.Value("save_rate", gigabytes / Median(saves), "GB/s");
    report.Value("disk_rate", Median(disks), "GB/s");
    report.Value("pull_100MB_rate", Median(pulls), "GB/s");
    report.Value("save_of_limit", Median(shares), "of limit");
    report.Value("restore", Median(restores), "s");
    report.Value("restore_rate", gigabytes / Median(restores), "GB/s");
  }

  // Returns the write rate of a plain synced file, in GB/s.
  double DiskRate(double gigabytes) {
    return gigabytes / WriteFile(gigabytes, 0).seconds();
  }

  // Writes one file in at least `seconds` and syncs it. Returns when the write
  // began and ended.
  Span WriteFile(double gigabytes, double seconds) {
    const std::string path = folder_ + "/raw";
    const std::string megabyte(size_t{1} << 20, '\1');
    const double bytes = gigabytes * 1e9;
    sync();
    const Span wrote = Time([&] {
      const absl::Time begin = clock_.Now();
      auto file = files_.NewWritableFile(path);
      Check(file.status());
      for (double written = 0; written < bytes;) {
        Check((*file)->Append(megabyte));
        written += static_cast<double>(megabyte.size());
        if (seconds > 0) {
          scheduler_->NewEvent()->WaitUntil(
              begin + absl::Seconds(seconds * written / bytes));
        }
      }
      Check((*file)->Sync());
      Check((*file)->Close());
    });
    Check(files_.DeleteFile(path));
    return wrote;
  }

  // Pulls a variable of 100 MB from a ps to a worker several times. Returns the
  // rate in GB/s.
  double PullRate() {
    std::vector<double> seconds;
    for (int i = 0; i < 6; ++i) {
      const Span pulled =
          Time([&] { Check(session_->Run(model_.pulled).status()); });
      if (i > 0) seconds.push_back(pulled.seconds());
    }
    return 4.0 * kRows * kRow / 1e9 / Median(seconds);
  }

  static bool SameBytes(const Tensor& a, const Tensor& b) {
    const auto x = a.flat<float>(), y = b.flat<float>();
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  }

  // Waits while steps continue. The event is never set.
  void Pause(absl::Duration time) {
    scheduler_->NewEvent()->WaitUntil(clock_.Now() + time);
  }

  void SaveWhileStepping(Session::Callable& step, double gigabytes,
                         Report& report) {
    for (int i = 0; i < 20; ++i) Check(step.Run().status());
    std::vector<Span> steps, saves, writes;
    std::atomic<bool> stop{false};
    const auto done = scheduler_->NewEvent();
    scheduler_->Schedule(Pool::kBlocking, [&] {
      while (!stop) steps.push_back(Time([&] { Check(step.Run().status()); }));
      done->Set();
    });
    Pause(absl::Seconds(3));
    double growth = 0;
    for (int i = 0; i < absl::GetFlag(FLAGS_repeats); ++i) {
      const MemoryGrowth growing(ps_);
      saves.push_back(Save(*gentle_saver_));
      growth = std::max(growth, growing.Mebibytes());
      Pause(absl::Seconds(2));
      writes.push_back(WriteFile(gigabytes, saves.back().seconds()));
      Pause(absl::Seconds(2));
    }
    stop = true;
    done->Wait();
    std::vector<double> seconds;
    for (const Span& save : saves) seconds.push_back(save.seconds());
    report.Value("ps_growth_while_stepping", growth, "MiB");
    report.Value("save_while_stepping", Median(seconds), "s");
    AddSteps(report, steps, saves, writes);
  }

  const std::string folder_;
  LocalFileSystem files_;
  SystemClock clock_;
  const std::unique_ptr<Scheduler> scheduler_ = NewThreadScheduler(clock_);
  Model model_;
  std::optional<train::Saver> saver_;
  // the saver for saves concurrent with steps
  std::optional<train::Saver> gentle_saver_;
  std::unique_ptr<Session> session_;
  std::vector<pid_t> ps_;
  std::string path_;
  int64_t number_ = 0;
};

void Main() {
  const std::string stepping = absl::GetFlag(FLAGS_stepping);
  if (stepping != "other" && stepping != "training") {
    Check(absl::InvalidArgumentError("--stepping must be other or training"));
  }
  ServerProcesses servers({{"ps", 2}, {"worker", 2}});
  Report report("checkpoint");
  report.Param("pieces", absl::GetFlag(FLAGS_pieces));
  report.Param("between_steps", absl::GetFlag(FLAGS_between_steps));
  report.Param("repeats", absl::GetFlag(FLAGS_repeats));
  report.Param("stepping", stepping);
  Benchmark().Run(servers, report);
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv,
                   "Saves and restores 2 x 500 MB, alone and beside steps.");
  weft::benchmarks::Main();
}
