#include "libs/coordinator/disagreement_cause.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/coordinator/device_owner.h"

namespace weft {
namespace {

// Identifies a resource that two programs may both declare.
using Key = std::pair<std::string, std::string>;  // name, kind

Key KeyOf(const NodeResource& one) {
  return {one.resource.name, one.resource.kind};
}

std::string Quoted(const std::string& name) {
  return absl::StrCat("\"", name, "\"");
}

bool IsElsewhere(const ResourceDifference& difference) {
  return difference.here.device != difference.there_device;
}

// Returns the name of the variable of which `name` is a part: "e" for
// "e/part_0". Empty if it is not a part.
std::string WholeOf(const std::string& name) {
  const size_t slash = name.rfind("/part_");
  if (slash == std::string::npos) return "";
  const size_t number = slash + 6;
  const bool is_number =
      number < name.size() &&
      name.find_first_not_of("0123456789", number) == std::string::npos;
  return is_number ? name.substr(0, slash) : "";
}

// The number of parts of each partitioned variable, by name.
using PartCounts = std::map<std::string, int>;

void CountParts(const DeclaredProgram& program, PartCounts& counts) {
  for (const NodeResource& one : program) {
    const std::string whole = WholeOf(one.resource.name);
    if (!whole.empty()) ++counts[whole];
  }
}

int NumParts(const PartCounts& counts, const std::string& whole) {
  const auto it = counts.find(whole);
  return it == counts.end() ? 0 : it->second;
}

// The maximum number of similar causes that an error lists.
constexpr size_t kMostCauses = 5;

class Detective {
 public:
  Detective(absl::Span<const ResourceDifference> differences,
            const DeclaredProgram& here, const DeclaredProgram& there)
      : differences_(differences), here_(here), there_(there) {
    for (const NodeResource& one : here) here_keys_.insert(KeyOf(one));
    for (const NodeResource& one : there) there_keys_.insert(KeyOf(one));
    for (const ResourceDifference& one : differences) {
      differing_keys_.insert(KeyOf(one.here));
    }
    CountParts(here, here_parts_);
    CountParts(there, there_parts_);
  }

  std::vector<std::string> Causes() {
    FindLeft();
    for (const ResourceDifference& difference : differences_) {
      if (difference.there_kind != difference.here.resource.kind) {
        AddKind(difference);
      } else if (IsElsewhere(difference)) {
        elsewhere_.push_back(&difference);
      } else {
        FindCauseOnDevice(difference);
      }
    }
    FindPartitions();
    // If variables are partitioned differently, their parts also differ in
    // names and devices, which needs no other cause.
    if (!elsewhere_.empty() && wholes_.empty()) FindCauseElsewhere();
    FindStrangers();
    return std::move(causes_);
  }

 private:
  // Adds one of several similar causes, unless enough were added.
  void AddOneOfMany(std::string cause) {
    if (num_alike_++ < kMostCauses) Add(std::move(cause));
  }
  void Add(std::string cause) {
    const bool is_new =
        std::find(causes_.begin(), causes_.end(), cause) == causes_.end();
    if (is_new) causes_.push_back(std::move(cause));
  }

  void FindLeft() {
    const bool any = std::any_of(
        differences_.begin(), differences_.end(),
        [](const ResourceDifference& one) { return one.there_is_left(); });
    if (!any) return;
    Add("an earlier program has left its resources, and this one defines its "
        "model differently: reset the container.");
  }

  void AddKind(const ResourceDifference& difference) {
    AddOneOfMany(absl::StrCat(
        Quoted(difference.here.resource.name), " names a ",
        difference.here.resource.kind, " here and a ", difference.there_kind,
        " there: one of the programs uses the name of another "
        "node, or an old version of the model."));
  }

  // Finds causes for a difference on the same device: another type, shape or
  // definition.

  void FindCauseOnDevice(const ResourceDifference& difference) {
    const ResourceFacts here = FactsOf(difference.here.resource);
    const ResourceFacts& there = difference.there;
    const std::string name = Quoted(difference.here.resource.name);
    ResourceFacts same_definition = here;
    same_definition.definition = there.definition;
    if (!here.AgreeWith(there) && same_definition.AgreeWith(there)) {
      return AddDefinition(difference.here.resource);
    }
    ResourceFacts same_type = here;
    same_type.dtype = there.dtype;
    if (!here.AgreeWith(there) && same_type.AgreeWith(there)) {
      return AddOneOfMany(
          absl::StrCat("the programs give ", name, " another type."));
    }
    AddShape(difference.here.resource.name);
  }

  void AddDefinition(const NamedResource& resource) {
    if (resource.kind == "Var") {
      return Add(
          "one program uses resource variables (VarHandleOp) and the other "
          "reference variables (Variable): set use_resource alike.");
    }
    AddOneOfMany(absl::StrCat("the programs make ", resource.kind, " ",
                              Quoted(resource.name),
                              " by another op or with other "
                              "attributes."));
  }

  void AddShape(const std::string& name) {
    // A cause is added once for all parts of a variable.
    if (const std::string whole = WholeOf(name); !whole.empty()) {
      wholes_.insert(whole);
      return;
    }
    const std::string owner = SlotOwner(name);
    if (!owner.empty()) {
      return AddOneOfMany(absl::StrCat(
          Quoted(name), " belongs to ", Quoted(owner),
          ", about which the programs agree: they use another optimizer, or "
          "give it other options."));
    }
    AddOneOfMany(absl::StrCat("the programs build another model: ",
                              Quoted(name), " has another shape."));
  }

  // If `name` is a slot of a variable on which the programs agree ("w/Adam" is
  // a slot of "w"), returns the variable; otherwise an empty string.
  std::string SlotOwner(const std::string& name) const {
    const size_t slash = name.rfind('/');
    if (slash == std::string::npos) return "";
    const std::string owner = name.substr(0, slash);
    const Key key = {owner, "Var"};
    if (here_keys_.count(key) == 0 || Differs(key)) return "";
    return owner;
  }

  bool Differs(const Key& key) const { return differing_keys_.count(key) > 0; }

  // ---- causes: another partitioning ----

  void FindPartitions() {
    for (const ResourceDifference* one : elsewhere_) {
      const std::string whole = WholeOf(one->here.resource.name);
      if (whole.empty() || there_.empty()) continue;
      if (NumParts(here_parts_, whole) != NumParts(there_parts_, whole)) {
        wholes_.insert(whole);
      }
    }
    for (const std::string& whole : wholes_) AddPartition(whole);
  }

  void AddPartition(const std::string& whole) {
    const int here = NumParts(here_parts_, whole);
    const int there = NumParts(there_parts_, whole);
    if (there > 0 && here != there) {
      return AddOneOfMany(absl::StrCat("another partitioner: ", Quoted(whole),
                                       " is cut into ", here,
                                       " parts here and ", there, " there."));
    }
    AddOneOfMany(
        absl::StrCat("another partitioner: ", Quoted(whole),
                     " is cut along another axis, or is as a whole of another "
                     "shape."));
  }

  // ---- causes: resources on other devices ----

  void FindCauseElsewhere() {
    const ResourceDifference& first = *elsewhere_.front();
    if (JobOfDevice(first.here.device) != JobOfDevice(first.there_device)) {
      return Add(absl::StrCat(
          Quoted(first.here.resource.name), " is in job ",
          JobOfDevice(first.here.device), " here and in job ",
          JobOfDevice(first.there_device),
          " there: in one program it is created outside of the device "
          "function, or asks for another device."));
    }
    if (there_.empty()) {
      return Add(
          "the programs create their variables in another order, or with "
          "another ps_tasks or strategy.");
    }
    if (FindOrder() || FindNumTasks(first)) return;
    if (FindExtra(first)) return;
    if (elsewhere_.size() == 1 && NumCommon() > 2) {
      return Add(absl::StrCat("only ", Quoted(first.here.resource.name),
                              " is elsewhere: it asks for another device."));
    }
    Add("both programs create what they share in the same order, on the same "
        "number of tasks: they use another strategy (round robin, greedy, "
        "random) or "
        "other device strings.");
  }

  static std::vector<Key> Common(const DeclaredProgram& program,
                                 const std::set<Key>& others) {
    std::vector<Key> result;
    std::set<Key> seen;
    for (const NodeResource& one : program) {
      const Key key = KeyOf(one);
      if (others.count(key) > 0 && seen.insert(key).second) {
        result.push_back(key);
      }
    }
    return result;
  }

  size_t NumCommon() const { return Common(here_, there_keys_).size(); }

  bool FindOrder() {
    const std::vector<Key> here = Common(here_, there_keys_);
    const std::vector<Key> there = Common(there_, here_keys_);
    for (size_t i = 0; i < std::min(here.size(), there.size()); ++i) {
      if (here[i] == there[i]) continue;
      Add(absl::StrCat(
          "the programs create their variables in another order: here ",
          Quoted(here[i].first), " comes before ", Quoted(there[i].first),
          ", there after it."));
      return true;
    }
    return false;
  }

  // Returns the number of tasks of the job on which the program has resources.
  // Considers only the resources `among`, unless it is null.
  static int NumTasks(const DeclaredProgram& program, const std::string& job,
                      const std::set<Key>* among = nullptr) {
    std::set<std::string> tasks;
    for (const NodeResource& one : program) {
      if (among != nullptr && among->count(KeyOf(one)) == 0) continue;
      if (JobOfDevice(one.device) != job) continue;
      tasks.insert(TaskOfDevice(one.device));
    }
    return static_cast<int>(tasks.size());
  }

  // Adds the cause that the numbers of tasks differ, and returns true, unless
  // the common resources are on the same number of tasks. A program that
  // declares fewer resources may need fewer tasks.
  bool FindNumTasks(const ResourceDifference& first) {
    const std::string job = JobOfDevice(first.here.device);
    const int here = NumTasks(here_, job);
    const int there = NumTasks(there_, job);
    if (here == there || NumTasks(here_, job, &there_keys_) ==
                             NumTasks(there_, job, &here_keys_)) {
      return false;
    }
    Add(absl::StrCat("another ps_tasks or cluster spec: the resources lie on ",
                     here, here == 1 ? " task" : " tasks", " of job ", job,
                     " here and on ", there, " there."));
    return true;
  }

  // Returns the first resource before `key` that this program declares and the
  // other one lacks.
  static std::string ExtraBefore(const DeclaredProgram& program, const Key& key,
                                 const std::set<Key>& others) {
    for (const NodeResource& one : program) {
      if (KeyOf(one) == key) break;
      if (others.count(KeyOf(one)) == 0) return one.resource.name;
    }
    return "";
  }

  bool FindExtra(const ResourceDifference& first) {
    const Key key = KeyOf(first.here);
    const std::string here = ExtraBefore(here_, key, there_keys_);
    const std::string there = ExtraBefore(there_, key, here_keys_);
    const auto add = [&](const std::string& extra, absl::string_view where) {
      Add(absl::StrCat("only the program ", where, " creates ", Quoted(extra),
                       ", before ", Quoted(key.first),
                       ": all that comes after it moves on to the next task."));
    };
    if (!here.empty()) add(here, "here");
    if (!there.empty()) add(there, "there");
    return !here.empty() || !there.empty();
  }

  // Adds a cause if the two programs have hardly anything in common.
  void FindStrangers() {
    if (there_.empty()) return;
    const std::vector<Key> common = Common(here_, there_keys_);
    const bool any_agrees =
        std::any_of(common.begin(), common.end(),
                    [&](const Key& key) { return !Differs(key); });
    if (any_agrees || common.empty() || common.size() == here_keys_.size() ||
        common.size() == there_keys_.size()) {
      return;
    }
    Add(absl::StrCat("these are two different programs in one container, ",
                     Quoted(differences_[0].here.resource.container),
                     ": give each its own."));
  }

  const absl::Span<const ResourceDifference> differences_;
  const DeclaredProgram& here_;
  const DeclaredProgram& there_;
  std::set<Key> here_keys_, there_keys_, differing_keys_;
  PartCounts here_parts_, there_parts_;
  std::vector<const ResourceDifference*> elsewhere_;
  // Variables that are partitioned differently.
  std::set<std::string> wholes_;
  std::vector<std::string> causes_;
  size_t num_alike_ = 0;
};

}  // namespace

std::vector<std::string> LikelyCauses(
    absl::Span<const ResourceDifference> differences,
    const DeclaredProgram& here, const DeclaredProgram& there) {
  return Detective(differences, here, there).Causes();
}

}  // namespace weft
