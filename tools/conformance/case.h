// Case is one conformance case, parsed from its case.json. README.md describes
// the format. Only case.cc includes JSON.
//
// Value types, not thread-safe.
#ifndef WEFT_TOOLS_CONFORMANCE_CASE_H_
#define WEFT_TOOLS_CONFORMANCE_CASE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/fs/file_system.h"
#include "tools/conformance/comparison.h"

namespace weft::conformance {

struct SessionSpec {
  std::string graph;  // name of a file in the case's directory
  // The task to which the session connects. If empty, the session is in
  // process, or uses the target given to the runner.
  std::string task;
  bool allow_soft_placement = false;
  bool log_device_placement = false;
  absl::Duration operation_timeout = absl::InfiniteDuration();
};

struct ExpectedError {
  std::string code;      // for example "INVALID_ARGUMENT"
  std::string contains;  // part of the error text; empty: any text
};

// Names of tensors, with the keys of their values in tensors.pb, in file order.
using KeyedFeeds = std::vector<std::pair<std::string, std::string>>;

struct PathFeed {
  std::string tensor;
  std::vector<std::string> paths;
  bool is_vector = false;
};

struct Step {
  std::string action = "run";
  std::string name;
  std::string session = "main";
  // Fields of the action run:
  KeyedFeeds feeds, repeat_feeds;
  std::vector<PathFeed> path_feeds;
  std::vector<std::string> fetches, targets;
  absl::Duration timeout = absl::InfiniteDuration();
  std::string background;
  // Fields of the actions run and join:
  std::vector<std::string> expect;
  std::optional<ExpectedError> expect_error;
  Comparison compare;
  std::map<std::string, std::string> expect_files;
  std::optional<std::map<std::string, std::string>> expect_placement;
  std::optional<std::vector<std::string>> expect_log_lines;
  // Fields of other actions:
  std::string graph;     // a file; action extend
  std::string join;      // name of a background step; action join
  absl::Duration pause;  // action sleep
  std::string task;      // action reset
  std::vector<std::string> containers;  // action reset
};

// An entry of the list `gradients`.
struct GradientSpec {
  std::vector<std::string> ys, xs, grad_ys;
  KeyedFeeds feeds;
  // keys of the expected values; nullopt: no gradient
  std::vector<std::optional<std::string>> expect;
};

// An entry of the list `history`: the expected result of a save with this
// global step.
struct SaveSpec {
  int64_t global_step = 0;
  std::vector<std::string> files;  // names in sorted order
  // The lines of the file `checkpoint` without timestamps. "@tmp" stands for
  // the directory.
  std::vector<std::string> checkpoint_lines;
  // relative to the directory
  std::vector<std::string> all_model_checkpoint_paths;
};

struct Case {
  std::string directory;
  std::string name;  // for example "ops/Abs"
  std::string kind;  // empty: the case consists of steps only
  // number of tasks by job; empty: needs no cluster
  std::map<std::string, int> cluster;
  std::map<std::string, SessionSpec> sessions;
  std::vector<Step> steps;
  std::vector<GradientSpec> gradients;
  std::vector<SaveSpec> history;
  int max_to_keep = 0;
  Tolerance tolerance;

  // Returns the names of all GraphDef files, without duplicates.
  std::vector<std::string> GraphFiles() const;
};

// Returns the directories at or below `directory` that contain a case.json,
// sorted by name.
absl::StatusOr<std::vector<std::string>> FindCases(FileSystem& fs,
                                                   absl::string_view directory);

// Parses a case. Returns INVALID_ARGUMENT for unknown fields in case.json, so
// that no part of a case is ignored.
absl::StatusOr<Case> LoadCase(FileSystem& fs, absl::string_view directory);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_CASE_H_
