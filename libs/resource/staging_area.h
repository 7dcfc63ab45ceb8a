// StagingArea and StagingMap hold tuples of tensors on a device between steps,
// in FIFO order or by key, bounded in number and bytes.
//
// Waiting calls hold no thread. Rules and error texts are TensorFlow's
// (core/kernels/stage_op.cc, map_stage_op.cc), except that a call is atomic,
// bytes are counted correctly, and waiting calls end with their step.
//
// Threads: all methods may be called from any thread. `done` is called exactly
// once, without a lock held, as by Attempts. A step must live until then and
// ends its call when it is cancelled.
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
  int64_t capacity = 0;      // tuples; 0: unbounded
  int64_t memory_limit = 0;  // bytes; 0: unbounded
};

// Must be held by shared_ptr: waiting calls keep it alive.
class StagingArea : public Resource,
                    public std::enable_shared_from_this<StagingArea> {
 public:
  static constexpr absl::string_view kTypeName = "StagingArea";

  using Taken = absl::AnyInvocable<void(absl::StatusOr<StagedTuple>)>;

  explicit StagingArea(const StagingLimits& limits) : limits_(limits) {}

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  // Adds a tuple as soon as there is capacity. Reports RESOURCE_EXHAUSTED if
  // there never will be.
  void Put(Cancellation& step, StagedTuple tuple, Attempts::Done done);
  // Takes the oldest tuple. Reports INVALID_ARGUMENT, and keeps the tuple, if
  // it is not of these types.
  void Take(Cancellation& step, const DataTypeVector& types, Taken done);
  // Copies tuple number `index`, counted from the oldest, once there are
  // enough. REQUIRES: index >= 0.
  void Peek(Cancellation& step, int64_t index, const DataTypeVector& types,
            Taken done);
  void Clear(Cancellation& step, Attempts::Done done);
  int64_t size() const;

 private:
  const StagingLimits limits_;
  Attempts attempts_;
  // Accessed under the lock of attempts:
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

  // `types` are those of all values of a key.
  StagingMap(DataTypeVector types, const StagingLimits& limits)
      : types_(std::move(types)), limits_(limits) {}

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  // In all methods, `indices` select the values of a key and must be strictly
  // increasing.

  // Adds values to a key, which can be taken once it has all its values. A
  // complete key keeps its values. Waits for capacity; reports
  // RESOURCE_EXHAUSTED if the key with its present values would exceed the
  // limit.
  void Put(Cancellation& step, int64_t key, Indices indices, StagedTuple values,
           Attempts::Done done);
  // Waits until the key can be taken. The key is removed once all its values
  // are taken.
  void Take(Cancellation& step, int64_t key, Indices indices,
            DataTypeVector types, Taken done);
  // Takes the smallest complete key.
  void TakeAny(Cancellation& step, Indices indices, DataTypeVector types,
               Taken done);
  // Copies the values.
  void Peek(Cancellation& step, int64_t key, Indices indices,
            DataTypeVector types, Taken done);
  void Clear(Cancellation& step, Attempts::Done done);
  // The number of complete keys, and of incomplete ones.
  int64_t size() const;
  int64_t incomplete_size() const;

 private:
  using Values = std::vector<std::optional<Tensor>>;
  using Entries = std::map<int64_t, Values>;

  // Takes the smallest key if `key` is not set.
  void Get(Cancellation& step, std::optional<int64_t> key, bool take,
           Indices indices, DataTypeVector types, Taken done);

  absl::Status CheckPut(int64_t key, const Indices& indices,
                        const StagedTuple& values) const;
  absl::Status CheckIndices(std::optional<int64_t> key,
                            const Indices& indices) const;
  // For attempts, which hold the lock:
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
  // Accessed under the lock of attempts:
  Entries complete_, incomplete_;
  uint64_t num_bytes_ = 0;
};

// A StagingMap for the ops that promise the order of keys, as in TensorFlow,
// with its own type name.
class OrderedStagingMap : public StagingMap {
 public:
  static constexpr absl::string_view kTypeName = "OrderedStagingMap";
  using StagingMap::StagingMap;
  absl::string_view type_name() const override { return kTypeName; }
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_STAGING_AREA_H_
