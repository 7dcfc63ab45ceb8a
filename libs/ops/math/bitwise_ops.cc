// Bitwise ops on integers.
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/math/op_groups.h"

namespace weft {
namespace {

constexpr char kBitTypes[] =
    "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}";

OpDefBuilder BitsOfTwo(absl::string_view name, absl::string_view doc) {
  return OpDefBuilder(name)
      .Input("x: T")
      .Input("y: T")
      .Output("z: T")
      .Attr(kBitTypes)
      .Doc(doc)
      .Shape(shapes::BroadcastBinary);
}

}  // namespace

void RegisterBitwiseOps(OpRegistry& registry) {
  registry.Add(
      BitsOfTwo("BitwiseAnd", "Bitwise and of x and y.").Commutative());
  registry.Add(BitsOfTwo("BitwiseOr", "Bitwise or of x and y.").Commutative());
  registry.Add(BitsOfTwo("BitwiseXor", "Bitwise exclusive or of x and y.")
                   .Commutative());
  registry.Add(BitsOfTwo("LeftShift", "x shifted left by y bits."));
  registry.Add(
      BitsOfTwo("RightShift", "x shifted right by y bits; keeps the sign."));
  registry.Add(OpDefBuilder("Invert")
                   .Input("x: T")
                   .Output("y: T")
                   .Attr(kBitTypes)
                   .Doc("Bitwise complement of x.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("PopulationCount")
                   .Input("x: T")
                   .Output("y: uint8")
                   .Attr(kBitTypes)
                   .Doc("Counts the set bits.")
                   .Shape(shapes::Unchanged));
}

}  // namespace weft
