// CurlHttpClient is an HttpClient based on libcurl. TLS certificates are
// verified, including the server's name; redirects are returned like other
// responses.
//
// All transfers are driven by one closure on a dedicated thread, from the first
// request to the destruction of the client. So parts of a file are transferred
// concurrently without a thread for each part. Because transfers need no thread
// of the blocking pool, a caller that waits for a response may occupy the last
// one. An attempt ends with UNAVAILABLE when no connection is made within
// `connect_timeout`, or when no byte moves for `stall_timeout`.
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
  // The file of trusted certificates. If empty, the system's file is used.
  std::string ca_bundle;
  absl::Duration connect_timeout = absl::Seconds(10);
  absl::Duration stall_timeout = absl::Seconds(60);
  // The maximum number of connections. Further requests wait for a free
  // connection.
  int max_connections = 64;
};

class CurlHttpClient : public HttpClient {
 public:
  explicit CurlHttpClient(CurlOptions options);
  // Ends pending requests with CANCELLED and waits for the closure that drives
  // transfers to end.
  ~CurlHttpClient() override;

  void Start(HttpRequest request, Done done) override
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class Transfer;
  class Multi;

  void Drive();
  // Starts waiting requests. Returns false if the client is being destroyed.
  bool BeginWaiting() ABSL_LOCKS_EXCLUDED(mutex_);
  void EndFinished();
  void EndGivenUp();

  const CurlOptions options_;
  // Used only by the closure that drives transfers. Other threads only wake it.
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
