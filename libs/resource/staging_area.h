// StagingArea, StagingMap: tuples of tensors that wait on a device between
// steps, first in first out or by key; bounded in number and bytes.
//
// Nobody waits with a thread. Rules and error texts are TensorFlow's
// (core/kernels/stage_op.cc, map_stage_op.cc), but that a call is done whole or
// not at all, that bytes are counted right, and that calls that wait end with
// their step.
//
// Threads: all methods may be called from any thread. `done` is called exactly
// once, without a lock held, as Attempts does; a step lives until then and ends
// its call when it is cancelled.
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
  int64_t capacity = 0;      // tuples; 0: no bound
  int64_t memory_limit = 0;  // bytes; 0: no bound
};

// Held by shared_ptr: who waits keeps it.
class StagingArea : public Resource,
                    public std::enable_shared_from_this<StagingArea> {
 public:
  static constexpr absl::string_view kTypeName = "StagingArea";

  using Taken = absl::AnyInvocable<void(absl::StatusOr<StagedTuple>)>;

  explicit StagingArea(const StagingLimits& limits) : limits_(limits) {}

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  // Adds a tuple as soon as there is room. RESOURCE_EXHAUSTED where there never
  // will be.
  void Put(Cancellation& step, StagedTuple tuple, Attempts::Done done);
  // Takes the oldest one. INVALID_ARGUMENT, and it stays, where it is not of
  // these types.
  void Take(Cancellation& step, const DataTypeVector& types, Taken done);
  // Copies number `index`, counted from the oldest; waits for as many.
  // REQUIRES: index >= 0.
  void Peek(Cancellation& step, int64_t index, const DataTypeVector& types,
            Taken done);
  void Clear(Cancellation& step, Attempts::Done done);
  int64_t size() const;

 private:
  const StagingLimits limits_;
  Attempts attempts_;
  // Under its lock:
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

  // `types`: of all values of a key.
  StagingMap(DataTypeVector types, const StagingLimits& limits)
      : types_(std::move(types)), limits_(limits) {}

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  // In all of these `indices`, strictly ordered, say which of a key's values
  // are meant.

  // Adds values to a key, which can be taken once it has all. A key that can be
  // taken already keeps its values. Waits for room; RESOURCE_EXHAUSTED where
  // the key with what it has would need more than there is.
  void Put(Cancellation& step, int64_t key, Indices indices, StagedTuple values,
           Attempts::Done done);
  // Waits until the key can be taken. Once all its values are taken it is gone.
  void Take(Cancellation& step, int64_t key, Indices indices,
            DataTypeVector types, Taken done);
  // The smallest key that can be taken.
  void TakeAny(Cancellation& step, Indices indices, DataTypeVector types,
               Taken done);
  // Copies them.
  void Peek(Cancellation& step, int64_t key, Indices indices,
            DataTypeVector types, Taken done);
  void Clear(Cancellation& step, Attempts::Done done);
  // Keys that can be taken, and those that can't yet.
  int64_t size() const;
  int64_t incomplete_size() const;

 private:
  using Values = std::vector<std::optional<Tensor>>;
  using Entries = std::map<int64_t, Values>;

  // Without a key, the smallest.
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
  // Under its lock:
  Entries complete_, incomplete_;
  uint64_t num_bytes_ = 0;
};

// The same, of those whom TensorFlow promises the order; under a name of their
// own.
class OrderedStagingMap : public StagingMap {
 public:
  static constexpr absl::string_view kTypeName = "OrderedStagingMap";
  using StagingMap::StagingMap;
  absl::string_view type_name() const override { return kTypeName; }
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_STAGING_AREA_H_
