#include "libs/object_store/curl_http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// The maximum time of one poll. New requests wake the loop; cancelled requests
// do not.
constexpr int kPollMilliseconds = 1000;

long Milliseconds(absl::Duration duration) {
  return static_cast<long>(absl::ToInt64Milliseconds(duration));
}

absl::Status NoMemory() {
  return absl::ResourceExhaustedError("libcurl does not have enough memory");
}

// Initializes libcurl while it exists. curl_global_init counts its calls and is
// thread-safe in this build.
class GlobalCurl {
 public:
  GlobalCurl() { curl_global_init(CURL_GLOBAL_DEFAULT); }
  ~GlobalCurl() { curl_global_cleanup(); }
};

absl::StatusCode CodeOfCurl(CURLcode code) {
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return absl::StatusCode::kInvalidArgument;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
      return absl::StatusCode::kFailedPrecondition;
    case CURLE_WRITE_ERROR:
      return absl::StatusCode::kResourceExhausted;
    case CURLE_OUT_OF_MEMORY:
      return absl::StatusCode::kResourceExhausted;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

}  // namespace

class CurlHttpClient::Multi {
 public:
  explicit Multi(int max_connections) : multi_(curl_multi_init()) {
    curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS,
                      static_cast<long>(max_connections));
  }
  ~Multi() { curl_multi_cleanup(multi_); }
  CURLM* get() const { return multi_; }

 private:
  const GlobalCurl global_;
  CURLM* const multi_;
};

// Transfer is one request, until its result is reported.
class CurlHttpClient::Transfer {
 public:
  Transfer(HttpRequest request, Done done)
      : request_(std::move(request)), done_(std::move(done)) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    curl_easy_cleanup(easy_);
    curl_slist_free_all(headers_);
  }

  CURL* easy() const { return easy_; }
  bool is_given_up() const {
    return request_.given_up != nullptr && request_.given_up->load();
  }

  // Returns an error if the request cannot start.
  absl::Status Prepare(const CurlOptions& options) {
    const absl::Duration left =
        request_.deadline - options.scheduler->clock().Now();
    if (left < absl::Milliseconds(1)) {
      return absl::DeadlineExceededError(
          "the deadline passed before the request started");
    }
    if (easy_ == nullptr) return NoMemory();
    SetTransfer(options, left);
    return SetRequest();
  }

  void End(CURLcode code, absl::Time now) {
    if (code == CURLE_OK) {
      long response_code = 0;
      curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &response_code);
      response_.code = static_cast<int>(response_code);
      return done_(std::move(response_));
    }
    const bool late = code == CURLE_OPERATION_TIMEDOUT &&
                      now >= request_.deadline - absl::Milliseconds(2);
    const absl::string_view why =
        error_[0] != '\0' ? error_.data() : curl_easy_strerror(code);
    End(absl::Status(
        late ? absl::StatusCode::kDeadlineExceeded : CodeOfCurl(code), why));
  }
  void End(const absl::Status& status) {
    done_(Annotate(status, absl::StrCat(request_.method, " ", request_.url)));
  }

 private:
  void SetTransfer(const CurlOptions& options, absl::Duration left) {
    curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_.data());
    curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS,
                     Milliseconds(options.connect_timeout));
    if (!request_.may_be_silent) {
      curl_easy_setopt(
          easy_, CURLOPT_LOW_SPEED_TIME,
          std::max(1L, Milliseconds(options.stall_timeout) / 1000));
      curl_easy_setopt(easy_, CURLOPT_LOW_SPEED_LIMIT, 1L);
    }
    curl_easy_setopt(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
    if (left < absl::Hours(24)) {
      curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, Milliseconds(left));
    }
    if (!options.ca_bundle.empty()) {
      curl_easy_setopt(easy_, CURLOPT_CAINFO, options.ca_bundle.c_str());
    }
    curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &Transfer::OnHeader);
    curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &Transfer::OnBody);
    curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(easy_, CURLOPT_BUFFERSIZE, 512L << 10);
    curl_easy_setopt(easy_, CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
  }

  absl::Status SetRequest() {
    if (curl_easy_setopt(easy_, CURLOPT_URL, request_.url.c_str()) ==
        CURLE_OUT_OF_MEMORY) {
      return NoMemory();
    }
    // The path must stay as it is, because "a/../b" and "a//b" are valid names
    // of objects.
    curl_easy_setopt(easy_, CURLOPT_PATH_AS_IS, 1L);
    if (request_.method == "HEAD") {
      curl_easy_setopt(easy_, CURLOPT_NOBODY, 1L);
    } else if (request_.body != nullptr) {
      curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request_.body->size()));
      curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, request_.body->data());
    }
    curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    for (const auto& [name, value] : request_.headers) {
      curl_slist* const longer =
          curl_slist_append(headers_, absl::StrCat(name, ": ", value).c_str());
      if (longer == nullptr) return NoMemory();  // the list is unchanged
      headers_ = longer;
    }
    curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
    // Send the body without waiting for "100 Continue".
    curl_easy_setopt(easy_, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
    return absl::OkStatus();
  }

  static size_t OnHeader(char* data, size_t size, size_t count, void* self) {
    absl::string_view line(data, size * count);
    HttpResponse& response = static_cast<Transfer*>(self)->response_;
    // Only the headers of the last response count, because "100 Continue" may
    // precede it.
    if (absl::StartsWith(line, "HTTP/")) response.headers.clear();
    const size_t colon = line.find(':');
    if (colon != absl::string_view::npos) {
      response.headers[absl::AsciiStrToLower(line.substr(0, colon))] =
          std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
    }
    return line.size();
  }

  static size_t OnBody(char* data, size_t size, size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    std::string& body = transfer->response_.body;
    const size_t bytes = size * count;
    if (bytes > transfer->request_.max_response_bytes - body.size()) return 0;
    if (body.empty()) transfer->ReserveBody();
    body.append(data, bytes);
    return bytes;
  }

  void ReserveBody() {
    curl_off_t length = 0;
    curl_easy_getinfo(easy_, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (length <= 0) return;
    response_.body.reserve(std::min<uint64_t>(static_cast<uint64_t>(length),
                                              request_.max_response_bytes));
  }

  const HttpRequest request_;
  Done done_;
  HttpResponse response_;
  CURL* const easy_ = curl_easy_init();
  curl_slist* headers_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_{};
};

CurlHttpClient::CurlHttpClient(CurlOptions options)
    : options_(std::move(options)),
      multi_(std::make_unique<Multi>(options_.max_connections)),
      ended_(options_.scheduler->NewEvent()) {}

CurlHttpClient::~CurlHttpClient() {
  bool is_driven = false;
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
    is_driven = is_driven_;
  }
  if (!is_driven) return;
  curl_multi_wakeup(multi_->get());
  ended_->Wait();
}

void CurlHttpClient::Start(HttpRequest request, Done done) {
  auto transfer =
      std::make_unique<Transfer>(std::move(request), std::move(done));
  if (multi_->get() == nullptr) return transfer->End(NoMemory());
  bool begins = false;
  {
    absl::MutexLock lock(&mutex_);
    waiting_.push_back(std::move(transfer));
    begins = !std::exchange(is_driven_, true);
  }
  if (begins) {
    options_.scheduler->Schedule(Pool::kUnbounded, [this] { Drive(); });
  } else {
    curl_multi_wakeup(multi_->get());
  }
}

bool CurlHttpClient::BeginWaiting() {
  std::vector<std::unique_ptr<Transfer>> begun;
  bool ending = false;
  {
    absl::MutexLock lock(&mutex_);
    begun.swap(waiting_);
    ending = ending_;
  }
  for (auto& transfer : begun) {
    absl::Status begins = transfer->Prepare(options_);
    CURL* const easy = transfer->easy();
    // If the handle cannot be added, report the error here, because the end of
    // the request would never be reported.
    if (begins.ok() && curl_multi_add_handle(multi_->get(), easy) != CURLM_OK) {
      begins = NoMemory();
    }
    if (!begins.ok()) {
      transfer->End(begins);
      continue;
    }
    under_way_.emplace(easy, std::move(transfer));
  }
  return !ending;
}

void CurlHttpClient::EndFinished() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_->get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    // Copy the data first: the message is invalid after its handle is removed.
    CURL* const easy = message->easy_handle;
    const CURLcode code = message->data.result;
    curl_multi_remove_handle(multi_->get(), easy);
    auto node = under_way_.extract(easy);
    node.mapped()->End(code, options_.scheduler->clock().Now());
  }
}

void CurlHttpClient::EndGivenUp() {
  for (auto it = under_way_.begin(); it != under_way_.end();) {
    if (!it->second->is_given_up()) {
      ++it;
      continue;
    }
    curl_multi_remove_handle(multi_->get(), it->first);
    it->second->End(
        absl::CancelledError("the caller no longer needs the response"));
    it = under_way_.erase(it);
  }
}

void CurlHttpClient::Drive() {
  while (BeginWaiting()) {
    int running = 0;
    curl_multi_perform(multi_->get(), &running);
    EndFinished();
    EndGivenUp();
    curl_multi_poll(multi_->get(), nullptr, 0, kPollMilliseconds, nullptr);
  }
  for (auto& [easy, transfer] : under_way_) {
    curl_multi_remove_handle(multi_->get(), easy);
    transfer->End(absl::CancelledError("the HTTP client is being destroyed"));
  }
  under_way_.clear();
  ended_->Set();
}

}  // namespace weft
