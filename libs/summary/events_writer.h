// EventsWriter writes one event file, including its name and first record
// (tensorflow/core/util/events_writer.h). EventsReader reads an event file.
//
// An event file is a file of records (record_writer.h). Each record is an
// Event, and the first one contains the version. The file is named
//
//   LOGDIR/events.out.tfevents.SECONDS.HOSTNAME SUFFIX     (without the space)
//
// with its creation time in ten digits. So the names of a host's files sort by
// time, which is the order in which TensorBoard reads them.
//
// Threads: thread-compatible. Calls block on file I/O.
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

// The version string in the first event.
inline constexpr absl::string_view kFileVersion = "brain.Event:2";

struct EventsFileName {
  std::string logdir;
  std::string hostname;
  std::string suffix;
  // The creation time, in seconds since 1970. If a file with this name exists,
  // the next free second is used.
  int64_t seconds = 0;

  std::string Path() const;
};

// Returns the largest number of seconds in the event file names of a directory,
// by any writer. Returns 0 if there are no event files or the directory cannot
// be listed.
int64_t LastEventsSeconds(FileSystem& file_system, absl::string_view logdir);

class EventsWriter {
 public:
  // Creates a file in an existing directory, writes the version, and flushes
  // it. ALREADY_EXISTS if a hundred names are in use. After an error the file
  // is deleted.
  static absl::StatusOr<std::unique_ptr<EventsWriter>> Create(
      FileSystem& file_system, EventsFileName name, absl::Time now);

  // Writes a serialized Event.
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

  // Returns the next event. Errors are those of RecordReader::ReadRecord, with
  // the path. OUT_OF_RANGE at the end; more events may be appended later.
  // DATA_LOSS if a record is not an Event.
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
