// StagingArea, MapStagingArea, Barrier: values that stand for one of these in
// the graph, so that types are said once; TensorFlow's classes of these names,
// and its names of nodes. libs/resource/staging_area.h and barrier.h say what
// they do.
//
//   ops::StagingArea area(root, {DT_FLOAT}, {.capacity = 2});
//   Operation put = area.Put(root, {next});      // "StagingArea_put"
//   Output now = area.Get(root)[0];              // "StagingArea_get"
//
// Small values that refer to the graph; errors stick to the scope, and outputs
// are null then. Threads: as the scope's.
#ifndef WEFT_LIBS_OPS_RESOURCE_STAGING_AREA_H_
#define WEFT_LIBS_OPS_RESOURCE_STAGING_AREA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

struct StagingAreaAttrs {
  int64_t capacity = 0;      // tuples; 0: no bound
  int64_t memory_limit = 0;  // bytes; 0: no bound
  std::string container;     // empty: the scope's
  // Empty: "StagingArea" made unique, or "MapStagingArea". Two programs that
  // build alike so share one, unless their sessions are isolated.
  std::string shared_name;
};

// Tuples, first in first out.
class StagingArea {
 public:
  StagingArea(const Scope& scope, const DataTypeVector& dtypes,
              const StagingAreaAttrs& attrs = {});

  const std::string& name() const { return attrs_.shared_name; }
  // Waits for room.
  Operation Put(const Scope& scope, const InputList& values) const;
  // Wait for a tuple. `index` counts from the oldest, which is 0.
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
  bool ordered = false;  // whether Get without a key takes the smallest
};

// Tuples by key, an int64. `indices`, strictly ordered, say which of a key's
// values are meant; none: all.
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
  // The types of these values, and how they are told to an op; null, with an
  // error in the scope, where one is out of range.
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
  // Shapes are fully known, one for each type.
  Barrier(const Scope& scope, const DataTypeVector& types,
          const std::vector<PartialShape>& shapes,
          const BarrierAttrs& attrs = {});

  const Output& handle() const { return handle_; }
  Operation InsertMany(const Scope& scope, int64_t component_index,
                       const Input& keys, const Input& values) const;
  struct Elements {
    Output indices;  // int64, which order them
    Output keys;
    std::vector<Output> values;
  };
  // `allow_small_batch`: of a closed one, what there is.
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
