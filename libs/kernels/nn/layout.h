// Layouts of images. Kernels compute on images with channels last, [batch,
// rows, columns, channels] ("NHWC"). For a node with channels first, [batch,
// channels, rows, columns] ("NCHW"), the same kernel runs between transposes:
// large products use matrices anyway, and one pass over the images is cheap in
// comparison.
#ifndef WEFT_LIBS_KERNELS_NN_LAYOUT_H_
#define WEFT_LIBS_KERNELS_NN_LAYOUT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/kernels/kernel_registry.h"

namespace weft {

// Returns whether attr data_format has channels first: NCHW and NCDHW, but not
// NHWC and NDHWC. UNIMPLEMENTED for other formats.
absl::StatusOr<bool> HasChannelsFirst(const OpKernelConstruction& construction);

// The arguments of an op that are images, or int32 vectors with an image's
// shape.
struct ImageArguments {
  std::vector<int> inputs;
  std::vector<int> shapes;  // among the inputs
  std::vector<int> outputs;
};

// Returns the image arguments of ops with the suffix of Conv2D or one of its
// gradients.
ImageArguments ImagesOfConvolution(absl::string_view op);

// Wraps the kernels of `factory`, so that they see all images with channels
// last, whatever the node's layout. Attrs are the node's: the factory reorders
// them as needed. Errors state if their shapes are not those of the node.
KernelFactory InAnyLayout(ImageArguments images, KernelFactory factory);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_LAYOUT_H_
