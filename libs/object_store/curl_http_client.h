// CurlHttpClient is an HttpClient based on libcurl. TLS certificates are
// verified, including the server's name; redirects are returned like other
// responses.
//
// All transfers are driven by one closure on a dedicated thread, from the first
// request to the end of the client; so parts of a file are transferred
// concurrently without a thread for each. A caller that waits for a response
// may therefore occupy the last thread of the blocking pool. An attempt ends
// with UNAVAILABLE when no connection is made within `connect_timeout`, or when
// no byte moves for `stall_timeout`.
#ifndef WEFT_LIBS_OBJECT_STORE_CURL_HTTP_CLIENT_H_
#define WEFT_LIBS_OBJECT_STORE_CURL_HTTP_CLIENT_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/object_store/http_client.h"

namespace weft {

struct CurlOptions {
  Scheduler* scheduler = nullptr;  // outlives the client
  // File of trusted certificates; empty: the system's.
  std::string ca_bundle;
  absl::Duration connect_timeout = absl::Seconds(10);
  absl::Duration stall_timeout = absl::Seconds(60);
  // Further requests wait for a free connection.
  int max_connections = 64;
};

class CurlHttpClient : public HttpClient {
 public:
  explicit CurlHttpClient(CurlOptions options);
  // Ends pending requests with CANCELLED, and waits for the closure to end.
  ~CurlHttpClient() override;

  void Start(HttpRequest request, Done done) override
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class Transfer;
  class Multi;

  void Drive();
  // Returns false when the client ends.
  bool BeginWaiting() ABSL_LOCKS_EXCLUDED(mutex_);
  void EndFinished();
  void EndGivenUp();

  const CurlOptions options_;
  // Of the driving closure, but to wake it.
  const std::unique_ptr<Multi> multi_;
  const std::unique_ptr<Event> ended_;                    // the closure
  std::map<void*, std::unique_ptr<Transfer>> under_way_;  // the closure's
  absl::Mutex mutex_;
  bool is_driven_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<Transfer>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_CURL_HTTP_CLIENT_H_
