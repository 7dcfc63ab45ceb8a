#include "tools/cli/invocation.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "libs/base/near_names.h"
#include "libs/base/status.h"

namespace weft::tools {
namespace {

constexpr char kUsage[] =
    R"(weft looks at clusters, and at what Weft leaves behind.

  weft status                     tasks: who is there, with what
  weft devices                    devices of the tasks that are there
  weft variables                  variables, where they live, their sizes;
                                  also declared ones that have no value yet
  weft containers                 containers, and how much is in them
  weft reset [CONTAINER...]       clears containers on all devices and ends the
                                  sessions of the target; without a name: each
                                  device's default one
  weft shutdown                   stops all tasks
  weft top HOST:PORT...           what tasks do now, by their --metrics_port
  weft graph show FILE            the nodes of a GraphDef or MetaGraphDef,
                                  serialised or as text
  weft graph run FILE --fetch=TENSOR
                                  runs a part of it, here or on a cluster
  weft graph explain FILE [NODE...]
                                  where its nodes would go, and why
  weft graph stats FILE [TENSOR...]
                                  its nodes by op and device, before and after
                                  the passes of a session
  weft checkpoint ls PATH         the checkpoints of a directory, or the tensors
                                  of one, by its prefix
  weft checkpoint show PATH TENSOR
                                  a tensor's values, and what they are like
  weft checkpoint verify PATH     reads all of it and checks every checksum
  weft checkpoint diff PATH PATH  what differs, tensor by tensor
  weft checkpoint convert PATH NEW
                                  the same in other parts or by other names
  weft saved_model show DIR       a SavedModel's tags, signatures, inputs and
                                  outputs, and the features of Examples that
                                  it parses
  weft predict --model=DIR --json=FILE
                                  what a SavedModel answers to a request
  weft events FILE                what an event file shows TensorBoard
  weft trace FILE                 what ran when in a step, as JSON for
                                  chrome://tracing and ui.perfetto.dev: of a
                                  serialised RunMetadata, or of an event file
                                  that a ProfilerHook wrote
  weft wire FILE                  a capture (docs/operations/wire_capture.md)

Of a cluster:
  --target=zmq://host:port  any of its tasks; or set WEFT_TARGET
  --timeout=5s              how long to wait for an answer
  --json, --table           else: a table on a terminal, JSON elsewhere
  --container=NAME          variables: of this container
  --all                     reset: all containers
  --yes                     reset, shutdown: do not ask; without a terminal
                            nobody is asked

top:
  --interval=1s             how long between two looks
  --once                    one view, of one interval
  --timeout=5s              how long to wait for a task

graph show:
  --name=REGEXP             nodes with this in their names
  --op=NAME,...             nodes of these ops

graph run:
  --feed=NAME=VALUE         a tensor's value as JSON: --feed=x=1.5,
                            --feed='x=[[1, 2]]', --feed='s="text"'
  --fetch=NAME,...          tensors to show; nodes without outputs are run
  --init=NAME,...           nodes to run before, one after another
  --target=zmq://host:port  else in this process, whatever WEFT_TARGET says
  --timeout=5s              of each step; else none

Of a checkpoint. PATH is the prefix of a checkpoint of TensorFlow's format V2
(PATH.index), or a file of format V1, or a quoted pattern that all files of one
match ('m-?????-of-00002'). A directory stands for its newest checkpoint;
zmq://, s3:// and gs:// work too. `convert` writes format V2.
  --slice=SPEC              show: a part, START,LENGTH:... with - for all
  --limit=100               show: so many elements
  --atol=0, --rtol=0        diff: elements may differ by atol + rtol * |b|
  --parts=NAME=AXIS:COUNT   convert: cut a tensor as a partitioner would; may be
                            given several times, as --rename
  --merge                   convert: no tensor stays in slices
  --rename=OLD=NEW          convert: a tensor's name

predict (DIR: a SavedModel, or exports, of which the newest; s3:// and gs:// too):
  --json=FILE, --json=-     {"instances": [...]}, {"inputs": {...}} or
                            {"examples": [...]}, as TensorFlow Serving takes it
  --signature=NAME          else "serving_default", or what the request says
  --tag_set=TAG,...         selects the graph with exactly these tags; if empty,
                            the graph without tags. Without the flag: the only
                            graph, or else the one with the tag "serve"
  --clear_devices           ignores the devices that its nodes ask for
  --timeout=5s              of the step; else none

Of a trace:
  --tag=step_100            of an event file: this run, else the last

Of a graph:
  --explain=NODE, --explain=all  the same as `graph explain`
  --devices=NAME,...             instead of a cluster's: full names
  --allow_soft_placement         as in a session
  --clear_devices                ignores the devices that its nodes ask for
)";

struct Flag {
  absl::string_view name;
  bool takes_value = false;
  // commands that accept the flag, each surrounded by blanks
  absl::string_view commands;
  // For the commands graph and checkpoint, the verb that accepts the flag.
  // Empty means all verbs.
  absl::string_view verb;
  // Sets the value. Returns INVALID_ARGUMENT if it is invalid.
  absl::Status (*set)(const std::string& value, Invocation& invocation);
};

constexpr absl::string_view kOfClusters =
    " status devices variables containers reset shutdown graph ";
constexpr absl::string_view kThatWait =
    " status devices variables containers reset shutdown graph top predict ";
constexpr absl::string_view kOfOutput =
    " status devices variables containers reset shutdown graph checkpoint "
    "events top saved_model ";
constexpr absl::string_view kCommands =
    " status devices variables containers reset shutdown graph checkpoint "
    "saved_model predict events trace top wire help ";

void AppendList(const std::string& value, std::vector<std::string>& list) {
  for (const auto& part : absl::StrSplit(value, ',', absl::SkipEmpty())) {
    list.emplace_back(part);
  }
}

absl::Status SetDuration(absl::string_view flag, const std::string& value,
                         absl::Duration& duration) {
  absl::Duration parsed;
  if (!absl::ParseDuration(value, &parsed) || parsed <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        flag, "=", value, " is not a duration; write 5s, 500ms or 2m"));
  }
  duration = parsed;
  return absl::OkStatus();
}

absl::Status SetTimeout(const std::string& value, Invocation& invocation) {
  invocation.timeout_given = true;
  return SetDuration("--timeout", value, invocation.timeout);
}

absl::Status SetTolerance(absl::string_view flag, const std::string& value,
                          double& tolerance) {
  if (absl::SimpleAtod(value, &tolerance) && tolerance >= 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(flag, "=", value, " is not a tolerance; write 1e-6"));
}

// The text is split at the first "=", because tensor names contain no "=".
absl::Status AddFeed(const std::string& value, Invocation& invocation) {
  const size_t equals = value.find('=');
  if (equals == std::string::npos || equals == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--feed=", value, " feeds nothing; write --feed=NAME=VALUE"));
  }
  invocation.feeds.emplace_back(value.substr(0, equals),
                                value.substr(equals + 1));
  return absl::OkStatus();
}

const Flag kFlags[] = {
    {"target", true, kOfClusters, "",
     [](const std::string& value, Invocation& invocation) {
       invocation.target = value;
       invocation.target_given = true;
       return absl::OkStatus();
     }},
    {"timeout", true, kThatWait, "", SetTimeout},
    {"interval", true, " top ", "",
     [](const std::string& value, Invocation& invocation) {
       return SetDuration("--interval", value, invocation.interval);
     }},
    {"once", false, " top ", "",
     [](const std::string&, Invocation& invocation) {
       invocation.once = true;
       return absl::OkStatus();
     }},
    {"json", false, kOfOutput, "",
     [](const std::string&, Invocation& invocation) {
       invocation.format = Format::kJson;
       return absl::OkStatus();
     }},
    {"table", false, kOfOutput, "",
     [](const std::string&, Invocation& invocation) {
       invocation.format = Format::kTable;
       return absl::OkStatus();
     }},
    {"json", true, " predict ", "",
     [](const std::string& value, Invocation& invocation) {
       invocation.request_file = value;
       return absl::OkStatus();
     }},
    {"model", true, " predict ", "",
     [](const std::string& value, Invocation& invocation) {
       invocation.model = value;
       return absl::OkStatus();
     }},
    {"signature", true, " predict ", "",
     [](const std::string& value, Invocation& invocation) {
       invocation.signature = value;
       return absl::OkStatus();
     }},
    {"tag_set", true, " predict ", "",
     [](const std::string& value, Invocation& invocation) {
       AppendList(value, invocation.tags);
       invocation.tags_given = true;
       return absl::OkStatus();
     }},
    {"container", true, " variables ", "",
     [](const std::string& value, Invocation& invocation) {
       invocation.container = value;
       return absl::OkStatus();
     }},
    {"all", false, " reset ", "",
     [](const std::string&, Invocation& invocation) {
       invocation.all = true;
       return absl::OkStatus();
     }},
    {"yes", false, " reset shutdown ", "",
     [](const std::string&, Invocation& invocation) {
       invocation.yes = true;
       return absl::OkStatus();
     }},
    {"explain", true, " graph ", "",
     [](const std::string& value, Invocation& invocation) {
       AppendList(value, invocation.explain);
       return absl::OkStatus();
     }},
    {"devices", true, " graph ", "",
     [](const std::string& value, Invocation& invocation) {
       AppendList(value, invocation.devices);
       return absl::OkStatus();
     }},
    {"allow_soft_placement", false, " graph ", "",
     [](const std::string&, Invocation& invocation) {
       invocation.allow_soft_placement = true;
       return absl::OkStatus();
     }},
    {"clear_devices", false, " graph predict ", "",
     [](const std::string&, Invocation& invocation) {
       invocation.clear_devices = true;
       return absl::OkStatus();
     }},
    {"name", true, " graph ", "show",
     [](const std::string& value, Invocation& invocation) {
       invocation.name_pattern = value;
       return absl::OkStatus();
     }},
    {"op", true, " graph ", "show",
     [](const std::string& value, Invocation& invocation) {
       AppendList(value, invocation.ops);
       return absl::OkStatus();
     }},
    {"slice", true, " checkpoint ", "show",
     [](const std::string& value, Invocation& invocation) {
       invocation.slice = value;
       return absl::OkStatus();
     }},
    {"limit", true, " checkpoint ", "show",
     [](const std::string& value, Invocation& invocation) {
       if (absl::SimpleAtoi(value, &invocation.limit) &&
           invocation.limit >= 0) {
         return absl::OkStatus();
       }
       return absl::InvalidArgumentError(
           absl::StrCat("--limit=", value, " is not a number of elements"));
     }},
    {"tag", true, " trace ", "",
     [](const std::string& value, Invocation& invocation) {
       invocation.tag = value;
       return absl::OkStatus();
     }},
    {"atol", true, " checkpoint ", "diff",
     [](const std::string& value, Invocation& invocation) {
       return SetTolerance("--atol", value, invocation.atol);
     }},
    {"rtol", true, " checkpoint ", "diff",
     [](const std::string& value, Invocation& invocation) {
       return SetTolerance("--rtol", value, invocation.rtol);
     }},
    {"merge", false, " checkpoint ", "convert",
     [](const std::string&, Invocation& invocation) {
       invocation.merge = true;
       return absl::OkStatus();
     }},
    {"parts", true, " checkpoint ", "convert",
     [](const std::string& value, Invocation& invocation) {
       invocation.parts.push_back(value);
       return absl::OkStatus();
     }},
    {"rename", true, " checkpoint ", "convert",
     [](const std::string& value, Invocation& invocation) {
       invocation.renames.push_back(value);
       return absl::OkStatus();
     }},
    {"feed", true, " graph ", "run", AddFeed},
    {"fetch", true, " graph ", "run",
     [](const std::string& value, Invocation& invocation) {
       AppendList(value, invocation.fetches);
       return absl::OkStatus();
     }},
    {"init", true, " graph ", "run",
     [](const std::string& value, Invocation& invocation) {
       AppendList(value, invocation.inits);
       return absl::OkStatus();
     }},
};

bool Has(absl::string_view commands, absl::string_view command) {
  return absl::StrContains(commands, absl::StrCat(" ", command, " "));
}

absl::StatusOr<const Flag*> FindFlag(absl::string_view name,
                                     absl::string_view command) {
  std::vector<std::string> known;
  NearNames near(name);
  for (const Flag& flag : kFlags) {
    if (!Has(flag.commands, command)) continue;
    if (flag.name == name) return &flag;
    known.push_back(absl::StrCat("--", flag.name));
    near.Consider(flag.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("`weft ", command, "` has no flag --", name, "; it has ",
                   known.empty() ? "none" : absl::StrJoin(known, ", "), ".",
                   near.Suggestion()));
}

// The words of the command line, read one after the other. Flags remain text
// until the command that uses them is known.
class Words {
 public:
  explicit Words(const std::vector<std::string>& words) : words_(words) {}

  bool AtEnd() const { return next_ == words_.size(); }
  const std::string& Peek() const { return words_[next_]; }
  const std::string& Take() { return words_[next_++]; }

 private:
  const std::vector<std::string>& words_;
  size_t next_ = 0;
};

absl::Status TakeFlag(Words& words, Invocation& invocation,
                      std::vector<const Flag*>& used) {
  const std::string word = words.Take().substr(2);
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  ASSIGN_OR_RETURN(const Flag* flag, FindFlag(name, invocation.command));
  used.push_back(flag);
  std::string value;
  if (equals != std::string::npos) {
    if (!flag->takes_value) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, " takes no value"));
    }
    value = word.substr(equals + 1);
  } else if (flag->takes_value) {
    if (words.AtEnd()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, " needs a value: --", name, "=..."));
    }
    value = words.Take();
  }
  return flag->set(value, invocation);
}

// Parses the words after the command. Appends the flags that it finds to
// `used`.
absl::Status TakeRest(Words& words, Invocation& invocation,
                      std::vector<const Flag*>& used) {
  while (!words.AtEnd()) {
    if (words.Peek() == "--") {
      words.Take();
      while (!words.AtEnd()) invocation.arguments.push_back(words.Take());
    } else if (words.Peek() == "--help" || words.Peek() == "-h") {
      invocation.command = "help";
      return absl::OkStatus();
    } else if (absl::StartsWith(words.Peek(), "-") && words.Peek() != "-") {
      if (!absl::StartsWith(words.Peek(), "--")) {
        return absl::InvalidArgumentError(
            absl::StrCat("flags begin with two dashes: -", words.Peek()));
      }
      RETURN_IF_ERROR(TakeFlag(words, invocation, used));
    } else {
      invocation.arguments.push_back(words.Take());
    }
  }
  return absl::OkStatus();
}

void Append(const std::vector<std::string>& names,
            std::vector<std::string>& list) {
  list.insert(list.end(), names.begin(), names.end());
}

absl::Status SetGraphVerb(absl::string_view verb,
                          const std::vector<std::string>& names,
                          Invocation& invocation) {
  if (verb == "explain") {
    Append(names, invocation.explain);
    if (invocation.explain.empty()) invocation.explain = {"all"};
  } else if (verb == "stats") {
    invocation.stats = true;
    invocation.wanted = names;
  } else if (verb == "run") {
    invocation.run = true;
    Append(names, invocation.fetches);
    for (const std::string& name : names) {
      if (!absl::StrContains(name, "=")) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", name, "\" is not a name; write --feed=", name, " to feed it"));
    }
    if (invocation.fetches.empty() && invocation.inits.empty()) {
      return absl::InvalidArgumentError(
          "`weft graph run` needs a node to run: --fetch=NAME");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFlagsOfVerb(absl::string_view command, absl::string_view verb,
                              const std::vector<const Flag*>& used) {
  for (const Flag* flag : used) {
    if (flag->verb.empty() || flag->verb == verb) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "`weft ", command, " ", verb, "` has no flag --", flag->name,
        "; `weft ", command, " ", flag->verb, "` has"));
  }
  return absl::OkStatus();
}

// Parses `graph VERB FILE [NAME...]`. The verb determines the meaning of the
// names. `graph FILE` means show, and `graph FILE --explain=NODE` means
// explain.
absl::Status TakeGraphVerb(Invocation& invocation,
                           const std::vector<const Flag*>& used) {
  auto& arguments = invocation.arguments;
  std::string verb = invocation.explain.empty() ? "show" : "explain";
  std::vector<std::string> names;
  // A single argument is the name of a file, even if it equals a verb.
  if (arguments.size() > 1 &&
      Has(" show explain stats run ", arguments.front())) {
    verb = arguments.front();
    if (verb != "show") {
      names.assign(arguments.begin() + 2, arguments.end());
      arguments.resize(2);
    }
    arguments.erase(arguments.begin());
  }
  RETURN_IF_ERROR(CheckFlagsOfVerb("graph", verb, used));
  return SetGraphVerb(verb, names, invocation);
}

// Parses `checkpoint VERB PATH ...`.
absl::Status TakeCheckpointVerb(Invocation& invocation,
                                const std::vector<const Flag*>& used) {
  const std::map<std::string, size_t> verbs = {
      {"ls", 1}, {"show", 2}, {"verify", 1}, {"diff", 2}, {"convert", 2}};
  auto& arguments = invocation.arguments;
  const auto verb = arguments.empty() ? verbs.end() : verbs.find(arguments[0]);
  if (verb == verbs.end()) {
    return absl::InvalidArgumentError(
        "`weft checkpoint` needs ls, show, verify, diff or convert: `weft "
        "checkpoint ls PATH`");
  }
  invocation.checkpoint_verb = verb->first;
  arguments.erase(arguments.begin());
  if (arguments.size() != verb->second) {
    return absl::InvalidArgumentError(
        absl::StrCat("`weft checkpoint ", verb->first, "` needs ",
                     verb->second == 1 ? "one argument" : "two arguments",
                     "; there are ", arguments.size()));
  }
  return CheckFlagsOfVerb("checkpoint", verb->first, used);
}

// Parses `saved_model show DIR`.
absl::Status TakeSavedModelVerb(Invocation& invocation) {
  auto& arguments = invocation.arguments;
  if (arguments.size() == 2 && arguments[0] == "show") {
    arguments.erase(arguments.begin());
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "`weft saved_model` needs the verb show: `weft saved_model show DIR`");
}

absl::Status CheckPredict(const Invocation& invocation) {
  if (invocation.model.empty()) {
    return absl::InvalidArgumentError(
        "`weft predict` needs a model: --model=DIR");
  }
  if (!invocation.request_file.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "`weft predict` needs a request: --json=FILE, or --json=- for standard "
      "input");
}

absl::Status CheckArguments(const Invocation& invocation) {
  const std::string& command = invocation.command;
  const size_t count = invocation.arguments.size();
  if (command == "predict") RETURN_IF_ERROR(CheckPredict(invocation));
  if (command == "graph" || command == "events" || command == "trace" ||
      command == "wire") {
    if (count == 1) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("`weft ", command, "` needs one file; there are ", count));
  }
  if (command == "top") {
    if (count > 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "`weft top` needs tasks, where they answer Prometheus: `weft top "
        "HOST:PORT...`; a task that is started with --metrics_port says so");
  }
  if (command == "reset") {
    if (count == 0 || !invocation.all) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "reset takes either --all or names of containers");
  }
  if (count == 0 || command == "help" || command == "checkpoint" ||
      command == "saved_model") {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "`weft ", command, "` takes no \"", invocation.arguments[0], "\""));
}

absl::Status NoCommand(const std::string& name) {
  const std::vector<std::string> commands =
      absl::StrSplit(kCommands, ' ', absl::SkipEmpty());
  NearNames near(name);
  for (const std::string& command : commands) near.Consider(command);
  return absl::InvalidArgumentError(
      absl::StrCat("there is no command \"", name, "\"; there are ",
                   absl::StrJoin(commands, ", "), ".", near.Suggestion()));
}

}  // namespace

absl::StatusOr<Invocation> ParseInvocation(
    const std::vector<std::string>& arguments,
    const Surroundings& surroundings) {
  Invocation invocation;
  invocation.target = surroundings.target;
  invocation.format = surroundings.is_terminal ? Format::kTable : Format::kJson;
  Words words(arguments);
  if (words.AtEnd()) return absl::InvalidArgumentError("a command is missing");
  invocation.command = words.Take();
  if (invocation.command == "--help" || invocation.command == "-h") {
    invocation.command = "help";
  }
  if (!Has(kCommands, invocation.command)) {
    return NoCommand(invocation.command);
  }
  std::vector<const Flag*> used;
  RETURN_IF_ERROR(TakeRest(words, invocation, used));
  if (invocation.command == "graph") {
    RETURN_IF_ERROR(TakeGraphVerb(invocation, used));
  }
  if (invocation.command == "checkpoint") {
    RETURN_IF_ERROR(TakeCheckpointVerb(invocation, used));
  }
  if (invocation.command == "saved_model") {
    RETURN_IF_ERROR(TakeSavedModelVerb(invocation));
  }
  RETURN_IF_ERROR(CheckArguments(invocation));
  return invocation;
}

std::string Usage() { return kUsage; }

}  // namespace weft::tools
