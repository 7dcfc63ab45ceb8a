#include "libs/passes/slice_fusion.h"

#include "absl/algorithm/container.h"
#include "libs/passes/node_fusion.h"

namespace weft {
namespace {

class SliceFusion : private NodeFusion {
 public:
  using NodeFusion::NodeFusion;

  void Fuse() {
    for (const Node* node : rewrite_.graph().nodes()) {
      // Other devices have no kernels.
      if (node->type() != "Slice" || !IsFree(*node) || !IsOnCpu(*node)) {
        continue;
      }
      const Node* product = Producer(*node, 0, "MatMul");
      if (product != nullptr && IsForOne(*product) && IsSoonKnown(*node, 1) &&
          IsSoonKnown(*node, 2)) {
        Fuse(*node, *product);
      }
    }
  }

 private:
  // Several slices may cover all of the product, which is computed faster as a
  // whole.
  bool IsForOne(const Node& product) const {
    return product.output_type(0) == DT_FLOAT && !IsEndOrAwaited(product) &&
           UsesOf(product).size() == 1 && MayBeReadLater(product, 0) &&
           MayBeReadLater(product, 1);
  }

  // Returns whether the product would hardly wait for the slice's bounds.
  bool IsSoonKnown(const Node& slice, int input) const {
    const Node& from = *rewrite_.Input(slice, input).node;
    static constexpr const char* kOps[] = {"Const", "Shape", "ShapeN",
                                           "ConcatOffset"};
    return from.assigned_device() == slice.assigned_device() &&
           absl::c_linear_search(kOps, from.type());
  }

  bool MayBeReadLater(const Node& product, int input) const {
    const OutputTensor from = rewrite_.Input(product, input);
    return rewrite_.MayBeTaken(from) &&
           !IsRefType(from.node->output_type(from.index));
  }

  void Fuse(const Node& slice, const Node& product) {
    const OutputTensor begin = rewrite_.Input(slice, 1);
    rewrite_.Replace(
        slice,
        {.op = "_SlicedMatMul",
         .inputs = {rewrite_.Input(product, 0), rewrite_.Input(product, 1),
                    begin, rewrite_.Input(slice, 2)},
         .attrs = {{"T", DT_FLOAT},
                   {"Index", begin.node->output_type(begin.index)},
                   {"transpose_a", AttrOr(product, "transpose_a", false)},
                   {"transpose_b", AttrOr(product, "transpose_b", false)},
                   {"product_name", product.name()}}});
  }
};

}  // namespace

void FuseSlices(GraphRewrite& rewrite) { SliceFusion(rewrite).Fuse(); }

}  // namespace weft
