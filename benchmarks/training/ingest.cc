// ingest measures reading CSV files (40 float columns) and TFRecord files in
// this process. It reads by queues and by datasets, line by line and in blocks.
// Each step fetches one number from a batch that was completely read and
// decoded, so the transfer of the batch to the client is not measured.
//
// csv_KIND: rows per second. csv_KIND_bytes: bytes per second. tfrecord_*:
// bytes per second. Each measurement uses a new session and graph.
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/common/report.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/command_line.h"
#include "libs/base/random.h"
#include "libs/fs/local_file_system.h"
#include "libs/summary/record_writer.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(int64_t, size, 100000000, "Size of each file, in bytes.");
ABSL_FLAG(int, batch, 128, "Rows or records per batch.");
ABSL_FLAG(double, seconds, 3.0, "Time limit of each measurement.");
ABSL_FLAG(std::string, only, "",
          "Report only metrics whose names contain this text.");
ABSL_FLAG(std::string, directory, "/tmp", "Directory of the files.");

namespace weft::benchmarks {
namespace {

constexpr int kColumns = 40;

// A function that builds a graph and returns an output. One element of the
// output is fetched.
using Build = std::function<Output(const Scope&)>;

InputList Defaults() { return InputList(kColumns, Input(0.0f)); }

// Decodes one or several rows. Returns all columns stacked along the last
// dimension.
Output Stacked(const Scope& scope, const Output& lines, int axis) {
  const auto columns = ops::DecodeCSV(scope, lines, Defaults());
  return ops::Stack(scope, InputList(columns.begin(), columns.end()),
                    {.axis = axis});
}

// Returns the first element of the first component of a batch.
Output First(const Scope& scope, const std::vector<Output>& batch) {
  return ops::Slice(scope, ops::Reshape(scope, batch[0], {-1}), {0}, {1});
}

class Ingest {
 public:
  Ingest() : report_("ingest") {
    report_.Param("size", static_cast<double>(absl::GetFlag(FLAGS_size)));
    report_.Param("batch", batch_);
    report_.Param("columns", kColumns);
  }
  ~Ingest() { (void)files_.DeleteRecursively(folder_); }

  void Run() {
    Check(files_.CreateDirectories(folder_));
    MeasureCsv();
    for (int bytes : {256, 65536}) MeasureRecords(bytes);
    report_.Finish(absl::GetFlag(FLAGS_json));
  }

 private:
  std::string WriteCsv() {
    const std::string path = absl::StrCat(folder_, "/rows.csv");
    std::string block;
    const auto random = NewSeededRandom(3);
    for (int row = 0; row < 2000; ++row) {
      for (int column = 0; column < kColumns; ++column) {
        // The text of each value is as long as that of a normally distributed
        // number.
        const double value =
            static_cast<double>(random->Next() % 4000000) / 1e6 - 2;
        absl::StrAppendFormat(&block, "%.6f%c", value,
                              column + 1 == kColumns ? '\n' : ',');
      }
    }
    auto file = files_.NewWritableFile(path);
    Check(file.status());
    const int64_t size = absl::GetFlag(FLAGS_size);
    int64_t blocks = 0;
    do {
      Check((*file)->Append(block));
      ++blocks;
    } while (blocks * static_cast<int64_t>(block.size()) < size);
    Check((*file)->Close());
    bytes_per_row_ = static_cast<double>(block.size()) / 2000;
    return path;
  }

  std::string WriteRecords(int bytes) {
    const std::string path = absl::StrCat(folder_, "/", bytes, ".tfrecord");
    const auto random = NewSeededRandom(3);
    std::string record;
    for (int i = 0; i < bytes; ++i) {
      record += static_cast<char>(random->Next());
    }
    auto file = files_.NewWritableFile(path);
    Check(file.status());
    summary::RecordWriter writer(*std::move(file));
    for (int64_t i = 0; i < absl::GetFlag(FLAGS_size) / bytes; ++i) {
      Check(writer.WriteRecord(record));
    }
    Check(writer.Close());
    return path;
  }

  // Returns the batches per second in a separate graph and session.
  double Rate(const Build& build) {
    Scope root = Scope::Root();
    const Output fetch = First(root, {build(root)});
    auto session = Session::Connect("", root);
    Check(session.status());
    Check((*session)->Run(ops::GlobalVariablesInitializer(root)));
    Check((*session)->Run(ops::LocalVariablesInitializer(root)));
    train::Coordinator coordinator;
    Check(train::StartQueueRunners(root, **session, coordinator));
    auto callable = (*session)->MakeCallable({}, {fetch});
    Check(callable.status());
    Tensor result;
    const Timing timing = Measure(
        [&] { Check((*callable)->RunInto({}, absl::MakeSpan(&result, 1))); },
        1 << 30, 5, absl::GetFlag(FLAGS_seconds));
    coordinator.RequestStop();
    (void)coordinator.Join();
    return timing.steps_per_second;
  }

  bool IsWanted(const std::string& name) const {
    return absl::StrContains(name, absl::GetFlag(FLAGS_only));
  }
  void AddRows(const std::string& name, const Build& build,
               const std::string& goal) {
    if (!IsWanted(name)) return;
    const double rows = Rate(build) * batch_;
    report_.Value(name, rows, "rows/s", goal);
    report_.Value(name + "_bytes", rows * bytes_per_row_ / 1e6, "MB/s");
  }

  void MeasureCsv() {
    const Tensor path = Tensor::Vector<std::string>({WriteCsv()});
    const int batch = batch_;
    const auto lines = [path](const Scope& scope) {
      return ops::TextLineDataset(scope, path).Repeat();
    };
    const auto next = [](const Scope& scope, const ops::Dataset& dataset) {
      return dataset.Prefetch(2).MakeOneShotIterator().GetNext(scope)[0];
    };
    const auto stacked = [](const Scope& scope, const std::vector<Output>& v) {
      return std::vector<Output>{Stacked(scope, v[0], -1)};
    };
    AddRows(
        "csv_queue_line_at_a_time",
        [&](const Scope& scope) {
          const auto names = train::StringInputProducer(scope, path);
          const auto line = ops::Reader::TextLine(scope).Read(scope, names);
          return train::Batch(scope, {Stacked(scope, line.value, 0)}, batch,
                              {.capacity = 16 * batch})[0];
        },
        "");
    AddRows(
        "csv_queue_block_at_a_time",
        [&](const Scope& scope) {
          const auto names = train::StringInputProducer(scope, path);
          const auto block = ops::Reader::TextLine(scope).ReadUpTo(
              scope, names, static_cast<int64_t>(batch));
          return train::Batch(
              scope, {Stacked(scope, block.value, 1)}, batch,
              {.capacity = 16 * batch, .enqueue_many = true})[0];
        },
        "");
    AddRows(
        "csv_data_line_at_a_time",
        [&](const Scope& scope) {
          return next(scope, lines(scope).Map(stacked).Batch(batch));
        },
        "");
    AddRows(
        "csv_data_block_at_a_time",
        [&](const Scope& scope) {
          return next(scope, lines(scope).Batch(batch).Map(stacked));
        },
        "");
    AddRows(
        "csv_data_block_parallel",
        [&](const Scope& scope) {
          return next(scope, lines(scope).Batch(batch).Map(
                                 stacked, {.num_parallel_calls = 2}));
        },
        "");
    AddRows(
        "csv_data_lines_only",
        [&](const Scope& scope) {
          return ops::StringLength(scope,
                                   next(scope, lines(scope).Batch(batch)));
        },
        "");
  }

  void MeasureRecords(int bytes) {
    const Tensor path = Tensor::Vector<std::string>({WriteRecords(bytes)});
    const auto add = [&](const std::string& kind, const Build& build) {
      const std::string name = absl::StrCat("tfrecord_", kind, "_", bytes, "B");
      if (!IsWanted(name)) return;
      report_.Value(name, Rate(build) * batch_ * bytes / 1e6, "MB/s");
    };
    add("records_queue", [&](const Scope& scope) {
      const auto names = train::StringInputProducer(scope, path);
      const auto block = ops::Reader::TFRecord(scope).ReadUpTo(
          scope, names, static_cast<int64_t>(batch_));
      return ops::StringLength(scope, block.value);
    });
    add("records_data", [&](const Scope& scope) {
      return ops::StringLength(scope, ops::TFRecordDataset(scope, path)
                                          .Repeat()
                                          .Batch(batch_)
                                          .Prefetch(2)
                                          .MakeOneShotIterator()
                                          .GetNext(scope)[0]);
    });
  }

  const int batch_ = absl::GetFlag(FLAGS_batch);
  const std::string folder_ =
      absl::StrCat(absl::GetFlag(FLAGS_directory), "/weft_ingest_",
                   NewSystemRandom()->Next());
  LocalFileSystem files_;
  double bytes_per_row_ = 0;
  Report report_;
};

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv, "Csv and TFRecord files, read and decoded.");
  weft::benchmarks::Ingest().Run();
}
