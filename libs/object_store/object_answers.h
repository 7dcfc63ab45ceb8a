// What the answers of S3 and Google Cloud Storage have in common.
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

// The code of an error that a service answers with. Never NOT_FOUND: a proxy, a
// wrong endpoint and a bucket that does not exist answer 404, too.
absl::StatusCode CodeOfHttp(int code);

// "bytes=0-9" for the first ten.
std::string RangeHeader(uint64_t offset, uint64_t size);

// A range that begins at or after the object's end, which is no error.
inline bool IsPastEnd(const HttpResponse& response) {
  return response.code == 416;
}

// What a request with a Range brought, all of it that the object has. The
// version is left empty.
absl::StatusOr<ObjectPiece> ToPiece(HttpResponse response, uint64_t offset,
                                    size_t size);

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_OBJECT_ANSWERS_H_
