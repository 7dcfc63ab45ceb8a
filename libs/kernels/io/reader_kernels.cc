// Kernels of readers. Waits for a turn or for the name of a file happen in the
// reader, without a thread (libs/resource/reader.h).
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/kernels/io/io_kernels.h"
#include "libs/kernels/io/record_sources.h"
#include "libs/kernels/resource/resource_lookup.h"
#include "libs/resource/reader.h"

namespace weft {
namespace {

absl::Status CheckNotNegative(const char* name, int64_t value) {
  if (value >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must be >= 0 not ", value));
}

absl::StatusOr<Compression> CompressionOf(
    const OpKernelConstruction& construction, const char* attr) {
  ASSIGN_OR_RETURN(const std::string name,
                   construction.GetAttr<std::string>(attr));
  if (name.empty()) return Compression::kNone;
  if (name == "ZLIB") return Compression::kZlib;
  if (name == "GZIP") return Compression::kGzip;
  return absl::InvalidArgumentError(absl::StrCat(
      "Unsupported ", attr, ": ", name, "; there are '', 'GZIP' and 'ZLIB'"));
}

using SourceFactory = std::function<std::unique_ptr<RecordSource>()>;

absl::StatusOr<SourceFactory> TextLines(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(const int64_t skip,
                   construction.GetAttr<int64_t>("skip_header_lines"));
  RETURN_IF_ERROR(CheckNotNegative("skip_header_lines", skip));
  return [skip] { return NewTextLineSource(skip); };
}

absl::StatusOr<SourceFactory> FixedLength(
    const OpKernelConstruction& construction) {
  FixedLengthLayout layout;
  const std::pair<const char*, int64_t*> attrs[] = {
      {"header_bytes", &layout.header},
      {"record_bytes", &layout.record},
      {"footer_bytes", &layout.footer},
      {"hop_bytes", &layout.hop}};
  for (const auto& [name, value] : attrs) {
    ASSIGN_OR_RETURN(*value, construction.GetAttr<int64_t>(name));
    RETURN_IF_ERROR(CheckNotNegative(name, *value));
  }
  if (layout.record == 0 && layout.hop == 0) {
    return absl::InvalidArgumentError(
        "record_bytes must be > 0 where hop_bytes is 0: a file would have "
        "endlessly many records");
  }
  // The readers of old graphs have no compression.
  Compression compression = Compression::kNone;
  if (construction.node().attr<std::string>("encoding") != nullptr) {
    ASSIGN_OR_RETURN(compression, CompressionOf(construction, "encoding"));
  }
  return [layout, compression] {
    return NewFixedLengthSource(layout, compression);
  };
}

absl::StatusOr<SourceFactory> TFRecords(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(const Compression compression,
                   CompressionOf(construction, "compression_type"));
  return [compression] { return NewTFRecordSource(compression); };
}

absl::StatusOr<SourceFactory> SourcesOf(
    absl::string_view kind, const OpKernelConstruction& construction) {
  if (kind == "TextLineReader") return TextLines(construction);
  if (kind == "FixedLengthRecordReader") return FixedLength(construction);
  if (kind == "TFRecordReader") return TFRecords(construction);
  if (kind == "WholeFileReader") return SourceFactory(NewWholeFileSource);
  return SourceFactory(NewIdentitySource);
}

// For all five kinds of readers.
class ReaderHandleKernel : public ResourceHandleKernel<Reader> {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<ReaderHandleKernel>(construction);
    RETURN_IF_ERROR(kernel->ReadName(construction));
    ASSIGN_OR_RETURN(kernel->new_source_,
                     SourcesOf(kernel->kind_, construction));
    return kernel;
  }
  explicit ReaderHandleKernel(const OpKernelConstruction& construction)
      : ResourceHandleKernel<Reader>(construction),
        kind_(absl::StripSuffix(construction.node().type(), "V2")) {}

 private:
  std::shared_ptr<Reader> Create(const std::string&) override {
    return std::make_shared<Reader>(
        absl::StrCat(kind_, " '", node_name(), "'"), new_source_(),
        /*can_save_state=*/kind_ == "IdentityReader");
  }
  // As in TensorFlow, the first node determines what the reader reads.
  absl::Status CheckShared(const Reader&) const override {
    return absl::OkStatus();
  }

  const std::string kind_;
  SourceFactory new_source_;
};

Reader::Context ContextOf(OpKernelContext& context) {
  return {context.mutable_cancellation(), context.scheduler(),
          context.file_system(), context.allocator()};
}

class ReadKernel : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;

  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto reader = FindResource<Reader>(context, 0);
    if (!reader.ok()) return done(reader.status());
    auto queue = FindResource<Queue>(context, 1);
    if (!queue.ok()) return done(queue.status());
    (*reader)->ReadOne(
        ContextOf(context), *std::move(queue),
        [&context, done = std::move(done)](auto records) mutable {
          if (!records.ok()) return done(records.status());
          ReaderRecord& record = (*records)[0];
          context.SetOutput(0, Tensor::Scalar(std::move(record.key)));
          context.SetOutput(1, Tensor::Scalar(std::move(record.value)));
          done(absl::OkStatus());
        });
  }
};

class ReadUpToKernel : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;

  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto reader = FindResource<Reader>(context, 0);
    if (!reader.ok()) return done(reader.status());
    auto queue = FindResource<Queue>(context, 1);
    if (!queue.ok()) return done(queue.status());
    const auto count = CountOf(context);
    if (!count.ok()) return done(count.status());
    (*reader)->ReadUpTo(
        ContextOf(context), *std::move(queue), *count,
        [&context, done = std::move(done)](auto records) mutable {
          if (!records.ok()) return done(records.status());
          done(SetRecords(context, *std::move(records)));
        });
  }

 private:
  static absl::StatusOr<int64_t> CountOf(const OpKernelContext& context) {
    const Tensor& count = context.input(2);
    if (count.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_records must be a scalar, but has shape ",
                       count.shape().ToString()));
    }
    const int64_t value = count.flat<int64_t>()[0];
    RETURN_IF_ERROR(CheckNotNegative("num_records", value));
    return value;
  }

  static absl::Status SetRecords(OpKernelContext& context,
                                 Reader::Records records) {
    const TensorShape shape = {static_cast<int64_t>(records.size())};
    ASSIGN_OR_RETURN(Tensor * keys, context.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(1, shape));
    for (size_t i = 0; i < records.size(); ++i) {
      keys->mutable_flat<std::string>()[i] = std::move(records[i].key);
      values->mutable_flat<std::string>()[i] = std::move(records[i].value);
    }
    return absl::OkStatus();
  }
};

class ResetKernel : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;

  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto reader = FindResource<Reader>(context, 0);
    if (!reader.ok()) return done(reader.status());
    (*reader)->Reset(ContextOf(context), std::move(done));
  }
};

class SerializeStateKernel : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;

  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto reader = FindResource<Reader>(context, 0);
    if (!reader.ok()) return done(reader.status());
    (*reader)->SerializeState(
        ContextOf(context),
        [&context, done = std::move(done)](auto state) mutable {
          if (!state.ok()) return done(state.status());
          context.SetOutput(0, Tensor::Scalar(*std::move(state)));
          done(absl::OkStatus());
        });
  }
};

class RestoreStateKernel : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;

  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto reader = FindResource<Reader>(context, 0);
    if (!reader.ok()) return done(reader.status());
    const Tensor& state = context.input(1);
    if (state.rank() != 0) {
      return done(absl::InvalidArgumentError(
          absl::StrCat("Reader state must be scalar, but had shape: ",
                       state.shape().ToString())));
    }
    (*reader)->RestoreState(ContextOf(context), state.scalar<std::string>(),
                            std::move(done));
  }
};

// Returns one of the two counts of a reader.
template <int64_t (Reader::*count)() const>
class ReaderCountKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto reader, FindResource<Reader>(context, 0));
    context.SetOutput(0, Tensor::Scalar(((*reader).*count)()));
    return absl::OkStatus();
  }
};

// Registers for both kinds of handles.
template <typename Kernel>
void RegisterBoth(KernelRegistry& registry, const char* on_reference,
                  const char* on_resource, bool is_cheap = false) {
  registry.Register<Kernel>(on_reference, {}, is_cheap);
  registry.Register<Kernel>(on_resource, {}, is_cheap);
}

}  // namespace

void RegisterReaderKernels(KernelRegistry& registry) {
  for (const char* op :
       {"TextLineReader", "TextLineReaderV2", "FixedLengthRecordReader",
        "FixedLengthRecordReaderV2", "TFRecordReader", "TFRecordReaderV2",
        "WholeFileReader", "WholeFileReaderV2", "IdentityReader",
        "IdentityReaderV2"}) {
    registry.Register({.op = op, .is_cheap = true}, ReaderHandleKernel::Make);
  }
  RegisterBoth<ReadKernel>(registry, "ReaderRead", "ReaderReadV2");
  RegisterBoth<ReadUpToKernel>(registry, "ReaderReadUpTo", "ReaderReadUpToV2");
  RegisterBoth<ResetKernel>(registry, "ReaderReset", "ReaderResetV2");
  RegisterBoth<SerializeStateKernel>(registry, "ReaderSerializeState",
                                     "ReaderSerializeStateV2");
  RegisterBoth<RestoreStateKernel>(registry, "ReaderRestoreState",
                                   "ReaderRestoreStateV2");
  RegisterBoth<ReaderCountKernel<&Reader::num_records_produced>>(
      registry, "ReaderNumRecordsProduced", "ReaderNumRecordsProducedV2",
      /*is_cheap=*/true);
  RegisterBoth<ReaderCountKernel<&Reader::num_work_units_completed>>(
      registry, "ReaderNumWorkUnitsCompleted", "ReaderNumWorkUnitsCompletedV2",
      /*is_cheap=*/true);
}

}  // namespace weft
