#include "libs/graph/attr_value.h"

#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft {
namespace {

// The name of each alternative of AttrValue::Value, in the order of that
// variant.
constexpr const char* kKindNames[] = {
    "none",         "string",      "int",        "float",      "bool",
    "type",         "shape",       "tensor",     "func",       "list(string)",
    "list(int)",    "list(float)", "list(bool)", "list(type)", "list(shape)",
    "list(tensor)", "list(func)",  "placeholder"};

// Formats one AttrValue as text: there is one overload for each kind, and lists
// join their elements.
struct Printer {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(const std::string& v) const {
    return absl::StrCat("\"", absl::CEscape(v), "\"");
  }
  std::string operator()(int64_t v) const { return absl::StrCat(v); }
  std::string operator()(float v) const { return absl::StrCat(v); }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(DataType v) const {
    return absl::StrCat("DT_", absl::AsciiStrToUpper(DataTypeName(v)));
  }
  std::string operator()(const PartialShape& v) const { return v.ToString(); }
  std::string operator()(const Tensor& v) const { return v.ToString(); }
  std::string operator()(const NameAttrList& v) const {
    std::string result = absl::StrCat(v.name, "[");
    if (v.attrs != nullptr) {
      absl::StrAppend(&result,
                      absl::StrJoin(*v.attrs, ", ",
                                    [](std::string* out, const auto& entry) {
                                      absl::StrAppend(out, entry.first, "=",
                                                      entry.second.ToString());
                                    }));
    }
    return result + "]";
  }
  std::string operator()(const AttrPlaceholder& v) const {
    return absl::StrCat("$", v.name);
  }
  template <typename T>
  std::string operator()(const std::vector<T>& v) const {
    std::string result = "[";
    for (size_t i = 0; i < v.size(); ++i) {
      absl::StrAppend(&result, i == 0 ? "" : ", ",
                      (*this)(static_cast<const T&>(v[i])));
    }
    return result + "]";
  }
};

// Compares two values. Tensors and functions have overloads of their own below,
// because they have no operator==.
template <typename T>
bool Same(const T& a, const T& b) {
  return a == b;
}
bool Same(const Tensor& a, const Tensor& b) { return SameBits(a, b); }
bool Same(const NameAttrList& a, const NameAttrList& b) {
  static const auto& empty = *new AttrMap;
  const AttrMap& left = a.attrs == nullptr ? empty : *a.attrs;
  const AttrMap& right = b.attrs == nullptr ? empty : *b.attrs;
  return a.name == b.name && left == right;
}
template <typename T>
bool Same(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!Same(static_cast<const T&>(a[i]), static_cast<const T&>(b[i]))) {
      return false;
    }
  }
  return true;
}

// ByteCount adds up the bytes of attribute values and stops counting beyond a
// limit.
class ByteCount {
 public:
  explicit ByteCount(int64_t limit) : limit_(limit) {}

  void Add(const AttrValue& value) {
    bytes_ += int64_t{sizeof(AttrValue)};
    if (bytes_ <= limit_) std::visit(*this, value.value());
  }
  int64_t bytes() const { return bytes_; }

  void operator()(const std::string& v) {
    bytes_ += static_cast<int64_t>(v.size());
  }
  void operator()(const NameAttrList& v) {
    (*this)(v.name);
    if (v.attrs == nullptr) return;
    if (++depth_ > kMaxDepth) bytes_ = limit_ + 1;
    for (const auto& [name, value] : *v.attrs) {
      if (bytes_ > limit_) break;
      (*this)(name);
      Add(value);
    }
    --depth_;
  }
  template <typename T>
  void operator()(const std::vector<T>& v) {
    bytes_ += static_cast<int64_t>(v.size() * sizeof(T));
    if constexpr (std::is_same_v<T, std::string> ||
                  std::is_same_v<T, NameAttrList>) {
      for (const T& element : v) {
        if (bytes_ > limit_) break;
        (*this)(element);
      }
    }
  }
  template <typename T>
  void operator()(const T&) {}  // a value of a fixed size adds nothing

 private:
  static constexpr int kMaxDepth = 32;
  const int64_t limit_;
  int64_t bytes_ = 0;
  int depth_ = 0;
};

}  // namespace

int64_t AttrValue::NumBytes(int64_t limit) const {
  ByteCount count(limit);
  count.Add(*this);
  return count.bytes();
}

absl::string_view AttrValue::KindName() const {
  return kKindNames[value_.index()];
}

std::string AttrValue::ToString() const {
  return std::visit(Printer(), value_);
}

bool operator==(const AttrValue& a, const AttrValue& b) {
  if (a.value_.index() != b.value_.index()) return false;
  return std::visit(
      [&b](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        return Same(value, std::get<T>(b.value_));
      },
      a.value_);
}

}  // namespace weft
