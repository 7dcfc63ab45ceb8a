// StagingArea and StagingMap hold tuples of tensors on a device between steps.
// StagingArea holds them in FIFO order, StagingMap by key. Both limit the
// number of tuples and their bytes.
//
// Waiting calls do not block a thread. Rules and error texts are TensorFlow's
// (core/kernels/stage_op.cc, map_stage_op.cc), except that a call is atomic,
// bytes are counted correctly, and a waiting call ends when its step is
// cancelled.
//
// Threads: all methods may be called from any thread. `done` is called exactly
// once, without a lock held, as by Attempts. The step of a call must live until
// then; if it is cancelled, the call ends.
#ifndef WEFT_LIBS_RESOURCE_STAGING_AREA_H_
#define WEFT_LIBS_RESOURCE_STAGING_AREA_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/resource/attempts.h"
#include "libs/resource/resource.h"
#include "libs/tensor/tensor.h"

namespace weft {

using StagedTuple = std::vector<Tensor>;

struct StagingLimits {
  int64_t capacity = 0;      // in tuples; 0: unbounded
  int64_t memory_limit = 0;  // in bytes; 0: unbounded
};

// A StagingArea must be owned by a shared_ptr, because waiting calls keep it
// alive.
class StagingArea : public Resource,
                    public std::enable_shared_from_this<StagingArea> {
 public:
  static constexpr absl::string_view kTypeName = "StagingArea";

  using Taken = absl::AnyInvocable<void(absl::StatusOr<StagedTuple>)>;

  explicit StagingArea(const StagingLimits& limits) : limits_(limits) {}

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  // Adds a tuple as soon as there is capacity. Calls `done` with
  // RESOURCE_EXHAUSTED if the tuple is larger than the memory limit.
  void Put(Cancellation& step, StagedTuple tuple, Attempts::Done done);
  // Takes the oldest tuple. If the tuple does not have these types, keeps it
  // and calls `done` with INVALID_ARGUMENT.
  void Take(Cancellation& step, const DataTypeVector& types, Taken done);
  // Copies tuple number `index`, counted from the oldest, as soon as there are
  // enough tuples. REQUIRES: index >= 0.
  void Peek(Cancellation& step, int64_t index, const DataTypeVector& types,
            Taken done);
  void Clear(Cancellation& step, Attempts::Done done);
  int64_t size() const;

 private:
  const StagingLimits limits_;
  Attempts attempts_;
  // These members are accessed under the lock of attempts:
  std::deque<StagedTuple> tuples_;
  uint64_t num_bytes_ = 0;
};

class StagingMap : public Resource,
                   public std::enable_shared_from_this<StagingMap> {
 public:
  static constexpr absl::string_view kTypeName = "StagingMap";

  struct Item {
    int64_t key = 0;
    StagedTuple values;
  };
  using Taken = absl::AnyInvocable<void(absl::StatusOr<Item>)>;
  using Indices = std::vector<int32_t>;

  // `types` are the types of all values of a key.
  StagingMap(DataTypeVector types, const StagingLimits& limits)
      : types_(std::move(types)), limits_(limits) {}

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  // In all methods, `indices` select the values of a key and must be strictly
  // increasing.

  // Adds values to a key. The key can be taken once it has all its values. A
  // key that is complete keeps its values. Waits for capacity. Calls `done`
  // with RESOURCE_EXHAUSTED if the key with its present values would exceed the
  // memory limit.
  void Put(Cancellation& step, int64_t key, Indices indices, StagedTuple values,
           Attempts::Done done);
  // Waits until the key is complete and takes the values. The key is removed
  // when all its values are taken.
  void Take(Cancellation& step, int64_t key, Indices indices,
            DataTypeVector types, Taken done);
  // Takes values of the smallest complete key.
  void TakeAny(Cancellation& step, Indices indices, DataTypeVector types,
               Taken done);
  // Copies values of a key without taking them.
  void Peek(Cancellation& step, int64_t key, Indices indices,
            DataTypeVector types, Taken done);
  void Clear(Cancellation& step, Attempts::Done done);
  // Return the number of complete keys and the number of incomplete keys.
  int64_t size() const;
  int64_t incomplete_size() const;

 private:
  using Values = std::vector<std::optional<Tensor>>;
  using Entries = std::map<int64_t, Values>;

  // Gets values of a key; of the smallest key if `key` is not set.
  void Get(Cancellation& step, std::optional<int64_t> key, bool take,
           Indices indices, DataTypeVector types, Taken done);

  absl::Status CheckPut(int64_t key, const Indices& indices,
                        const StagedTuple& values) const;
  absl::Status CheckIndices(std::optional<int64_t> key,
                            const Indices& indices) const;
  // These methods are for attempts, which hold the lock:
  absl::Status CheckKeyFits(int64_t key, uint64_t bytes) const;
  bool HasRoom(bool is_whole, uint64_t bytes) const;
  absl::Status PutNow(int64_t key, const Indices& indices, StagedTuple& values,
                      uint64_t bytes);
  absl::Status CheckGet(const Entries::value_type& entry,
                        const Indices& indices,
                        const DataTypeVector& types) const;
  Item GetNow(Entries::iterator entry, const Indices& indices, bool take);

  const DataTypeVector types_;
  const StagingLimits limits_;
  Attempts attempts_;
  // These members are accessed under the lock of attempts:
  Entries complete_, incomplete_;
  uint64_t num_bytes_ = 0;
};

// OrderedStagingMap is a StagingMap with its own type name, for TensorFlow's
// ops that guarantee the order of keys.
class OrderedStagingMap : public StagingMap {
 public:
  static constexpr absl::string_view kTypeName = "OrderedStagingMap";
  using StagingMap::StagingMap;
  absl::string_view type_name() const override { return kTypeName; }
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_STAGING_AREA_H_
