// conformance: replays conformance cases and counts how they end.
//
//   bazel run //tools/conformance -- DIR [--target TARGET]
//                                        [--gpu [--exact-memory]]
//
// DIR is a case, a group of cases, or a directory of groups. Exits with 1 if a
// case failed or there was no case, and with 2 for invalid arguments. With
// --gpu, each node without a requested device runs on this machine's first GPU
// if it has a GPU kernel. The ops with such kernels are counted, and cases
// whose results differ on GPUs are listed and skipped. With --exact-memory,
// each buffer on the GPU is a separate allocation, as compute-sanitizer needs.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"
#include "libs/ops/standard_ops.h"
#include "libs/runtime/process/cuda_platform.h"
#include "libs/runtime/process/process.h"
#include "tools/conformance/case.h"
#include "tools/conformance/case_runner.h"
#include "tools/conformance/gpu_cases.h"
#include "tools/conformance/weft_session_factory.h"

namespace weft::conformance {
namespace {

constexpr char kUsage[] =
    "usage: bazel run //tools/conformance -- DIR [--target TARGET] "
    "[--gpu [--exact-memory]]\n"
    "  DIR     a case, a group of cases, or a directory of groups\n"
    "  TARGET  where to run, such as zmq://host:2222; else in this process\n"
    "  --gpu   in this process, on its first GPU; with --exact-memory each\n"
    "          buffer there is memory for itself\n";

struct Arguments {
  std::string directory;
  std::string target;
  bool on_gpu = false;
  bool has_exact_memory = false;
};

bool ParseArguments(const std::vector<std::string>& arguments,
                    Arguments* result) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view argument = arguments[i];
    if (absl::ConsumePrefix(&argument, "--target=")) {
      result->target = std::string(argument);
    } else if (argument == "--gpu") {
      result->on_gpu = true;
    } else if (argument == "--exact-memory") {
      result->has_exact_memory = true;
    } else if (argument == "--target" && i + 1 < arguments.size()) {
      result->target = arguments[++i];
    } else if (absl::StartsWith(argument, "-") || !result->directory.empty()) {
      return false;
    } else {
      result->directory = std::string(argument);
    }
  }
  return !result->directory.empty() &&
         !(result->on_gpu && !result->target.empty()) &&
         !(result->has_exact_memory && !result->on_gpu);
}

// Resolves a path relative to the user's directory. `bazel run` changes the
// current directory and passes the user's in BUILD_WORKING_DIRECTORY.
std::string FromWhereTheUserStands(const std::string& path) {
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  return directory == nullptr ? path : JoinPath(directory, path);
}

std::string NewScratchRoot() {
  const char* root = std::getenv("TMPDIR");
  std::string path =
      JoinPath(root == nullptr ? "/tmp" : root, "weft_conformance_XXXXXX");
  return mkdtemp(path.data()) == nullptr ? "" : path;
}

struct Counts {
  int passed = 0, failed = 0, skipped = 0;
};

void Report(const Outcome& outcome, Counts& counts) {
  switch (outcome.result) {
    case Outcome::Result::kPassed:
      ++counts.passed;
      return;
    case Outcome::Result::kFailed:
      ++counts.failed;
      std::printf("FAILED %s: %s\n", outcome.case_name.c_str(),
                  outcome.reason.c_str());
      break;
    case Outcome::Result::kSkipped:
      ++counts.skipped;
      std::printf("skipped %s: needs %s\n", outcome.case_name.c_str(),
                  outcome.reason.c_str());
      break;
  }
  std::fflush(stdout);
}

void ReportOps(const KernelRegistry& kernels) {
  std::set<std::string> all, on_gpu;
  for (const KernelDef* def : kernels.List()) {
    (def->device_type == "GPU" ? on_gpu : all).insert(def->op);
  }
  std::printf("ops with a kernel for GPUs: %d of %d\n",
              static_cast<int>(on_gpu.size()), static_cast<int>(all.size()));
}

Counts RunAll(const std::vector<std::string>& directories, FileSystem& fs,
              const std::string& scratch_root, const Arguments& arguments) {
  ProcessOptions options;
  if (arguments.on_gpu) {
    options.gpu_platform = std::make_shared<CudaPlatform>(
        CudaPlatformOptions{.exact_memory = arguments.has_exact_memory});
  }
  Process process(options);
  auto factory = arguments.on_gpu
                     ? WeftSessionFactory::OnGpu(process)
                     : WeftSessionFactory(process, arguments.target);
  const auto ops = StandardOps();
  CaseRunner runner(
      {.fs = &fs,
       .scratch_root = scratch_root,
       .factory = &factory,
       .scheduler = &process.scheduler(),
       .ops = ops.get(),
       .kernels = &process.kernels(),
       .has_no_errors = arguments.on_gpu ? &HasErrorsOfCpus : nullptr});
  Counts counts;
  for (const std::string& directory : directories) {
    if (arguments.on_gpu && (IsOfCpus(directory) || IsBeyondCuda(directory))) {
      std::printf("left out: %s\n", directory.c_str());
      continue;
    }
    Report(runner.Run(directory), counts);
  }
  if (arguments.on_gpu) ReportOps(process.kernels());
  return counts;
}

int Main(const std::vector<std::string>& command_line) {
  Arguments arguments;
  if (!ParseArguments(command_line, &arguments)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  LocalFileSystem fs;
  const std::string scratch_root = NewScratchRoot();
  const auto directories =
      FindCases(fs, FromWhereTheUserStands(arguments.directory));
  if (!directories.ok() || scratch_root.empty()) {
    std::fprintf(stderr, "conformance: %s\n",
                 directories.ok() ? "no directory for scratch files"
                                  : directories.status().ToString().c_str());
    return 2;
  }
  const Counts counts = RunAll(*directories, fs, scratch_root, arguments);
  fs.DeleteRecursively(scratch_root).IgnoreError();
  std::printf("%d passed, %d failed, %d skipped\n", counts.passed,
              counts.failed, counts.skipped);
  return counts.failed > 0 || directories->empty() ? 1 : 0;
}

}  // namespace
}  // namespace weft::conformance

int main(int argc, char** argv) {
  return weft::conformance::Main({argv + 1, argv + argc});
}
