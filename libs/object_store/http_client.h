// HttpClient: requests to web services, as object stores are reached. The seam
// behind which a test answers in a server's place; curl_http_client.h is the
// real one, retrying_http_client.h asks again after failures that pass.
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
#include "libs/base/scheduler.h"

namespace weft {

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // percent-encoded
  std::vector<std::pair<std::string, std::string>> headers;
  // Null: none. Shared, since an attempt may be followed by another.
  std::shared_ptr<const std::string> body;
  // A longer answer is an error.
  size_t max_response_bytes = size_t{8} << 20;
  absl::Time deadline = absl::InfiniteFuture();
  // The server may take long before it says anything: a copy that it makes
  // itself. Only the deadline ends it then, not a minute without a byte.
  bool may_be_silent = false;
  // Null, or whether nobody wants the answer any more: then the request ends
  // with CANCELLED within seconds.
  std::shared_ptr<const std::atomic<bool>> given_up;
};

struct HttpResponse {
  int code = 0;                                // 200, 404
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  bool ok() const { return code >= 200 && code < 300; }
  // Empty when it is not there.
  absl::string_view header(absl::string_view name) const {
    const auto it = headers.find(std::string(name));
    return it == headers.end() ? absl::string_view() : it->second;
  }
};

// Any thread may call it.
class HttpClient {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<HttpResponse>)>;

  virtual ~HttpClient() = default;

  // `done` is called once, on some thread, and must not block. A response is
  // what a server said, whatever its code. Errors: UNAVAILABLE when none came
  // and another attempt may get one; DEADLINE_EXCEEDED at the deadline;
  // FAILED_PRECONDITION when the server is not who it should be;
  // RESOURCE_EXHAUSTED for a response that is too long; CANCELLED at the end of
  // the client; INVALID_ARGUMENT for a URL that is none.
  virtual void Start(HttpRequest request, Done done) = 0;
};

// Waits for the response, on a thread that may block.
absl::StatusOr<HttpResponse> Send(HttpClient& http, Scheduler& scheduler,
                                  HttpRequest request);

// All bytes but letters, digits and "-._~" as %XX; slashes too unless they are
// kept.
std::string PercentEncode(absl::string_view text, bool keep_slashes = false);
// %XX as bytes; what is no such code stays as it is.
std::string PercentDecode(absl::string_view text);

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_HTTP_CLIENT_H_
