// object_store measures how long it takes to write one large file to an object
// store and to read it back. Like a save, it writes chunks of 1 MiB; like a
// restore, it reads chunks of 8 MiB. The environment provides endpoint and
// credentials (docs/operations/object_stores.md); object_store.py runs this
// beside curl against its own server.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "benchmarks/common/report.h"
#include "libs/base/command_line.h"
#include "libs/fs/file_system.h"
#include "libs/runtime/process/process.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(std::string, path, "s3://bucket/weft-benchmark",
          "The file, which is deleted afterwards.");
ABSL_FLAG(int, megabytes, 64, "Size of the file, in MiB.");
ABSL_FLAG(int, repeats, 3, "Number of round trips.");

namespace weft::benchmarks {
namespace {

constexpr size_t kWritten = size_t{1} << 20;
constexpr size_t kRead = size_t{8} << 20;

template <typename Work>
double Seconds(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(end - begin).count();
}

void Upload(FileSystem& files, const std::string& path,
            const std::string& bytes) {
  auto file = files.NewWritableFile(path);
  Check(file.status());
  for (size_t at = 0; at < bytes.size(); at += kWritten) {
    Check((*file)->Append(absl::string_view(bytes).substr(at, kWritten)));
  }
  Check((*file)->Sync());
  Check((*file)->Close());
}

void Download(FileSystem& files, const std::string& path, std::string& bytes) {
  auto file = files.NewRandomAccessFile(path);
  Check(file.status());
  for (size_t at = 0; at < bytes.size(); at += kRead) {
    const size_t size = std::min(kRead, bytes.size() - at);
    auto read = (*file)->Read(at, size, bytes.data() + at);
    Check(read.status());
    if (*read != size)
      Check(absl::DataLossError("the object is shorter than written"));
  }
}

void Main() {
  Process process;
  FileSystem& files = process.file_system();
  const std::string path = absl::GetFlag(FLAGS_path);
  const auto size = static_cast<size_t>(absl::GetFlag(FLAGS_megabytes)) << 20;
  std::string sent(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    sent[i] = static_cast<char>((i * 2654435761u) >> 13);
  }
  std::string received(size, '\0');
  std::vector<double> uploads, downloads;
  for (int i = 0; i < absl::GetFlag(FLAGS_repeats); ++i) {
    uploads.push_back(Seconds([&] { Upload(files, path, sent); }));
    downloads.push_back(Seconds([&] { Download(files, path, received); }));
    if (sent != received)
      Check(absl::DataLossError("the bytes read differ from those written"));
  }
  Check(files.DeleteFile(path));
  const auto rate = [&](std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    return static_cast<double>(size) / 1e6 / seconds[seconds.size() / 2];
  };
  Report report("object_store");
  report.Param("megabytes", absl::GetFlag(FLAGS_megabytes));
  report.Param("repeats", absl::GetFlag(FLAGS_repeats));
  report.Value("upload_rate", rate(std::move(uploads)), "MB/s");
  report.Value("download_rate", rate(std::move(downloads)), "MB/s");
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv, "A large file to an object store and back.");
  weft::benchmarks::Main();
}
