// Increments a variable and prints it. On a cluster the variable outlives the
// session, so only the first client passes `init`:
//
//   simple_client zmq://machine-a:2222 init     # 1.0
//   simple_client zmq://machine-b:2222          # 2.0
//
// If the target is "", the session is in this process. Its variable starts
// uninitialized, so the program always initializes it.
#include <cstdio>
#include <string>

#include "examples/usage.h"
#include "libs/api/training.h"

namespace {

absl::Status Main(const std::string& target, bool init) {
  weft::Scope root = weft::Scope::Root();
  auto x = weft::ops::Variable(root.WithName("x"), 0.0f);
  auto increment = weft::ops::Assign(root, x, weft::ops::Add(root, x, 1.0f));
  ASSIGN_OR_RETURN(auto session, weft::Session::Connect(target, root));
  if (init) RETURN_IF_ERROR(session->Run(x.initializer()));
  RETURN_IF_ERROR(session->Run(increment));
  ASSIGN_OR_RETURN(weft::Tensor value, session->Run(x));
  std::printf("%.1f\n", value.scalar<float>());
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3 || argv[1][0] == '-' ||
      (argc == 3 && std::string(argv[2]) != "init")) {
    return weft::examples::ShowUsage(
        argc, argv, "TARGET [init]",
        "TARGET: a task of a cluster, zmq://HOST:PORT, or \"\" for this "
        "process. init: give the variable its first value.");
  }
  const std::string target = argv[1];
  const absl::Status status = Main(target, argc == 3 || target.empty());
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
