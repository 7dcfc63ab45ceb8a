#include "libs/bus/memory/memory_wire.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/lock_observer.h"

namespace weft::bus {
namespace {

absl::Status Lost(absl::string_view why) {
  return absl::UnavailableError(absl::StrCat("Connection lost: ", why));
}

// Returns the process to which this thread delivers an event, or null. The
// pointer may only be compared.
const void*& ProcessOfThisThread() {
  static thread_local const void* process = nullptr;
  return process;
}

// NetworkMutex guards the state that all processes share. A simulation does not
// interrupt or suspend the thread that holds it, which would block all other
// processes.
class ABSL_LOCKABLE NetworkMutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    Uninterrupted::Begin();
    mutex_.Lock();
  }
  void Unlock() ABSL_UNLOCK_FUNCTION() {
    mutex_.Unlock();
    Uninterrupted::End();
  }

 private:
  absl::Mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE NetworkLock {
 public:
  explicit NetworkLock(NetworkMutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_->Lock();
  }
  ~NetworkLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  NetworkLock(const NetworkLock&) = delete;
  NetworkLock& operator=(const NetworkLock&) = delete;

 private:
  NetworkMutex* const mutex_;
};

// An event at one end of a connection.
struct Happening {
  enum class Kind { kConnect, kOpen, kMessage, kClose };
  Kind kind = Kind::kMessage;
  Frames frames;     // the message of a kMessage
  absl::Status why;  // the reason of a kClose
  absl::Time sent;
  uint64_t sequence = 0;
  bool judged = false;   // the hook has been called for it
  bool despite = false;  // happens even during a silence
  HookResult hook_result;
};

struct Process;

// A port with a listener.
struct Port {
  Process* process = nullptr;
  Address address;
  ChannelKind channel_kind = ChannelKind::kControl;
  WireEvents* events = nullptr;
};

// One end of a connection.
struct End {
  Process* process = nullptr;      // null once it need not keep the end
  const void* receiver = nullptr;  // the same process, always
  Scheduler* reader = nullptr;
  std::string name;        // name of the process, which may be gone
  std::string other_name;  // name of the other process, once connected
  ConnectionId id = 0;
  uint64_t connection = 0;
  ChannelKind channel_kind = ChannelKind::kControl;
  WireEvents* events = nullptr;
  Port* port = nullptr;        // null if it was dialed, not accepted
  Address address;             // the dialed address
  std::shared_ptr<End> other;  // null while not connected and when closed
  std::deque<Happening> queue;
  std::deque<Happening> unsent;  // messages sent before it was connected
  uint64_t num_sent = 0;
  bool opened = false;
  bool closed = false;           // no further events
  bool scheduled = false;        // a closure is scheduled or runs
  Scheduler::TimerId timer = 0;  // timer of that closure, if it is delayed
  bool running = false;          // an event is being delivered
  std::vector<Event*> waiters;   // set when the running event has returned
};

// A simulated process.
struct Process {
  std::string name;
  Scheduler* reader = nullptr;
  bool dead = false;    // see MemoryNetwork::Kill; its threads may still run
  bool buried = false;  // see MemoryNetwork::Reap: the ends are delivered
  ConnectionId next_id = 1;
  std::map<ConnectionId, std::shared_ptr<End>> ends;
};

// The names of the sending and of the receiving process.
using NamePair = std::pair<std::string, std::string>;

}  // namespace

// Core has all state of the network, so that scheduled closures may outlive the
// network.
class MemoryNetwork::Core : public std::enable_shared_from_this<Core> {
 public:
  explicit Core(Scheduler& scheduler) : scheduler_(scheduler) {}
  Scheduler& scheduler() { return scheduler_; }

  void set_hook(Hook hook) {
    NetworkLock lock(&mutex_);
    hook_ = std::make_shared<Hook>(std::move(hook));
  }

  void Add(Process* process) {
    NetworkLock lock(&mutex_);
    processes_.push_back(process);
  }
  // Removes a process that is about to be destroyed.
  void Remove(Process* process);
  void Kill(const std::string& name);
  void Reap(const std::string& name);
  void Cut(const std::string& a, const std::string& b);
  void Partition(const std::string& from, const std::string& to) {
    NetworkLock lock(&mutex_);
    silences_.emplace(from, to);
  }
  void Heal(const std::string& a, const std::string& b);
  int num_connections(const std::string& dialer, const std::string& to);

  // Returns a new port, which lives until StopListening. That must be called
  // once.
  absl::StatusOr<Port*> Listen(Process* process, const Address& address,
                               ChannelKind channel_kind, WireEvents& events);
  void StopListening(Port* port);
  ConnectionId Dial(Process* process, const Address& address,
                    ChannelKind channel_kind, WireEvents& events);
  absl::Status Send(Process* process, ConnectionId id, Frames frames);
  void Close(Process* process, ConnectionId id);

 private:
  // Events whose frames must be released without the lock.
  using Dropped = std::vector<std::deque<Happening>>;

  std::shared_ptr<End> NewEnd(Process* process)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ensures that a closure handles the head of the queue.
  void Kick(const std::shared_ptr<End>& end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Push(const std::shared_ptr<End>& end, Happening happening)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (end->closed) return;
    end->queue.push_back(std::move(happening));
    Kick(end);
  }
  // Delivers no further event to this end. The other end is notified after the
  // messages in flight to it.
  void CloseEnd(const std::shared_ptr<End>& end, Dropped* dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops the messages in flight and notifies both ends.
  void CutEnd(const std::shared_ptr<End>& end, const absl::Status& why,
              Dropped* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WaitUntilNotRunning(const std::shared_ptr<End>& end);

  bool IsSilent(const End& end) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AreApart(const std::string& a, const std::string& b) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return silences_.count({a, b}) + silences_.count({b, a}) > 0;
  }
  Port* FindPort(const Address& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Connect(const std::shared_ptr<End>& end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The closure of an end: handles the head of its queue.
  void Step(const std::shared_ptr<End>& end);
  // Returns whether the first event of the queue may happen now. Calls the hook
  // for it if that was not done yet.
  bool Judge(const std::shared_ptr<End>& end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Happen(const std::shared_ptr<End>& end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tell(const std::shared_ptr<End>& end, Happening happening, bool open);
  void Later(const std::shared_ptr<End>& end, absl::Time when)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Empties the queue, and cancels the delay of its first event.
  void Drop(const std::shared_ptr<End>& end, Dropped* dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the end from its process, which need not keep it any more.
  void Forget(const std::shared_ptr<End>& end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Scheduler& scheduler_;
  NetworkMutex mutex_;
  std::shared_ptr<Hook> hook_ ABSL_GUARDED_BY(mutex_);
  std::vector<Process*> processes_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Port>> ports_ ABSL_GUARDED_BY(mutex_);
  std::set<NamePair> silences_ ABSL_GUARDED_BY(mutex_);
  uint16_t next_port_ ABSL_GUARDED_BY(mutex_) = 20000;
  uint64_t next_connection_ ABSL_GUARDED_BY(mutex_) = 1;
};

std::shared_ptr<End> MemoryNetwork::Core::NewEnd(Process* process) {
  auto end = std::make_shared<End>();
  end->process = process;
  end->receiver = process;
  end->reader = process->reader;
  end->name = process->name;
  end->id = process->next_id++;
  process->ends.emplace(end->id, end);
  return end;
}

void MemoryNetwork::Core::Kick(const std::shared_ptr<End>& end) {
  if (end->scheduled || end->queue.empty()) return;
  end->scheduled = true;
  end->reader->Schedule(Pool::kCompute,
                        [self = shared_from_this(), end] { self->Step(end); });
}

void MemoryNetwork::Core::Later(const std::shared_ptr<End>& end,
                                absl::Time when) {
  end->timer = end->reader->ScheduleAt(
      when, [self = shared_from_this(), end] { self->Step(end); });
}

void MemoryNetwork::Core::Drop(const std::shared_ptr<End>& end,
                               Dropped* dropped) {
  dropped->push_back(std::move(end->queue));
  dropped->push_back(std::move(end->unsent));
  end->queue.clear();
  end->unsent.clear();
  if (end->timer != 0 && end->reader->CancelTimer(end->timer)) {
    end->timer = 0;
    end->scheduled = false;
  }
}

void MemoryNetwork::Core::Forget(const std::shared_ptr<End>& end) {
  if (end->process != nullptr) end->process->ends.erase(end->id);
  end->process = nullptr;
}

bool MemoryNetwork::Core::IsSilent(const End& end) const {
  if (silences_.empty() || end.queue.front().despite) return false;
  if (end.queue.front().kind != Happening::Kind::kConnect) {
    return silences_.count({end.other_name, end.name}) > 0;
  }
  for (const auto& port : ports_) {
    if (port->address == end.address) {
      return AreApart(end.name, port->process->name);
    }
  }
  return false;
}

Port* MemoryNetwork::Core::FindPort(const Address& address) {
  for (const auto& port : ports_) {
    if (port->address == address) return port.get();
  }
  return nullptr;
}

void MemoryNetwork::Core::Connect(const std::shared_ptr<End>& end) {
  Port* port = FindPort(end->address);
  if (port == nullptr) {
    Push(end, {.kind = Happening::Kind::kClose,
               .why = absl::UnavailableError(absl::StrCat(
                   "There is no listener at ", end->address.ToString()))});
    return;
  }
  auto other = NewEnd(port->process);
  other->connection = end->connection;
  other->channel_kind = port->channel_kind;
  other->events = port->events;
  other->port = port;
  other->other = end;
  other->other_name = end->name;
  end->other = other;
  end->other_name = other->name;
  other->queue = std::move(end->unsent);
  end->unsent.clear();
  Kick(other);
  Push(end, {.kind = Happening::Kind::kOpen});
}

void MemoryNetwork::Core::Step(const std::shared_ptr<End>& end) {
  NetworkLock lock(&mutex_);
  end->timer = 0;
  const Process* const process = end->process;
  const bool hears = process == nullptr || !process->dead || process->buried;
  // If nothing can be delivered now, the closure ends. Heal schedules one again
  // after a silence, and Reap after a death.
  if (end->closed || end->queue.empty() || !hears || IsSilent(*end)) {
    end->scheduled = false;
    return;
  }
  if (!Judge(end)) return;
  Happen(end);
  end->scheduled = false;
  if (!end->closed) Kick(end);
}

bool MemoryNetwork::Core::Judge(const std::shared_ptr<End>& end) {
  Happening& head = end->queue.front();
  if (head.kind != Happening::Kind::kMessage) return true;
  if (!head.judged && hook_ != nullptr && *hook_ != nullptr &&
      end->other != nullptr) {
    const Frames frames = head.frames;
    const MessageInfo info = {end->other->name,
                              end->name,
                              end->other->channel_kind,
                              end->connection,
                              end->port == nullptr,
                              head.sequence,
                              &frames};
    const std::shared_ptr<Hook> hook = hook_;
    mutex_.Unlock();
    const HookResult hook_result = (*hook)(info);
    mutex_.Lock();
    // If the end was cut or closed meanwhile, the next closure handles the
    // remaining events.
    if (end->closed || end->queue.empty() ||
        end->queue.front().kind != Happening::Kind::kMessage) {
      end->scheduled = false;
      if (!end->closed) Kick(end);
      return false;
    }
    end->queue.front().hook_result = hook_result;
  }
  Happening& judged = end->queue.front();
  judged.judged = true;
  const absl::Time due = judged.sent + judged.hook_result.delay;
  if (due <= scheduler_.clock().Now()) return true;
  Later(end, due);
  return false;
}

void MemoryNetwork::Core::Happen(const std::shared_ptr<End>& end) {
  Happening head = std::move(end->queue.front());
  end->queue.pop_front();
  Dropped dropped;
  if (head.kind == Happening::Kind::kConnect) {
    Connect(end);
    return;
  }
  if (head.kind == Happening::Kind::kMessage &&
      head.hook_result.fate != Fate::kDeliver) {
    CutEnd(end, Lost("cut by a test"), &dropped);
    if (head.hook_result.fate == Fate::kCutHere) {
      dropped.emplace_back().push_back(std::move(head));
      mutex_.Unlock();
      dropped.clear();
      mutex_.Lock();
      return;
    }
  }
  const bool open = !end->opened && head.kind != Happening::Kind::kClose;
  const bool tell = end->opened || open || end->port == nullptr;
  end->opened = end->opened || open;
  if (head.kind == Happening::Kind::kClose) {
    end->closed = true;
    if (!tell) Forget(end);
  }
  if (!tell) return;
  end->running = true;
  mutex_.Unlock();
  dropped.clear();
  ProcessOfThisThread() = end->receiver;
  Tell(end, std::move(head), open);
  ProcessOfThisThread() = nullptr;
  mutex_.Lock();
  end->running = false;
  if (end->closed) Forget(end);
  for (Event* waiter : end->waiters) waiter->Set();
  end->waiters.clear();
}

void MemoryNetwork::Core::Tell(const std::shared_ptr<End>& end,
                               Happening happening, bool open) {
  WireEvents* events = end->events;
  if (open) events->OnOpen(end->id);
  if (happening.kind == Happening::Kind::kClose) {
    events->OnClose(end->id, happening.why);
  } else if (happening.kind == Happening::Kind::kMessage) {
    if (open) {
      NetworkLock lock(&mutex_);
      if (end->closed) return;
    }
    events->OnMessage(end->id, std::move(happening.frames));
  }
}

void MemoryNetwork::Core::CloseEnd(const std::shared_ptr<End>& end,
                                   Dropped* dropped) {
  end->closed = true;
  if (!end->running) Forget(end);
  Drop(end, dropped);
  const std::shared_ptr<End> other = std::move(end->other);
  end->other = nullptr;
  if (other == nullptr) return;
  other->other = nullptr;
  Push(other, {.kind = Happening::Kind::kClose,
               .why = Lost(absl::StrCat(end->name, " closed it"))});
}

void MemoryNetwork::Core::CutEnd(const std::shared_ptr<End>& end,
                                 const absl::Status& why, Dropped* dropped) {
  const std::shared_ptr<End> other = std::move(end->other);
  end->other = nullptr;
  for (const auto& each : {end, other}) {
    if (each == nullptr) continue;
    Drop(each, dropped);
    each->other = nullptr;
    Push(each, {.kind = Happening::Kind::kClose, .why = why, .despite = true});
  }
}

void MemoryNetwork::Core::WaitUntilNotRunning(const std::shared_ptr<End>& end) {
  const std::unique_ptr<Event> done = scheduler_.NewEvent();
  {
    NetworkLock lock(&mutex_);
    if (!end->running || ProcessOfThisThread() == end->receiver) return;
    end->waiters.push_back(done.get());
  }
  done->Wait();
}

void MemoryNetwork::Core::Remove(Process* process) {
  Dropped dropped;
  std::vector<std::shared_ptr<End>> ends;
  std::vector<std::unique_ptr<Port>> ports;
  {
    NetworkLock lock(&mutex_);
    for (const auto& [id, end] : process->ends) ends.push_back(end);
    for (const auto& end : ends) CloseEnd(end, &dropped);
    for (const auto& end : ends) end->process = nullptr;
    for (auto it = ports_.begin(); it != ports_.end();) {
      const bool mine = (*it)->process == process;
      if (mine) ports.push_back(std::move(*it));
      it = mine ? ports_.erase(it) : it + 1;
    }
    processes_.erase(std::find(processes_.begin(), processes_.end(), process));
  }
  for (const auto& end : ends) WaitUntilNotRunning(end);
}

void MemoryNetwork::Core::Kill(const std::string& name) {
  Dropped dropped;
  NetworkLock lock(&mutex_);
  for (Process* process : processes_) {
    if (process->name != name || process->dead) continue;
    process->dead = true;
    std::vector<std::shared_ptr<End>> ends;
    for (const auto& [id, end] : process->ends) ends.push_back(end);
    for (const auto& end : ends) {
      CutEnd(end, Lost(absl::StrCat(name, " died")), &dropped);
    }
    // The process's ports stay alive, but can no longer be found.
    for (auto& port : ports_) {
      if (port->process == process) port->address = Address{};
    }
  }
}

void MemoryNetwork::Core::Reap(const std::string& name) {
  NetworkLock lock(&mutex_);
  for (Process* process : processes_) {
    if (process->name != name || !process->dead) continue;
    process->buried = true;
    for (const auto& [id, end] : process->ends) Kick(end);
  }
}

void MemoryNetwork::Core::Cut(const std::string& a, const std::string& b) {
  Dropped dropped;
  NetworkLock lock(&mutex_);
  for (Process* process : processes_) {
    if (process->name != a) continue;
    for (const auto& [id, end] : process->ends) {
      if (end->other == nullptr || end->other->name != b) continue;
      CutEnd(end, Lost(absl::StrCat("cut between ", a, " and ", b)), &dropped);
    }
  }
}

void MemoryNetwork::Core::Heal(const std::string& a, const std::string& b) {
  NetworkLock lock(&mutex_);
  silences_.erase({a, b});
  silences_.erase({b, a});
  for (Process* process : processes_) {
    for (const auto& [id, end] : process->ends) Kick(end);
  }
}

int MemoryNetwork::Core::num_connections(const std::string& dialer,
                                         const std::string& to) {
  int count = 0;
  NetworkLock lock(&mutex_);
  for (const Process* process : processes_) {
    if (process->name != dialer) continue;
    for (const auto& [id, end] : process->ends) {
      const bool is_dialed = end->port == nullptr && end->other != nullptr;
      if (is_dialed && end->other->name == to) ++count;
    }
  }
  return count;
}

absl::StatusOr<Port*> MemoryNetwork::Core::Listen(Process* process,
                                                  const Address& address,
                                                  ChannelKind channel_kind,
                                                  WireEvents& events) {
  NetworkLock lock(&mutex_);
  auto port = std::make_unique<Port>();
  port->process = process;
  port->address = address;
  port->channel_kind = channel_kind;
  port->events = &events;
  while (port->address.port == 0) {
    port->address.port = next_port_++;
    if (FindPort(port->address) != nullptr) port->address.port = 0;
  }
  if (FindPort(port->address) != nullptr) {
    return absl::AlreadyExistsError(
        absl::StrCat("There is already a listener at ", address.ToString()));
  }
  // Threads of a killed process still run, but their calls must have no effect.
  if (process->dead) return Lost("this process died");
  ports_.push_back(std::move(port));
  return ports_.back().get();
}

void MemoryNetwork::Core::StopListening(Port* port) {
  Dropped dropped;
  std::vector<std::shared_ptr<End>> ends;
  {
    NetworkLock lock(&mutex_);
    // Unlists the port first, so that no further thread finds it while this
    // thread waits for the events of those that have found it.
    const auto listed =
        std::find_if(ports_.begin(), ports_.end(),
                     [&](const auto& p) { return p.get() == port; });
    const std::unique_ptr<Port> stopped = std::move(*listed);
    ports_.erase(listed);
    for (const auto& [id, end] : port->process->ends) {
      if (end->port == port) ends.push_back(end);
    }
    for (const auto& end : ends) CloseEnd(end, &dropped);
  }
  for (const auto& end : ends) WaitUntilNotRunning(end);
}

ConnectionId MemoryNetwork::Core::Dial(Process* process, const Address& address,
                                       ChannelKind channel_kind,
                                       WireEvents& events) {
  NetworkLock lock(&mutex_);
  auto end = NewEnd(process);
  end->connection = next_connection_++;
  end->address = address;
  end->channel_kind = channel_kind;
  end->events = &events;
  if (process->dead) {
    Push(end, {.kind = Happening::Kind::kClose,
               .why = Lost(absl::StrCat(process->name, " died")),
               .despite = true});
    return end->id;
  }
  Push(end, {.kind = Happening::Kind::kConnect});
  return end->id;
}

absl::Status MemoryNetwork::Core::Send(Process* process, ConnectionId id,
                                       Frames frames) {
  Happening message = {.kind = Happening::Kind::kMessage,
                       .frames = std::move(frames),
                       .sent = scheduler_.clock().Now()};
  NetworkLock lock(&mutex_);
  auto it = process->ends.find(id);
  if (it == process->ends.end() || it->second->closed || process->dead) {
    return Lost("it is closed");
  }
  const std::shared_ptr<End>& end = it->second;
  message.sequence = end->num_sent++;
  if (end->other != nullptr) {
    Push(end->other, std::move(message));
  } else if (!end->opened) {
    end->unsent.push_back(std::move(message));
  }
  return absl::OkStatus();
}

void MemoryNetwork::Core::Close(Process* process, ConnectionId id) {
  Dropped dropped;
  std::shared_ptr<End> end;
  {
    NetworkLock lock(&mutex_);
    auto it = process->ends.find(id);
    if (it == process->ends.end()) return;
    end = it->second;
    CloseEnd(end, &dropped);
  }
  WaitUntilNotRunning(end);
}

namespace {

class MemoryListener : public WireListener {
 public:
  MemoryListener(std::shared_ptr<MemoryNetwork::Core> core, Port* port)
      : core_(std::move(core)), port_(port), address_(port->address) {}
  ~MemoryListener() override { core_->StopListening(port_); }
  const Address& address() const override { return address_; }

 private:
  const std::shared_ptr<MemoryNetwork::Core> core_;
  Port* const port_;
  const Address address_;
};

class MemoryWire : public Wire {
 public:
  MemoryWire(std::shared_ptr<MemoryNetwork::Core> core, std::string name,
             Scheduler* reader)
      : core_(std::move(core)) {
    process_.name = std::move(name);
    process_.reader = reader != nullptr ? reader : &core_->scheduler();
    core_->Add(&process_);
  }
  ~MemoryWire() override { core_->Remove(&process_); }

  absl::StatusOr<std::unique_ptr<WireListener>> Listen(
      const Address& address, ChannelKind channel_kind,
      WireEvents& events) override {
    auto port = core_->Listen(&process_, address, channel_kind, events);
    if (!port.ok()) return port.status();
    return std::make_unique<MemoryListener>(core_, *port);
  }
  ConnectionId Dial(const Address& address, ChannelKind channel_kind,
                    WireEvents& events) override {
    return core_->Dial(&process_, address, channel_kind, events);
  }
  absl::Status Send(ConnectionId connection, Frames frames) override {
    return core_->Send(&process_, connection, std::move(frames));
  }
  void Close(ConnectionId connection) override {
    core_->Close(&process_, connection);
  }

 private:
  const std::shared_ptr<MemoryNetwork::Core> core_;
  Process process_;
};

}  // namespace

MemoryNetwork::MemoryNetwork(Scheduler& scheduler)
    : core_(std::make_shared<Core>(scheduler)) {}
MemoryNetwork::~MemoryNetwork() = default;

void MemoryNetwork::set_hook(Hook hook) { core_->set_hook(std::move(hook)); }
void MemoryNetwork::Kill(const std::string& name) { core_->Kill(name); }
void MemoryNetwork::Reap(const std::string& name) { core_->Reap(name); }
void MemoryNetwork::Cut(const std::string& a, const std::string& b) {
  core_->Cut(a, b);
}
void MemoryNetwork::Partition(const std::string& a, const std::string& b) {
  core_->Partition(a, b);
  core_->Partition(b, a);
}
void MemoryNetwork::PartitionOneWay(const std::string& from,
                                    const std::string& to) {
  core_->Partition(from, to);
}
void MemoryNetwork::Heal(const std::string& a, const std::string& b) {
  core_->Heal(a, b);
}
int MemoryNetwork::num_connections(const std::string& dialer,
                                   const std::string& to) const {
  return core_->num_connections(dialer, to);
}

std::unique_ptr<Wire> NewMemoryWire(MemoryNetwork& network, std::string name,
                                    Scheduler* reader) {
  return std::make_unique<MemoryWire>(network.core(), std::move(name), reader);
}

}  // namespace weft::bus
