// Invocation: what a user called the `weft` command with: a command, its
// arguments and flags.
//
// A value, not synchronised. INVALID_ARGUMENT says what is wrong with a call.
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
  std::vector<std::string> arguments;  // what is no flag
  // --target, or else the environment's; may be empty.
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
  // top: how long between two looks, and whether one view is enough.
  absl::Duration interval = absl::Seconds(1);
  bool once = false;
  // graph stats: of a step that wants these; empty: of the whole graph.
  bool stats = false;
  std::vector<std::string> wanted;
  bool allow_soft_placement = false;
  // graph, predict: as if the nodes of the file asked for no devices.
  bool clear_devices = false;
  // graph show: nodes with this in their names, a regular expression of RE2's,
  // and of these ops; empty: all.
  std::string name_pattern;
  std::vector<std::string> ops;
  // graph run: tensors by name with their values as JSON, and what to run.
  bool run = false;
  std::vector<std::pair<std::string, std::string>> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> inits;
  // checkpoint: ls, show, verify, diff or convert. Its paths are `arguments`,
  // and of show the tensor's name.
  std::string checkpoint_verb;
  std::string slice;    // show: "0,5:-"; empty: all
  int64_t limit = 100;  // show: so many elements
  double atol = 0;      // diff
  double rtol = 0;
  bool merge = false;                // convert: no tensor stays in slices
  std::vector<std::string> parts;    // convert: "NAME=AXIS:COUNT"
  std::vector<std::string> renames;  // convert: "OLD=NEW"
  std::string tag;                   // trace: of an event file; empty: the last
  // predict: where the model lies; a function of it and a graph of it, or else
  // those that serve, or its only graph. The request is in a file, or "-",
  // standard input.
  std::string model;
  std::string signature;
  std::vector<std::string> tags;
  bool tags_given = false;  // perhaps none
  std::string request_file;
};

// What a call means if it does not say otherwise.
struct Surroundings {
  std::string target;        // the environment variable WEFT_TARGET
  bool is_terminal = false;  // where the output goes
};

// `arguments` without the program's name. Flags may stand anywhere, as --name,
// --name=value or --name value; after "--" there are none.
absl::StatusOr<Invocation> ParseInvocation(
    const std::vector<std::string>& arguments,
    const Surroundings& surroundings);

// For people: commands and flags.
std::string Usage();

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_INVOCATION_H_
