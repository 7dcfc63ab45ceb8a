// NearNames collects the known names that are most similar to an unknown name,
// for an error that suggests them.
//
//   NearNames near("wroker");
//   for (const auto& [job, tasks] : jobs) near.Consider(job);
//   StrCat("There is no job \"wroker\".", near.Suggestion());
//   // ... Did you mean "worker"?
//
// Threads: not thread-safe.
#ifndef WEFT_LIBS_BASE_NEAR_NAMES_H_
#define WEFT_LIBS_BASE_NEAR_NAMES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace weft {

class NearNames {
 public:
  explicit NearNames(absl::string_view unknown);

  // Keeps `known` if it is one of the three nearest names so far. A name is
  // near if it differs in case or in a few characters (one third of them, at
  // most three), or if it is the unknown name in another scope: "loss" and
  // "train/loss".
  void Consider(absl::string_view known);

  // Returns a suggestion such as " Did you mean \"a\", \"b\" or \"c\"?". The
  // nearest name comes first, and names of the same distance are in
  // alphabetical order. Returns "" if there is no near name.
  std::string Suggestion() const;

 private:
  const std::string unknown_;  // in lower case
  // Pairs of (distance, name), sorted.
  std::vector<std::pair<int, std::string>> nearest_;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_NEAR_NAMES_H_
