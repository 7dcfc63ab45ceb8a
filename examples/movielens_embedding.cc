// Factorizes the matrix of MovieLens ratings. Users and films are rows of one
// large table in three parts, each on its own parameter server. A rating is the
// product of two rows, except for their first elements.
//
//   movielens_embedding --data_dir=ml-100k      # u.data of MovieLens 100K
//   movielens_embedding --data_dir=ml-100k --rows=10000000
//   movielens_embedding --data_dir=ml-100k --target=zmq://localhost:2222
//
// Without a target, the program runs a cluster of three ps and a worker. Every
// fifth rating is used for the test. The program prints the root mean square
// error of the predictions for these ratings. A user or film is hashed to its
// row, as if the number of ids were unknown. So the table may have any number
// of rows, and a step sends only the rows of its batch. A table that exceeds
// the memory of the ps is rejected at once: try --rows=1000000000.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "examples/in_process_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"
#include "libs/base/random.h"
#include "libs/fs/local_file_system.h"

ABSL_FLAG(
    std::string, data_dir, "",
    "Where u.data is: lines of user, film, rating from 1 to 5, and a time, "
    "separated by tabs, as in MovieLens 100K");
ABSL_FLAG(std::string, target, "",
          "A task of a cluster with three ps and a worker; else it is started "
          "in this program");
ABSL_FLAG(int64_t, rows, 1'000'000, "Rows of the table");
ABSL_FLAG(int, dim, 20, "Elements of a row");
ABSL_FLAG(int, batch_size, 1000, "Ratings of a step");
ABSL_FLAG(int, epochs, 20, "Times that each rating is trained on");
ABSL_FLAG(double, learning_rate, 0.15, "Of Adagrad");
ABSL_FLAG(double, l2, 0.1, "Weight of the squares of the rows of a batch");

namespace weft::examples {
namespace {

constexpr int kParts = 3;

struct Ratings {
  std::vector<int64_t> users, films;  // indices of rows in the table
  std::vector<float> ratings;
};

// Returns the row of an id. Multiplication with the golden ratio spreads
// neighboring ids over the table (Knuth, The Art of Computer Programming,
// volume 3, 6.4).
int64_t RowOf(uint64_t id, int64_t rows) {
  uint64_t bits = id * 0x9e3779b97f4a7c15u;
  bits ^= bits >> 32;
  return static_cast<int64_t>(bits % static_cast<uint64_t>(rows));
}

absl::Status ParseLine(absl::string_view line, int64_t rows, Ratings& to) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
  uint32_t user = 0, film = 0;
  float rating = 0;
  if (fields.size() < 3 || !absl::SimpleAtoi(fields[0], &user) ||
      !absl::SimpleAtoi(fields[1], &film) ||
      !absl::SimpleAtof(fields[2], &rating) || !std::isfinite(rating)) {
    return absl::DataLossError(
        absl::StrCat("the line is not a rating: \"", line.substr(0, 80), "\""));
  }
  to.users.push_back(RowOf(2 * uint64_t{user}, rows));
  to.films.push_back(RowOf(2 * uint64_t{film} + 1, rows));
  to.ratings.push_back(rating);
  return absl::OkStatus();
}

struct Data {
  Ratings train, test;
};

absl::StatusOr<Data> ReadRatings(const std::string& directory, int64_t rows) {
  LocalFileSystem files;
  const std::string path = absl::StrCat(directory, "/u.data");
  ASSIGN_OR_RETURN(const std::string text, files.ReadFile(path));
  Data data;
  int64_t count = 0;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    Ratings& to = count++ % 5 == 4 ? data.test : data.train;
    RETURN_IF_ERROR(
        Annotate(ParseLine(line, rows, to), absl::StrCat(path, ":", count)));
  }
  if (!data.test.ratings.empty()) return data;
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": there are ", count,
      " ratings; five are needed for one to be kept for the test"));
}

float MeanOf(const std::vector<float>& ratings) {
  return static_cast<float>(
      std::accumulate(ratings.begin(), ratings.end(), 0.0) /
      static_cast<double>(ratings.size()));
}

struct Model {
  Output users, films, ratings;
  Output mean_square_error;
  Operation train;
};

// Returns the predicted ratings, with shape [batch]. The first element of a row
// is the deviation of the user or film from the mean rating. The other elements
// of both rows are multiplied.
Output Predict(const Scope& scope, const Output& users, const Output& films,
               float mean) {
  const auto first = [&](const Output& rows) {
    return ops::Reshape(scope, ops::Slice(scope, rows, {0, 0}, {-1, 1}), {-1});
  };
  const auto others = [&](const Output& rows) {
    return ops::Slice(scope, rows, {0, 1}, {-1, -1});
  };
  const Output product =
      ops::Sum(scope, ops::Mul(scope, others(users), others(films)), {1});
  const Output base =
      ops::Add(scope, ops::Add(scope, first(users), first(films)), mean);
  return ops::Add(scope, base, product);
}

Model BuildModel(const Scope& scope, float mean) {
  const auto dim = static_cast<int64_t>(absl::GetFlag(FLAGS_dim));
  const auto table = ops::GetPartitionedVariable(
      scope, "embedding", TensorShape({absl::GetFlag(FLAGS_rows), dim}),
      {.initializer = ops::initializers::RandomNormal(0, 0.1, 1),
       .partitioner = ops::FixedSizePartitioner(kParts)});
  Model model;
  model.users = ops::Placeholder(scope, DT_INT64, {.shape = {-1}});
  model.films = ops::Placeholder(scope, DT_INT64, {.shape = {-1}});
  model.ratings = ops::Placeholder(scope, DT_FLOAT, {.shape = {-1}});
  const nn::EmbeddingLookupOptions div = {.partition_strategy = "div"};
  const Output of_users = nn::EmbeddingLookup(scope, table, model.users, div);
  const Output of_films = nn::EmbeddingLookup(scope, table, model.films, div);
  const Output errors = ops::Square(
      scope,
      ops::Sub(scope, Predict(scope, of_users, of_films, mean), model.ratings));
  model.mean_square_error = ops::Mean(scope, errors, {0});
  const Output squares = ops::Add(scope, ops::Square(scope, of_users),
                                  ops::Square(scope, of_films));
  const Output penalty = ops::Mul(scope, ops::Sum(scope, squares, {0, 1}),
                                  static_cast<float>(absl::GetFlag(FLAGS_l2)));
  // The loss is a sum, not a mean, so that a row learns independently of other
  // ratings in the batch.
  const Output loss = ops::Add(scope, ops::Sum(scope, errors, {0}), penalty);
  model.train =
      train::Adagrad(static_cast<float>(absl::GetFlag(FLAGS_learning_rate)))
          .Minimize(scope, loss);
  return model;
}

// Returns feeds with the ratings at the indices `order`.
FeedList Feeds(const Model& model, const Ratings& from,
               absl::Span<const int64_t> order) {
  const auto count = static_cast<int64_t>(order.size());
  Tensor users(DT_INT64, {count}), films(DT_INT64, {count});
  Tensor ratings(DT_FLOAT, {count});
  for (int64_t i = 0; i < count; ++i) {
    users.mutable_flat<int64_t>()[i] = from.users[order[i]];
    films.mutable_flat<int64_t>()[i] = from.films[order[i]];
    ratings.mutable_flat<float>()[i] = from.ratings[order[i]];
  }
  return {{model.users, users}, {model.films, films}, {model.ratings, ratings}};
}

std::vector<int64_t> InOrder(const Ratings& ratings) {
  std::vector<int64_t> order(ratings.ratings.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Shuffles the indices by the Fisher-Yates algorithm.
void Shuffle(Random& random, std::vector<int64_t>& order) {
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.Next() % i]);
  }
}

absl::Status TrainEpoch(Session& session, const Model& model,
                        const Ratings& ratings,
                        absl::Span<const int64_t> order) {
  const auto batch = static_cast<size_t>(absl::GetFlag(FLAGS_batch_size));
  for (size_t begin = 0; begin < order.size(); begin += batch) {
    RETURN_IF_ERROR(session
                        .Run(Feeds(model, ratings, order.subspan(begin, batch)),
                             {}, {model.train})
                        .status());
  }
  return absl::OkStatus();
}

absl::StatusOr<double> TestError(Session& session, const Model& model,
                                 const Ratings& test) {
  ASSIGN_OR_RETURN(
      const Tensor mean_square,
      session.Run(Feeds(model, test, InOrder(test)), model.mean_square_error));
  return std::sqrt(mean_square.scalar<float>());
}

absl::Status Train(const std::string& target, const Data& data) {
  Scope root = Scope::Root();
  const Model model = BuildModel(
      root.WithDeviceFunction(ReplicaDeviceSetter(
          {.ps_tasks = kParts, .worker_device = "/job:worker/task:0"})),
      MeanOf(data.train.ratings));
  ASSIGN_OR_RETURN(auto session, Session::Connect(target, root));
  RETURN_IF_ERROR(session->Run(ops::GlobalVariablesInitializer(root)));
  std::vector<int64_t> order = InOrder(data.train);
  const auto random = NewSeededRandom(1);
  const int epochs = absl::GetFlag(FLAGS_epochs);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    Shuffle(*random, order);
    RETURN_IF_ERROR(TrainEpoch(*session, model, data.train, order));
    ASSIGN_OR_RETURN(const double error, TestError(*session, model, data.test));
    std::printf("epoch %d  test RMSE %.4f\n", epoch + 1, error);
    std::fflush(stdout);
  }
  return session->Close();
}

absl::Status CheckFlags() {
  if (absl::GetFlag(FLAGS_rows) < kParts) {
    return absl::InvalidArgumentError(
        "--rows must be at least 3, one for each part");
  }
  if (absl::GetFlag(FLAGS_dim) < 2 || absl::GetFlag(FLAGS_batch_size) < 1 ||
      absl::GetFlag(FLAGS_epochs) < 1) {
    return absl::InvalidArgumentError(
        "--dim must be at least 2, --batch_size and --epochs at least 1");
  }
  if (!absl::GetFlag(FLAGS_data_dir).empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "Give --data_dir, the directory of MovieLens 100K's u.data "
      "(https://grouplens.org/datasets/movielens/100k/)");
}

absl::Status Main() {
  RETURN_IF_ERROR(CheckFlags());
  ASSIGN_OR_RETURN(const Data data, ReadRatings(absl::GetFlag(FLAGS_data_dir),
                                                absl::GetFlag(FLAGS_rows)));
  const std::string target = absl::GetFlag(FLAGS_target);
  if (!target.empty()) return Train(target, data);
  ASSIGN_OR_RETURN(auto cluster,
                   InProcessCluster::Start({{"ps", kParts}, {"worker", 1}}));
  return Train(cluster->target(), data);
}

}  // namespace
}  // namespace weft::examples

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv, "A large table of users and films, trained.");
  const absl::Status status = weft::examples::Main();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
