// Iterator returns the elements of a Dataset, one per step, with TensorFlow's
// names.
//
//   ops::Iterator iterator = dataset.MakeInitializableIterator();
//   std::vector<Output> batch = iterator.GetNext(root);
//   session->Run(iterator.initializer());
//   while (true) session->Run(train_on(batch));   // until OUT_OF_RANGE
//
// FromStructure creates an iterator that can be initialized with different
// datasets. FromStringHandle creates one that is selected in each step by
// feeding its string handle. All results of GetNext share one position; a step
// takes one element, however many nodes use it.
//
// A step at the end fails with OUT_OF_RANGE, a step before initialization with
// FAILED_PRECONDITION.
//
// An Iterator is a small value that refers to the graph. It is null after an
// error, which sticks to the scope; everything derived from a null iterator is
// null. Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_DATA_ITERATOR_H_
#define WEFT_LIBS_OPS_DATA_ITERATOR_H_

#include <map>
#include <string>
#include <vector>

#include "libs/ops/data/dataset.h"
#include "libs/ops/scope.h"

namespace weft::ops {

class Iterator {
 public:
  Iterator() = default;  // null

  // Can be initialized with any dataset of such elements. The scope sets its
  // device.
  static Iterator FromStructure(const Scope& scope, ElementSpec element,
                                const IteratorOptions& options = {});
  // The iterator identified by a string scalar, a result of StringHandle.
  static Iterator FromStringHandle(const Scope& scope, const Input& handle,
                                   ElementSpec element);

  // Restarts the iterator with the dataset. INVALID_ARGUMENT, naming both, if
  // the dataset has other elements or is on another task.
  Operation MakeInitializer(const Scope& scope, const Dataset& dataset) const;
  // The initializer of MakeInitializableIterator; null for other iterators.
  Operation initializer() const { return initializer_; }

  // The components of the next element. The name is the scope's, or
  // "IteratorGetNext".
  std::vector<Output> GetNext(const Scope& scope) const;
  // The string scalar that identifies the iterator, to be fetched and fed.
  Output StringHandle(const Scope& scope) const;
  // Savers created later, without an explicit list of variables, save the
  // iterator's position, as with TensorFlow's make_saveable_from_iterator in
  // the collection SAVEABLE_OBJECTS. INVALID_ARGUMENT for an iterator from
  // FromStringHandle, which only refers to another.
  void MakeSaveable(const Scope& scope) const;
  // The results of GetNext, by component name.
  std::map<std::string, Output> ByName(
      const std::vector<Output>& components) const;

  explicit operator bool() const { return static_cast<bool>(resource_); }
  // The handle.
  const Output& resource() const { return resource_; }
  const ElementSpec& element() const { return element_; }

 private:
  friend class Dataset;

  Output resource_;
  ElementSpec element_;
  Operation initializer_;
};

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_DATA_ITERATOR_H_
