// Iterator: what takes elements out of a Dataset, one each step, under
// TensorFlow's names.
//
//   ops::Iterator iterator = dataset.MakeInitializableIterator();
//   std::vector<Output> batch = iterator.GetNext(root);
//   session->Run(iterator.initializer());
//   while (true) session->Run(train_on(batch));   // until OUT_OF_RANGE
//
// One that several data sets may be given to in turn is made FromStructure; one
// that is chosen in each step, by feeding the text of its handle,
// FromStringHandle. All that GetNext adds to the graph take their elements from
// the same walk; one step takes one element however many use it.
//
// A step at the end is OUT_OF_RANGE, one before the initializer has run is
// FAILED_PRECONDITION.
//
// A small value that refers to the graph; null after an error, which sticks to
// the scope; what is made of a null one is null. Threads: as the scope's.
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

  // To be initialized with any data set of such elements. Where the scope says.
  static Iterator FromStructure(const Scope& scope, ElementSpec element,
                                const IteratorOptions& options = {});
  // The one that a string scalar, which StringHandle gave, stands for.
  static Iterator FromStringHandle(const Scope& scope, const Input& handle,
                                   ElementSpec element);

  // Makes the iterator begin with the data set. INVALID_ARGUMENT, naming both,
  // where the data set has other elements, or is on another task.
  Operation MakeInitializer(const Scope& scope, const Dataset& dataset) const;
  // MakeInitializableIterator's; null for others.
  Operation initializer() const { return initializer_; }

  // The components of the next element. Named by the scope, "IteratorGetNext"
  // otherwise.
  std::vector<Output> GetNext(const Scope& scope) const;
  // The text that stands for the iterator, a string scalar, to be fetched and
  // fed.
  Output StringHandle(const Scope& scope) const;
  // Savers that are made from here on, and are not told what to save, save how
  // far the iterator has come, as with TensorFlow's make_saveable_from_iterator
  // in the collection SAVEABLE_OBJECTS. INVALID_ARGUMENT for one that is made
  // FromStringHandle, which is only a name of another.
  void MakeSaveable(const Scope& scope) const;
  // What GetNext gave, by the components' names.
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
