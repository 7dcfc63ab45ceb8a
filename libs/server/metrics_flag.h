// The flag --metrics_port of services, and of programs that are tasks: link
// this library, and ParseFlags (libs/base/command_line.h) knows the flag.
//
//   Server::Create(cluster, {.job_name = "worker",
//                            .metrics_port = MetricsPortFromFlags()});
#ifndef WEFT_LIBS_SERVER_METRICS_FLAG_H_
#define WEFT_LIBS_SERVER_METRICS_FLAG_H_

#include <optional>

namespace weft {

// Returns the value for ServerOptions::metrics_port; none unless the flag is
// given. Must be called after flags were parsed.
std::optional<int> MetricsPortFromFlags();

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_METRICS_FLAG_H_
