// WeftSessionFactory replays cases on weft::Session, either in this process or
// at a target.
#ifndef WEFT_TOOLS_CONFORMANCE_WEFT_SESSION_FACTORY_H_
#define WEFT_TOOLS_CONFORMANCE_WEFT_SESSION_FACTORY_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/protocol/master/graph_options.h"
#include "libs/runtime/process/process.h"
#include "tools/conformance/session_factory.h"

namespace weft::conformance {

class WeftSessionFactory : public SessionFactory {
 public:
  // `process` must outlive the sessions. If `target` is empty, sessions are in
  // this process. Sessions at a target share no state with other sessions.
  WeftSessionFactory(Process& process, std::string target,
                     GraphOptions graph_options = {})
      : process_(process),
        target_(std::move(target)),
        graph_options_(graph_options) {}

  // Returns a factory for sessions in this process with one GPU of its
  // platform. Each node without a requested device runs on the GPU if it has a
  // GPU kernel.
  static WeftSessionFactory OnGpu(Process& process);

  absl::StatusOr<std::unique_ptr<ReplaySession>> NewSession(
      const SessionSpec& spec, absl::string_view graph_def,
      bool keep_placement) override;
  absl::StatusOr<std::unique_ptr<Session>> Connect(const Scope& scope) override;
  absl::Status Reset(const std::string& task,
                     const std::vector<std::string>& containers) override;
  absl::StatusOr<std::unique_ptr<SessionFactory>> StartCluster(
      const std::map<std::string, int>& jobs) override;

 private:
  Process& process_;
  const std::string target_;
  const GraphOptions graph_options_;
  bool on_gpu_ = false;
};

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_WEFT_SESSION_FACTORY_H_
