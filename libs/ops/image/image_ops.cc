// Ops on images: tensors [batch, rows, columns, channels].
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

absl::StatusOr<PartialShape> Images(const InferenceContext& c, int i) {
  ASSIGN_OR_RETURN(PartialShape shape, c.InputWithRank(i, 4));
  return shape.has_rank() ? shape : PartialShape::OfRank(4);
}

// Images of the size given by input 1.
absl::Status ResizeShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape images, Images(c, 0));
  ASSIGN_OR_RETURN(const PartialShape sizes, c.InputWithRank(1, 1));
  if (sizes.has_rank() && sizes.dim(0) != PartialShape::kUnknown &&
      sizes.dim(0) != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("Dimension must be 2 but is ", sizes.dim(0)));
  }
  const PartialShape size = c.input_as_shape(1);
  for (const int dim : {0, 1}) {
    images.set_dim(1 + dim,
                   size.has_rank() ? size.dim(dim) : PartialShape::kUnknown);
  }
  c.set_output(0, std::move(images));
  return absl::OkStatus();
}

// The gradient has the shape of the images.
absl::Status ResizeGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape gradients, Images(c, 0));
  ASSIGN_OR_RETURN(PartialShape images, Images(c, 1));
  c.set_output(0, std::move(images));
  return absl::OkStatus();
}

OpDefBuilder Resize(const char* op, const char* types, const char* output) {
  return OpDefBuilder(op)
      .Input("images: T")
      .Input("size: int32")
      .Output(absl::StrCat("resized_images: ", output))
      .Attr(absl::StrCat("T: {", types, "}"))
      .Attr("align_corners: bool = false");
}

}  // namespace

void RegisterImageOps(OpRegistry& registry) {
  constexpr char kTypes[] =
      "int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16";
  registry.Add(Resize("ResizeArea", kTypes, "float")
                   .Doc("Resizes images by averaging areas.")
                   .Shape(ResizeShape));
  registry.Add(Resize("ResizeBicubic", kTypes, "float")
                   .Attr("half_pixel_centers: bool = false")
                   .Doc("Resizes images by bicubic interpolation.")
                   .Shape(ResizeShape));
  registry.Add(Resize("ResizeBilinear", kTypes, "float")
                   .Attr("half_pixel_centers: bool = false")
                   .Doc("Resizes images by bilinear interpolation.")
                   .Shape(ResizeShape));
  registry.Add(Resize("ResizeNearestNeighbor", kTypes, "T")
                   .Attr("half_pixel_centers: bool = false")
                   .Doc("Resizes images by choosing the nearest pixels.")
                   .Shape(ResizeShape));
  registry.Add(OpDefBuilder("ResizeBicubicGrad")
                   .Input("grads: float")
                   .Input("original_image: T")
                   .Output("output: T")
                   .Attr("T: {float, double}")
                   .Attr("align_corners: bool = false")
                   .Attr("half_pixel_centers: bool = false")
                   .Doc("The gradient of ResizeBicubic.")
                   .Shape(ResizeGradShape));
  registry.Add(OpDefBuilder("ResizeBilinearGrad")
                   .Input("grads: float")
                   .Input("original_image: T")
                   .Output("output: T")
                   .Attr("T: {float, bfloat16, half, double}")
                   .Attr("align_corners: bool = false")
                   .Attr("half_pixel_centers: bool = false")
                   .Doc("The gradient of ResizeBilinear.")
                   .Shape(ResizeGradShape));
  registry.Add(
      OpDefBuilder("ResizeNearestNeighborGrad")
          .Input("grads: T")
          .Input("size: int32")
          .Output("output: T")
          .Attr("T: {uint8, int8, int32, half, float, double, bfloat16}")
          .Attr("align_corners: bool = false")
          .Attr("half_pixel_centers: bool = false")
          .Doc("The gradient of ResizeNearestNeighbor.")
          .Shape(ResizeShape));
}

}  // namespace weft
