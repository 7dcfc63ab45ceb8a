// Common handling of responses of S3 and Google Cloud Storage.
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

// Status code for an HTTP error. Never NOT_FOUND: a proxy, a wrong endpoint and
// a missing bucket answer 404, too.
absl::StatusCode CodeOfHttp(int code);

// Returns "bytes=0-9" for the first ten bytes.
std::string RangeHeader(uint64_t offset, uint64_t size);

// Whether the range begins at or after the object's end, which is not an error.
inline bool IsPastEnd(const HttpResponse& response) {
  return response.code == 416;
}

// Returns the data of a range request, complete up to the object's end. The
// version is left empty.
absl::StatusOr<ObjectRange> ToObjectRange(HttpResponse response,
                                          uint64_t offset, size_t size);

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_OBJECT_ANSWERS_H_
