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
      BitsOfTwo("BitwiseAnd", "The bits that both have.").Commutative());
  registry.Add(
      BitsOfTwo("BitwiseOr", "The bits that one or both have.").Commutative());
  registry.Add(
      BitsOfTwo("BitwiseXor", "The bits that one alone has.").Commutative());
  registry.Add(BitsOfTwo("LeftShift", "x, moved left by y bits."));
  registry.Add(
      BitsOfTwo("RightShift", "x, moved right by y bits; the sign stays."));
  registry.Add(OpDefBuilder("Invert")
                   .Input("x: T")
                   .Output("y: T")
                   .Attr(kBitTypes)
                   .Doc("The bits that x has not.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("PopulationCount")
                   .Input("x: T")
                   .Output("y: uint8")
                   .Attr(kBitTypes)
                   .Doc("How many bits are set.")
                   .Shape(shapes::Unchanged));
}

}  // namespace weft
