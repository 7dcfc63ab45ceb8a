#include "libs/object_store/testing/object_server.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>

namespace weft {
namespace {

constexpr char kScript[] = "libs/object_store/testing/object_server.py";

// Returns the first line from the pipe, or "" if the pipe has ended.
std::string ReadLine(int pipe) {
  std::string line;
  char c = 0;
  while (::read(pipe, &c, 1) == 1 && c != '\n') line.push_back(c);
  return line;
}

}  // namespace

std::unique_ptr<ObjectServer> ObjectServer::Start(const std::string& kind) {
  const char* python = std::getenv("WEFT_TEST_PYTHON");
  if (python == nullptr || *python == '\0') return nullptr;
  std::array<int, 2> input;
  std::array<int, 2> output;
  if (::pipe2(input.data(), O_CLOEXEC) != 0) return nullptr;
  if (::pipe2(output.data(), O_CLOEXEC) != 0) return nullptr;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  std::string script = kScript;
  std::string argument = kind;
  std::string no_bytecode = "-B";
  std::array<char*, 5> arguments = {const_cast<char*>(python),
                                    no_bytecode.data(), script.data(),
                                    argument.data(), nullptr};
  pid_t process = 0;
  const int error = posix_spawn(&process, python, &actions, nullptr,
                                arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(input[0]);
  ::close(output[1]);
  const std::string line = error == 0 ? ReadLine(output[0]) : "";
  ::close(output[0]);
  if (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    return std::unique_ptr<ObjectServer>(
        new ObjectServer(process, input[1], line.substr(0, end),
                         line.substr(std::min(end + 1, line.size()))));
  }
  ::close(input[1]);
  if (error == 0) ::waitpid(process, nullptr, 0);
  return nullptr;
}

ObjectServer::~ObjectServer() {
  ::close(input_);
  ::waitpid(process_, nullptr, 0);
}

}  // namespace weft
