// Invocation is the parsed command line of `weft`: a command, its arguments and
// flags.
//
// A value type, not thread-safe. INVALID_ARGUMENT explains invalid calls.
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
  std::string command;                 // "status"; "help" where help is wanted
  std::vector<std::string> arguments;  // not flags
  // --target, or the environment's; may be empty.
  std::string target;
  bool target_given = false;  // by the flag
  absl::Duration timeout = absl::Seconds(5);
  bool timeout_given = false;
  Format format = Format::kTable;
  bool yes = false;
  bool all = false;
  std::string container;
  // Nodes by name, or "all".
  std::vector<std::string> explain;
  std::vector<std::string> devices;
  // top: time between two polls, and whether to print one view only.
  absl::Duration interval = absl::Seconds(1);
  bool once = false;
  // graph stats: statistics of a step that needs these; empty: of the whole
  // graph.
  bool stats = false;
  std::vector<std::string> wanted;
  bool allow_soft_placement = false;
  // graph, predict: ignores device requests in the file.
  bool clear_devices = false;
  // graph show: nodes whose names match an RE2 regular expression, and whose op
  // is one of these; empty: all.
  std::string name_pattern;
  std::vector<std::string> ops;
  // graph run: tensors by name with their values as JSON, and what to run.
  bool run = false;
  std::vector<std::pair<std::string, std::string>> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> inits;
  // checkpoint: ls, show, verify, diff or convert. `arguments` are its paths,
  // for show followed by the tensor's name.
  std::string checkpoint_verb;
  std::string slice;    // show: "0,5:-"; empty: all
  int64_t limit = 100;  // show: so many elements
  double atol = 0;      // diff
  double rtol = 0;
  bool merge = false;                // convert: no tensor stays in slices
  std::vector<std::string> parts;    // convert: "NAME=AXIS:COUNT"
  std::vector<std::string> renames;  // convert: "OLD=NEW"
  std::string tag;                   // trace: of an event file; empty: the last
  // predict: path of the model; a signature and tags of a graph, by default the
  // serving ones, or the only graph. The request is in a file, or "-", standard
  // input.
  std::string model;
  std::string signature;
  std::vector<std::string> tags;
  bool tags_given = false;  // perhaps none
  std::string request_file;
};

// Surroundings provides the defaults of a call.
struct Surroundings {
  std::string target;        // the environment variable WEFT_TARGET
  bool is_terminal = false;  // where the output goes
};

// `arguments` excludes the program's name. Flags may be anywhere, as --name,
// --name=value or --name value; after "--" there are none.
absl::StatusOr<Invocation> ParseInvocation(
    const std::vector<std::string>& arguments,
    const Surroundings& surroundings);

// Usage text: commands and flags.
std::string Usage();

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_INVOCATION_H_
