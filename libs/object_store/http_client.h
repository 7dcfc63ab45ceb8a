// HttpClient is the interface for HTTP requests, used to reach object stores.
// Tests replace it; curl_http_client.h is the real implementation, and
// retrying_http_client.h retries transient failures.
#ifndef WEFT_LIBS_OBJECT_STORE_HTTP_CLIENT_H_
#define WEFT_LIBS_OBJECT_STORE_HTTP_CLIENT_H_

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // percent-encoded
  std::vector<std::pair<std::string, std::string>> headers;
  // Null: none. Shared, because a request may be retried.
  std::shared_ptr<const std::string> body;
  // A longer response is an error.
  size_t max_response_bytes = size_t{8} << 20;
  absl::Time deadline = absl::InfiniteFuture();
  // The server may stay silent for long, for example during a server-side copy.
  // Only the deadline ends the request then, not a minute without a byte.
  bool may_be_silent = false;
  // Null, or set when the response is no longer needed: then the request ends
  // with CANCELLED within seconds.
  std::shared_ptr<const std::atomic<bool>> given_up;
};

struct HttpResponse {
  int code = 0;                                // 200, 404
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  bool ok() const { return code >= 200 && code < 300; }
  // Empty if absent.
  absl::string_view header(absl::string_view name) const {
    const auto it = headers.find(std::string(name));
    return it == headers.end() ? absl::string_view() : it->second;
  }
};

// May be called from any thread.
class HttpClient {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<HttpResponse>)>;

  virtual ~HttpClient() = default;

  // `done` is called once, on any thread, and must not block. A response is any
  // reply of a server, regardless of its code. Errors: UNAVAILABLE if there was
  // none and a retry may succeed; DEADLINE_EXCEEDED at the deadline;
  // FAILED_PRECONDITION if the server cannot be authenticated;
  // RESOURCE_EXHAUSTED for a response that is too long; CANCELLED at the end of
  // the client; INVALID_ARGUMENT for an invalid URL.
  virtual void Start(HttpRequest request, Done done) = 0;
};

// Waits for the response, on a thread that may block.
absl::StatusOr<HttpResponse> Send(HttpClient& http, Scheduler& scheduler,
                                  HttpRequest request);

// Encodes all bytes except letters, digits and "-._~" as %XX; slashes, too,
// unless they are kept.
std::string PercentEncode(absl::string_view text, bool keep_slashes = false);
// Decodes %XX; other text is unchanged.
std::string PercentDecode(absl::string_view text);

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_HTTP_CLIENT_H_
