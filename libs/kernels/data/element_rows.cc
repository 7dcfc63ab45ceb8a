#include "libs/kernels/data/element_rows.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/control/nesting.h"
#include "libs/kernels/data/element_charge.h"

namespace weft {
namespace {

class ElementsDataset : public Dataset {
 public:
  ElementsDataset(std::string name, ElementSpec spec,
                  std::vector<DatasetElement> elements)
      : Dataset(std::move(name), std::move(spec)),
        elements_(std::move(elements)) {}

  absl::StatusOr<std::unique_ptr<DatasetIterator>> NewIterator(
      IteratorContext&) const override {
    return std::make_unique<Iterator>(*this);
  }
  int64_t FindCardinality() const override {
    return static_cast<int64_t>(elements_.size());
  }
  const std::vector<DatasetElement>& elements() const { return elements_; }

 private:
  class Iterator : public IteratorOf<ElementsDataset> {
   public:
    using IteratorOf::IteratorOf;

    absl::StatusOr<bool> GetNext(IteratorContext&,
                                 DatasetElement* element) override {
      if (next_ == dataset().elements_.size()) return false;
      *element = dataset().elements_[next_++];
      return true;
    }
    bool IsReady() const override { return true; }

    absl::Status Save(IteratorContext&, IteratorStateWriter writer) override {
      writer.Write("next", static_cast<int64_t>(next_));
      return absl::OkStatus();
    }
    absl::Status Restore(IteratorContext&,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(const int64_t next, reader.ReadInt("next"));
      const size_t size = dataset().elements_.size();
      if (next < 0 || static_cast<size_t>(next) > size) {
        return absl::InvalidArgumentError(
            absl::StrCat(dataset().name(), ": the saved position ", next,
                         " is not in a dataset of ", size, " elements"));
      }
      next_ = static_cast<size_t>(next);
      return absl::OkStatus();
    }

   private:
    size_t next_ = 0;
  };

  const std::vector<DatasetElement> elements_;
};

// Copies `element` to row `row` of `rows`. Unshared strings are moved; `charge`
// counts the others. REQUIRES: one dtype, and as many elements as a row.
absl::Status MoveIntoRow(HeapCharge& charge, Tensor element, int64_t row,
                         Tensor& rows) {
  const int64_t count = element.num_elements();
  const size_t bytes = DataTypeSize(element.dtype()) * count;
  if (bytes != 0) {
    std::memcpy(static_cast<char*>(rows.mutable_data()) + row * bytes,
                element.data(), bytes);
    return absl::OkStatus();
  }
  if (element.dtype() != DT_STRING || !element.RefCountIsOne()) {
    return CopyCharged(charge, element, rows, row * count);
  }
  const auto from = element.mutable_flat<std::string>();
  const auto to = rows.mutable_flat<std::string>().subspan(row * count, count);
  for (int64_t i = 0; i < count; ++i) to[i] = std::move(from[i]);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorShape> RowsShape(int64_t rows, const TensorShape& row) {
  Dims dims = {rows};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  return TensorShape::Create(dims);
}

absl::StatusOr<Tensor> RowOf(const Tensor& tensor, int64_t row,
                             Allocator& allocator) {
  ASSIGN_OR_RETURN(const Tensor slice,
                   tensor.SliceRows(row, row + 1, allocator));
  ASSIGN_OR_RETURN(TensorShape shape,
                   TensorShape::Create(tensor.shape().dims().subspan(1)));
  return slice.Reshaped(std::move(shape));
}

absl::Status CopyCharged(HeapCharge& charge, const Tensor& from, Tensor& to,
                         int64_t begin) {
  RETURN_IF_ERROR(charge.Add(BytesOfTexts(from)));
  CopyElements(from, 0, from.num_elements(), to, begin);
  return absl::OkStatus();
}

absl::StatusOr<Tensor> JoinRows(std::vector<DatasetElement>& elements, size_t c,
                                Allocator& allocator) {
  const TensorShape row = elements[0][c].shape();
  const DataType dtype = elements[0][c].dtype();
  const auto count = static_cast<int64_t>(elements.size());
  for (const DatasetElement& element : elements) {
    if (element[c].shape() == row && element[c].dtype() == dtype) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "Cannot add tensor to the batch: number of elements does not match. "
        "Shapes are: [tensor]: ",
        element[c].shape().ToString(), ", [batch]: ", row.ToString(),
        ". Use PaddedBatch for elements of different shapes."));
  }
  ASSIGN_OR_RETURN(const TensorShape shape, RowsShape(count, row));
  ASSIGN_OR_RETURN(Tensor rows, Tensor::Allocate(allocator, dtype, shape));
  HeapCharge charge(allocator);
  for (int64_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(MoveIntoRow(charge, std::move(elements[i][c]), i, rows));
  }
  return rows;
}

DatasetPtr NewElementsDataset(std::string name, ElementSpec spec,
                              std::vector<DatasetElement> elements) {
  return std::make_shared<ElementsDataset>(std::move(name), std::move(spec),
                                           std::move(elements));
}

absl::StatusOr<Tensor> ElementsTensor(std::string name, ElementSpec spec,
                                      std::vector<DatasetElement> elements) {
  int64_t nesting = 1;
  for (const DatasetElement& element : elements) {
    for (const Tensor& component : element) {
      RETURN_IF_ERROR(Nest(component, nesting));
    }
  }
  return ToTensor(
      NewElementsDataset(std::move(name), std::move(spec), std::move(elements)),
      nesting);
}

const std::vector<DatasetElement>* ElementsOf(const VariantObject& object) {
  const auto* dataset = dynamic_cast<const ElementsDataset*>(&object);
  return dataset == nullptr ? nullptr : &dataset->elements();
}

}  // namespace weft
