#include "libs/object_store/retrying_http_client.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "libs/base/clock.h"

namespace weft {
namespace {

bool MayPass(const absl::StatusOr<HttpResponse>& result) {
  if (!result.ok()) return absl::IsUnavailable(result.status());
  switch (result->code) {
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return true;
    case 400:
      return absl::StrContains(result->body, "<Code>RequestTimeout</Code>");
    case 200:
      // S3 may send the code 200 before it knows the result of a copy or of
      // completing an upload. The error is then in the body.
      return absl::StrContains(result->body, "<Error>") &&
             (absl::StrContains(result->body, "<Code>InternalError</Code>") ||
              absl::StrContains(result->body, "<Code>SlowDown</Code>") ||
              absl::StrContains(result->body,
                                "<Code>ServiceUnavailable</Code>"));
    default:
      return false;
  }
}

}  // namespace

// Call is a request and its attempts. The pending attempt keeps it alive.
class RetryingHttpClient::Call : public std::enable_shared_from_this<Call> {
 public:
  Call(RetryingHttpClient& client, HttpRequest request, Done done)
      : client_(client), request_(std::move(request)), done_(std::move(done)) {}

  void Attempt() {
    ++attempts_;
    client_.http_.Start(request_,
                        [self = shared_from_this()](auto result) mutable {
                          self->End(std::move(result));
                        });
  }

 private:
  void End(absl::StatusOr<HttpResponse> result) {
    const absl::Time next = client_.scheduler_.clock().Now() + Delay();
    // A cancelled request is not retried.
    const bool is_wanted =
        request_.given_up == nullptr || !request_.given_up->load();
    if (!is_wanted || !MayPass(result) ||
        attempts_ >= client_.options_.max_attempts ||
        next >= request_.deadline) {
      return done_(std::move(result));
    }
    client_.scheduler_.ScheduleAt(
        next, [self = shared_from_this()] { self->Attempt(); });
  }

  absl::Duration Delay() {
    absl::Duration longest = client_.options_.first_delay;
    for (int i = 1; i < attempts_ && longest < client_.options_.max_delay;
         ++i) {
      longest *= 2;
    }
    longest = std::min(longest, client_.options_.max_delay);
    const double part =
        static_cast<double>(client_.random_.Next() >> 11) * 0x1p-53;
    return longest * part;
  }

  RetryingHttpClient& client_;
  const HttpRequest request_;
  Done done_;
  int attempts_ = 0;
};

RetryingHttpClient::RetryingHttpClient(HttpClient& http, Scheduler& scheduler,
                                       Random& random, RetryOptions options)
    : http_(http),
      scheduler_(scheduler),
      random_(random),
      options_(std::move(options)) {}

void RetryingHttpClient::Start(HttpRequest request, Done done) {
  std::make_shared<Call>(*this, std::move(request), std::move(done))->Attempt();
}

}  // namespace weft
