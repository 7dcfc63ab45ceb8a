#include "libs/summary/events_writer.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"

namespace weft::summary {
namespace {

constexpr char kWriter[] = "weft.summary.events_writer";
constexpr int kMostNames = 100;
constexpr char kNameBegin[] = "events.out.tfevents.";
// The maximum number of seconds in a name. With one more digit, names would not
// sort by time.
constexpr int64_t kMostSeconds = 9'999'999'999;

// Returns the first unused file name, starting with `name`.
absl::StatusOr<EventsFileName> FreeName(FileSystem& file_system,
                                        EventsFileName name) {
  for (int i = 0; i < kMostNames; ++i, ++name.seconds) {
    const absl::Status exists = file_system.FileExists(name.Path());
    if (absl::IsNotFound(exists)) return name;
    RETURN_IF_ERROR(exists);
  }
  return absl::AlreadyExistsError(absl::StrCat(
      name.Path(), " and the ", kMostNames, " names before it are taken: give ",
      "this writer a filename_suffix of its own"));
}

std::string FirstEvent(absl::Time now) {
  Event event;
  // TensorFlow uses the second in the file name as the time of the first event.
  // The exact time is more precise.
  event.wall_time = absl::ToDoubleSeconds(now - absl::UnixEpoch());
  event.what = FileVersion{std::string(kFileVersion)};
  event.source_writer = kWriter;
  return SerializeEvent(event);
}

}  // namespace

std::string EventsFileName::Path() const {
  return JoinPath(logdir, absl::StrFormat("%s%010d.%s%s", kNameBegin, seconds,
                                          hostname, suffix));
}

int64_t LastEventsSeconds(FileSystem& file_system, absl::string_view logdir) {
  int64_t last = 0;
  const auto names = file_system.ListDirectory(logdir);
  if (!names.ok()) return last;
  for (absl::string_view name : *names) {
    int64_t seconds = 0;
    if (absl::ConsumePrefix(&name, kNameBegin) &&
        absl::SimpleAtoi(name.substr(0, name.find('.')), &seconds) &&
        seconds < kMostSeconds) {
      last = std::max(last, seconds);
    }
  }
  return last;
}

absl::StatusOr<std::unique_ptr<EventsWriter>> EventsWriter::Create(
    FileSystem& file_system, EventsFileName name, absl::Time now) {
  ASSIGN_OR_RETURN(EventsFileName free_name,
                   FreeName(file_system, std::move(name)));
  ASSIGN_OR_RETURN(auto file, file_system.NewWritableFile(free_name.Path()));
  auto writer = std::unique_ptr<EventsWriter>(
      new EventsWriter(std::move(free_name), std::move(file)));
  absl::Status begun = writer->Write(FirstEvent(now));
  if (begun.ok()) begun = writer->Flush();
  if (begun.ok()) return writer;
  // Delete the file, because otherwise a full disk would get one empty file
  // after the other.
  const std::string path = writer->name().Path();
  writer = nullptr;
  file_system.DeleteFile(path).IgnoreError();
  return begun;
}

absl::StatusOr<std::unique_ptr<EventsReader>> EventsReader::Open(
    FileSystem& file_system, absl::string_view path) {
  ASSIGN_OR_RETURN(auto file, file_system.NewRandomAccessFile(path));
  return std::unique_ptr<EventsReader>(new EventsReader(path, std::move(file)));
}

absl::StatusOr<Event> EventsReader::Next() {
  const uint64_t offset = records_.offset();
  absl::Status status = records_.ReadRecord(record_);
  if (!status.ok()) return Annotate(status, path_);
  absl::StatusOr<Event> event = ParseEvent(record_);
  if (event.ok()) return event;
  return absl::DataLossError(absl::StrCat(path_, ": the record at ", offset,
                                          ": ", event.status().message()));
}

}  // namespace weft::summary
