// Tests odd CSV files against TensorFlow's results: CSVDataset, DecodeCSV, and
// the names and types that an Estimator's input function infers, which must
// agree with CSVDataset.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/estimator/dataset_inputs.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

using ops::Dataset;
using Json = nlohmann::json;
using Values = std::vector<Output>;

constexpr char kPath[] = "/data/odd.csv";
constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

Json Recorded() {
  LocalFileSystem files;
  return Json::parse(
      ValueOf(files.ReadFile("integration_tests/testdata/csv/odd_files.json")));
}

// The row of a text without the context that either system adds: TensorFlow
// does not count the superfluous fields of a file's record, and Weft adds the
// line and the cause.
Json Comparable(const Json& row) {
  if (!row.is_object()) return row;
  const std::string text = row.at("error");
  for (const char* shared :
       {"Can't read header of file",
        "Unquoted fields cannot have quotes inside",
        "Unquoted fields cannot have quotes/CRLFs inside",
        "Reached end of file without closing quoted field in record",
        "Quote inside a string has to be escaped by another quote",
        "Quoted field has to end with quote followed by delim or end",
        "Expect 1 fields but have", "Expect 2 fields but have"}) {
    if (absl::StrContains(text, shared)) return {{"error", shared}};
  }
  return row;
}

Json Comparable(const Json& rows, bool begins_file) {
  Json all = Json::array();
  for (const Json& row : rows) all.push_back(Comparable(row));
  const bool has_mark =
      begins_file && !all.empty() && all[0].is_array() &&
      absl::StartsWith(all[0][0].get<std::string>(), kByteOrderMark);
  if (has_mark) {
    all[0][0] = all[0][0].get<std::string>().substr(kByteOrderMark.size());
  }
  return all;
}

bool HasError(const Json& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const Json& row) { return row.is_object(); });
}

class CsvFilesTest : public testing::TestWithParam<Json> {
 protected:
  CsvFilesTest() {
    EXPECT_OK(files_.CreateDirectories("/data"));
    const std::string text = file().value("text", "");
    EXPECT_OK(files_.WriteFileAtomically(kPath, text));
  }
  static const Json& file() { return GetParam(); }
  static std::string delimiter() { return file().value("delimiter", ","); }
  static bool has_quotes() { return file().value("quotes", true); }
  static std::string na_value() { return file().value("na", ""); }
  static InputList Defaults() {
    return InputList(file().at("columns").get<size_t>(), Input("none"));
  }

  Dataset Csv(bool has_header) {
    return ops::CsvDataset(root_, kPath, Defaults(),
                           {.header = has_header,
                            .field_delim = delimiter(),
                            .use_quote_delim = has_quotes(),
                            .na_value = na_value()});
  }
  Values Decode(const Scope& scope, const Output& record) {
    return ops::DecodeCSV(scope, record, Defaults(),
                          {.field_delim = delimiter(),
                           .use_quote_delim = has_quotes(),
                           .na_value = na_value()});
  }
  static Json ToJson(const absl::StatusOr<std::vector<Tensor>>& row) {
    if (!row.ok()) return {{"error", std::string(row.status().message())}};
    Json fields = Json::array();
    for (const Tensor& field : *row) {
      fields.push_back(field.flat<std::string>()[0]);
    }
    return fields;
  }

  // Returns the fields or the error of each element, at most eight.
  Json Rows(const Dataset& dataset) {
    const ops::Iterator iterator = dataset.MakeInitializableIterator();
    const Values next = iterator.GetNext(root_);
    const auto session = Connect();
    EXPECT_OK(session->Run(iterator.initializer()));
    Json rows = Json::array();
    while (rows.size() < 8) {
      const auto row = session->Run({}, next);
      if (absl::IsOutOfRange(row.status())) break;
      rows.push_back(ToJson(row));
    }
    return rows;
  }
  std::unique_ptr<Session> Connect() {
    return ValueOf(Session::Connect("", root_, {.process = &process_}));
  }

  // Returns the names and types that are inferred, or the error.
  Json Inferred() {
    estimator::CsvInputOptions options;
    options.field_delim = delimiter()[0];
    options.use_quote_delim = has_quotes();
    options.na_value = na_value();
    options.rows.file_system = &files_;
    const auto input = estimator::CsvInputFn(kPath, options)(root_);
    if (!input.ok()) {
      return {{"error", std::string(input.status().message())}};
    }
    Json types = Json::object();
    for (const auto& [name, feature] : input->features) {
      types[name] = DataTypeName(feature.dense().dtype());
    }
    return types;
  }

  static ProcessOptions InMemory(FileSystem& files) {
    ProcessOptions options;
    options.file_system = &files;
    return options;
  }
  MemoryFileSystem files_;
  Process process_{InMemory(files_)};
  const Scope root_ = Scope::Root();
};

class OddCsvFilesTest : public CsvFilesTest {};

TEST_P(OddCsvFilesTest, DatasetElementsAreTensorFlows) {
  const bool has_quoted_mark =
      file().at("name") == "byte order mark and quotes";
  if (has_quoted_mark) {
    EXPECT_EQ(Rows(Csv(false)), Json::parse(R"([["a", "b"], ["1", "2"]])"));
    EXPECT_EQ(Rows(Csv(true)), Json::parse(R"([["1", "2"]])"));
    return;
  }
  EXPECT_EQ(Comparable(Rows(Csv(false)), false),
            Comparable(file().at("dataset"), true));
  EXPECT_EQ(Comparable(Rows(Csv(true)), false),
            Comparable(file().at("dataset_with_header"), false));
}

TEST_P(OddCsvFilesTest, RecordsAreDecodedAsByTensorFlow) {
  const std::string text = file().at("text");
  const Values fields = Decode(root_, ops::Const(root_, text));
  EXPECT_EQ(Comparable(ToJson(Connect()->Run({}, fields))),
            Comparable(file().at("decode")));
  const Dataset lines =
      ops::TextLineDataset(root_, kPath)
          .Map([this](const Scope& scope, const Values& line) {
            return Decode(scope, line[0]);
          });
  EXPECT_EQ(Comparable(Rows(lines), false),
            Comparable(file().at("decode_lines"), false));
}

// An input function must not accept a file that the dataset rejects, nor
// reject one that it accepts.
TEST_P(OddCsvFilesTest, InferredColumnsAgreeWithTheDataset) {
  const Json rows = Rows(Csv(false));
  const Json inferred = Inferred();
  const bool names_columns = !rows.empty() && rows[0] != Json{"none"};
  if (HasError(rows) || !names_columns) {
    ASSERT_TRUE(inferred.contains("error")) << inferred;
    EXPECT_THAT(inferred.at("error").get<std::string>(),
                testing::HasSubstr(kPath));
    return;
  }
  std::vector<std::string> names;
  for (const auto& [name, type] : inferred.items()) names.push_back(name);
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(
                         rows[0].get<std::vector<std::string>>()));
}

// Python's csv module, which TensorFlow uses for the header alone, splits some
// files in another way than CSVDataset. Those are left out.
TEST_P(OddCsvFilesTest, InferredTypesAreTensorFlows) {
  const std::string name = file().at("name");
  const Json& header = file().at("header");
  const Json inferred = Inferred();
  const bool is_split_alike = !inferred.contains("error") &&
                              !header.contains("error") && name != "lone cr" &&
                              name != "quoted cr" &&
                              !absl::StartsWith(name, "byte order mark");
  if (is_split_alike) {
    EXPECT_EQ(Json::parse(absl::StrReplaceAll(
                  header.dump(),
                  {{"\"float32\"", "\"float\""}, {"float64", "double"}})),
              inferred);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OddCsvFilesTest,
                         testing::ValuesIn(Recorded().at("files")),
                         [](const testing::TestParamInfo<Json>& info) {
                           return absl::StrReplaceAll(
                               info.param.at("name").get<std::string>(),
                               {{" ", "_"}});
                         });

// CSVDataset must be able to parse the fields as the inferred type.
class CsvTypesTest : public CsvFilesTest {};

TEST_P(CsvTypesTest, TypeOfFieldsIsTensorFlows) {
  const Json& fields = GetParam().at("fields");
  std::string text = "x,y\n";
  for (const auto& field : fields) text += field.get<std::string>() + ",1\n";
  ASSERT_OK(files_.WriteFileAtomically(kPath, text));
  // Python reads underscores within numbers; CSVDataset does not.
  const std::string expected =
      fields == Json{"1_000"} ? "string" : GetParam().at("type");
  const std::string inferred = Inferred().at("x");
  EXPECT_EQ(inferred, absl::StrReplaceAll(expected, {{"float32", "float"},
                                                     {"float64", "double"}}));
}

INSTANTIATE_TEST_SUITE_P(All, CsvTypesTest,
                         testing::ValuesIn(Recorded().at("types")));

}  // namespace
}  // namespace weft
