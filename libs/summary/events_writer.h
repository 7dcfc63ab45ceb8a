// EventsWriter: one event file, from its name and first record on
// (tensorflow/core/util/events_writer.h). EventsReader: reads one.
//
// A file is a file of records (record_writer.h) that are Events; the first
// holds the version. It is named
//
//   LOGDIR/events.out.tfevents.SECONDS.HOSTNAME SUFFIX     (without the space)
//
// with the time at which it began, in ten digits: in the order of their names
// the files of a host are in that of time, which is how TensorBoard reads them.
//
// Threads: thread-compatible. Calls block, as files do.
#ifndef WEFT_LIBS_SUMMARY_EVENTS_WRITER_H_
#define WEFT_LIBS_SUMMARY_EVENTS_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/fs/file_system.h"
#include "libs/summary/event.h"
#include "libs/summary/record_reader.h"
#include "libs/summary/record_writer.h"

namespace weft::summary {

// What files begin with.
inline constexpr absl::string_view kFileVersion = "brain.Event:2";

struct EventsFileName {
  std::string logdir;
  std::string hostname;
  std::string suffix;
  // When the file begins, in seconds since 1970. Where there is a file of the
  // name already, the next second that is free is taken.
  int64_t seconds = 0;

  std::string Path() const;
};

// The largest number of seconds in the names of a directory's files, whoever
// has written them; 0 where there are none, or nobody knows.
int64_t LastEventsSeconds(FileSystem& file_system, absl::string_view logdir);

class EventsWriter {
 public:
  // Begins a file in a directory that exists, with its version, which readers
  // see at once. ALREADY_EXISTS where a hundred names are taken. A file that
  // cannot be begun is deleted.
  static absl::StatusOr<std::unique_ptr<EventsWriter>> Create(
      FileSystem& file_system, EventsFileName name, absl::Time now);

  // Takes the bytes of an Event.
  absl::Status Write(absl::string_view event) {
    return records_.WriteRecord(event);
  }
  absl::Status Flush() { return records_.Flush(); }
  absl::Status Close() { return records_.Close(); }

  const EventsFileName& name() const { return name_; }
  const std::string& path() const { return path_; }
  uint64_t file_bytes() const { return records_.file_bytes(); }

 private:
  EventsWriter(EventsFileName name, std::unique_ptr<WritableFile> file)
      : name_(std::move(name)),
        path_(name_.Path()),
        records_(std::move(file)) {}

  const EventsFileName name_;
  const std::string path_;
  RecordWriter records_;
};

class EventsReader {
 public:
  static absl::StatusOr<std::unique_ptr<EventsReader>> Open(
      FileSystem& file_system, absl::string_view path);

  // As RecordReader::ReadRecord, with the path: OUT_OF_RANGE at the end, after
  // which more may come; and DATA_LOSS where a record is no Event.
  absl::StatusOr<Event> Next();

  uint64_t offset() const { return records_.offset(); }

 private:
  EventsReader(absl::string_view path, std::unique_ptr<RandomAccessFile> file)
      : path_(path), records_(std::move(file)) {}

  const std::string path_;
  RecordReader records_;
  std::string record_;
};

}  // namespace weft::summary

#endif  // WEFT_LIBS_SUMMARY_EVENTS_WRITER_H_
