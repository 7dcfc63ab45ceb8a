// AWS Signature Version 4 of a request to S3.
//
// libcurl's implementation (CURLOPT_AWS_SIGV4) is not used: in Debian 12 it
// sorts headers including their colons, so it puts x-amz-copy-source-range
// before x-amz-copy-source, which S3 rejects. Source:
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

// Adds the authorization headers; all headers of the request and its body are
// signed. The URL is absolute and percent-encoded, its query sorted by name,
// each name with a "=". Services accept the request for a quarter of an hour
// around `now`.
void SignRequest(const AwsKeys& keys, absl::string_view region, absl::Time now,
                 HttpRequest* request);

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_AWS_SIGNATURE_H_
