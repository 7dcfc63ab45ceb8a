#include "libs/checkpoint/saved_slices.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "libs/base/saturated.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/checkpoint/slice_protos.h"
#include "libs/tensor/quantized_type.h"
#include "libs/tensor/tensor_proto_convert.h"
#include "schemas/tf/saved_tensor_slice.pb.h"

namespace weft::checkpoint {
namespace {

// TensorFlow's version number of the format, which is the same for V1 and V2.
constexpr int kSlicesVersion = 1;

absl::Status Ignore(absl::string_view) { return absl::OkStatus(); }

absl::Status CheckVersions(const tf::VersionDef& versions) {
  BundleHeader header;
  header.producer = versions.producer();
  header.min_consumer = versions.min_consumer();
  header.bad_consumers.assign(versions.bad_consumers().begin(),
                              versions.bad_consumers().end());
  return CheckReadable(header);
}

// Reads the description of a tensor. `bytes` are a SavedSliceMeta, and `meta`
// is its parsed form without slices.
absl::StatusOr<TensorInfo> ReadInfo(absl::string_view bytes,
                                    const tf::SavedSliceMeta& meta,
                                    HeapCharge& charge) {
  TensorInfo info;
  info.dtype = static_cast<DataType>(meta.type());
  ASSIGN_OR_RETURN(info.shape, ReadShape(meta.shape()));
  const int64_t all = MinElements(TensorSlice(info.shape.rank()), info.shape);
  int64_t claimed = 0;
  RETURN_IF_ERROR(ForEachSlice(
      bytes, tf::SavedSliceMeta::kSliceFieldNumber, info.shape, charge,
      [&](TensorSlice slice) -> absl::Status {
        claimed = SaturatedAdd(claimed, MinElements(slice, info.shape));
        if (claimed > all) {
          return absl::DataLossError(
              absl::StrCat("Overlapping slices of ", meta.name(),
                           ": they have more elements than its shape ",
                           info.shape.ToString()));
        }
        info.slices.push_back(std::move(slice));
        return absl::OkStatus();
      }));
  return info;
}

absl::StatusOr<SlicesOfTensor> ReadTensor(absl::string_view bytes,
                                          HeapCharge& charge) {
  constexpr size_t kTensorBytes = 512;  // in a reader, without slices
  std::string rest;
  tf::SavedSliceMeta meta;
  RETURN_IF_ERROR(SplitMessage(bytes, tf::SavedSliceMeta::kSliceFieldNumber,
                               &rest, Ignore));
  RETURN_IF_ERROR(ParseRest(rest, meta));
  RETURN_IF_ERROR(charge.Add(kTensorBytes + 2 * meta.name().size()));
  absl::StatusOr<TensorInfo> info = ReadInfo(bytes, meta, charge);
  if (info.ok()) return SlicesOfTensor{meta.name(), *std::move(info)};
  const absl::StatusCode code = absl::IsResourceExhausted(info.status())
                                    ? absl::StatusCode::kResourceExhausted
                                    : absl::StatusCode::kDataLoss;
  return absl::Status(code, absl::StrCat("tensor '", meta.name(),
                                         "': ", info.status().message()));
}

// Calls `visit` with the bytes of each SavedSliceMeta of a list, and appends
// the other fields to `rest`. Returns false if `bytes` contain no list.
absl::StatusOr<bool> ForEachTensor(
    absl::string_view bytes, std::string* rest,
    absl::FunctionRef<absl::Status(absl::string_view)> visit) {
  bool has_list = false;
  RETURN_IF_ERROR(SplitMessage(
      bytes, tf::SavedTensorSlices::kMetaFieldNumber, nullptr,
      [&](absl::string_view list) {
        has_list = true;
        return SplitMessage(list, tf::SavedTensorSliceMeta::kTensorFieldNumber,
                            rest, visit);
      }));
  return has_list;
}

// Returns the number of elements in the field for the type of the tensor. A
// complex number counts as two.
int64_t CountValues(const tf::TensorProto& proto) {
  switch (proto.dtype()) {
    case tf::DT_FLOAT:
      return proto.float_val_size();
    case tf::DT_DOUBLE:
      return proto.double_val_size();
    case tf::DT_STRING:
      return proto.string_val_size();
    case tf::DT_COMPLEX64:
      return proto.scomplex_val_size();
    case tf::DT_COMPLEX128:
      return proto.dcomplex_val_size();
    case tf::DT_INT64:
      return proto.int64_val_size();
    case tf::DT_BOOL:
      return proto.bool_val_size();
    case tf::DT_HALF:
    case tf::DT_BFLOAT16:
      return proto.half_val_size();
    case tf::DT_UINT32:
      return proto.uint32_val_size();
    case tf::DT_UINT64:
      return proto.uint64_val_size();
    default:  // other integers, including quantized ones
      return proto.int_val_size();
  }
}

absl::Status CheckCount(const tf::TensorProto& proto,
                        const TensorShape& shape) {
  const int64_t count = CountValues(proto);
  const bool is_complex =
      proto.dtype() == tf::DT_COMPLEX64 || proto.dtype() == tf::DT_COMPLEX128;
  const int64_t divisor = is_complex ? 2 : 1;
  if (count % divisor == 0 && count / divisor == shape.num_elements()) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat("the record holds ", count, " values of type ",
                   DataTypeName(static_cast<DataType>(proto.dtype())),
                   ", but its shape is ", shape.ToString()));
}

// Returns the maximum size of an element in a record, or 0 if the format does
// not support the type. Integers are varints, and negative integers take 10
// bytes.
int64_t MaxRecordBytes(DataType dtype) {
  switch (StorageType(dtype)) {
    case DT_BOOL:
      return 1;
    case DT_UINT8:
      return 2;
    case DT_HALF:
    case DT_UINT16:
      return 3;
    case DT_FLOAT:
      return 4;
    case DT_DOUBLE:
    case DT_COMPLEX64:
      return 8;
    case DT_COMPLEX128:
      return 16;
    case DT_INT8:
    case DT_INT16:
    case DT_INT32:
    case DT_UINT32:
    case DT_INT64:
    case DT_UINT64:
      return 10;
    default:
      return 0;
  }
}

int64_t MaxRecordBytes(const Tensor& values) {
  if (values.dtype() != DT_STRING) {
    return SaturatedMultiply(values.num_elements(),
                             MaxRecordBytes(values.dtype()));
  }
  int64_t size = 0;
  for (const std::string& value : values.flat<std::string>()) {
    size = SaturatedAdd(size, static_cast<int64_t>(value.size()) + 11);
  }
  return size;
}

template <typename T, typename Field>
void AddValues(const Tensor& tensor, Field* field) {
  const absl::Span<const T> values = tensor.flat<T>();
  field->Add(values.begin(), values.end());
}

// Appends the real and imaginary parts of all elements, alternately.
template <typename T, typename Field>
void AddParts(const Tensor& tensor, Field* field) {
  const auto* const parts = static_cast<const T*>(tensor.data());
  field->Add(parts, parts + 2 * tensor.num_elements());
}

void AddIntegers(const Tensor& tensor, tf::TensorProto& to) {
  switch (tensor.dtype()) {
    case DT_INT8:
      return AddValues<int8_t>(tensor, to.mutable_int_val());
    case DT_UINT8:
      return AddValues<uint8_t>(tensor, to.mutable_int_val());
    case DT_INT16:
      return AddValues<int16_t>(tensor, to.mutable_int_val());
    case DT_UINT16:
      return AddValues<uint16_t>(tensor, to.mutable_int_val());
    case DT_INT32:
      return AddValues<int32_t>(tensor, to.mutable_int_val());
    case DT_UINT32:
      return AddValues<uint32_t>(tensor, to.mutable_uint32_val());
    case DT_UINT64:
      return AddValues<uint64_t>(tensor, to.mutable_uint64_val());
    default:
      return AddValues<int64_t>(tensor, to.mutable_int64_val());
  }
}

void AddAll(const Tensor& tensor, tf::TensorProto& to) {
  switch (tensor.dtype()) {
    case DT_BOOL:
      return AddValues<bool>(tensor, to.mutable_bool_val());
    case DT_HALF:
      for (const half x : tensor.flat<half>()) to.add_half_val(x.bits);
      return;
    case DT_FLOAT:
      return AddValues<float>(tensor, to.mutable_float_val());
    case DT_DOUBLE:
      return AddValues<double>(tensor, to.mutable_double_val());
    case DT_COMPLEX64:
      return AddParts<float>(tensor, to.mutable_scomplex_val());
    case DT_COMPLEX128:
      return AddParts<double>(tensor, to.mutable_dcomplex_val());
    case DT_STRING:
      for (const std::string& x : tensor.flat<std::string>()) {
        to.add_string_val(x);
      }
      return;
    default:
      return AddIntegers(tensor, to);
  }
}

}  // namespace

int64_t MinElements(const TensorSlice& slice, const TensorShape& shape) {
  int64_t count = 1;
  for (int dim = 0; dim < shape.rank(); ++dim) {
    const TensorSlice::Extent& extent = slice.extents()[dim];
    const int64_t size = extent.IsFull() ? shape.dim(dim) : extent.length;
    count = SaturatedMultiply(count, std::max<int64_t>(size, 1));
  }
  return count;
}

absl::StatusOr<std::vector<SlicesOfTensor>> ParseSliceList(
    absl::string_view bytes, HeapCharge& charge) {
  std::string rest;
  tf::SavedTensorSliceMeta list;
  if (!ForEachTensor(bytes, &rest, Ignore).value_or(false) ||
      !ParseRest(rest, list).ok()) {
    return absl::DataLossError("the first record does not list its tensors");
  }
  RETURN_IF_ERROR(CheckVersions(list.versions()));
  std::vector<SlicesOfTensor> tensors;
  RETURN_IF_ERROR(ForEachTensor(bytes, nullptr,
                                [&](absl::string_view meta) -> absl::Status {
                                  ASSIGN_OR_RETURN(SlicesOfTensor tensor,
                                                   ReadTensor(meta, charge));
                                  tensors.push_back(std::move(tensor));
                                  return absl::OkStatus();
                                })
                      .status());
  return tensors;
}

absl::StatusOr<Tensor> ParseSlice(absl::string_view bytes, DataType dtype,
                                  const TensorShape& shape,
                                  Allocator& allocator) {
  tf::SavedTensorSlices record;
  if (!ParseProto(bytes, record) || !record.has_data()) {
    return absl::DataLossError("the record is not a slice of a tensor");
  }
  tf::TensorProto& values = *record.mutable_data()->mutable_data();
  values.set_dtype(static_cast<tf::DataType>(dtype));
  // Format V1 has only typed values, so other content is ignored.
  values.clear_tensor_content();
  RETURN_IF_ERROR(CheckCount(values, shape));
  ShapeToProto(shape, values.mutable_tensor_shape());
  return TensorFromProto(values, allocator);
}

std::string SerializeSliceList(const std::vector<SlicesOfTensor>& tensors) {
  tf::SavedTensorSlices record;
  record.mutable_meta()->mutable_versions()->set_producer(kSlicesVersion);
  for (const SlicesOfTensor& tensor : tensors) {
    tf::SavedSliceMeta& meta = *record.mutable_meta()->add_tensor();
    meta.set_name(tensor.name);
    meta.set_type(static_cast<tf::DataType>(tensor.info.dtype));
    ShapeToProto(tensor.info.shape, meta.mutable_shape());
    for (const TensorSlice& slice : tensor.info.slices) {
      WriteSlice(slice, meta.add_slice());
    }
  }
  return record.SerializeAsString();
}

absl::Status CheckSliceCanBeSerialized(absl::string_view name,
                                       const TensorSlice& slice,
                                       const Tensor& values) {
  const DataType dtype = values.dtype();
  if (dtype != DT_STRING && MaxRecordBytes(dtype) == 0) {
    return absl::UnimplementedError(
        absl::StrCat("Saving data type ", DataTypeName(dtype),
                     " not yet supported (tensor_name = ", name, ")"));
  }
  // The overhead of one extent, and the overhead of name, slice and values
  // together.
  constexpr int64_t kExtentBytes = 32, kFrameBytes = 128;
  const int64_t size = SaturatedAdd(
      MaxRecordBytes(values), static_cast<int64_t>(name.size()) +
                                  kExtentBytes * slice.rank() + kFrameBytes);
  if (size <= INT_MAX) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Tensor slice is too large to serialize (conservative estimate: ", size,
      " bytes): save ", name, " in format V2, or in parts"));
}

std::string SerializeSlice(absl::string_view name, const TensorSlice& slice,
                           const Tensor& values) {
  tf::SavedTensorSlices record;
  tf::SavedSlice& data = *record.mutable_data();
  data.set_name(std::string(name));
  WriteSlice(slice, data.mutable_slice());
  AddAll(AsStorage(values), *data.mutable_data());
  return record.SerializeAsString();
}

}  // namespace weft::checkpoint
