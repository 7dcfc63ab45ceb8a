// Invocation is the parsed command line of `weft`: a command, its arguments and
// its flags.
//
// A value type, not thread-safe. INVALID_ARGUMENT explains invalid command
// lines.
#ifndef WEFT_TOOLS_CLI_INVOCATION_H_
#define WEFT_TOOLS_CLI_INVOCATION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace weft::tools {

enum class Format { kTable, kJson };

struct Invocation {
  std::string command;  // for example "status"; "help" if help was requested
  std::vector<std::string> arguments;  // without flags
  // The value of --target, or of WEFT_TARGET. May be empty.
  std::string target;
  bool target_given = false;  // whether the flag --target was given
  absl::Duration timeout = absl::Seconds(5);
  bool timeout_given = false;
  Format format = Format::kTable;
  bool yes = false;
  bool all = false;
  std::string container;
  // graph explain: names of nodes, or "all".
  std::vector<std::string> explain;
  std::vector<std::string> devices;
  // top: the time between two polls, and whether to print only one view.
  absl::Duration interval = absl::Seconds(1);
  bool once = false;
  // graph stats: tensors or nodes of the step to count. Empty means the whole
  // graph.
  bool stats = false;
  std::vector<std::string> wanted;
  bool allow_soft_placement = false;
  // graph, predict: ignores device requests in the file.
  bool clear_devices = false;
  // graph show: a regular expression (RE2) for names of nodes, and the ops to
  // show. If empty, all names or ops match.
  std::string name_pattern;
  std::vector<std::string> ops;
  // graph run: tensors by name with their values as JSON, and the nodes to run.
  bool run = false;
  std::vector<std::pair<std::string, std::string>> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> inits;
  // checkpoint: ls, show, verify, diff or convert. `arguments` contains the
  // paths and, for show, the name of a tensor after the path.
  std::string checkpoint_verb;
  std::string slice;    // show: for example "0,5:-"; empty: all
  int64_t limit = 100;  // show: number of elements to print
  double atol = 0;      // diff: absolute tolerance
  double rtol = 0;
  bool merge = false;              // convert: merges slices into whole tensors
  std::vector<std::string> parts;  // convert: "NAME=AXIS:COUNT"
  std::vector<std::string> renames;  // convert: "OLD=NEW"
  std::string tag;  // trace: tag of a run in an event file; empty: the last run
  // predict: path of the model, its signature, and the tags of its graph. By
  // default the signature is "serving_default", and the graph is the one for
  // serving or the only one. The request is in a file, or in standard input for
  // "-".
  std::string model;
  std::string signature;
  std::vector<std::string> tags;
  bool tags_given = false;  // whether --tags was given, possibly without tags
  std::string request_file;
};

// Surroundings provides defaults that depend on the environment of the program.
struct Surroundings {
  std::string target;        // value of the environment variable WEFT_TARGET
  bool is_terminal = false;  // whether the output is a terminal
};

// Parses a command line. `arguments` excludes the program's name. Flags may be
// anywhere, as --name, --name=value or --name value. After "--", all words are
// arguments.
absl::StatusOr<Invocation> ParseInvocation(
    const std::vector<std::string>& arguments,
    const Surroundings& surroundings);

// Returns the usage text with all commands and flags.
std::string Usage();

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_INVOCATION_H_
