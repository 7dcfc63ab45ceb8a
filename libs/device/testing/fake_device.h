// FakeDevice is a device with its own memory and streams, simulated on the
// host, for tests of everything except kernels.
//
// Its memory is one arena that may be accessed only while a kernel or a copy of
// the device runs: any other access ends the program (SIGSEGV). Copies do not
// run when they are requested, but later, in stream order: at the latest when
// the next kernel is launched, at the earliest when a closure of the
// scheduler's compute pool has run. So under a SimulatedScheduler the seed
// decides when. Until a copy has run, its target holds uninitialized bytes.
#ifndef WEFT_LIBS_DEVICE_TESTING_FAKE_DEVICE_H_
#define WEFT_LIBS_DEVICE_TESTING_FAKE_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/device/device.h"
#include "libs/device/device_memory.h"

namespace weft {

// Thread-safe. The scheduler must outlive it.
class FakeDevice : public Device, public HasDeviceMemory {
 public:
  // "PREFIX/device:GPU:INDEX", with an arena of `arena_bytes`.
  FakeDevice(const std::string& task_prefix, int index, int64_t arena_bytes,
             Scheduler& scheduler);
  ~FakeDevice() override;

  DeviceContext* context() const override;
  // Returns the used bytes of the arena, and its size as the limit.
  DeviceMemory memory() const override;

  // Runs all earlier requests, and then `kernel`, which may access the device's
  // memory; or returns the error of a failed device.
  absl::Status Launch(absl::FunctionRef<absl::Status()> kernel);

  // Fails everything that waits for the device from now on.
  void Fail(absl::Status error);
  // Fails everything that waits for the device from the end of the next kernel
  // on.
  void FailAfterNextLaunch(absl::Status error);

  // The number of kernels launched and copies requested so far, and the used
  // bytes of the arena.
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
