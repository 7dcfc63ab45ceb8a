// The smallest program: it fetches a string constant in a session in this
// process.
#include <cstdio>

#include "libs/api/training.h"

namespace {

absl::Status Main() {
  weft::Scope root = weft::Scope::Root();
  auto hello = weft::ops::Const(root, "Hello distributed Weft!");
  ASSIGN_OR_RETURN(auto session, weft::Session::Connect("", root));
  ASSIGN_OR_RETURN(weft::Tensor value, session->Run(hello));
  std::printf("%s\n", value.scalar<std::string>().c_str());
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Main();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
