#include "libs/checkpoint/table.h"

#include <snappy.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "leveldb/env.h"
#include "leveldb/options.h"
#include "leveldb/table_builder.h"
#include "libs/base/crc32c.h"
#include "libs/base/status.h"
#include "libs/checkpoint/varint.h"

namespace weft::checkpoint {
namespace {

constexpr size_t kFooterSize = 48;
constexpr size_t kHandlesSize = 40;  // handles in the footer, with padding
constexpr uint64_t kMagic = 0xdb4775248b80fb57;
constexpr size_t kTrailerSize = 5;  // type and checksum
constexpr size_t kBlockSize = size_t{256} << 10;
// The maximum size of a block. A block ends after the entry that fills it. The
// largest entries are slices of V1 checkpoints, which are messages of less than
// 2 GiB. The limit ensures that a long, empty file does not reserve more
// memory.
constexpr uint64_t kMaxBlockSize = (uint64_t{2} << 30) + (uint64_t{1} << 20);
// The number of bytes that are read between two checks for cancellation.
constexpr uint64_t kReadAtOnce = uint64_t{8} << 20;

// Types of blocks, numbered as in LevelDB's enum Compression.
constexpr char kUncompressed = 0;
constexpr char kSnappy = 1;
// The maximum ratio of uncompressed to compressed bytes. A Snappy element takes
// at least 3 bytes for 64 bytes of output, or 2 bytes for 11.
constexpr uint64_t kMaxSnappyExpansion = 22;

// Numbers in the file are little-endian, like the supported machines.
static_assert(std::endian::native == std::endian::little);
template <typename T>
T Load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

leveldb::Slice ToSlice(absl::string_view bytes) {
  return {bytes.data(), bytes.size()};
}

}  // namespace

// File passes the writes of the LevelDB library to the file. It keeps the
// file's errors, which are more specific than LevelDB's.
class TableBuilder::File : public leveldb::WritableFile {
 public:
  explicit File(weft::WritableFile& file) : file_(file) {}

  leveldb::Status Append(const leveldb::Slice& data) override {
    return Keep(file_.Append({data.data(), data.size()}));
  }
  // LevelDB flushes after each block. This is ignored, because the file buffers
  // itself.
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return Keep(file_.Sync()); }
  leveldb::Status Close() override { return Keep(file_.Close()); }

  const absl::Status& status() const { return status_; }

 private:
  leveldb::Status Keep(const absl::Status& status) {
    if (status.ok()) return leveldb::Status::OK();
    status_.Update(status);
    return leveldb::Status::IOError(
        "the error is in TableBuilder::File::status");
  }

  weft::WritableFile& file_;
  absl::Status status_;
};

struct TableBuilder::Impl {
  explicit Impl(WritableFile& to) : file(to), builder(Options(), &file) {}

  static leveldb::Options Options() {
    leveldb::Options options;
    options.compression = leveldb::kNoCompression;
    options.block_size = kBlockSize;
    return options;
  }
  absl::Status status() const {
    RETURN_IF_ERROR(file.status());
    if (builder.status().ok()) return absl::OkStatus();
    return absl::InternalError(builder.status().ToString());
  }

  File file;
  leveldb::TableBuilder builder;
  std::optional<std::string> last_key;
  bool finished = false;
};

TableBuilder::TableBuilder(WritableFile& file)
    : impl_(std::make_unique<Impl>(file)) {}

TableBuilder::~TableBuilder() {
  // LevelDB requires Abandon or Finish before the builder is destroyed.
  if (!impl_->finished) impl_->builder.Abandon();
}

absl::Status TableBuilder::Add(absl::string_view key, absl::string_view value) {
  if (impl_->last_key.has_value() && key <= *impl_->last_key) {
    return absl::InternalError(
        "keys must be added to a table in ascending order");
  }
  if (key.size() > kMaxKeySize) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a key of ", key.size(), " bytes; ", kMaxKeySize, " are allowed"));
  }
  impl_->last_key = std::string(key);
  impl_->builder.Add(ToSlice(key), ToSlice(value));
  return impl_->status();
}

absl::Status TableBuilder::Finish() {
  impl_->finished = true;
  (void)impl_->builder.Finish();  // its error is in status()
  return impl_->status();
}

// Block has the entries of one block. An entry consists of the length of the
// prefix that its key shares with the previous key, the length of the rest of
// the key, and the size of the value, all as varints, and then the rest of the
// key and the value. After the entries come the offsets of every 16th entry
// (the restarts), whose keys share nothing, and the number of these offsets.
class Table::Block {
 public:
  // Creates a block from its bytes, which are at `offset` in `table`.
  static absl::StatusOr<std::unique_ptr<Block>> Create(std::string bytes,
                                                       const Table& table,
                                                       uint64_t offset) {
    auto block = std::make_unique<Block>();
    block->bytes_ = std::move(bytes);
    block->table_ = &table;
    block->offset_ = offset;
    const size_t size = block->bytes_.size();
    if (size < 4) return table.Damaged(offset, "a block without an end");
    const uint32_t restarts = Load<uint32_t>(block->bytes_.data() + size - 4);
    if (restarts > (size - 4) / 4) {
      return table.Damaged(offset, "a block with more restarts than bytes");
    }
    block->num_restarts_ = restarts;
    block->entries_size_ = size - 4 - size_t{restarts} * 4;
    return block;
  }

  size_t num_restarts() const { return num_restarts_; }
  // Returns the offset of the i-th restart, an untrusted number.
  size_t restart(size_t i) const {
    return Load<uint32_t>(bytes_.data() + entries_size_ + 4 * i);
  }
  // Returns the bytes of all entries from `begin` on; empty beyond the last
  // entry.
  absl::string_view entries(size_t begin) const {
    return absl::string_view(bytes_.data(), entries_size_)
        .substr(std::min(begin, entries_size_));
  }
  absl::Status Damaged(absl::string_view rest, absl::string_view what) const {
    return table_->Damaged(offset_ + entries_size_ - rest.size(), what);
  }

 private:
  std::string bytes_;
  const Table* table_ = nullptr;
  uint64_t offset_ = 0;
  size_t num_restarts_ = 0;
  size_t entries_size_ = 0;
};

// Cursor iterates over the entries of a block, starting at one of its restarts.
// Memory and time are bounded by the size of the block.
class Table::Cursor {
 public:
  Cursor(const Block& block, size_t begin)
      : block_(block), rest_(block.entries(begin)) {}

  // Advances to the next entry; returns false after the last one.
  absl::StatusOr<bool> Next() {
    if (rest_.empty()) return false;
    const auto shared = TakeVarint(&rest_, 32);
    const auto unshared = TakeVarint(&rest_, 32);
    const auto value_size = TakeVarint(&rest_, 32);
    if (!shared || !unshared || !value_size || *shared > key_.size() ||
        *unshared + *value_size > rest_.size()) {
      return block_.Damaged(rest_, "bad entry in block");
    }
    const absl::string_view ending = rest_.substr(0, *unshared);
    if (!first_ && ending <= absl::string_view(key_).substr(*shared)) {
      return block_.Damaged(rest_, "keys of a block do not ascend");
    }
    // Without this limit, keys that share prefixes could take memory that is
    // quadratic in the file's size.
    if (*shared + *unshared > kMaxKeySize) {
      return block_.Damaged(rest_, "a key that is too long");
    }
    first_ = false;
    key_.resize(*shared);
    absl::StrAppend(&key_, ending);
    value_ = rest_.substr(*unshared, *value_size);
    rest_.remove_prefix(*unshared + *value_size);
    return true;
  }

  // Advances to the first entry whose key is not below `key`.
  absl::StatusOr<bool> Seek(absl::string_view key) {
    while (true) {
      ASSIGN_OR_RETURN(const bool found, Next());
      if (!found || key_ >= key) return found;
    }
  }

  // Returns a cursor at the first entry of `block` whose key is not below
  // `key`.
  static absl::StatusOr<Cursor> SeekIn(const Block& block,
                                       absl::string_view key) {
    // Find the last restart whose key is below `key`, if there is one.
    size_t low = 0;
    size_t high = block.num_restarts();
    while (low + 1 < high) {
      const size_t middle = low + (high - low) / 2;
      Cursor at(block, block.restart(middle));
      ASSIGN_OR_RETURN(const bool found, at.Next());
      if (!found) return block.Damaged("", "a restart behind the block's end");
      (at.key() < key ? low : high) = middle;
    }
    Cursor cursor(block, block.num_restarts() == 0 ? 0 : block.restart(low));
    ASSIGN_OR_RETURN(cursor.found_, cursor.Seek(key));
    return cursor;
  }

  bool found() const { return found_; }
  const std::string& key() const { return key_; }
  absl::string_view value() const { return value_; }

 private:
  const Block& block_;
  absl::string_view rest_;
  bool first_ = true;
  bool found_ = false;
  std::string key_;
  absl::string_view value_;
};

Table::Table(std::unique_ptr<RandomAccessFile> file, uint64_t size,
             std::string path, const Cancellation* cancellation)
    : file_(std::move(file)),
      size_(size),
      path_(std::move(path)),
      cancellation_(cancellation) {}

Table::~Table() = default;

absl::StatusOr<std::unique_ptr<Table>> Table::Open(
    std::unique_ptr<RandomAccessFile> file, uint64_t size, std::string path,
    const Cancellation* cancellation) {
  std::unique_ptr<Table> table(
      new Table(std::move(file), size, std::move(path), cancellation));
  RETURN_IF_ERROR(table->ReadFooter());
  return table;
}

absl::Status Table::Damaged(uint64_t offset, absl::string_view what) const {
  return absl::DataLossError(
      absl::StrCat(what, " (", path_, ", byte ", offset, ")"));
}

absl::Status Table::ReadFooter() {
  if (size_ < kFooterSize) {
    return Damaged(size_, "file is too short to be an sstable");
  }
  const uint64_t footer_offset = size_ - kFooterSize;
  ASSIGN_OR_RETURN(const std::string footer,
                   ReadBytes(footer_offset, kFooterSize));
  if (Load<uint64_t>(footer.data() + kHandlesSize) != kMagic) {
    return Damaged(footer_offset + kHandlesSize,
                   "not an sstable (bad magic number)");
  }
  absl::string_view handles(footer.data(), kHandlesSize);
  // The first handle belongs to the filter block, which TensorFlow's tables do
  // not have.
  RETURN_IF_ERROR(TakeHandle(&handles, footer_offset).status());
  ASSIGN_OR_RETURN(const Handle index, TakeHandle(&handles, footer_offset));
  ASSIGN_OR_RETURN(index_, ReadBlock(index));
  return absl::OkStatus();
}

absl::StatusOr<Table::Handle> Table::TakeHandle(absl::string_view* bytes,
                                                uint64_t end) const {
  const auto offset = TakeVarint(bytes, 64);
  const auto size = TakeVarint(bytes, 64);
  if (!offset || !size || end < kTrailerSize || *offset > end - kTrailerSize ||
      *size > end - kTrailerSize - *offset) {
    return Damaged(end, "bad block handle");
  }
  if (*size > kMaxBlockSize) {
    return Damaged(*offset, absl::StrCat("a block of ", *size, " bytes"));
  }
  return Handle{.offset = *offset, .size = *size};
}

absl::StatusOr<std::string> Table::ReadBytes(uint64_t offset,
                                             uint64_t size) const {
  std::string bytes(size, '\0');
  for (uint64_t begin = 0; begin < size; begin += kReadAtOnce) {
    if (cancellation_ != nullptr) RETURN_IF_ERROR(cancellation_->status());
    const uint64_t length = std::min(kReadAtOnce, size - begin);
    ASSIGN_OR_RETURN(const size_t read,
                     file_->Read(offset + begin, length, bytes.data() + begin));
    if (read < length) {
      return Damaged(offset + begin + read, "truncated block read");
    }
  }
  return bytes;
}

absl::StatusOr<std::unique_ptr<Table::Block>> Table::ReadBlock(
    const Handle& handle) const {
  ASSIGN_OR_RETURN(std::string bytes,
                   ReadBytes(handle.offset, handle.size + kTrailerSize));
  const absl::string_view checked(bytes.data(), handle.size + 1);
  const uint32_t stored = Load<uint32_t>(bytes.data() + handle.size + 1);
  if (UnmaskCrc32c(stored) != Crc32c(checked)) {
    return Damaged(handle.offset, "block checksum mismatch");
  }
  const char type = checked.back();
  if (type == kSnappy) {
    ASSIGN_OR_RETURN(bytes,
                     Uncompress(checked.substr(0, handle.size), handle.offset));
    return Block::Create(std::move(bytes), *this, handle.offset);
  }
  if (type != kUncompressed) {
    return absl::UnimplementedError(absl::StrCat(
        path_, ": the block at byte ", handle.offset, " has compression type ",
        static_cast<int>(type),
        "; Weft reads types 0 (none) and 1 (Snappy), as TensorFlow does"));
  }
  bytes.resize(handle.size);
  return Block::Create(std::move(bytes), *this, handle.offset);
}

absl::StatusOr<std::string> Table::Uncompress(absl::string_view compressed,
                                              uint64_t offset) const {
  size_t size = 0;
  if (!snappy::GetUncompressedLength(compressed.data(), compressed.size(),
                                     &size)) {
    return Damaged(offset, "a Snappy block without a length");
  }
  if (size > kMaxBlockSize ||
      size / kMaxSnappyExpansion > uint64_t{compressed.size()}) {
    return Damaged(offset, absl::StrCat("a Snappy block of ", compressed.size(),
                                        " bytes that claims to hold ", size));
  }
  std::string bytes(size, '\0');
  if (!snappy::RawUncompress(compressed.data(), compressed.size(),
                             bytes.data())) {
    return Damaged(offset, "corrupted Snappy block");
  }
  return bytes;
}

absl::StatusOr<const Table::Block*> Table::DataBlock(absl::string_view handle) {
  ASSIGN_OR_RETURN(const Handle at, TakeHandle(&handle, size_ - kFooterSize));
  if (data_ == nullptr || !(at == data_handle_)) {
    data_.reset();
    ASSIGN_OR_RETURN(data_, ReadBlock(at));
    data_handle_ = at;
  }
  return data_.get();
}

absl::StatusOr<std::optional<std::string>> Table::Find(absl::string_view key) {
  ASSIGN_OR_RETURN(const auto found, FindView(key));
  if (!found.has_value()) return std::nullopt;
  return std::string(*found);
}

// The index has one entry for each block. Its key is at least as large as all
// keys of the block and smaller than all keys of the next block. Its value is
// the block's handle.
absl::StatusOr<std::optional<absl::string_view>> Table::FindView(
    absl::string_view key) {
  ASSIGN_OR_RETURN(const Cursor in_index, Cursor::SeekIn(*index_, key));
  if (!in_index.found()) return std::nullopt;
  ASSIGN_OR_RETURN(const Block* block, DataBlock(in_index.value()));
  ASSIGN_OR_RETURN(const Cursor entry, Cursor::SeekIn(*block, key));
  if (!entry.found() || entry.key() != key) return std::nullopt;
  return entry.value();
}

void Table::DropBlock() { data_.reset(); }

absl::Status Table::ForEach(absl::FunctionRef<absl::Status(
                                absl::string_view key, absl::string_view value)>
                                visit) {
  std::optional<std::string> last;
  Cursor blocks(*index_, 0);
  while (true) {
    ASSIGN_OR_RETURN(const bool one_more, blocks.Next());
    if (!one_more) return absl::OkStatus();
    absl::string_view value = blocks.value();
    ASSIGN_OR_RETURN(const Handle handle,
                     TakeHandle(&value, size_ - kFooterSize));
    // Read the block instead of using the cached block, because the cached
    // block changes if `visit` looks up a key.
    ASSIGN_OR_RETURN(const std::unique_ptr<Block> block, ReadBlock(handle));
    Cursor entries(*block, 0);
    while (true) {
      ASSIGN_OR_RETURN(const bool entry, entries.Next());
      if (!entry) break;
      if ((last.has_value() && entries.key() <= *last) ||
          entries.key() > blocks.key()) {
        return Damaged(handle.offset, "a key that its block should not have");
      }
      RETURN_IF_ERROR(visit(entries.key(), entries.value()));
    }
    last = blocks.key();
  }
}

}  // namespace weft::checkpoint
