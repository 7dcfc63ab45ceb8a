// Caches of elements, filled by the first complete walk, in memory or in a
// file: FILENAME.weft_cache (libs/kernels/data/element_file.h).
//
// A walk that ends before the last element leaves no cache, unless its process
// is killed. The same holds for a walk that lost an element because a step was
// cancelled or the file rejected it: otherwise the element would be missing in
// all later walks. For files, it also holds for a walk that resumes from the
// position of a first walk, because it does not have the earlier elements; the
// next walk fills the file. Concurrent first walks each keep all elements: in
// memory, the first to finish sets the cache, in a file the last.
#include <algorithm>
#include <utility>

#include "libs/kernels/data/anonymous_resource.h"
#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/element_charge.h"
#include "libs/kernels/data/element_file.h"
#include "libs/kernels/data/memory_cache.h"
#include "libs/kernels/data/permanent_error.h"
#include "libs/kernels/resource/resource_lookup.h"

namespace weft {
namespace {

using IteratorPtr = std::unique_ptr<DatasetIterator>;

// States of older checkpoints do not have this value.
absl::StatusOr<bool> ReadIsWhole(const IteratorStateReader& reader) {
  if (!reader.Has("is_whole")) return true;
  return reader.ReadBool("is_whole");
}

// ---- In memory ----

class MemoryCacheDataset : public UnaryDataset {
 public:
  MemoryCacheDataset(const DatasetOp& op, DatasetPtr input,
                     std::shared_ptr<MemoryCache> cache)
      : UnaryDataset(op, std::move(input)), cache_(std::move(cache)) {}

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override;
  int64_t FindCardinality() const override { return input().Cardinality(); }

 private:
  class Iterator;

  const std::shared_ptr<MemoryCache> cache_;
};

class MemoryCacheDataset::Iterator
    : public UnaryIteratorOf<MemoryCacheDataset> {
 public:
  Iterator(const MemoryCacheDataset& dataset, IteratorPtr input,
           Allocator& allocator)
      : UnaryIteratorOf(dataset, std::move(input)),
        cached_(dataset.cache_->elements()),
        charge_(allocator) {}

  absl::StatusOr<bool> GetNext(IteratorContext& context,
                               DatasetElement* element) override {
    if (cached_ != nullptr) return GetCached(element);
    if (has_ended_) return false;
    const absl::StatusOr<bool> has = input().GetNext(context, element);
    if (!has.ok()) is_whole_ &= !context.cancellation().IsCancelled();
    RETURN_IF_ERROR(has.status());
    if (*has) {
      const absl::Status kept = charge_.Add(*element);
      is_whole_ &= kept.ok();
      RETURN_IF_ERROR(kept);
      kept_.push_back(*element);
      return true;
    }
    has_ended_ = true;
    if (!is_whole_) return false;
    next_ = kept_.size();
    cached_ = dataset().cache_->Fill(std::exchange(kept_, {}));
    charge_.Remove(charge_.count());
    next_ = std::max(next_, cached_->size());
    return false;
  }
  bool IsReady() const override {
    return cached_ != nullptr || has_ended_ || input().IsReady();
  }

  // Includes the elements, because the restored iterator may be in another
  // process.
  absl::Status Save(IteratorContext& context,
                    IteratorStateWriter writer) override {
    writer.Write("is_cached", int64_t{cached_ != nullptr});
    writer.Write("is_whole", int64_t{is_whole_});
    writer.Write("next", static_cast<int64_t>(next_));
    writer.Write("elements", cached_ == nullptr ? kept_ : *cached_);
    RETURN_IF_ERROR(writer.CheckSize(dataset().name()));
    if (cached_ != nullptr) return absl::OkStatus();
    return UnaryIteratorOf::Save(context, writer);
  }
  absl::Status Restore(IteratorContext& context,
                       const IteratorStateReader& reader) override {
    ASSIGN_OR_RETURN(const bool is_cached, reader.ReadBool("is_cached"));
    ASSIGN_OR_RETURN(const int64_t next, reader.ReadInt("next"));
    ASSIGN_OR_RETURN(const bool is_whole, ReadIsWhole(reader));
    ASSIGN_OR_RETURN(auto elements,
                     reader.ReadElements("elements", dataset().output_types()));
    const auto size = static_cast<int64_t>(elements.size());
    if (next < 0 || next > size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the saved state of a cache is at ", next, " of ", size));
    }
    if (!is_cached) {
      RETURN_IF_ERROR(UnaryIteratorOf::Restore(context, reader));
      cached_ = nullptr;
      has_ended_ = false;
      is_whole_ = is_whole;
      charge_.Remove(charge_.count());
      RETURN_IF_ERROR(charge_.AddAll(elements));
      kept_ = std::move(elements);
      return absl::OkStatus();
    }
    cached_ = dataset().cache_->Fill(std::move(elements));
    next_ = static_cast<size_t>(next);
    return absl::OkStatus();
  }

 private:
  // Datasets with other elements may share the cache.
  absl::StatusOr<bool> GetCached(DatasetElement* element) {
    if (next_ >= cached_->size()) return false;
    *element = (*cached_)[next_++];
    RETURN_IF_ERROR(
        CheckElementTypes(dataset().element(), TypesOfElement(*element)));
    return true;
  }

  MemoryCache::Elements cached_;  // null on a first walk
  size_t next_ = 0;
  // Elements kept during a first walk.
  std::vector<DatasetElement> kept_;
  ElementCharge charge_;  // for kept_
  bool is_whole_ = true;
  bool has_ended_ = false;
};

absl::StatusOr<IteratorPtr> MemoryCacheDataset::NewIterator(
    IteratorContext& context) const {
  ASSIGN_OR_RETURN(IteratorPtr input, this->input().MakeIterator(context));
  return std::make_unique<Iterator>(*this, std::move(input),
                                    context.allocator());
}

// ---- In a file ----

class FileCacheDataset : public UnaryDataset {
 public:
  FileCacheDataset(const DatasetOp& op, DatasetPtr input,
                   const std::string& filename)
      : UnaryDataset(op, std::move(input)),
        path_(absl::StrCat(filename, ".weft_cache")),
        random_(*op.random) {}

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    return MakeUnaryIterator<Iterator>(*this, context);
  }
  int64_t FindCardinality() const override { return input().Cardinality(); }

 private:
  class Iterator;

  const std::string path_;
  Random& random_;
};

class FileCacheDataset::Iterator : public UnaryIteratorOf<FileCacheDataset> {
 public:
  using UnaryIteratorOf::UnaryIteratorOf;

  absl::StatusOr<bool> GetNext(IteratorContext& context,
                               DatasetElement* element) override {
    if (has_ended_) return false;
    if (reader_ == nullptr && writer_ == nullptr && !keeps_nothing_) {
      RETURN_IF_ERROR(MarkIfItStays(Open(context)));
    }
    if (reader_ != nullptr) {
      absl::StatusOr<bool> has =
          reader_->Read(context.allocator(), dataset().element(), element);
      if (has.ok()) return has;
      return MarkIfItStays(has.status());
    }
    const absl::StatusOr<bool> has = input().GetNext(context, element);
    if (!has.ok()) is_whole_ &= !context.cancellation().IsCancelled();
    RETURN_IF_ERROR(has.status());
    if (*has) {
      RETURN_IF_ERROR(Keep(*element));
      return true;
    }
    has_ended_ = true;
    const bool fills_file = writer_ != nullptr && is_whole_;
    const absl::Status status =
        fills_file ? writer_->Finish() : absl::OkStatus();
    writer_.reset();
    RETURN_IF_ERROR(status);
    return false;
  }

  // Does not include the file's elements, which may exceed the size of a state.
  absl::Status Save(IteratorContext& context,
                    IteratorStateWriter writer) override {
    writer.Write("has_ended", int64_t{has_ended_});
    writer.Write("is_whole", int64_t{is_whole_});
    if (reader_ != nullptr) {
      writer.Write("offset", static_cast<int64_t>(reader_->offset()));
      return absl::OkStatus();
    }
    writer.Write("has_begun", int64_t{writer_ != nullptr || keeps_nothing_});
    return UnaryIteratorOf::Save(context, writer);
  }

  absl::Status Restore(IteratorContext& context,
                       const IteratorStateReader& reader) override {
    ASSIGN_OR_RETURN(has_ended_, reader.ReadBool("has_ended"));
    ASSIGN_OR_RETURN(is_whole_, ReadIsWhole(reader));
    writer_.reset();
    reader_.reset();
    keeps_nothing_ = false;
    if (reader.Has("offset")) {
      ASSIGN_OR_RETURN(const int64_t offset, reader.ReadInt("offset"));
      if (offset < 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the saved state of a cache is at ", offset, " of its file"));
      }
      RETURN_IF_ERROR(OpenReader(context));
      return reader_->GoTo(static_cast<uint64_t>(offset));
    }
    ASSIGN_OR_RETURN(keeps_nothing_, ReadHasBegun(reader));
    return UnaryIteratorOf::Restore(context, reader);
  }

 private:
  // An error of creating the cache, or a damaged cache, recurs in each call.
  static absl::Status MarkIfItStays(const absl::Status& status) {
    return IsOfTheFile(status) ? MarkPermanent(status) : status;
  }

  // Older checkpoints instead have the elements written to the file so far.
  static absl::StatusOr<bool> ReadHasBegun(const IteratorStateReader& reader) {
    if (!reader.Has("has_begun")) return reader.Has("contents");
    return reader.ReadBool("has_begun");
  }

  absl::Status Keep(const DatasetElement& element) {
    if (writer_ == nullptr) return absl::OkStatus();
    absl::Status written = writer_->Write(element);
    is_whole_ &= written.ok();
    return written;
  }

  absl::Status Open(IteratorContext& context) {
    const absl::Status exists =
        context.file_system().FileExists(dataset().path_);
    if (absl::IsNotFound(exists)) return OpenWriter(context);
    RETURN_IF_ERROR(exists);
    return OpenReader(context);
  }
  absl::Status OpenReader(IteratorContext& context) {
    ASSIGN_OR_RETURN(
        auto file, context.file_system().NewRandomAccessFile(dataset().path_));
    reader_ =
        std::make_unique<ElementFileReader>(dataset().path_, std::move(file));
    return absl::OkStatus();
  }
  absl::Status OpenWriter(IteratorContext& context) {
    const std::string suffix =
        absl::StrCat(".", absl::Hex(dataset().random_.Next()), ".tmp");
    ASSIGN_OR_RETURN(writer_,
                     ElementFileWriter::Create(context.file_system(),
                                               dataset().path_, suffix));
    return absl::OkStatus();
  }

  // At most one of the two is set, when the first element is requested.
  std::unique_ptr<ElementFileReader> reader_;
  std::unique_ptr<ElementFileWriter> writer_;
  // Set for a walk that resumes in the middle of a first walk.
  bool keeps_nothing_ = false;
  bool has_ended_ = false;
  bool is_whole_ = true;
};

absl::StatusOr<DatasetPtr> MakeCacheWith(const DatasetOp& op,
                                         OpKernelContext& context,
                                         std::shared_ptr<MemoryCache> cache) {
  ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
  ASSIGN_OR_RETURN(const std::string filename,
                   ScalarInput<std::string>(context, 1, "filename"));
  RETURN_IF_ERROR(CheckElementTypes(op.element, input->output_types()));
  if (!filename.empty()) {
    return std::make_shared<FileCacheDataset>(op, std::move(input), filename);
  }
  return std::make_shared<MemoryCacheDataset>(op, std::move(input),
                                              std::move(cache));
}

absl::StatusOr<DatasetPtr> MakeCache(const DatasetOp& op,
                                     OpKernelContext& context) {
  return MakeCacheWith(op, context, std::make_shared<MemoryCache>());
}

// The cache of the handle, or a private one for a dummy handle.
absl::StatusOr<DatasetPtr> MakeCacheV2(const DatasetOp& op,
                                       OpKernelContext& context) {
  ASSIGN_OR_RETURN(const ResourceHandle* const handle,
                   ResourceHandleAt(context, 2));
  if (handle->type_name != MemoryCache::kTypeName) {
    return MakeCache(op, context);
  }
  ASSIGN_OR_RETURN(auto cache, FindResource<MemoryCache>(context, 2));
  return MakeCacheWith(op, context, std::move(cache));
}

class AnonymousMemoryCacheKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    return SetAnonymous(context, std::make_shared<MemoryCache>());
  }
};

}  // namespace

void RegisterCacheDataset(KernelRegistry& registry) {
  RegisterDataset(registry, "CacheDatasetV2", MakeCacheV2);
  registry.Register<AnonymousMemoryCacheKernel>("AnonymousMemoryCache");
  registry.Register<DummyHandleKernel<MemoryCache>>("DummyMemoryCache");
  registry.Register<DeleteAnonymousKernel<MemoryCache>>("DeleteMemoryCache");
  RegisterDataset(registry, "CacheDataset", MakeCache);
}

}  // namespace weft
