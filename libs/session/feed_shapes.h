// FeedShapes holds the shapes that the feeds of a callable must have. The
// shapes are looked up once, so that a step only compares sizes.
#ifndef WEFT_LIBS_SESSION_FEED_SHAPES_H_
#define WEFT_LIBS_SESSION_FEED_SHAPES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/graph/graph.h"
#include "libs/tensor/shape.h"
#include "libs/tensor/tensor.h"

namespace weft {

// Returns INVALID_ARGUMENT, with TensorFlow's text, if the value's shape
// contradicts `shape`, which the tensor `name` has in the graph.
absl::Status CheckFeedShape(absl::string_view name, const PartialShape& shape,
                            const Tensor& value);

// Immutable, and therefore thread-safe. Does not refer to the graph.
class FeedShapes {
 public:
  FeedShapes() = default;
  // Looks up the shapes of the graph's tensors with these names. If a name is
  // unknown, any value passes, because the master refuses the name.
  FeedShapes(const Graph& graph, const std::vector<std::string>& names);

  // Checks one value for each feed. If there are more or fewer values than
  // feeds, the excess ones pass, because the master refuses the call.
  absl::Status Check(absl::Span<const Tensor> values) const;

 private:
  struct Feed {
    std::string name;
    PartialShape shape;
  };
  std::vector<Feed> feeds_;
};

}  // namespace weft

#endif  // WEFT_LIBS_SESSION_FEED_SHAPES_H_
