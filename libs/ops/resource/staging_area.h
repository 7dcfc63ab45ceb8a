// StagingArea, MapStagingArea and Barrier stand for these objects in the graph,
// together with their types. They are TensorFlow's classes of these names, with
// their node names. libs/resource/staging_area.h and barrier.h describe their
// behavior.
//
//   ops::StagingArea area(root, {DT_FLOAT}, {.capacity = 2});
//   Operation put = area.Put(root, {next});      // "StagingArea_put"
//   Output now = area.Get(root)[0];              // "StagingArea_get"
//
// Small values that refer to the graph; errors stick to the scope, and outputs
// are null then. Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_RESOURCE_STAGING_AREA_H_
#define WEFT_LIBS_OPS_RESOURCE_STAGING_AREA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

struct StagingAreaAttrs {
  int64_t capacity = 0;      // tuples; 0: unbounded
  int64_t memory_limit = 0;  // bytes; 0: unbounded
  std::string container;     // empty: the scope's
  // Empty: "StagingArea" made unique, or "MapStagingArea". Two programs that
  // build equal graphs then share one, unless their sessions are isolated.
  std::string shared_name;
};

// Tuples in FIFO order.
class StagingArea {
 public:
  StagingArea(const Scope& scope, const DataTypeVector& dtypes,
              const StagingAreaAttrs& attrs = {});

  const std::string& name() const { return attrs_.shared_name; }
  // Waits for capacity.
  Operation Put(const Scope& scope, const InputList& values) const;
  // Wait for a tuple. `index` is counted from the oldest tuple, which is 0.
  std::vector<Output> Get(const Scope& scope) const;
  std::vector<Output> Peek(const Scope& scope, const Input& index) const;
  Output Size(const Scope& scope) const;
  Operation Clear(const Scope& scope) const;

 private:
  DataTypeVector dtypes_;
  StagingAreaAttrs attrs_;
};

struct MapStagingAreaAttrs {
  StagingAreaAttrs staging;
  bool ordered = false;  // true: Get without a key takes the smallest
};

// Tuples by key, an int64. `indices`, strictly increasing, select the values of
// a key; empty: all values.
class MapStagingArea {
 public:
  MapStagingArea(const Scope& scope, const DataTypeVector& dtypes,
                 const MapStagingAreaAttrs& attrs = {});

  const std::string& name() const { return attrs_.staging.shared_name; }
  Operation Put(const Scope& scope, const Input& key, const InputList& values,
                const std::vector<int32_t>& indices = {}) const;
  std::vector<Output> Get(const Scope& scope, const Input& key,
                          const std::vector<int32_t>& indices = {}) const;
  struct KeyAndValues {
    Output key;
    std::vector<Output> values;
  };
  KeyAndValues GetAny(const Scope& scope,
                      const std::vector<int32_t>& indices = {}) const;
  std::vector<Output> Peek(const Scope& scope, const Input& key,
                           const std::vector<int32_t>& indices = {}) const;
  Output Size(const Scope& scope) const;
  Output IncompleteSize(const Scope& scope) const;
  Operation Clear(const Scope& scope) const;

 private:
  // The types and the op's indices of these values; nullopt, with an error in
  // the scope, if one is out of range.
  std::optional<DataTypeVector> TypesAt(
      const Scope& scope, const std::vector<int32_t>& indices) const;
  Tensor IndicesOf(const std::vector<int32_t>& indices) const;

  DataTypeVector dtypes_;
  MapStagingAreaAttrs attrs_;
};

struct BarrierAttrs {
  std::string container;    // empty: the scope's
  std::string shared_name;  // empty: not shared
};

class Barrier {
 public:
  // Shapes must be fully known, one for each type.
  Barrier(const Scope& scope, const DataTypeVector& types,
          const std::vector<PartialShape>& shapes,
          const BarrierAttrs& attrs = {});

  const Output& handle() const { return handle_; }
  Operation InsertMany(const Scope& scope, int64_t component_index,
                       const Input& keys, const Input& values) const;
  struct Elements {
    Output indices;  // int64; give the order of the elements
    Output keys;
    std::vector<Output> values;
  };
  // `allow_small_batch`: a closed barrier returns the elements that it has.
  Elements TakeMany(const Scope& scope, const Input& num_elements,
                    bool allow_small_batch = false) const;
  Operation Close(const Scope& scope,
                  bool cancel_pending_enqueues = false) const;
  Output ReadySize(const Scope& scope) const;
  Output IncompleteSize(const Scope& scope) const;

 private:
  Scope Named(const Scope& scope, absl::string_view suffix) const;

  DataTypeVector types_;
  Output handle_;
};

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_RESOURCE_STAGING_AREA_H_
