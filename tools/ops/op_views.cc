#include "tools/ops/op_views.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/cli/json_text.h"
#include "tools/cli/table.h"

namespace weft::tools {
namespace {

std::string TypesText(const std::vector<DataType>& types,
                      absl::string_view separator) {
  return absl::StrJoin(types, separator, [](std::string* out, DataType type) {
    out->append(DataTypeName(type));
  });
}

std::string Text(ShapeStatus status) {
  switch (status) {
    case ShapeStatus::kInferred:
      return "yes";
    case ShapeStatus::kUnknown:
      return "not inferred";
    case ShapeStatus::kNoOutputs:
      return "no outputs";
  }
  return "";
}

// Returns the types of a kernel column as text, or `missing` if there is no
// kernel.
std::string Text(const KernelColumn& column, const char* missing) {
  if (column.status == KernelStatus::kMissing) return missing;
  if (column.status == KernelStatus::kExecutor) return "by the executor";
  if (column.types.empty()) return "any";
  return absl::StrJoin(
      column.types, "; ", [](std::string* out, const auto& entry) {
        absl::StrAppend(out, entry.first, ": ", TypesText(entry.second, " "));
      });
}

std::string Text(GradientStatus status) {
  switch (status) {
    case GradientStatus::kYes:
      return "yes";
    case GradientStatus::kNone:
      return "none by nature";
    case GradientStatus::kRuntime:
      return "made after gradients";
    case GradientStatus::kMissing:
      return "MISSING";
  }
  return "";
}

constexpr char kNoCpu[] = "MISSING";
constexpr char kNoGpu[] = "none";

// Escapes Markdown's special characters.
std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(
      text,
      {{"|", "\\|"}, {"*", "\\*"}, {"_", "\\_"}, {"<", "\\<"}, {"`", "\\`"}});
}

// Formats text as Markdown code. In tables, only the bar must be escaped
// between backticks.
std::string Code(absl::string_view text) {
  return absl::StrCat("`", absl::StrReplaceAll(text, {{"|", "\\|"}}), "`");
}

template <typename Predicate>
int64_t Count(const std::vector<OpRow>& rows, Predicate predicate) {
  return std::count_if(rows.begin(), rows.end(), predicate);
}

std::string CountsText(const std::vector<OpRow>& rows) {
  const int64_t gpu = Count(rows, [](const OpRow& row) {
    return row.gpu.status != KernelStatus::kMissing;
  });
  const int64_t no_cpu = Count(rows, [](const OpRow& row) {
    return row.cpu.status == KernelStatus::kMissing;
  });
  const auto gradients = [&](GradientStatus status) {
    return Count(rows,
                 [&](const OpRow& row) { return row.gradient == status; });
  };
  return absl::StrCat(
      CountText(static_cast<int64_t>(rows.size()), "op"), ". On GPUs: ", gpu,
      ". Without a CPU kernel: ", no_cpu,
      ". With a gradient: ", gradients(GradientStatus::kYes),
      "; with none by nature: ", gradients(GradientStatus::kNone),
      "; missing: ", gradients(GradientStatus::kMissing), ".\n");
}

Json KernelJson(const KernelColumn& column) {
  if (column.status == KernelStatus::kMissing) return nullptr;
  Json json = Json::object();
  for (const auto& [attr, types] : column.types) {
    for (const DataType type : types) json[attr].push_back(DataTypeName(type));
  }
  return json;
}

}  // namespace

std::string OpsAsText(const std::vector<OpRow>& rows) {
  Table table({{"OP"},
               {"SHAPE"},
               {"GRADIENT"},
               {"SUMMARY"},
               {"SIGNATURE"},
               {"CPU"},
               {"GPU"}});
  for (const OpRow& row : rows) {
    table.AddRow({row.name, Text(row.shape), Text(row.gradient), row.summary,
                  row.signature, Text(row.cpu, kNoCpu), Text(row.gpu, kNoGpu)});
  }
  return table.ToString();
}

std::string OpsAsMarkdown(const std::vector<OpRow>& rows) {
  std::string text = absl::StrCat(
      CountsText(rows),
      "\n| op | what it does | signature | shape function | CPU kernel | GPU "
      "kernel | gradient |\n|---|---|---|---|---|---|---|\n");
  for (const OpRow& row : rows) {
    absl::StrAppend(&text, "| ", Code(row.name), " | ", Escaped(row.summary),
                    " | ", Code(row.signature), " | ", Text(row.shape), " | ",
                    Escaped(Text(row.cpu, kNoCpu)), " | ",
                    Escaped(Text(row.gpu, kNoGpu)), " | ", Text(row.gradient),
                    " |\n");
  }
  return text;
}

std::string OpsAsJson(const std::vector<OpRow>& rows) {
  Json json = Json::array();
  for (const OpRow& row : rows) {
    json.push_back({{"name", row.name},
                    {"summary", row.summary},
                    {"signature", row.signature},
                    {"is_stateful", row.is_stateful},
                    {"shape", Text(row.shape)},
                    {"cpu", KernelJson(row.cpu)},
                    {"gpu", KernelJson(row.gpu)},
                    {"gradient", Text(row.gradient)}});
  }
  return JsonText(json);
}

}  // namespace weft::tools
