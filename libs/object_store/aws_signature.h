// SignRequest signs a request to S3 by AWS Signature Version 4.
//
// libcurl's implementation (CURLOPT_AWS_SIGV4) is not used. In Debian 12 it
// includes the colons when it sorts headers, so it puts x-amz-copy-source-range
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

// Return the digest as raw bytes.
std::string Sha256(absl::string_view bytes);
std::string Md5(absl::string_view bytes);

// Adds the authorization headers to a request, and signs all its headers and
// its body. The URL must be absolute and percent-encoded. Its query must be
// sorted by name, with a "=" after each name. Services accept the request from
// 15 minutes before `now` until 15 minutes after it.
void SignRequest(const AwsKeys& keys, absl::string_view region, absl::Time now,
                 HttpRequest* request);

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_AWS_SIGNATURE_H_
