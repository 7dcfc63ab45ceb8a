#include "tools/ops/missing_ops.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"
#include "tools/cli/table.h"

namespace weft::tools {
namespace {

using Json = nlohmann::json;

struct Family {
  absl::string_view name;
  absl::string_view reason;
  // Names of ops, separated by spaces. A "*" at the beginning or end matches
  // any text.
  absl::string_view ops;
};

// The families of missing ops. The first family that contains an op provides
// the reason.
constexpr Family kFamilies[] = {
    {"input pipelines",
     "tf.data has more kinds of data sets and iterators than programs of "
     "TensorFlow 1 use; each comes with a graph that has it",
     "*Dataset *DatasetV2 *DatasetV3 *DatasetV4 *Iterator* MakeIterator"},
    {"images",
     "nothing here decodes, cuts or draws images: programs feed tensors, or "
     "decode in a client function",
     "Adjust* *Jpeg *Png DecodeBmp DecodeGif DecodeImage ExtractJpegShape "
     "CropAndResize* DrawBoundingBoxes ExtractGlimpse "
     "ExtractImagePatches HSVToRGB RGBToHSV NonMaxSuppression* "
     "SampleDistortedBoundingBox*"},
    {"convolutions and pooling beyond 2-D",
     "only what the layers of TensorFlow 1's models use has kernels",
     "Conv3D* AvgPool3D* MaxPool3D* MaxPool*V2 MaxPool*Argmax Dilation2D*"},
    {"linear algebra",
     "factorisations and solvers for whole matrices are the work of a numerics "
     "library; no training needs one",
     "Cholesky* Lu Svd *Matrix* SelfAdjointEig* BatchMatMulV3"},
    {"Fourier transforms", "no kernels of signals are here",
     "FFT* IFFT* RFFT* IRFFT*"},
    {"special functions",
     "only functions that activations, losses and distributions of TensorFlow "
     "1's layers use have kernels",
     "Betainc Igamma* Zeta EuclideanNorm CumulativeLogsumexp"},
    {"counts of sparse tensors", "no program of the census uses one",
     "*Bincount"},
    {"sampled losses", "candidate samplers wait for a program that uses one",
     "*CandidateSampler ComputeAccidentalHits"},
    {"sequences of labels", "CTC waits for a program that uses it", "CTC*"},
    {"quantisation", "training here is in floating point",
     "FakeQuant* Quantize*"},
    {"random distributions",
     "random numbers are uniform, normal and truncated normal ones, with state "
     "and without",
     "Stateless* ParameterizedTruncatedNormal RandomGamma* RandomPoisson*"},
    {"tensors in place",
     "assignments to parts are those of variables that are trained",
     "Resource*"},
    {"tables", "tables here have names, of the graph or of its nodes",
     "Anonymous*HashTable*"},
    {"texts and encodings",
     "texts here are split, joined, hashed and looked up; more is a client "
     "function's",
     "Unicode* Decode*"},
};

bool Matches(absl::string_view name, absl::string_view pattern) {
  const bool any_begin = absl::ConsumePrefix(&pattern, "*");
  const bool any_end = absl::ConsumeSuffix(&pattern, "*");
  const size_t star = pattern.find('*');
  if (star != absl::string_view::npos) {
    return name.size() + 1 >= pattern.size() &&
           absl::StartsWith(name, pattern.substr(0, star)) &&
           absl::EndsWith(name, pattern.substr(star + 1));
  }
  if (any_begin && any_end) return absl::StrContains(name, pattern);
  if (any_begin) return absl::EndsWith(name, pattern);
  return any_end ? absl::StartsWith(name, pattern) : name == pattern;
}

MissingOp Explain(const std::string& name) {
  for (const Family& family : kFamilies) {
    for (absl::string_view pattern : absl::StrSplit(family.ops, ' ')) {
      if (!Matches(name, pattern)) continue;
      return {name, std::string(family.name), std::string(family.reason)};
    }
  }
  return {name, "", "no reason is recorded (tools/ops/missing_ops.cc)"};
}

}  // namespace

absl::StatusOr<std::vector<MissingOp>> FindMissingOps(
    absl::string_view facts, const OpRegistry& registry) {
  const Json json = Json::parse(facts, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        "the file is not a JSON object with an entry for each op");
  }
  std::vector<MissingOp> missing;
  for (const auto& entry : json.items()) {
    if (registry.Find(entry.key()) == nullptr) {
      missing.push_back(Explain(entry.key()));
    }
  }
  return missing;
}

std::string MissingOpsAsText(const std::vector<MissingOp>& ops) {
  Table table({{"OP"}, {"FAMILY"}, {"WHY IT IS NOT HERE"}});
  for (const MissingOp& op : ops) {
    table.AddRow(
        {Printable(op.name), op.family.empty() ? "?" : op.family, op.reason});
  }
  const std::string count =
      absl::StrCat(CountText(static_cast<int64_t>(ops.size()), "op"),
                   ops.size() == 1 ? " is" : " are", " not here.\n");
  return ops.empty() ? count : absl::StrCat(count, table.ToString());
}

}  // namespace weft::tools
