// weft: inspects running clusters and the files that Weft writes.
//
//   bazel run //tools:weft -- status --target=zmq://localhost:2222
//
// `weft help` lists its commands. Exits with 1 if a command fails, and with 2
// for invalid arguments.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"
#include "libs/object_store/curl_http_client.h"
#include "libs/runtime/process/process.h"
#include "tools/cli/checkpoint_commands.h"
#include "tools/cli/cluster_commands.h"
#include "tools/cli/events_command.h"
#include "tools/cli/graph_commands.h"
#include "tools/cli/invocation.h"
#include "tools/cli/saved_model_commands.h"
#include "tools/cli/top_command.h"
#include "tools/cli/trace_command.h"
#include "tools/wire/print_capture.h"

namespace weft::tools {
namespace {

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Resolves a path relative to the user's directory. `bazel run` changes the
// current directory and passes the user's in BUILD_WORKING_DIRECTORY.
std::string FromWhereTheUserStands(const std::string& path) {
  const std::string directory = FromEnvironment("BUILD_WORKING_DIRECTORY");
  return directory.empty() ? path : JoinPath(directory, path);
}

bool AskOnTerminal(const std::string& question) {
  std::fprintf(stderr, "%s [y/N] ", question.c_str());
  std::string answer;
  std::getline(std::cin, answer);
  const std::string lower = absl::AsciiStrToLower(answer);
  return lower == "y" || lower == "yes";
}

// Returns a function that asks the user for confirmation, or none without a
// terminal.
Ask WhomToAsk() {
  const bool is_terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
  return is_terminal ? AskOnTerminal : Ask();
}

absl::StatusOr<std::string> Wire(const std::string& path) {
  LocalFileSystem files;
  ASSIGN_OR_RETURN(const std::string file, files.ReadFile(path));
  auto text = PrintCapture(file);
  if (!text.ok()) return Annotate(text.status(), path);
  return text;
}

absl::StatusOr<std::string> RunOnFiles(Process& process,
                                       Invocation invocation) {
  // All arguments are paths, except that the second argument of show is a
  // tensor.
  const size_t paths = invocation.checkpoint_verb == "show" ? 1 : 2;
  for (size_t i = 0; i < invocation.arguments.size() && i < paths; ++i) {
    invocation.arguments[i] = FromWhereTheUserStands(invocation.arguments[i]);
  }
  return RunCheckpointCommand(process.file_system(), process.random(),
                              invocation);
}

absl::StatusOr<std::string> Predict(Process& process,
                                    const Invocation& invocation) {
  std::string request;
  if (invocation.request_file == "-") {
    request.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    ASSIGN_OR_RETURN(request,
                     process.file_system().ReadFile(
                         FromWhereTheUserStands(invocation.request_file)));
  }
  ASSIGN_OR_RETURN(const Prediction prediction,
                   RunPredict(process, FromWhereTheUserStands(invocation.model),
                              invocation, request));
  for (const std::string& warning : prediction.warnings) {
    std::fprintf(stderr, "weft predict: warning: %s\n", warning.c_str());
  }
  return prediction.text;
}

absl::StatusOr<std::string> Run(const Invocation& invocation) {
  if (invocation.command == "help") return Usage();
  if (invocation.command == "wire") {
    return Wire(FromWhereTheUserStands(invocation.arguments[0]));
  }
  // Needs few threads, because commands mostly wait.
  Process process({.compute_threads = 2});
  if (IsClusterCommand(invocation.command)) {
    return RunClusterCommand(process, invocation, WhomToAsk());
  }
  if (invocation.command == "events") {
    return RunEventsCommand(process.file_system(),
                            FromWhereTheUserStands(invocation.arguments[0]),
                            invocation.format);
  }
  if (invocation.command == "trace") {
    return RunTraceCommand(process.file_system(),
                           FromWhereTheUserStands(invocation.arguments[0]),
                           invocation.tag);
  }
  if (invocation.command == "checkpoint")
    return RunOnFiles(process, invocation);
  if (invocation.command == "saved_model") {
    return RunSavedModelShow(process.file_system(),
                             FromWhereTheUserStands(invocation.arguments[0]),
                             invocation.format);
  }
  if (invocation.command == "predict") return Predict(process, invocation);
  LocalFileSystem files;
  return RunGraphCommand(process, files,
                         FromWhereTheUserStands(invocation.arguments[0]),
                         invocation);
}

// Prints a view. On a terminal it replaces the previous view.
bool PrintView(const Invocation& invocation, bool is_terminal,
               const std::string& view) {
  if (is_terminal && !invocation.once && invocation.format == Format::kTable) {
    std::fputs("\x1b[H\x1b[2J", stdout);
  }
  std::fputs(view.c_str(), stdout);
  return std::fflush(stdout) == 0;
}

absl::StatusOr<std::string> RunTop(const Invocation& invocation,
                                   bool is_terminal) {
  Process process({.compute_threads = 1});
  CurlHttpClient http({.scheduler = &process.scheduler()});
  RETURN_IF_ERROR(RunTopCommand(
      invocation, process.scheduler(), http, [&](const std::string& view) {
        return PrintView(invocation, is_terminal, view);
      }));
  return std::string();
}

int Main(const std::vector<std::string>& arguments) {
  const auto invocation =
      ParseInvocation(arguments, {.target = FromEnvironment("WEFT_TARGET"),
                                  .is_terminal = isatty(STDOUT_FILENO) != 0});
  if (!invocation.ok()) {
    std::fprintf(stderr, "weft: %s\n(`weft help` lists the commands)\n",
                 std::string(invocation.status().message()).c_str());
    return 2;
  }
  // Catches std::bad_alloc, because files and replies may have any size.
  const auto text = CatchExceptions([&] {
    return invocation->command == "top"
               ? RunTop(*invocation, isatty(STDOUT_FILENO) != 0)
               : Run(*invocation);
  });
  if (!text.ok()) {
    std::fprintf(stderr, "weft %s: %s: %s\n", invocation->command.c_str(),
                 std::string(StatusCodeName(text.status().code())).c_str(),
                 std::string(text.status().message()).c_str());
    return 1;
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  return weft::tools::Main({argv + 1, argv + argc});
}
