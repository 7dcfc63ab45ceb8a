#include "libs/trace/chrome_trace.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// Label is the parsed content of a timeline_label: "NAME = OP(INPUT, INPUT)",
// optionally after "[BYTES] ".
struct Label {
  std::string op;
  std::vector<std::string> inputs;
};

Label ParseLabel(const NodeExecStats& node) {
  const absl::string_view text = node.timeline_label;
  const size_t equals = text.find(" = ");
  const size_t open = equals == absl::string_view::npos
                          ? absl::string_view::npos
                          : text.find('(', equals);
  if (open == absl::string_view::npos || !absl::EndsWith(text, ")")) {
    return {node.node_name, {}};
  }
  const absl::string_view inputs =
      text.substr(open + 1, text.size() - open - 2);
  Label label{std::string(text.substr(equals + 3, open - equals - 3)), {}};
  if (!inputs.empty()) label.inputs = absl::StrSplit(inputs, ", ");
  return label;
}

// Run is one run of a node, in microseconds since the step began.
struct Run {
  const NodeExecStats* stats = nullptr;
  double start = 0;
  double duration = 0;
  int row = 0;
  double end() const { return start + duration; }
};

// End is one end of an edge between devices.
struct End {
  double time = 0;
  size_t device = 0;
  int row = 0;
};

// The name of the tensor, its source device, and its destination device.
using EdgeName = std::tuple<std::string, std::string, std::string>;

class Writer {
 public:
  explicit Writer(const StepStats& stats) : stats_(stats) {
    origin_ = std::numeric_limits<int64_t>::max();
    for (const DeviceStepStats& device : stats.dev_stats) {
      for (const NodeExecStats& node : device.node_stats) {
        origin_ = std::min(origin_, node.start_nanos);
      }
    }
  }

  std::string Write() {
    text_ = "{\"traceEvents\": [\n";
    for (size_t i = 0; i < stats_.dev_stats.size(); ++i) WriteDevice(i);
    WriteFlows();
    absl::StrAppend(&text_, is_first_ ? "" : "\n", "]}\n");
    return std::move(text_);
  }

 private:
  // Appends an event. Bytes that are not UTF-8 are replaced, because names come
  // from other processes.
  void Add(const Json& event) {
    absl::StrAppend(&text_, is_first_ ? "" : ",\n",
                    event.dump(-1, ' ', false, Json::error_handler_t::replace));
    is_first_ = false;
  }

  // Returns the number of a device in the trace, because process numbers of
  // Chrome begin at 1.
  static size_t Pid(size_t device) { return device + 1; }

  void AddName(size_t device, const char* what, int row, const Json& name) {
    const bool is_index = absl::EndsWith(what, "_sort_index");
    Add({{"name", what},
         {"ph", "M"},
         {"pid", Pid(device)},
         {"tid", row},
         {"args", {{is_index ? "sort_index" : "name", name}}}});
  }

  // Converts the times of a run. The numbers may be arbitrary, so the
  // difference wraps around instead of overflowing.
  Run RunOf(const NodeExecStats& node) const {
    const auto since =
        static_cast<int64_t>(static_cast<uint64_t>(node.start_nanos) -
                             static_cast<uint64_t>(origin_));
    const double duration = static_cast<double>(node.end_rel_nanos) / 1000;
    return {&node, static_cast<double>(since) / 1000, std::max(duration, 0.0)};
  }

  void WriteDevice(size_t index) {
    const DeviceStepStats& device = stats_.dev_stats[index];
    AddName(index, "process_name", 0, device.device);
    AddName(index, "process_sort_index", 0, index);
    // Rows of threads come first, then rows of waits.
    std::map<uint32_t, std::vector<Run>> threads;
    for (const NodeExecStats& node : device.node_stats) {
      threads[node.thread_id - 1].push_back(RunOf(node));
    }
    int rows = 0;
    for (auto& [thread, runs] : threads) {
      const auto name = device.thread_names.find(thread + 1);
      WriteThread(index,
                  name != device.thread_names.end() ? name->second
                  : thread + 1 == 0                 ? "waits"
                                    : absl::StrCat("thread ", thread + 1),
                  runs, rows);
    }
  }

  // Writes the runs of one thread. Overlapping runs, such as waits, get
  // separate rows.
  void WriteThread(size_t device, const std::string& name,
                   std::vector<Run>& runs, int& rows) {
    std::stable_sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
      return a.start < b.start;
    });
    using Busy = std::pair<double, int>;  // end time, row
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
    int rows_here = 0;
    for (Run& run : runs) {
      if (!busy.empty() && busy.top().first <= run.start) {
        run.row = busy.top().second;
        busy.pop();
      } else {
        run.row = ++rows;
        ++rows_here;
        AddName(
            device, "thread_name", run.row,
            rows_here == 1 ? name : absl::StrCat(name, " (", rows_here, ")"));
        AddName(device, "thread_sort_index", run.row, run.row);
      }
      busy.emplace(run.end(), run.row);
      WriteRun(device, run);
    }
  }

  void WriteRun(size_t device, const Run& run) {
    const NodeExecStats& node = *run.stats;
    const Label label = ParseLabel(node);
    Json args = {{"name", node.node_name}, {"op", label.op}};
    for (size_t i = 0; i < label.inputs.size(); ++i) {
      args[absl::StrCat("input", i)] = label.inputs[i];
    }
    if (absl::StartsWith(node.timeline_label, "[")) {
      args["label"] = node.timeline_label;
    }
    int64_t bytes = 0;
    for (const OutputStats& output : node.output) {
      if (__builtin_add_overflow(bytes, output.num_bytes, &bytes)) bytes = 0;
    }
    if (bytes > 0) args["output_bytes"] = bytes;
    Add({{"name", label.op},
         {"cat", "Op"},
         {"ph", "X"},
         {"ts", run.start},
         {"dur", run.duration},
         {"pid", Pid(device)},
         {"tid", run.row},
         {"args", std::move(args)}});
    NoteEdge(device, run, label);
  }

  void NoteEdge(size_t device, const Run& run, const Label& label) {
    const bool sends = label.op == "_Send";
    if ((!sends && label.op != "_Recv") || label.inputs.size() != 1) return;
    const std::vector<std::string> parts =
        absl::StrSplit(label.inputs[0], absl::MaxSplits(" @", 1));
    if (parts.size() != 2) return;
    const std::string& here = stats_.dev_stats[device].device;
    const std::string& there = parts[1];
    EdgeName edge(parts[0], sends ? here : there, sends ? there : here);
    auto& ends = sends ? sent_ : received_;
    ends[std::move(edge)].push_back(
        {sends ? run.start : run.end(), device, run.row});
  }

  // Writes the arrows of edges. An edge in a loop carries many values, which
  // are matched in order.
  void WriteFlows() {
    size_t id = 0;
    for (auto& [edge, sent] : sent_) {
      const auto received = received_.find(edge);
      if (received == received_.end()) continue;
      const size_t both = std::min(sent.size(), received->second.size());
      for (size_t i = 0; i < both; ++i) {
        WriteFlow("s", ++id, std::get<0>(edge), sent[i]);
        WriteFlow("f", id, std::get<0>(edge), received->second[i]);
      }
    }
  }

  void WriteFlow(const char* phase, size_t id, const std::string& tensor,
                 const End& end) {
    Json event = {
        {"name", tensor}, {"cat", "DataFlow"},      {"ph", phase},   {"id", id},
        {"ts", end.time}, {"pid", Pid(end.device)}, {"tid", end.row}};
    // Bind the end of the arrow to the run that contains it, and not to the
    // next run.
    if (phase[0] == 'f') event["bp"] = "e";
    Add(event);
  }

  const StepStats& stats_;
  int64_t origin_ = 0;
  std::string text_;
  bool is_first_ = true;
  std::map<EdgeName, std::vector<End>> sent_;
  std::map<EdgeName, std::vector<End>> received_;
};

}  // namespace

std::string ChromeTrace(const StepStats& stats) {
  return Writer(stats).Write();
}

}  // namespace weft
