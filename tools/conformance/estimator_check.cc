#include "tools/conformance/estimator_check.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/checkpoint/bundle_writer.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/fs/path.h"
#include "libs/ops/state/variable.h"
#include "libs/server/server.h"
#include "libs/summary/event.h"
#include "libs/summary/events_writer.h"
#include "libs/tensor/buffer.h"
#include "tools/conformance/estimator_fields.h"
#include "tools/conformance/estimator_model.h"
#include "tools/conformance/tensor_pack.h"

namespace weft::conformance {
namespace {

using Json = nlohmann::json;

absl::Status Differs(absl::string_view what) {
  return absl::UnknownError(what);
}

// The expected properties of a variable in the training graph.
struct VariableFacts {
  std::string graph, checkpoint, device;
  DataType dtype = DT_INVALID;
  TensorShape shape;
  bool trainable = false;
};

// Watch is a hook that records the losses of all steps and the variables.
class Watch : public train::SessionRunHook {
 public:
  absl::Status Begin(const Scope& scope) override {
    const auto all = scope.GetCollection(collection::kLosses);
    if (all.empty()) return absl::InternalError("the case's model has no loss");
    loss_ = all.back();
    const auto& store = VariableStore::Of(scope);
    for (const ops::Variable& variable : ops::GlobalVariables(scope)) {
      VariableFacts facts;
      facts.graph = variable.name();
      const auto slice = store.slices.find(variable.handle().node());
      facts.checkpoint =
          slice == store.slices.end() ? facts.graph : slice->second.full_name;
      facts.dtype = RemoveRefType(variable.dtype());
      facts.shape = variable.shape().ToShape();
      facts.device = variable.handle().node()->requested_device();
      facts.trainable = variable.trainable();
      variables.push_back(facts);
    }
    return absl::OkStatus();
  }
  absl::StatusOr<train::SessionRunArgs> BeforeRun(
      train::SessionRunContext&) override {
    return train::SessionRunArgs{.fetches = {loss_}};
  }
  absl::Status AfterRun(train::SessionRunContext&,
                        const train::SessionRunValues& values) override {
    losses.push_back(values.results[0].scalar<float>());
    return absl::OkStatus();
  }

  std::vector<float> losses;
  std::vector<VariableFacts> variables;

 private:
  Output loss_;
};

// RemoveInitialCheckpoint deletes the files of the checkpoint from which the
// case starts, after its values were restored. The first save has the same
// prefix. If the old files still existed, it would choose other file names
// (ChooseDataFileCount).
class RemoveInitialCheckpoint : public train::CheckpointSaverListener {
 public:
  RemoveInitialCheckpoint(FileSystem& fs, std::string model_dir)
      : fs_(fs), model_dir_(std::move(model_dir)) {}

  absl::Status BeforeSave(Session&, int64_t) override {
    if (std::exchange(is_removed_, true)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const auto names, fs_.ListDirectory(model_dir_));
    for (const std::string& name : names) {
      if (!absl::StartsWith(name, "model.ckpt-0.")) continue;
      RETURN_IF_ERROR(fs_.DeleteFile(JoinPath(model_dir_, name)));
    }
    return absl::OkStatus();
  }

 private:
  FileSystem& fs_;
  const std::string model_dir_;
  bool is_removed_ = false;
};

// ---- Comparing ----

double LargestOf(absl::Span<const float> values) {
  double largest = 0;
  for (float value : values) {
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  return largest;
}

// Compares tensors. Floats may differ by the case's tolerance, relative to the
// largest value of the tensor. Other types must be equal.
class Comparer {
 public:
  explicit Comparer(const Json& test_case)
      : relative_(test_case.at("rtol").get<double>()),
        absolute_(test_case.at("atol").get<double>()) {}

  absl::Status Compare(absl::string_view what, const Tensor& got,
                       const Tensor& want) const {
    if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
      return Differs(absl::StrCat(what, " is ", got.ToString(3),
                                  ", but TensorFlow's ", want.ToString(3)));
    }
    if (got.dtype() == DT_FLOAT) {
      return CompareFloats(what, got.flat<float>(), want.flat<float>());
    }
    if (SameBits(got, want)) return absl::OkStatus();
    return Differs(absl::StrCat(what, " is ", got.ToString(), ", but ",
                                want.ToString(), " TensorFlow's"));
  }
  absl::Status CompareFloats(absl::string_view what,
                             absl::Span<const float> got,
                             absl::Span<const float> want) const {
    if (got.size() != want.size()) {
      return Differs(absl::StrCat(what, " has ", got.size(), " values, not ",
                                  want.size()));
    }
    const double bound = absolute_ + relative_ * LargestOf(want);
    for (size_t i = 0; i < got.size(); ++i) {
      const double apart = std::abs(static_cast<double>(got[i]) - want[i]);
      if (apart <= bound) continue;
      return Differs(absl::StrCat(what, "[", i, "] is ", got[i], ", but ",
                                  want[i], " TensorFlow's (bound ", bound,
                                  ")"));
    }
    return absl::OkStatus();
  }

 private:
  const double relative_;
  const double absolute_;
};

std::string Joined(const std::vector<std::string>& items) {
  return absl::StrJoin(items, "\n  ");
}

absl::Status CompareLists(absl::string_view what,
                          const std::vector<std::string>& got,
                          const std::vector<std::string>& want) {
  if (got == want) return absl::OkStatus();
  return Differs(absl::StrCat(what, " are\n  ", Joined(got),
                              "\nbut TensorFlow's\n  ", Joined(want)));
}

// ---- One run of a case ----

class Run {
 public:
  Run(FileSystem& fs, std::string directory, std::string model_dir,
      Process& process)
      : fs_(fs),
        directory_(std::move(directory)),
        model_dir_(std::move(model_dir)),
        process_(process) {}

  absl::Status All() {
    RETURN_IF_ERROR(Load());
    RETURN_IF_ERROR(Annotate(WriteInitialCheckpoint(), "initial checkpoint"));
    ASSIGN_OR_RETURN(const auto config, Config());
    ASSIGN_OR_RETURN(const auto columns,
                     MakeColumns(case_.at("columns"), directory_));
    ASSIGN_OR_RETURN(auto model,
                     MakeEstimator(case_.at("model"), columns, config));
    RETURN_IF_ERROR(Annotate(Train(model), "training"));
    RETURN_IF_ERROR(Annotate(Evaluate(model), "evaluation"));
    RETURN_IF_ERROR(Annotate(Predict(model), "prediction"));
    RETURN_IF_ERROR(CheckFiles());
    return CheckTags();
  }

 private:
  absl::Status Load() {
    ASSIGN_OR_RETURN(const std::string text,
                     fs_.ReadFile(JoinPath(directory_, "case.json")));
    case_ = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!case_.is_object()) return absl::DataLossError("case.json is not JSON");
    RETURN_IF_ERROR(CheckFields());
    ASSIGN_OR_RETURN(data_, ReadData(case_.at("data")));
    comparer_.emplace(case_);
    ASSIGN_OR_RETURN(const std::string bytes,
                     fs_.ReadFile(JoinPath(directory_, "tensors.pb")));
    ASSIGN_OR_RETURN(tensors_, ParseTensorPack(bytes));
    return absl::OkStatus();
  }
  // Returns an error if the case has a field that is never read, at the levels
  // that this class reads. Fields at deeper levels are checked when they are
  // read.
  absl::Status CheckFields() const {
    RETURN_IF_ERROR(CheckFieldsOf(
        case_, "the case",
        {"name", "checks", "kind", "tensorflow", "data", "columns", "model",
         "train_steps", "run_config", "tf_random_seed", "predict_rows", "rtol",
         "atol", "sensitivity", "variables", "initial", "expect"},
        {"cluster"}));
    for (const Json& variable : case_["variables"]) {
      RETURN_IF_ERROR(
          CheckFieldsOf(variable, "a variable",
                        {"graph", "checkpoint", "dtype", "shape", "trainable"},
                        {"full_shape", "offset", "device", "slot", "slot_of"}));
    }
    RETURN_IF_ERROR(CheckFieldsOf(case_["expect"], "expect",
                                  {"loss", "final", "metrics", "predictions",
                                   "files", "checkpoint_file", "tags"},
                                  {}));
    return CheckFieldsOf(case_["expect"]["tags"], "tags", {"train", "eval"},
                         {});
  }
  static absl::Status CheckFieldsOf(const Json& json, const char* what,
                                    const std::vector<const char*>& required,
                                    const std::vector<const char*>& optional) {
    Fields fields(json, what);
    for (const char* name : required) {
      RETURN_IF_ERROR(fields.GetObject(name).status());
    }
    for (const char* name : optional) fields.Skip(name);
    return fields.CheckAllTaken();
  }
  absl::StatusOr<Tensor> TensorOf(const Json& key) const {
    const auto found = tensors_.find(key.get<std::string>());
    if (found != tensors_.end()) return found->second;
    return absl::DataLossError(absl::StrCat("tensors.pb lacks ", key.dump()));
  }

  // Returns the variable that is the only slice of the tensor with this key, or
  // null if there are several slices or none.
  const Json* LoneSlice(const std::string& key) const {
    const Json* lone = nullptr;
    for (const Json& variable : case_.at("variables")) {
      if (variable.at("checkpoint") != key ||
          !variable.contains("full_shape")) {
        continue;
      }
      if (lone != nullptr) return nullptr;
      lone = &variable;
    }
    return lone;
  }
  static checkpoint::TensorSlice SliceOf(const Json& variable) {
    std::vector<checkpoint::TensorSlice::Extent> extents;
    const auto shape = variable.at("shape").get<std::vector<int64_t>>();
    const auto offset = variable.at("offset").get<std::vector<int64_t>>();
    for (size_t i = 0; i < shape.size(); ++i) {
      extents.push_back({offset[i], shape[i]});
    }
    return checkpoint::TensorSlice::Create(std::move(extents)).value();
  }

  // Returns Weft's checkpoint key for `variable`. It equals TensorFlow's key,
  // except for slots of partitioned variables: TensorFlow saves the slot of
  // each part as a tensor ("w/t_0/Adagrad"), while Weft saves slices of one
  // tensor ("w/Adagrad"; libs/train/optimizers/slot_keys.h).
  static std::string OurKey(const Json& variable) {
    std::string key = variable.at("checkpoint").get<std::string>();
    if (!variable.contains("slot") || !variable.contains("full_shape") ||
        variable.at("full_shape") == variable.at("shape")) {
      return key;
    }
    const size_t begin = key.rfind("/t_");
    if (begin == std::string::npos) return key;
    return key.erase(begin, key.find('/', begin + 1) - begin);
  }

  absl::Status WriteInitialCheckpoint() {
    RETURN_IF_ERROR(fs_.CreateDirectories(model_dir_));
    const auto random = NewSystemRandom();
    const std::string prefix = JoinPath(model_dir_, "model.ckpt-0");
    ASSIGN_OR_RETURN(auto writer,
                     checkpoint::BundleWriter::Create(fs_, prefix, *random));
    for (const auto& [key, tensor_key] : case_.at("initial").items()) {
      ASSIGN_OR_RETURN(const Tensor value, TensorOf(tensor_key));
      const Json* lone = LoneSlice(key);
      if (lone == nullptr) {
        RETURN_IF_ERROR(writer->Add(key, value));
      } else {
        const auto full = lone->at("full_shape").get<std::vector<int64_t>>();
        RETURN_IF_ERROR(writer->AddSlice(key,
                                         TensorShape(absl::MakeConstSpan(full)),
                                         SliceOf(*lone), value));
      }
    }
    RETURN_IF_ERROR(writer->Finish());
    checkpoint::CheckpointState state;
    state.model_checkpoint_path = prefix;
    return checkpoint::WriteCheckpointState(fs_, model_dir_, state,
                                            /*relative=*/true);
  }

  // Starts servers. Returns their addresses as {"JOB": ["host:port", ...]}.
  absl::StatusOr<Json> StartServers() {
    ClusterSpec spec;
    const auto jobs = case_["cluster"].get<std::map<std::string, int>>();
    for (const auto& [job, tasks] : jobs) {
      for (int i = 0; i < tasks; ++i) {
        RETURN_IF_ERROR(spec.AddTask(job, i, "localhost:0"));
      }
    }
    Json cluster;
    server_process_ = std::make_unique<Process>();
    for (const auto& [job, tasks] : jobs) {
      for (int i = 0; i < tasks; ++i) {
        ASSIGN_OR_RETURN(servers_.emplace_back(),
                         Server::Create(spec, {.job_name = job,
                                               .task_index = i,
                                               .process = server_process_.get(),
                                               .logger = &logger_}));
        cluster[job].push_back(servers_.back()->target().substr(6));
      }
    }
    return cluster;
  }

  absl::StatusOr<estimator::RunConfig> Config() {
    Fields fields(case_.at("run_config"), "run_config");
    estimator::RunConfig config;
    config.model_dir = model_dir_;
    config.tf_random_seed = case_.at("tf_random_seed").get<int64_t>();
    RETURN_IF_ERROR(
        fields.Take("save_summary_steps", config.save_summary_steps));
    RETURN_IF_ERROR(
        fields.Take("save_checkpoints_steps", config.save_checkpoints_steps));
    RETURN_IF_ERROR(
        fields.Take("save_checkpoints_secs", config.save_checkpoints_secs));
    RETURN_IF_ERROR(
        fields.Take("keep_checkpoint_max", config.keep_checkpoint_max));
    RETURN_IF_ERROR(fields.Take("keep_checkpoint_every_n_hours",
                                config.keep_checkpoint_every_n_hours));
    RETURN_IF_ERROR(
        fields.Take("log_step_count_steps", config.log_step_count_steps));
    RETURN_IF_ERROR(fields.CheckAllTaken());
    config.session_config.process = &process_;
    if (!case_.contains("cluster")) return config;
    ASSIGN_OR_RETURN(const Json cluster, StartServers());
    const Json tf_config = {{"cluster", cluster},
                            {"task", {{"type", "chief"}, {"index", 0}}}};
    return estimator::RunConfig::FromTfConfig(tf_config.dump(), config);
  }

  absl::StatusOr<estimator::InputFn> Input(const std::string& file,
                                           const Reading& reading) {
    return ReadInput(fs_, JoinPath(directory_, file), data_, reading);
  }

  absl::Status Train(estimator::Estimator& model) {
    ASSIGN_OR_RETURN(
        const auto input,
        Input(data_.train, {.batch_size = data_.train_batch, .repeat = true}));
    const auto watch = std::make_shared<Watch>();
    RETURN_IF_ERROR(model.Train(
        input, {.hooks = {watch},
                .steps = case_.at("train_steps").get<int64_t>(),
                .saving_listeners = {std::make_shared<RemoveInitialCheckpoint>(
                    fs_, model_dir_)}}));
    RETURN_IF_ERROR(CheckVariables(watch->variables));
    ASSIGN_OR_RETURN(const Tensor loss, TensorOf(case_["expect"]["loss"]));
    RETURN_IF_ERROR(
        comparer_->CompareFloats("loss", watch->losses, loss.flat<float>()));
    return CheckFinal(model);
  }

  static std::string ToString(const VariableFacts& facts) {
    return absl::StrCat(facts.graph, " (", facts.checkpoint, ") ",
                        DataTypeName(facts.dtype), facts.shape.ToString(),
                        facts.trainable ? " trainable" : "",
                        facts.device.empty() ? "" : " ", facts.device);
  }
  absl::Status CheckVariables(const std::vector<VariableFacts>& got) const {
    std::vector<std::string> ours, theirs;
    for (VariableFacts facts : got) {
      if (!case_.contains("cluster")) facts.device.clear();
      ours.push_back(ToString(facts));
    }
    for (const Json& json : case_.at("variables")) {
      VariableFacts facts;
      facts.graph = json.at("graph").get<std::string>();
      facts.checkpoint = OurKey(json);
      facts.device = json.value("device", std::string());
      ASSIGN_OR_RETURN(facts.dtype,
                       DtypeOf(json.at("dtype").get<std::string>()));
      const auto shape = json.at("shape").get<std::vector<int64_t>>();
      facts.shape = TensorShape(absl::MakeConstSpan(shape));
      facts.trainable = json.at("trainable").get<bool>();
      theirs.push_back(ToString(facts));
    }
    return CompareLists("variables", ours, theirs);
  }

  absl::Status CheckFinal(estimator::Estimator& model) {
    ASSIGN_OR_RETURN(const auto latest, model.LatestCheckpoint());
    if (!latest) return Differs("there is no checkpoint");
    ASSIGN_OR_RETURN(auto reader, checkpoint::BundleReader::Open(fs_, *latest));
    const Json& final = case_["expect"]["final"];
    std::vector<std::string> keys;
    for (const auto& [key, tensor_key] : final.items()) {
      ASSIGN_OR_RETURN(const Tensor want, TensorOf(tensor_key));
      const Json* lone = LoneSlice(key);
      const std::string ours = lone == nullptr ? key : OurKey(*lone);
      if (!absl::c_linear_search(keys, ours)) keys.push_back(ours);
      const auto got = lone == nullptr ? reader->Read(ours, HeapAllocator())
                                       : reader->ReadSlice(ours, SliceOf(*lone),
                                                           HeapAllocator());
      RETURN_IF_ERROR(got.status());
      RETURN_IF_ERROR(comparer_->Compare(key, *got, want));
    }
    ASSIGN_OR_RETURN(const auto names, model.GetVariableNames());
    return CompareLists("keys of the checkpoint", names, keys);
  }

  absl::Status Evaluate(estimator::Estimator& model) {
    ASSIGN_OR_RETURN(const auto input,
                     Input(data_.eval, {.batch_size = data_.eval_batch}));
    ASSIGN_OR_RETURN(const auto metrics, model.Evaluate(input));
    std::vector<std::string> ours, theirs;
    for (const auto& [name, value] : metrics) ours.push_back(name);
    const Json& expected = case_["expect"]["metrics"];
    for (const auto& [name, value] : expected.items()) theirs.push_back(name);
    RETURN_IF_ERROR(CompareLists("metrics", ours, theirs));
    for (const auto& [name, value] : metrics) {
      RETURN_IF_ERROR(CompareMetric(name, value, expected[name]));
    }
    return absl::OkStatus();
  }
  absl::Status CompareMetric(const std::string& name, const Tensor& value,
                             const Json& expected) const {
    if (value.dtype() == DT_INT64) {
      if (value.scalar<int64_t>() == expected.get<int64_t>()) {
        return absl::OkStatus();
      }
      return Differs(absl::StrCat(name, " is ", value.ToString()));
    }
    // A metric at several thresholds is a list of numbers.
    std::vector<float> wanted(1);
    if (!Convert(expected, wanted[0]) && !Convert(expected, wanted)) {
      return Differs(absl::StrCat(name, " should be ", expected.dump()));
    }
    return comparer_->CompareFloats(name, value.flat<float>(), wanted);
  }

  absl::Status Predict(estimator::Estimator& model) {
    const auto rows = case_.at("predict_rows").get<int64_t>();
    ASSIGN_OR_RETURN(const auto input, Input(data_.eval, {.batch_size = rows}));
    ASSIGN_OR_RETURN(auto stream, model.Predict(input));
    std::vector<estimator::Prediction> predictions;
    while (static_cast<int64_t>(predictions.size()) < rows) {
      ASSIGN_OR_RETURN(auto next, stream->Next());
      if (!next) return Differs("predictions end too soon");
      predictions.push_back(*std::move(next));
    }
    const Json& expected = case_["expect"]["predictions"];
    std::vector<std::string> ours, theirs;
    for (const auto& [name, value] : predictions[0]) ours.push_back(name);
    for (const auto& [name, key] : expected.items()) theirs.push_back(name);
    RETURN_IF_ERROR(CompareLists("predictions", ours, theirs));
    for (const auto& [name, key] : expected.items()) {
      ASSIGN_OR_RETURN(const Tensor want, TensorOf(key));
      for (int64_t i = 0; i < rows; ++i) {
        RETURN_IF_ERROR(CompareRow(name, predictions[i].at(name), want, i));
      }
    }
    return absl::OkStatus();
  }
  absl::Status CompareRow(const std::string& name, const Tensor& got,
                          const Tensor& all, int64_t row) const {
    ASSIGN_OR_RETURN(const Tensor slice,
                     all.SliceRows(row, row + 1, HeapAllocator()));
    TensorShape shape = all.shape();
    shape.RemoveDim(0);
    ASSIGN_OR_RETURN(const Tensor want, slice.Reshaped(shape));
    return comparer_->Compare(absl::StrCat(name, " of row ", row), got, want);
  }

  // Removes the end of an event file's name, which contains the time and the
  // host.
  static std::string WithoutTime(const std::string& path) {
    const size_t events = path.find("tfevents.");
    return events == std::string::npos ? path
                                       : path.substr(0, events) + "tfevents.*";
  }
  // Adds the files below the model's directory to `files`.
  absl::Status ListFiles(const std::string& below,
                         std::set<std::string>& files) const {
    ASSIGN_OR_RETURN(const auto names,
                     fs_.ListDirectory(JoinPath(model_dir_, below)));
    for (const std::string& name : names) {
      const std::string path = below.empty() ? name : JoinPath(below, name);
      ASSIGN_OR_RETURN(const bool is_directory,
                       fs_.IsDirectory(JoinPath(model_dir_, path)));
      if (is_directory) {
        RETURN_IF_ERROR(ListFiles(path, files));
      } else {
        files.insert(WithoutTime(path));
      }
    }
    return absl::OkStatus();
  }
  absl::Status CheckFiles() const {
    std::set<std::string> files;
    RETURN_IF_ERROR(ListFiles("", files));
    RETURN_IF_ERROR(
        CompareLists("files", {files.begin(), files.end()},
                     case_["expect"]["files"].get<std::vector<std::string>>()));
    ASSIGN_OR_RETURN(const std::string text,
                     fs_.ReadFile(JoinPath(model_dir_, "checkpoint")));
    std::vector<std::string> lines;
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      if (line.empty() || absl::StrContains(line, "timestamp")) continue;
      lines.emplace_back(line);
    }
    return CompareLists(
        "lines of `checkpoint`", lines,
        case_["expect"]["checkpoint_file"].get<std::vector<std::string>>());
  }

  static std::string KindOf(const summary::SummaryValue& value) {
    if (std::holds_alternative<float>(value.value)) return "simple_value";
    if (std::holds_alternative<Tensor>(value.value)) return "tensor";
    if (std::holds_alternative<summary::HistogramValue>(value.value)) {
      return "histo";
    }
    return "other";
  }
  absl::StatusOr<std::vector<std::string>> TagsIn(
      const std::string& directory) const {
    std::set<std::string> tags;
    ASSIGN_OR_RETURN(const auto names, fs_.ListDirectory(directory));
    for (const std::string& name : names) {
      if (!absl::StrContains(name, "tfevents")) continue;
      ASSIGN_OR_RETURN(auto reader, summary::EventsReader::Open(
                                        fs_, JoinPath(directory, name)));
      while (true) {
        const auto event = reader->Next();
        if (absl::IsOutOfRange(event.status())) break;
        RETURN_IF_ERROR(event.status());
        const auto* summary = event->As<summary::Summary>();
        if (summary == nullptr) continue;
        for (const auto& value : summary->value) {
          // Skips the summary of how full Weft's input queue is, because
          // TensorFlow used a Dataset.
          if (absl::StartsWith(value.tag, "tensor_input/")) continue;
          tags.insert(absl::StrCat(value.tag, ": ", KindOf(value)));
        }
      }
    }
    return std::vector<std::string>(tags.begin(), tags.end());
  }
  absl::Status CheckTags() const {
    for (const char* where : {"train", "eval"}) {
      const bool is_eval = absl::string_view(where) == "eval";
      ASSIGN_OR_RETURN(
          const auto ours,
          TagsIn(is_eval ? JoinPath(model_dir_, "eval") : model_dir_));
      std::set<std::string> theirs;
      for (const auto& [tag, kind] : case_["expect"]["tags"][where].items()) {
        theirs.insert(absl::StrCat(tag, ": ", kind.get<std::string>()));
      }
      RETURN_IF_ERROR(CompareLists(absl::StrCat("tags of ", where), ours,
                                   {theirs.begin(), theirs.end()}));
    }
    return absl::OkStatus();
  }

  FileSystem& fs_;
  const std::string directory_;
  const std::string model_dir_;
  Process& process_;
  NullLogger logger_;
  Json case_;
  DataSpec data_;
  TensorPack tensors_;
  std::optional<Comparer> comparer_;
  // Used if the case has a cluster. Clients connect to its servers over
  // sockets.
  std::unique_ptr<Process> server_process_;
  std::vector<std::unique_ptr<Server>> servers_;
};

}  // namespace

absl::Status CheckEstimator(FileSystem& fs, const std::string& directory,
                            const std::string& scratch, Process& process) {
  const absl::Status status = Run(fs, directory, scratch, process).All();
  fs.DeleteRecursively(scratch).IgnoreError();
  return status;
}

}  // namespace weft::conformance
