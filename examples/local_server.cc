// Runs a server and a session with it in one program. The session has its own
// Process, so its messages pass through a socket, as if on another machine.
#include <cstdio>
#include <string>

#include "libs/api/weft.h"

namespace {

absl::Status Main() {
  weft::Scope root = weft::Scope::Root();
  auto hello = weft::ops::Const(root, "Hello distributed Weft!");
  ASSIGN_OR_RETURN(auto server, weft::Server::CreateLocal());
  ASSIGN_OR_RETURN(auto session,
                   weft::Session::Connect(server->target(), root));
  ASSIGN_OR_RETURN(weft::Tensor value, session->Run(hello));
  std::printf("%s\n", value.scalar<std::string>().c_str());
  RETURN_IF_ERROR(session->Close());
  return server->Stop();
}

}  // namespace

int main() {
  absl::Status status = Main();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
