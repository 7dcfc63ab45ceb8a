// HParams holds the hyperparameters of a training by name, each with a fixed
// type, like TensorFlow's tf.contrib.training.HParams.
//
//   HParams params({{"learning_rate", 0.1}, {"hidden_units", 20}});
//   RETURN_IF_ERROR(params.Parse("learning_rate=0.3"));    // of a flag
//   double rate = params.Get<double>("learning_rate");
//
// HParams is a value type, and not thread-safe.
#ifndef WEFT_LIBS_ESTIMATOR_HPARAMS_H_
#define WEFT_LIBS_ESTIMATOR_HPARAMS_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft::estimator {

class HParams {
 public:
  using Value =
      std::variant<bool, int64_t, double, std::string, std::vector<int64_t>,
                   std::vector<double>, std::vector<std::string>>;

  HParams() = default;
  // If a name occurs several times, its first value is used.
  HParams(std::initializer_list<std::pair<const std::string, Value>> values)
      : values_(values) {}

  // Adds a hyperparameter. ALREADY_EXISTS if the name exists.
  absl::Status AddHParam(const std::string& name, Value value);
  // Sets a new value of the same type; an integer may set a double.
  // INVALID_ARGUMENT for another type, or an unknown name.
  absl::Status SetHParam(const std::string& name, Value value);
  // Parses "name=value,other=[1,2]" and sets all values or, after an error, no
  // value. INVALID_ARGUMENT for malformed text, unknown or repeated names, and
  // values of a wrong type.
  absl::Status Parse(absl::string_view text);

  bool Contains(const std::string& name) const {
    return values_.contains(name);
  }
  // Returns a value. REQUIRES: the name exists and has type T.
  template <typename T>
  const T& Get(const std::string& name) const {
    return std::get<T>(values_.at(name));
  }
  const std::map<std::string, Value>& values() const { return values_; }

 private:
  std::map<std::string, Value> values_;
};

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_HPARAMS_H_
