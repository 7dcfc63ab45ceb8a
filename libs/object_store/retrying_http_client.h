// RetryingHttpClient retries requests of another HttpClient if a server did not
// answer (UNAVAILABLE), or returned a transient error: 408, 429, 500, 502, 503,
// 504, and 400 with the code RequestTimeout, which S3 returns for a body that
// arrived too slowly.
//
// Between attempts it waits for a random time, without a thread and never
// beyond the request's deadline. The maximum of this time is first 100 ms and
// doubles with each attempt up to 10 s ("full jitter"). The caller gets the
// result of the last attempt.
#ifndef WEFT_LIBS_OBJECT_STORE_RETRYING_HTTP_CLIENT_H_
#define WEFT_LIBS_OBJECT_STORE_RETRYING_HTTP_CLIENT_H_

#include "absl/time/time.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/object_store/http_client.h"

namespace weft {

struct RetryOptions {
  int max_attempts = 8;
  absl::Duration first_delay = absl::Milliseconds(100);
  absl::Duration max_delay = absl::Seconds(10);
};

// All requests must have ended before the client is destroyed.
class RetryingHttpClient : public HttpClient {
 public:
  // The arguments must outlive the client.
  RetryingHttpClient(HttpClient& http, Scheduler& scheduler, Random& random,
                     RetryOptions options = {});

  void Start(HttpRequest request, Done done) override;

 private:
  class Call;

  HttpClient& http_;
  Scheduler& scheduler_;
  Random& random_;
  const RetryOptions options_;
};

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_RETRYING_HTTP_CLIENT_H_
