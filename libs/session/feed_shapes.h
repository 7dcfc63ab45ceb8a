// FeedShapes holds the shapes that the feeds of a callable must have. They are
// looked up once, so that a step only compares sizes.
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

// Returns INVALID_ARGUMENT, with TensorFlow's text, for a value whose shape
// contradicts that of the tensor `name` in the graph.
absl::Status CheckFeedShape(absl::string_view name, const PartialShape& shape,
                            const Tensor& value);

// Immutable, and therefore thread-safe. Does not refer to the graph.
class FeedShapes {
 public:
  FeedShapes() = default;
  // Of the graph's tensors with those names. Any value passes for an unknown
  // name: the master refuses it.
  FeedShapes(const Graph& graph, const std::vector<std::string>& names);

  // Checks one value for each feed; if there are more or fewer, the excess ones
  // pass: the master refuses them all.
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
