// Layouts of images. Kernels compute on images with channels last, [batch,
// rows, columns, channels] ("NHWC"). For a node whose images have channels
// first, [batch, channels, rows, columns] ("NCHW"), the same kernel runs
// between transposes: large products go through matrices anyway, and one pass
// over the images costs little beside them.
#ifndef WEFT_LIBS_KERNELS_NN_LAYOUT_H_
#define WEFT_LIBS_KERNELS_NN_LAYOUT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/kernels/kernel_registry.h"

namespace weft {

// Whether attr data_format puts channels first: NCHW and NCDHW, not NHWC and
// NDHWC. UNIMPLEMENTED for any other.
absl::StatusOr<bool> HasChannelsFirst(const OpKernelConstruction& construction);

// Which arguments of an op are images, or int32 vectors with an image's shape.
struct ImageArguments {
  std::vector<int> inputs;
  std::vector<int> shapes;  // among the inputs
  std::vector<int> outputs;
};

// Of the ops whose names end like Conv2D's and its gradients'.
ImageArguments ImagesOfConvolution(absl::string_view op);

// Makes the kernels of `factory`, which see all images with channels last,
// whatever the node's layout. Attrs are the node's: the factory puts them in
// the order it needs. Errors say when shapes in them are not the node's own.
KernelFactory InAnyLayout(ImageArguments images, KernelFactory factory);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_LAYOUT_H_
