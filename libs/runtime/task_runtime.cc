#include "libs/runtime/task_runtime.h"

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/device/device_memory.h"
#include "libs/resource/queue.h"
#include "libs/resource/variable.h"
#include "libs/runtime/running_step.h"

namespace weft {

TaskRuntime::TaskRuntime(std::vector<std::unique_ptr<Device>> devices,
                         const TaskRuntimeOptions& options)
    : devices_(std::make_move_iterator(devices.begin()),
               std::make_move_iterator(devices.end())),
      options_(options),
      reclaimer_(std::make_shared<Reclaimer>(*options.scheduler)),
      value_reclaimer_(std::make_shared<Reclaimer>(*options.scheduler)),
      shared_resources_(NewResources()),
      steps_(options.max_unclaimed_bytes_per_session, *options.scheduler,
             value_reclaimer_, options.task) {}

TaskRuntime::~TaskRuntime() {
  {
    // A registration keeps its session alive, so sessions are cleared
    // explicitly.
    absl::MutexLock lock(&mutex_);
    for (auto& [id, session] : sessions_) session->registrations.clear();
    sessions_.clear();
    for (auto& [incarnation, peer] : peers_) {
      if (peer.lease != 0) options_.scheduler->CancelTimer(peer.lease);
    }
    for (const auto& resources : shared_resources_) resources->ClearAll();
  }
  // This wait comes before the reclaimers' wait, because the closures release
  // objects to the reclaimers.
  (void)cancelling_.WaitUntilNone(*options_.scheduler, absl::InfiniteFuture());
  reclaimer_->WaitUntilNone();
  value_reclaimer_->WaitUntilNone();
}

std::vector<std::shared_ptr<ResourceManager>> TaskRuntime::NewResources()
    const {
  std::vector<std::shared_ptr<ResourceManager>> result;
  for (size_t i = 0; i < devices_.size(); ++i) {
    result.push_back(
        std::make_shared<ResourceManager>(options_.default_container));
  }
  return result;
}

std::vector<protocol::PlacedResource> TaskRuntime::SharedResources() const {
  std::vector<protocol::PlacedResource> result;
  for (size_t i = 0; i < devices_.size(); ++i) {
    for (ResourceManager::Entry& entry : shared_resources_[i]->List()) {
      // Names with this prefix are private to a kernel.
      if (absl::StartsWith(entry.name, "_")) continue;
      result.push_back(
          {.resource = {std::move(entry.container), std::move(entry.name),
                        std::move(entry.type_name), entry.info.dtype,
                        entry.info.shape},
           .device = devices_[i]->name(),
           .num_bytes = entry.info.num_bytes,
           .description = std::move(entry.description)});
    }
  }
  return result;
}

std::vector<protocol::DeviceUse> TaskRuntime::MemoryInUse() const {
  std::vector<protocol::DeviceUse> result;
  for (const auto& device : devices_) {
    const DeviceMemory memory = MemoryOf(*device);
    if (memory.limit == 0) continue;
    result.push_back({device->name(), memory.total, memory.in_use});
  }
  return result;
}

ResourceTotals TaskRuntime::CountResources() const {
  std::vector<std::shared_ptr<Resource>> resources;
  for (const auto& shared : shared_resources_) shared->AppendAll(resources);
  std::vector<std::shared_ptr<Session>> sessions;
  {
    absl::ReaderMutexLock lock(&mutex_);
    for (const auto& [id, session] : sessions_) sessions.push_back(session);
  }
  for (const auto& session : sessions) {
    for (const auto& own : session->own_resources) own->AppendAll(resources);
  }
  ResourceTotals totals;
  for (const std::shared_ptr<Resource>& resource : resources) {
    if (resource->type_name() == Variable::kTypeName) {
      ++totals.variables;
      totals.variable_bytes += resource->info().num_bytes;
    } else if (resource->type_name() == Queue::kTypeName) {
      ++totals.queues;
      totals.queue_elements += static_cast<const Queue&>(*resource).size();
    }
  }
  return totals;
}

std::map<std::string, int64_t> TaskRuntime::CountWaits() const {
  std::map<std::string, int64_t> waits;
  for (const auto& registration : RegistrationsOf(std::nullopt)) {
    registration->CountWaits(waits);
  }
  return waits;
}

std::vector<DeviceAttributes> TaskRuntime::Devices() const {
  std::vector<DeviceAttributes> result;
  for (const auto& device : devices_) result.push_back(device->attributes());
  return result;
}

void TaskRuntime::GetStatusWhenConnected(absl::Time, DevicesDone done) {
  done(Devices());
}

void TaskRuntime::Run(const protocol::PartitionStep& step, Done done) {
  auto registration = FindRegistration(step.session, step.registration);
  if (!registration.ok()) return done(registration.status());
  if (absl::Status status = (*registration)->Check(step); !status.ok()) {
    return done(std::move(status));
  }
  const bool is_shared =
      step.session.master_incarnation != options_.incarnation ||
      !(*registration)->edges().peers.all.empty();
  protocol::Worker* master = nullptr;
  const bool sends = !(*registration)->edges().outgoing.empty();
  if (sends && step.with_answer != nullptr) {
    master = options_.peers->Find(step.with_answer->master_task);
  }
  RunningStep::Start(*std::move(registration), step,
                     is_shared ? &steps_ : nullptr, master, std::move(done));
}

void TaskRuntime::Deliver(std::vector<protocol::Push> pushes) {
  for (protocol::Push& push : pushes) steps_.Deliver(std::move(push));
}

void TaskRuntime::Abort(const protocol::StepId& step,
                        uint64_t steps_finished_below,
                        const absl::Status& cause, Done done) {
  for (const std::string& task :
       steps_.Abort(step, steps_finished_below, cause)) {
    protocol::Worker* const receiver = options_.peers->Find(task);
    if (receiver != nullptr) receiver->AbandonPushes(step);
  }
  done(absl::OkStatus());
}

void TaskRuntime::DescribeWaits(const protocol::StepId& step, absl::Time,
                                WaitsDone done) {
  std::vector<std::string> waits;
  for (const auto& registration : RegistrationsOf(step.master_incarnation)) {
    if (!registration->DescribeWaits(step.step, waits)) continue;
    if (waits.size() > kMaxWaits) waits.resize(kMaxWaits);
    return done(std::move(waits));
  }
  done(absl::NotFoundError(
      absl::StrCat("Step ", step.step, " is not running on ", options_.task)));
}

}  // namespace weft
