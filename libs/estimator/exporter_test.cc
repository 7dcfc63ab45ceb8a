#include "libs/estimator/exporter.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/summary/event.h"
#include "libs/summary/events_writer.h"

namespace weft::estimator {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

EvalMetrics LossOf(float loss, int64_t step = 10) {
  return {{"loss", Tensor::Scalar(loss)},
          {"global_step", Tensor::Scalar(step)}};
}

absl::StatusOr<ServingInputReceiver> Receive(const Scope&) {
  return absl::UnimplementedError("nothing is exported");
}

class ExporterGraphTest : public testing::Test {
 protected:
  ExporterGraphTest() { EXPECT_OK(files_.CreateDirectories("/model/eval")); }

  Estimator Model() {
    EstimatorOptions options;
    options.model_dir = "/model";
    options.file_system = &files_;
    options.logger = &logger_;
    return Estimator(
        [](const Scope&, const ModelInput&) -> absl::StatusOr<EstimatorSpec> {
          return absl::UnimplementedError("nothing is exported");
        },
        options);
  }
  absl::Status Export(Exporter& exporter, const EvalMetrics& metrics,
                      bool is_final = false) {
    Estimator model = Model();
    return exporter
        .Export(model, "/model/export/x", "/model/model.ckpt-10", metrics,
                is_final)
        .status();
  }

  MemoryFileSystem files_;
  RecordingLogger logger_;
};

TEST_F(ExporterGraphTest, SmallerLossIsBetter) {
  EXPECT_TRUE(ValueOf(LossSmaller(LossOf(0.5f), LossOf(0.25f))));
  EXPECT_FALSE(ValueOf(LossSmaller(LossOf(0.5f), LossOf(0.5f))));
  EXPECT_FALSE(ValueOf(LossSmaller(LossOf(0.5f), LossOf(0.75f))));
}

TEST_F(ExporterGraphTest, AnyNumberIsBetterThanNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(ValueOf(LossSmaller(LossOf(nan), LossOf(9))));
  EXPECT_FALSE(ValueOf(LossSmaller(LossOf(9), LossOf(nan))));
  EXPECT_FALSE(ValueOf(LossSmaller(LossOf(nan), LossOf(nan))));
}

TEST_F(ExporterGraphTest, ComparisonNeedsLosses) {
  EXPECT_THAT(LossSmaller({}, LossOf(1)),
              StatusIs(kInvalid, "best_eval_result cannot be empty"));
  EXPECT_THAT(LossSmaller(LossOf(1), {{"loss", Tensor::Scalar("text")}}),
              StatusIs(kInvalid, "current_eval_result cannot be empty"));
}

TEST_F(ExporterGraphTest, ExportersHaveNames) {
  EXPECT_EQ(LatestExporter("latest", Receive)->name(), "latest");
  EXPECT_EQ(FinalExporter("last", Receive)->name(), "last");
  EXPECT_EQ(BestExporter(Receive)->name(), "best_exporter");
}

TEST_F(ExporterGraphTest, InvalidArgumentsFailEachExport) {
  EXPECT_THAT(Export(*LatestExporter("", Receive), LossOf(1)),
              StatusIs(kInvalid, "must have a name"));
  EXPECT_THAT(Export(*FinalExporter("last", nullptr), LossOf(1)),
              StatusIs(kInvalid, "'last' needs a serving_input_receiver_fn"));
  EXPECT_THAT(
      Export(*LatestExporter("x", Receive, {.exports_to_keep = 0}), LossOf(1)),
      StatusIs(kInvalid, "must be a positive number. Got 0"));
}

TEST_F(ExporterGraphTest, LatestExporterExportsEachTime) {
  const auto exporter = LatestExporter("latest", Receive);
  EXPECT_THAT(Export(*exporter, LossOf(1)), Not(IsOk()));
  EXPECT_THAT(Export(*exporter, LossOf(2)), Not(IsOk()));
}

TEST_F(ExporterGraphTest, UntrainedModelIsSkipped) {
  const auto exporter = LatestExporter("latest", Receive);
  EXPECT_OK(Export(*exporter, LossOf(1, 0)));
  EXPECT_THAT(logger_.lines(),
              Contains(HasSubstr("'latest' skips the export until the model")));
}

TEST_F(ExporterGraphTest, FinalExporterExportsOnlyTheEnd) {
  const auto exporter = FinalExporter("last", Receive);
  EXPECT_OK(Export(*exporter, LossOf(1)));
  EXPECT_THAT(Export(*exporter, LossOf(1), /*is_final=*/true), Not(IsOk()));
  EXPECT_THAT(logger_.lines(),
              Contains(HasSubstr("Performing the final export")));
}

TEST_F(ExporterGraphTest, FailedExportNamesTheExporter) {
  EXPECT_THAT(Export(*LatestExporter("latest", Receive), LossOf(1)).message(),
              HasSubstr("exporter 'latest'"));
}

// A failed first export is retried even for a worse model, because the exporter
// has not exported anything yet.
TEST_F(ExporterGraphTest, BestExporterRetriesItsFirstExport) {
  const auto exporter = BestExporter(Receive);
  EXPECT_THAT(Export(*exporter, LossOf(1)), Not(IsOk()));
  EXPECT_THAT(Export(*exporter, LossOf(2)), Not(IsOk()));
}

TEST_F(ExporterGraphTest, BestExporterWarnsWithoutEventFiles) {
  const auto exporter = BestExporter(Receive);
  EXPECT_THAT(Export(*exporter, LossOf(1)), Not(IsOk()));
  EXPECT_THAT(logger_.lines(), Contains(HasSubstr("no event file matches")));
}

TEST_F(ExporterGraphTest, EarlierEvaluationsMayBeIgnored) {
  const auto exporter = BestExporter(Receive, {.event_file_pattern = ""});
  EXPECT_THAT(Export(*exporter, LossOf(1)), Not(IsOk()));
  EXPECT_THAT(logger_.lines(), Not(Contains(HasSubstr("Loading best metric"))));
}

TEST_F(ExporterGraphTest, BestExporterReadsEarlierEvaluations) {
  summary::EventsFileName name;
  name.logdir = "/model/eval";
  name.hostname = "host";
  name.seconds = 1700000000;
  ASSERT_OK_AND_ASSIGN(
      const auto writer,
      summary::EventsWriter::Create(files_, name, absl::FromUnixSeconds(1)));
  for (const float loss : {0.5f, 0.25f, 0.75f}) {
    summary::Summary summary;
    summary.value.push_back({.tag = "loss", .value = loss});
    summary::Event event;
    event.what = summary;
    ASSERT_OK(writer->Write(summary::SerializeEvent(event)));
  }
  ASSERT_OK(writer->Close());
  std::vector<float> compared;
  BestExporterOptions options;
  options.compare_fn = [&](const EvalMetrics& best,
                           const EvalMetrics& current) -> absl::StatusOr<bool> {
    compared.push_back(best.at("loss").scalar<float>());
    return LossSmaller(best, current);
  };
  EXPECT_THAT(Export(*BestExporter(Receive, options), LossOf(1)), Not(IsOk()));
  // The first values are from the event file, and the last is from the
  // evaluation itself.
  EXPECT_THAT(compared, testing::ElementsAre(0.5f, 0.25f, 0.25f));
}

}  // namespace
}  // namespace weft::estimator
