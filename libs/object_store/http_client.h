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
  // May be null. The body is shared, because a request may be retried.
  std::shared_ptr<const std::string> body;
  // The maximum size of the response. A longer response is an error.
  size_t max_response_bytes = size_t{8} << 20;
  absl::Time deadline = absl::InfiniteFuture();
  // Whether the server may stay silent for long, for example during a
  // server-side copy. If so, the request ends only at its deadline, and not
  // after a minute without a byte.
  bool may_be_silent = false;
  // May be null. When the flag is set, the response is no longer needed, and
  // the request ends with CANCELLED within seconds.
  std::shared_ptr<const std::atomic<bool>> given_up;
};

struct HttpResponse {
  int code = 0;                                // such as 200 or 404
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  bool ok() const { return code >= 200 && code < 300; }
  // Returns the value of a header, or "" if the response does not have it.
  absl::string_view header(absl::string_view name) const {
    const auto it = headers.find(std::string(name));
    return it == headers.end() ? absl::string_view() : it->second;
  }
};

// HttpClient may be used from any thread.
class HttpClient {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<HttpResponse>)>;

  virtual ~HttpClient() = default;

  // Starts a request. `done` is called once, on any thread, and must not block.
  // It gets the reply of the server, whatever its code is, or an error:
  // UNAVAILABLE if there was no reply and a retry may succeed,
  // DEADLINE_EXCEEDED at the deadline, FAILED_PRECONDITION if the server cannot
  // be authenticated, RESOURCE_EXHAUSTED if the response is too long, CANCELLED
  // at the destruction of the client, or INVALID_ARGUMENT for an invalid URL.
  virtual void Start(HttpRequest request, Done done) = 0;
};

// Sends a request and waits for the response. Must be called on a thread that
// may block.
absl::StatusOr<HttpResponse> Send(HttpClient& http, Scheduler& scheduler,
                                  HttpRequest request);

// Encodes all bytes except letters, digits and "-._~" as %XX. Slashes are also
// encoded, unless `keep_slashes` is set.
std::string PercentEncode(absl::string_view text, bool keep_slashes = false);
// Decodes %XX. Other text stays unchanged.
std::string PercentDecode(absl::string_view text);

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_HTTP_CLIENT_H_
