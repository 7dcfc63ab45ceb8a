// MethodTable describes how a service handles the messages of its role, one row
// per method: the handler, its thread, and whether a draining task still serves
// it. RoleService answers bus::Handler's questions from it.
//
// Threads: a table is constant; RoleService adds no state.
#ifndef WEFT_LIBS_PROTOCOL_METHOD_TABLE_H_
#define WEFT_LIBS_PROTOCOL_METHOD_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "libs/base/shorten.h"
#include "libs/bus/handler.h"
#include "libs/protocol/method.h"

namespace weft::protocol {

template <typename Service>
struct MethodRow {
  Method method = Method::kDone;
  // One of these two, or both; messages of another kind are refused, or
  // dropped.
  void (Service::*on_request)(std::shared_ptr<bus::IncomingCall> call,
                              bus::Message request) = nullptr;
  void (Service::*on_one_way)(const bus::Peer& peer, bus::Message message,
                              const absl::Status& received) = nullptr;
  // Ends work or keeps its sender alive. Small requests of this method run on
  // the control pool, larger ones on the compute pool. They have a separate
  // quota (bus::Handler::HasReserve), unless they begin work: requests have a
  // reserve if and only if they run on the control pool.
  bool is_control = false;
  // Handled on the reading thread; otherwise on the compute pool.
  bool is_fast = false;
  // Of a fast method: false for a message that takes long to decode. Null: none
  // does.
  bool (*is_read_soon)(const bus::Message& message) = nullptr;
  // Ends work, or asks about it.
  bool is_served_while_draining = false;
  // Begins what a control request ends, and is a control request to preserve
  // their order, or not to wait for kernels. It does not use the reserve.
  bool begins_work = false;
};

// A control message of this size is read within microseconds. An Abort contains
// its cause.
inline constexpr size_t kMaxControlMessageBytes = 4 * kMaxErrorText;
static_assert(kMaxControlMessageBytes >= kMaxErrorText + 4096);

template <typename Service, size_t kRows>
class MethodTable {
 public:
  // A method that is listed twice does not compile.
  constexpr explicit MethodTable(const MethodRow<Service> (&rows)[kRows]) {
    for (size_t i = 0; i < kRows; ++i) {
      uint8_t& position = position_[static_cast<uint8_t>(rows[i].method)];
      if (position != 0) std::abort();
      rows_[i] = rows[i];
      position = i + 1;
    }
  }

  // Returns null for a method of another role.
  constexpr const MethodRow<Service>* Find(uint8_t method) const {
    const size_t position = position_[method];
    return position == 0 ? nullptr : &rows_[position - 1];
  }

 private:
  MethodRow<Service> rows_[kRows] = {};
  uint8_t position_[256] = {};  // of a method's row, from 1; 0: no row
};

// A base class of Service, which has
//   static const MethodRow<Service>* FindMethod(uint8_t method), and
//   kRole, the name of the role for errors.
template <typename Service>
class RoleService {
 public:
  // Whether messages of this method belong to the role.
  static bool Handles(uint8_t method) {
    return Service::FindMethod(method) != nullptr;
  }
  static bool IsFast(uint8_t method) {
    const auto* const row = Service::FindMethod(method);
    return row != nullptr && row->is_fast;
  }
  static bool IsControlMessage(const bus::Message& message) {
    const auto* const row = Service::FindMethod(message.method);
    return row != nullptr && row->is_control && message.attachments.empty() &&
           message.body.size() <= kMaxControlMessageBytes;
  }
  static bool IsFastMessage(const bus::Message& message) {
    const auto* const row = Service::FindMethod(message.method);
    if (row == nullptr || !row->is_fast) return false;
    return row->is_read_soon == nullptr || row->is_read_soon(message);
  }
  static bool IsServedWhileDraining(uint8_t method) {
    const auto* const row = Service::FindMethod(method);
    return row != nullptr && row->is_served_while_draining;
  }
  static bool HasReserve(uint8_t method) {
    const auto* const row = Service::FindMethod(method);
    return row != nullptr && row->is_control && !row->begins_work;
  }

  void OnRequest(std::shared_ptr<bus::IncomingCall> call,
                 bus::Message request) {
    const auto* const row = Service::FindMethod(request.method);
    if (row == nullptr || row->on_request == nullptr) {
      return call->Fail(absl::UnimplementedError(
          absl::StrCat(Service::kRole, " does not answer requests of type ",
                       request.method)));
    }
    (static_cast<Service*>(this)->*row->on_request)(std::move(call),
                                                    std::move(request));
  }
  void OnOneWay(const bus::Peer& peer, bus::Message message,
                const absl::Status& received) {
    const auto* const row = Service::FindMethod(message.method);
    if (row == nullptr || row->on_one_way == nullptr) return;
    (static_cast<Service*>(this)->*row->on_one_way)(peer, std::move(message),
                                                    received);
  }
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_METHOD_TABLE_H_
