#include "libs/object_store/http_client.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "libs/base/async/sync_call.h"

namespace weft {

absl::StatusOr<HttpResponse> Send(HttpClient& http, Scheduler& scheduler,
                                  HttpRequest request) {
  SyncCall<absl::StatusOr<HttpResponse>> call(scheduler);
  http.Start(std::move(request), call.Done());
  return call.Wait();
}

std::string PercentEncode(absl::string_view text, bool keep_slashes) {
  constexpr absl::string_view kUnreserved = "-._~";
  std::string encoded;
  for (const char c : text) {
    const bool stays = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                       kUnreserved.find(c) != absl::string_view::npos ||
                       (keep_slashes && c == '/');
    if (stays) {
      encoded.push_back(c);
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string PercentDecode(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const absl::string_view digits = text.substr(i).substr(1, 2);
    const bool is_code =
        text[i] == '%' && digits.size() == 2 &&
        absl::ascii_isxdigit(static_cast<unsigned char>(digits[0])) &&
        absl::ascii_isxdigit(static_cast<unsigned char>(digits[1]));
    if (is_code) {
      decoded += absl::HexStringToBytes(digits);
      i += 2;
    } else {
      decoded.push_back(text[i]);
    }
  }
  return decoded;
}

}  // namespace weft
