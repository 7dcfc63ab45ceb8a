// FakeDevice: a device with memory of its own and streams, played by the host,
// for tests of everything around kernels.
//
// Its memory is one arena that may not be touched but while a kernel or a copy
// of the device runs: who reads it otherwise ends the program there (SIGSEGV).
// Copies do not happen when they are asked for, but later, in stream order: at
// the latest when the next kernel is launched, at the earliest when a closure
// of the scheduler's compute pool has had its turn. So under a
// SimulatedScheduler the seed draws when. Until a copy has been made, what it
// goes to holds bytes that nobody wrote.
#ifndef WEFT_LIBS_DEVICE_TESTING_FAKE_DEVICE_H_
#define WEFT_LIBS_DEVICE_TESTING_FAKE_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "libs/base/scheduler.h"
#include "libs/device/device.h"
#include "libs/device/device_memory.h"

namespace weft {

// Thread-safe. The scheduler outlives it.
class FakeDevice : public Device, public HasDeviceMemory {
 public:
  // "PREFIX/device:GPU:INDEX", with an arena of so many bytes.
  FakeDevice(const std::string& task_prefix, int index, int64_t arena_bytes,
             Scheduler& scheduler);
  ~FakeDevice() override;

  DeviceContext* context() const override;
  // Of the arena: what is in use, and its size as the limit.
  DeviceMemory memory() const override;

  // Runs all that was asked for before, and then `kernel`, which may touch the
  // device's memory; or returns the error of a device that has failed.
  absl::Status Launch(absl::FunctionRef<absl::Status()> kernel);

  // From now on whatever waits for the device fails.
  void Fail(absl::Status error);
  // The same, from the end of the next kernel on.
  void FailAfterNextLaunch(absl::Status error);

  // Kernels launched and copies asked for so far, and bytes of the arena that
  // are in use.
  int64_t launches() const;
  int64_t copies_to_device() const;
  int64_t copies_to_host() const;
  int64_t bytes_in_use() const;

  class Impl;

 private:
  FakeDevice(const std::string& task_prefix, int index,
             std::shared_ptr<Impl> impl);

  const std::shared_ptr<Impl> impl_;
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_TESTING_FAKE_DEVICE_H_
