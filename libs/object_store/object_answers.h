// Functions for responses that S3 and Google Cloud Storage have in common.
#ifndef WEFT_LIBS_OBJECT_STORE_OBJECT_ANSWERS_H_
#define WEFT_LIBS_OBJECT_STORE_OBJECT_ANSWERS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/object_store/http_client.h"
#include "libs/object_store/object_store.h"

namespace weft {

// Returns the status code for an HTTP error. It is never NOT_FOUND, because a
// proxy, a wrong endpoint and a missing bucket also answer 404.
absl::StatusCode CodeOfHttp(int code);

// Returns the value of the header "Range", such as "bytes=0-9" for the first
// ten bytes.
std::string RangeHeader(uint64_t offset, uint64_t size);

// Returns whether the requested range begins at or after the object's end. This
// is not an error.
inline bool IsPastEnd(const HttpResponse& response) {
  return response.code == 416;
}

// Returns the data of a range request, which is complete up to the object's
// end. The version of the result is empty.
absl::StatusOr<ObjectRange> ToObjectRange(HttpResponse response,
                                          uint64_t offset, size_t size);

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_OBJECT_ANSWERS_H_
