#include "libs/graph/spec_parser.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// TensorFlow's named sets, without the quantized types, for which Weft has no
// kernels.
const std::vector<DataType>& RealNumberTypes() {
  static const auto& types = *new std::vector<DataType>{
      DT_FLOAT, DT_DOUBLE,   DT_INT32,  DT_UINT8, DT_INT16,  DT_INT8,
      DT_INT64, DT_BFLOAT16, DT_UINT16, DT_HALF,  DT_UINT32, DT_UINT64};
  return types;
}
const std::vector<DataType>& NumberTypes() {
  static const auto& types = *new std::vector<DataType>{
      DT_FLOAT,      DT_DOUBLE,    DT_INT32,  DT_UINT8,    DT_INT16,
      DT_INT8,       DT_COMPLEX64, DT_INT64,  DT_BFLOAT16, DT_UINT16,
      DT_COMPLEX128, DT_HALF,      DT_UINT32, DT_UINT64};
  return types;
}

// Cursor holds the rest of a specification, which is parsed from the front.
class Cursor {
 public:
  explicit Cursor(absl::string_view spec) : spec_(spec), rest_(spec) {}

  // Skips blanks, then consumes `text` and returns true if it comes next.
  bool Eat(absl::string_view text) {
    Skip();
    return absl::ConsumePrefix(&rest_, text);
  }
  bool AtEnd() {
    Skip();
    return rest_.empty();
  }
  bool Peek(char c) {
    Skip();
    return !rest_.empty() && rest_[0] == c;
  }
  // Consumes letters, digits and "_" and returns them; the result may be empty.
  absl::string_view Word() {
    Skip();
    size_t n = 0;
    while (n < rest_.size() &&
           (absl::ascii_isalnum(rest_[n]) || rest_[n] == '_')) {
      ++n;
    }
    return Take(n);
  }
  // Consumes a number with its sign and exponent and returns it; the result may
  // be empty.
  absl::string_view Number() {
    Skip();
    size_t n = 0;
    while (n < rest_.size() &&
           (absl::ascii_isalnum(rest_[n]) || rest_[n] == '.' ||
            rest_[n] == '-' || rest_[n] == '+')) {
      ++n;
    }
    return Take(n);
  }
  absl::StatusOr<std::string> QuotedString() {
    Skip();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) {
      return Error("expected a quoted string");
    }
    const size_t end = rest_.find(rest_[0], 1);
    if (end == absl::string_view::npos) return Error("unterminated string");
    std::string result;
    if (!absl::CUnescape(rest_.substr(1, end - 1), &result)) {
      return Error("invalid escape sequence");
    }
    rest_.remove_prefix(end + 1);
    return result;
  }
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " at '", rest_, "' in specification '", spec_, "'"));
  }

 private:
  void Skip() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }
  absl::string_view Take(size_t n) {
    absl::string_view result = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return result;
  }

  absl::string_view spec_;
  absl::string_view rest_;
};

absl::StatusOr<DataType> ParseType(Cursor& in) {
  const absl::string_view word = in.Word();
  std::optional<DataType> type = DataTypeFromName(word);
  if (!type) return in.Error(absl::StrCat("unknown type '", word, "'"));
  return *type;
}

absl::StatusOr<int64_t> ParseInt(Cursor& in) {
  int64_t value;
  if (!absl::SimpleAtoi(in.Number(), &value)) {
    return in.Error("expected an integer");
  }
  return value;
}

absl::StatusOr<float> ParseFloat(Cursor& in) {
  float value;
  if (!absl::SimpleAtof(in.Number(), &value)) {
    return in.Error("expected a number");
  }
  return value;
}

absl::StatusOr<bool> ParseBool(Cursor& in) {
  const absl::string_view word = in.Word();
  if (word != "true" && word != "false") return in.Error("expected a bool");
  return word == "true";
}

// Parses a shape: "{ unknown_rank: true }", "{}" or "{ dim { size: 2 } ... }".
absl::StatusOr<PartialShape> ParseShape(Cursor& in) {
  if (!in.Eat("{")) return in.Error("expected a shape");
  if (in.Eat("unknown_rank: true")) {
    if (!in.Eat("}")) return in.Error("expected '}'");
    return PartialShape::UnknownRank();
  }
  Dims dims;
  while (in.Eat("dim")) {
    in.Eat(":");
    if (!in.Eat("{") || !in.Eat("size:")) return in.Error("expected '{ size:'");
    ASSIGN_OR_RETURN(int64_t size, ParseInt(in));
    dims.push_back(size);
    if (!in.Eat("}")) return in.Error("expected '}'");
  }
  if (!in.Eat("}")) return in.Error("expected '}'");
  return PartialShape::Create(dims);
}

// Parses a tensor such as "{ dtype: DT_UINT8 tensor_shape: { dim { size: 2 } }
// int_val: 1 int_val: 2 }". Only integer types that protobuf's text writes as
// int_val are supported.
absl::StatusOr<Tensor> ParseTensor(Cursor& in) {
  if (!in.Eat("{") || !in.Eat("dtype:")) return in.Error("expected a tensor");
  ASSIGN_OR_RETURN(const DataType type, ParseType(in));
  if (type != DT_UINT8) return in.Error("expected DT_UINT8");
  if (!in.Eat("tensor_shape:")) return in.Error("expected 'tensor_shape:'");
  ASSIGN_OR_RETURN(const PartialShape shape, ParseShape(in));
  std::vector<uint8_t> values;
  while (in.Eat("int_val:")) {
    ASSIGN_OR_RETURN(const int64_t value, ParseInt(in));
    values.push_back(static_cast<uint8_t>(value));
    if (value != values.back()) return in.Error("expected a uint8");
  }
  if (!in.Eat("}")) return in.Error("expected '}'");
  if (!shape.IsFullyDefined() ||
      shape.ToShape().num_elements() != static_cast<int64_t>(values.size())) {
    return in.Error("the number of values differs from the shape's");
  }
  return Tensor::FromValues<uint8_t>(shape.ToShape(), values);
}

// Parses a list such as "[a, b]". `parse` parses one element.
template <typename T, typename Parse>
absl::StatusOr<AttrValue> ParseList(Cursor& in, Parse parse) {
  std::vector<T> values;
  if (!in.Eat("[")) return in.Error("expected '['");
  while (!in.Eat("]")) {
    if (!values.empty() && !in.Eat(",")) return in.Error("expected ','");
    ASSIGN_OR_RETURN(T value, parse(in));
    values.push_back(std::move(value));
  }
  return AttrValue(std::move(values));
}

template <typename T, typename Parse>
absl::StatusOr<AttrValue> ParseOneOrList(Cursor& in, bool list, Parse parse) {
  if (list) return ParseList<T>(in, parse);
  ASSIGN_OR_RETURN(T value, parse(in));
  return AttrValue(std::move(value));
}

absl::StatusOr<AttrValue> ParseDefault(Cursor& in, absl::string_view type) {
  const bool list = absl::ConsumePrefix(&type, "list(");
  if (list) absl::ConsumeSuffix(&type, ")");
  if (type == "string") {
    return ParseOneOrList<std::string>(
        in, list, [](Cursor& c) { return c.QuotedString(); });
  }
  if (type == "int") return ParseOneOrList<int64_t>(in, list, ParseInt);
  if (type == "float") return ParseOneOrList<float>(in, list, ParseFloat);
  if (type == "bool") return ParseOneOrList<bool>(in, list, ParseBool);
  if (type == "type") return ParseOneOrList<DataType>(in, list, ParseType);
  if (type == "shape")
    return ParseOneOrList<PartialShape>(in, list, ParseShape);
  if (type == "tensor" && !list) return ParseTensor(in);
  return in.Error(absl::StrCat("no defaults for attrs of type ", type));
}

// Returns whether `word` is one of TensorFlow's quantized types. A
// specification may list them, although Weft has no kernels for them.
bool IsQuantized(absl::string_view word) {
  absl::ConsumePrefix(&word, "DT_");
  const std::string name = absl::AsciiStrToLower(word);
  return absl::StartsWith(name, "qint") || absl::StartsWith(name, "quint");
}

// Parses a set of allowed types or strings, such as "{float, double}" or "{'a',
// 'b'}", after its "{". Returns the element type.
absl::StatusOr<std::string> ParseAllowed(Cursor& in, AttrDef& attr) {
  bool strings = false;
  do {
    if (in.Peek('\'') || in.Peek('"')) {
      strings = true;
      ASSIGN_OR_RETURN(std::string value, in.QuotedString());
      attr.allowed_strings.push_back(std::move(value));
    } else {
      const absl::string_view word = in.Word();
      if (IsQuantized(word)) continue;
      std::optional<DataType> type = DataTypeFromName(word);
      if (!type) return in.Error(absl::StrCat("unknown type '", word, "'"));
      attr.allowed_types.push_back(*type);
    }
  } while (in.Eat(",") && !in.Peek('}'));
  if (!in.Eat("}")) return in.Error("expected '}'");
  if (strings && !attr.allowed_types.empty()) {
    return in.Error("a set has both types and strings");
  }
  return std::string(strings ? "string" : "type");
}

// Parses the type of an element: a word, a named set of types, or a set in
// braces.
absl::StatusOr<std::string> ParseElementType(Cursor& in, AttrDef& attr) {
  if (in.Eat("{")) return ParseAllowed(in, attr);
  const absl::string_view word = in.Word();
  if (word == "numbertype" || word == "numerictype") {
    attr.allowed_types = NumberTypes();
    return std::string("type");
  }
  if (word == "realnumbertype" || word == "realnumerictype") {
    attr.allowed_types = RealNumberTypes();
    return std::string("type");
  }
  static constexpr absl::string_view kTypes[] = {
      "string", "int", "float", "bool", "type", "shape", "tensor", "func"};
  if (std::find(std::begin(kTypes), std::end(kTypes), word) ==
      std::end(kTypes)) {
    return in.Error(absl::StrCat("unknown attr type '", word, "'"));
  }
  return std::string(word);
}

absl::Status ParseAttrType(Cursor& in, AttrDef& attr) {
  const bool list = in.Eat("list(");
  ASSIGN_OR_RETURN(attr.type, ParseElementType(in, attr));
  if (!list) return absl::OkStatus();
  if (!in.Eat(")")) return in.Error("expected ')'");
  attr.type = absl::StrCat("list(", attr.type, ")");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AttrDef> ParseAttrSpec(absl::string_view spec) {
  Cursor in(spec);
  AttrDef attr;
  attr.name = std::string(in.Word());
  if (attr.name.empty() || !in.Eat(":")) return in.Error("expected 'name:'");
  RETURN_IF_ERROR(ParseAttrType(in, attr));
  if (in.Eat(">=")) {
    ASSIGN_OR_RETURN(attr.minimum, ParseInt(in));
  }
  if (in.Eat("=")) {
    ASSIGN_OR_RETURN(attr.default_value, ParseDefault(in, attr.type));
  }
  if (!in.AtEnd()) return in.Error("unexpected text");
  return attr;
}

namespace {

// Parses the type of an argument: a fixed type, or the name of an attr such as
// "T", which is one type or a list of types.
absl::Status ParseArgType(Cursor& in, absl::string_view word,
                          const std::vector<AttrDef>& attrs, ArgDef& arg) {
  for (const AttrDef& attr : attrs) {
    if (attr.name != word) continue;
    if (attr.type == "type") {
      arg.type_attr = attr.name;
    } else if (attr.type == "list(type)" && arg.number_attr.empty()) {
      arg.type_list_attr = attr.name;
    } else {
      return in.Error(absl::StrCat("attr '", word, "' is not a type"));
    }
    return absl::OkStatus();
  }
  std::optional<DataType> type = DataTypeFromName(word);
  if (!type) {
    return in.Error(absl::StrCat("'", word, "' is neither an attr nor a type"));
  }
  arg.type = *type;
  return absl::OkStatus();
}

absl::Status CheckNumberAttr(const Cursor& in, absl::string_view name,
                             const std::vector<AttrDef>& attrs) {
  for (const AttrDef& attr : attrs) {
    if (attr.name == name && attr.type == "int") return absl::OkStatus();
  }
  return in.Error(absl::StrCat("the op has no int attr '", name, "'"));
}

}  // namespace

absl::StatusOr<ArgDef> ParseArgSpec(absl::string_view spec,
                                    const std::vector<AttrDef>& attrs) {
  Cursor in(spec);
  ArgDef arg;
  arg.name = std::string(in.Word());
  if (arg.name.empty() || !in.Eat(":")) return in.Error("expected 'name:'");
  arg.is_ref = in.Eat("Ref(");
  absl::string_view word = in.Word();
  if (in.Eat("*")) {
    RETURN_IF_ERROR(CheckNumberAttr(in, word, attrs));
    arg.number_attr = std::string(word);
    arg.is_ref = arg.is_ref || in.Eat("Ref(");
    word = in.Word();
  }
  RETURN_IF_ERROR(ParseArgType(in, word, attrs, arg));
  if (arg.is_ref && !in.Eat(")")) return in.Error("expected ')'");
  if (!in.AtEnd()) return in.Error("unexpected text");
  return arg;
}

}  // namespace weft
