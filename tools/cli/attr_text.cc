#include "tools/cli/attr_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/graph/import/attr_value_proto.h"
#include "schemas/tf/graph.pb.h"

namespace weft::tools {
namespace {

constexpr double kMaxElements = 10;
constexpr size_t kMaxLength = 200;

// Returns the number of elements as a double, which cannot overflow, because
// the sizes are not validated yet.
double NumElements(const tf::TensorShapeProto& shape) {
  double elements = 1;
  for (const auto& dim : shape.dim()) {
    elements *= static_cast<double>(std::max<int64_t>(dim.size(), 0));
  }
  return elements;
}

// Describes a tensor by its type and shape, because a few bytes may represent a
// tensor of any size.
std::string LargeTensorText(const tf::TensorProto& tensor) {
  const auto& dims = tensor.tensor_shape().dim();
  return absl::StrCat(
      "Tensor<type: ", DataTypeName(static_cast<DataType>(tensor.dtype())),
      " shape: [",
      absl::StrJoin(dims, ",",
                    [](std::string* out, const auto& dim) {
                      absl::StrAppend(out, dim.size());
                    }),
      "]>");
}

// Truncates a long text, but not within a UTF-8 character.
std::string Shortened(std::string text) {
  if (text.size() <= kMaxLength) return text;
  size_t end = kMaxLength;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "...");
}

absl::StatusOr<AttrValue> ValueOf(const tf::AttrValue& value,
                                  const AttrDef* attr) {
  return AttrValueFromProto(value, attr == nullptr ? "" : attr->type);
}

std::string AttrText(const tf::AttrValue& value, const AttrDef* attr) {
  if (value.has_tensor() &&
      NumElements(value.tensor().tensor_shape()) > kMaxElements) {
    return LargeTensorText(value.tensor());
  }
  if (const int count = value.list().tensor_size(); count > 0) {
    return absl::StrCat("[", count, " tensors]");
  }
  if (value.value_case() == tf::AttrValue::kPlaceholder) {
    return absl::StrCat("$", value.placeholder());
  }
  const auto read = ValueOf(value, attr);
  return read.ok() ? Shortened(read->ToString()) : "?";
}

bool IsDefault(const tf::AttrValue& value, const AttrDef* attr) {
  if (attr == nullptr || !attr->default_value || value.has_tensor() ||
      value.list().tensor_size() > 0) {
    return false;
  }
  const auto read = ValueOf(value, attr);
  if (!read.ok()) return false;
  // An unset value means the default, too.
  return !read->IsSet() || *read == *attr->default_value;
}

}  // namespace

std::map<std::string, std::string> AttrsThatMatter(const tf::NodeDef& node,
                                                   const OpRegistry& registry) {
  const OpDef* op = registry.Find(node.op());
  std::map<std::string, std::string> attrs;
  for (const auto& [name, value] : node.attr()) {
    const AttrDef* attr = op == nullptr ? nullptr : op->FindAttr(name);
    if (name == "_output_shapes" || IsDefault(value, attr)) continue;
    attrs[name] = AttrText(value, attr);
  }
  return attrs;
}

}  // namespace weft::tools
