#include "tools/conformance/saver_check.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "libs/ops/state/variable.h"
#include "libs/session/session.h"
#include "libs/train/saving/saver.h"

namespace weft::conformance {
namespace {

using Lines = std::vector<std::string>;

constexpr char kPrefix[] = "model.ckpt";

absl::Status Same(absl::string_view what, const Lines& found,
                  const Lines& expected) {
  if (found == expected) return absl::OkStatus();
  return absl::UnknownError(absl::StrCat(
      what, ": [", absl::StrJoin(found, ", "), "], but TensorFlow has [",
      absl::StrJoin(expected, ", "), "]"));
}

// Returns the lines of the checkpoint state. Omits timestamps, which cases do
// not contain.
absl::StatusOr<Lines> StateLines(FileSystem& fs, const std::string& directory) {
  ASSIGN_OR_RETURN(const std::string text,
                   fs.ReadFile(JoinPath(directory, "checkpoint")));
  Lines lines = absl::StrSplit(absl::StrReplaceAll(text, {{directory, "@tmp"}}),
                               '\n', absl::SkipEmpty());
  std::erase_if(lines, [](const std::string& line) {
    return absl::StartsWith(line, "all_model_checkpoint_timestamps:");
  });
  return lines;
}

absl::Status CheckKept(const train::Saver& saver, const SaveSpec& save,
                       const std::string& directory) {
  Lines expected;
  for (const std::string& path : save.all_model_checkpoint_paths) {
    expected.push_back(JoinPath(directory, path));
  }
  return Same("checkpoints that are kept", saver.LastCheckpoints(), expected);
}

absl::Status PlaySave(const SaveSpec& save, const std::string& directory,
                      FileSystem& fs, train::Saver& saver, Session& session) {
  const std::string meta =
      absl::StrCat(kPrefix, "-", save.global_step, ".meta");
  train::SaveOptions options;
  options.global_step = save.global_step;
  options.write_meta_graph =
      std::find(save.files.begin(), save.files.end(), meta) != save.files.end();
  RETURN_IF_ERROR(
      saver.Save(session, JoinPath(directory, kPrefix), options).status());
  ASSIGN_OR_RETURN(const Lines files, fs.ListDirectory(directory));
  RETURN_IF_ERROR(Same("files", files, save.files));
  ASSIGN_OR_RETURN(const Lines lines, StateLines(fs, directory));
  RETURN_IF_ERROR(Same("state", lines, save.checkpoint_lines));
  return CheckKept(saver, save, directory);
}

}  // namespace

absl::Status CheckSaver(const Case& test_case, const std::string& directory,
                        FileSystem& fs, SessionFactory& factory) {
  if (test_case.history.empty()) {
    return absl::UnknownError("case.json has no history of saves");
  }
  const Scope scope = Scope::Root();
  const ops::Variable variable(scope.WithName("v"),
                               Tensor::Vector<float>({1, 2}));
  train::SaverOptions options;
  options.max_to_keep = test_case.max_to_keep;
  options.file_system = &fs;
  train::Saver saver(scope, options);
  const Operation init = ops::GlobalVariablesInitializer(scope);
  ASSIGN_OR_RETURN(const auto session, factory.Connect(scope));
  RETURN_IF_ERROR(session->Run(init));
  for (const SaveSpec& save : test_case.history) {
    RETURN_IF_ERROR(
        Annotate(PlaySave(save, directory, fs, saver, *session),
                 absl::StrCat("after the save of step ", save.global_step)));
  }
  return absl::OkStatus();
}

}  // namespace weft::conformance
