// Models a text character by character. A recurrent network predicts each
// character from the characters before it, and finally writes a text of its
// own.
//
//   char_rnn                              # trains on generated sentences
//   char_rnn --text=poems.txt --units=256 --steps=5000
//   char_rnn --cell=gru --target=zmq://localhost:2222
//
// The text is cut into --batch_size pieces, which are read side by side,
// --length characters in each step. A step begins with the state at the end of
// the previous step, so that earlier text may have an effect, while gradients
// go back only --length characters. Prints the loss, which is the mean of
// -log(probability) of the actual characters (uniform guessing has the loss
// log(number of characters)), and finally --sample characters.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"
#include "libs/base/random.h"
#include "libs/fs/local_file_system.h"

ABSL_FLAG(std::string, text, "",
          "A text file to learn; empty: generated sentences");
ABSL_FLAG(std::string, target, "",
          "A task of a cluster; empty: train in this program");
ABSL_FLAG(std::string, cell, "basic_lstm", "basic_lstm, lstm or gru");
ABSL_FLAG(int, units, 96, "Of each layer");
ABSL_FLAG(int, layers, 1, "Number of stacked cells");
ABSL_FLAG(int, batch_size, 16, "Number of sequences read in parallel");
ABSL_FLAG(int, length, 32, "Characters of each sequence that a step reads");
ABSL_FLAG(int, steps, 600, "Training steps");
ABSL_FLAG(double, learning_rate, 0.01, "Of Adam");
ABSL_FLAG(int, sample, 200, "Characters to generate at the end");
ABSL_FLAG(int64_t, seed, 1,
          "Seed of the weights, the sentences and the sample");

namespace weft::examples {
namespace {

using Values = std::vector<Output>;

// Returns about `size` characters of sentences from a small grammar.
std::string MakeText(Random& random, size_t size) {
  const auto one_of = [&](const std::vector<const char*>& words) {
    return words[random.Next() % words.size()];
  };
  std::string text;
  while (text.size() < size) {
    absl::StrAppend(&text, one_of({"the ", "a ", "every "}),
                    one_of({"old ", "small ", "red ", ""}),
                    one_of({"weaver ", "king ", "sailor ", "spider "}),
                    one_of({"sees ", "mends ", "spins ", "carries "}),
                    one_of({"the ", "one "}),
                    one_of({"thread", "loom", "ship", "net"}),
                    one_of({" at night", " by the sea", "", ""}),
                    one_of({".\n", ".\n", " and sings.\n"}));
  }
  return text;
}

// A text, with each character represented by its index.
struct Corpus {
  // all different characters; their positions are the indices
  std::string characters;
  std::vector<int32_t> numbers;
};

absl::StatusOr<Corpus> Encode(const std::string& text) {
  std::map<char, int32_t> known;
  for (const char c : text) known.emplace(c, 0);
  Corpus corpus;
  for (auto& [c, number] : known) {
    number = static_cast<int32_t>(corpus.characters.size());
    corpus.characters += c;
  }
  for (const char c : text) corpus.numbers.push_back(known[c]);
  const int64_t needed = int64_t{absl::GetFlag(FLAGS_batch_size)} *
                         (absl::GetFlag(FLAGS_length) + 1);
  if (static_cast<int64_t>(text.size()) >= needed) return corpus;
  return absl::InvalidArgumentError(absl::StrCat(
      "The text has ", text.size(), " characters; a step of --batch_size ",
      absl::GetFlag(FLAGS_batch_size), " and --length ",
      absl::GetFlag(FLAGS_length), " takes ", needed));
}

std::unique_ptr<nn::RNNCell> NewCell() {
  const int64_t units = absl::GetFlag(FLAGS_units);
  const std::string kind = absl::GetFlag(FLAGS_cell);
  if (kind == "gru") return std::make_unique<nn::GRUCell>(units);
  if (kind == "lstm") return std::make_unique<nn::LSTMCell>(units);
  return std::make_unique<nn::BasicLSTMCell>(units);
}

nn::MultiRNNCell NewCells() {
  std::vector<std::unique_ptr<nn::RNNCell>> cells;
  for (int i = 0; i < absl::GetFlag(FLAGS_layers); ++i) {
    cells.push_back(NewCell());
  }
  return nn::MultiRNNCell(std::move(cells));
}

struct Model {
  Output characters;  // [batch, time], int32
  Output next;        // the character after each of `characters`
  Values begin, end;  // states before and after the step
  Output logits;      // [batch * time, number of characters]
  Output loss;
  Operation train;
};

Model BuildModel(const Scope& scope, nn::RNNCell& cell,
                 int64_t num_characters) {
  Model model;
  model.characters = ops::Placeholder(scope.WithName("characters"), DT_INT32,
                                      {.shape = {-1, -1}});
  model.next =
      ops::Placeholder(scope.WithName("next"), DT_INT32, {.shape = {-1, -1}});
  for (const int64_t size : cell.state_size()) {
    model.begin.push_back(ops::Placeholder(scope.WithName("state"), DT_FLOAT,
                                           {.shape = {-1, size}}));
  }
  const Output inputs =
      ops::OneHot(scope, model.characters, static_cast<int32_t>(num_characters),
                  1.0f, 0.0f);
  auto [outputs, end] =
      nn::DynamicRnn(scope, cell, inputs, {.initial_state = model.begin});
  model.end = end;
  const Scope softmax = ops::VariableScope(scope, "softmax");
  const auto w =
      ops::GetVariable(softmax, "w", {cell.output_size(), num_characters});
  const auto b = ops::GetVariable(softmax, "b", {num_characters},
                                  {.initializer = ops::initializers::Zeros()});
  const auto size = static_cast<int32_t>(cell.output_size());
  const Output flat = ops::BiasAdd(
      softmax,
      ops::MatMul(softmax, ops::Reshape(softmax, outputs, {-1, size}), w), b);
  model.logits = flat;
  model.loss =
      ops::Mean(scope,
                nn::SparseSoftmaxCrossEntropyWithLogits(
                    scope, ops::Reshape(scope, model.next, {-1}), flat),
                {0});
  return model;
}

// Gradients of long sequences may be far too large, so their norm is clipped.
Operation TrainOp(const Scope& scope, const Output& loss) {
  train::Adam adam(static_cast<float>(absl::GetFlag(FLAGS_learning_rate)));
  auto gradients = adam.ComputeGradients(scope, loss);
  for (auto& item : gradients) {
    if (item.gradient.IsNone()) continue;
    item.gradient = train::ClipByNorm(scope, item.gradient, 5.0f);
  }
  return adam.ApplyGradients(scope, gradients);
}

// Returns states of zeros, fed in the first step.
std::vector<Tensor> ZeroState(const nn::RNNCell& cell, int64_t rows) {
  std::vector<Tensor> state;
  for (const int64_t size : cell.state_size()) {
    state.emplace_back(DT_FLOAT, TensorShape({rows, size}));
  }
  return state;
}

// Reads the text in sequences that continue where those of the previous step
// ended.
class Reader {
 public:
  explicit Reader(const Corpus& corpus)
      : corpus_(corpus),
        rows_(absl::GetFlag(FLAGS_batch_size)),
        length_(absl::GetFlag(FLAGS_length)),
        piece_(static_cast<int64_t>(corpus.numbers.size()) / rows_) {}

  // Returns the next characters and their successors in the arguments. Returns
  // true if all sequences start again at the beginning of their piece.
  bool Next(Tensor& characters, Tensor& next) {
    const bool anew = at_ + length_ + 1 > piece_ || at_ == 0;
    if (anew) at_ = 0;
    characters = Piece(at_);
    next = Piece(at_ + 1);
    at_ += length_;
    return anew;
  }

 private:
  Tensor Piece(int64_t from) const {
    Tensor piece(DT_INT32, {rows_, length_});
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t i = 0; i < length_; ++i) {
        piece.mutable_flat<int32_t>()[row * length_ + i] =
            corpus_.numbers[row * piece_ + from + i];
      }
    }
    return piece;
  }

  const Corpus& corpus_;
  const int64_t rows_;
  const int64_t length_;
  const int64_t piece_;  // number of characters of the text in each row
  int64_t at_ = 0;
};

FeedList Feeds(const Model& model, const Tensor& characters,
               const std::vector<Tensor>& state) {
  FeedList feeds = {{model.characters, characters}};
  for (size_t i = 0; i < state.size(); ++i) {
    feeds.emplace_back(model.begin[i], state[i]);
  }
  return feeds;
}

absl::Status Train(Session& session, const Model& model,
                   const nn::RNNCell& cell, const Corpus& corpus) {
  Reader reader(corpus);
  std::vector<Tensor> state;
  Values fetches = {model.loss};
  fetches.insert(fetches.end(), model.end.begin(), model.end.end());
  const int steps = absl::GetFlag(FLAGS_steps);
  for (int step = 1; step <= steps; ++step) {
    Tensor characters, next;
    if (reader.Next(characters, next)) {
      state = ZeroState(cell, absl::GetFlag(FLAGS_batch_size));
    }
    FeedList feeds = Feeds(model, characters, state);
    feeds.emplace_back(model.next, next);
    ASSIGN_OR_RETURN(std::vector<Tensor> values,
                     session.Run(feeds, fetches, {model.train}));
    const float loss = values[0].scalar<float>();
    state.assign(values.begin() + 1, values.end());
    if (step == 1 || step == steps || step % 100 == 0) {
      std::printf("step %d  loss %.4f\n", step, loss);
      std::fflush(stdout);
    }
  }
  return absl::OkStatus();
}

// Draws a character with the probabilities that the model predicts.
int32_t Draw(Random& random, absl::Span<const float> logits) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit);
  double left = sum * static_cast<double>(random.Next() >> 11) * 0x1p-53;
  for (size_t i = 0; i + 1 < logits.size(); ++i) {
    left -= std::exp(logits[i]);
    if (left < 0) return static_cast<int32_t>(i);
  }
  return static_cast<int32_t>(logits.size()) - 1;
}

absl::StatusOr<std::string> Write(Session& session, const Model& model,
                                  const nn::RNNCell& cell, const Corpus& corpus,
                                  Random& random) {
  std::vector<Tensor> state = ZeroState(cell, 1);
  Values fetches = {model.logits};
  fetches.insert(fetches.end(), model.end.begin(), model.end.end());
  int32_t character = corpus.numbers[0];
  std::string text;
  for (int i = 0; i < absl::GetFlag(FLAGS_sample); ++i) {
    text += corpus.characters[character];
    Tensor fed(DT_INT32, TensorShape({1, 1}));
    fed.mutable_flat<int32_t>()[0] = character;
    ASSIGN_OR_RETURN(std::vector<Tensor> values,
                     session.Run(Feeds(model, fed, state), fetches));
    character = Draw(random, values[0].flat<float>());
    state.assign(values.begin() + 1, values.end());
  }
  return text;
}

absl::Status CheckFlags() {
  for (const int flag :
       {absl::GetFlag(FLAGS_units), absl::GetFlag(FLAGS_layers),
        absl::GetFlag(FLAGS_batch_size), absl::GetFlag(FLAGS_length),
        absl::GetFlag(FLAGS_steps)}) {
    if (flag >= 1) continue;
    return absl::InvalidArgumentError(
        "--units, --layers, --batch_size, --length and --steps must be at "
        "least 1");
  }
  const std::string cell = absl::GetFlag(FLAGS_cell);
  if (cell == "basic_lstm" || cell == "lstm" || cell == "gru") {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--cell must be basic_lstm, lstm or gru, not \"", cell, "\""));
}

absl::StatusOr<std::string> ReadText(Random& random) {
  const std::string path = absl::GetFlag(FLAGS_text);
  if (path.empty()) return MakeText(random, 100'000);
  LocalFileSystem files;
  return files.ReadFile(path);
}

absl::Status Main() {
  RETURN_IF_ERROR(CheckFlags());
  const auto random =
      NewSeededRandom(static_cast<uint64_t>(absl::GetFlag(FLAGS_seed)));
  ASSIGN_OR_RETURN(const std::string text, ReadText(*random));
  ASSIGN_OR_RETURN(const Corpus corpus, Encode(text));
  std::printf("%zu characters, %zu different\n", corpus.numbers.size(),
              corpus.characters.size());
  const Scope root = Scope::Root();
  root.SetGraphSeed(absl::GetFlag(FLAGS_seed));
  nn::MultiRNNCell cell = NewCells();
  Model model =
      BuildModel(root, cell, static_cast<int64_t>(corpus.characters.size()));
  model.train = TrainOp(root, model.loss);
  ASSIGN_OR_RETURN(auto session,
                   Session::Connect(absl::GetFlag(FLAGS_target), root));
  RETURN_IF_ERROR(session->Run(ops::GlobalVariablesInitializer(root)));
  RETURN_IF_ERROR(Train(*session, model, cell, corpus));
  ASSIGN_OR_RETURN(const std::string sample,
                   Write(*session, model, cell, corpus, *random));
  std::printf("----\n%s\n", sample.c_str());
  return session->Close();
}

}  // namespace
}  // namespace weft::examples

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv,
                   "A recurrent network that learns to write like a text.");
  const absl::Status status = weft::examples::Main();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
