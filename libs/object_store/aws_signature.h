// AWS Signature Version 4 of a request to S3.
//
// Not libcurl's (CURLOPT_AWS_SIGV4): that of Debian 12 sorts the headers
// together with their colons, so it puts x-amz-copy-source-range before
// x-amz-copy-source, which S3 refuses.
// Source:
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
#ifndef WEFT_LIBS_OBJECT_STORE_AWS_SIGNATURE_H_
#define WEFT_LIBS_OBJECT_STORE_AWS_SIGNATURE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/object_store/aws_credentials.h"
#include "libs/object_store/http_client.h"

namespace weft {

// The raw digest.
std::string Sha256(absl::string_view bytes);
std::string Md5(absl::string_view bytes);

// Adds the headers that say who asks, when and for what; all headers that the
// request has are signed, and its body. The URL is absolute, percent-encoded,
// its query sorted by name, each name with a "=". Services take the request for
// a quarter of an hour around `now`.
void SignRequest(const AwsKeys& keys, absl::string_view region, absl::Time now,
                 HttpRequest* request);

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_AWS_SIGNATURE_H_
