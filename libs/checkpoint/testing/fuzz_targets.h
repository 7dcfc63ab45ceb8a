// The targets of the checkpoint fuzzers. A test runs them with the corpora of
// earlier findings, too.
#ifndef WEFT_LIBS_CHECKPOINT_TESTING_FUZZ_TARGETS_H_
#define WEFT_LIBS_CHECKPOINT_TESTING_FUZZ_TARGETS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/base/testing/fuzz_corpus.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/checkpoint/checkpoint_reader.h"
#include "libs/checkpoint/saved_slices.h"
#include "libs/checkpoint/table.h"
#include "libs/checkpoint/testing/crafted_table.h"
#include "libs/fs/memory_file_system.h"
#include "libs/tensor/testing/small_allocator.h"

namespace weft::checkpoint {

// Reads a whole table, in order and by key.
inline void ReadTableForFuzz(const std::string& bytes) {
  MemoryFileSystem fs;
  RequireForFuzz(fs.WriteFileAtomically("table", bytes).ok());
  auto file = fs.NewRandomAccessFile("table");
  RequireForFuzz(file.ok());
  const auto table = Table::Open(*std::move(file), bytes.size(), "table");
  if (!table.ok()) return;
  (void)(*table)->ForEach(
      [&](absl::string_view key, absl::string_view) -> absl::Status {
        (void)DecodeTensorNameSlice(key);
        return (*table)->Find(key).status();
      });
  for (const char* key : {"", "a", "\xff"}) (void)(*table)->Find(key);
}

// Fuzzes a whole file. Then fuzzes the only block of a file with valid
// checksums, both uncompressed and as Snappy data.
inline void FuzzCheckpointIndex(absl::string_view bytes) {
  ReadTableForFuzz(std::string(bytes));
  ReadTableForFuzz(CraftTable(bytes));
  ReadTableForFuzz(CraftTable(bytes, /*type=*/1));
}

// Fuzzes the entry of a tensor "x" in a checkpoint with some data. A parsed
// entry must serialize and parse to the same value.
inline void FuzzCheckpointEntry(absl::string_view bytes) {
  const auto entry = ParseBundleEntry("x", bytes);
  if (entry.ok()) {
    const auto again = ParseBundleEntry("x", SerializeBundleEntry(*entry));
    RequireForFuzz(again.ok() && *again == *entry);
  }
  MemoryFileSystem fs;
  const std::string block = CraftBlock(
      {CraftEntry(0, "", SerializeBundleHeader({})), CraftEntry(0, "x", bytes)},
      {0});
  RequireForFuzz(fs.WriteFileAtomically("c.index", CraftTable(block)).ok());
  const std::string data("\x01\x02\x03\x04\x05\x06\x07\x08", 8);
  RequireForFuzz(
      fs.WriteFileAtomically("c.data-00000-of-00001", data + data + data).ok());
  const auto reader = BundleReader::Open(fs, "c");
  RequireForFuzz(reader.ok());
  constexpr size_t kMemory = size_t{1} << 20;
  SmallAllocator small(kMemory, kMemory);
  (void)(*reader)->Read("x", small);
  const auto half = TensorSlice::Parse("0,1:-");
  (void)(*reader)->ReadSlice("x", *half, small);
}

// Lists and reads all tensors of the V1 checkpoint in that table.
inline void ReadSliceTableForFuzz(const std::string& table) {
  MemoryFileSystem fs;
  RequireForFuzz(fs.WriteFileAtomically("c", table).ok());
  const auto reader = CheckpointReader::Open(fs, "c");
  if (!reader.ok()) return;
  const auto tensors = (*reader)->ListTensors();
  if (!tensors.ok()) return;
  constexpr size_t kMemory = size_t{1} << 20;
  SmallAllocator small(kMemory, kMemory);
  const auto half = TensorSlice::Parse("0,1");
  for (const auto& [name, tensor] : *tensors) {
    (void)(*reader)->Read(name, small);
    (void)(*reader)->ReadSlice(name, *half, small);
  }
}

// Fuzzes the tensor list of a V1 checkpoint, and the record of tensors of some
// types.
inline void FuzzSliceTable(absl::string_view bytes) {
  ReadSliceTableForFuzz(
      CraftTable(CraftBlock({CraftEntry(0, "", bytes)}, {0})));
  const TensorSlice all(1);
  std::vector<SlicesOfTensor> tensors;
  std::vector<std::string> entries = {""};
  for (const DataType dtype :
       {DT_FLOAT, DT_STRING, DT_INT8, DT_COMPLEX64, DT_HALF}) {
    const std::string name(1, static_cast<char>('a' + tensors.size()));
    tensors.push_back({name, {dtype, {2}, {all}}});
    entries.push_back(CraftEntry(0, EncodeTensorNameSlice(name, all), bytes));
  }
  entries[0] = CraftEntry(0, "", SerializeSliceList(tensors));
  ReadSliceTableForFuzz(CraftTable(CraftBlock(entries, {0})));
  HeapCharge charge(HeapAllocator());
  const auto list = ParseSliceList(bytes, charge);
  if (!list.ok()) return;
  const auto again = ParseSliceList(SerializeSliceList(*list), charge);
  RequireForFuzz(again.ok() && *again == *list);
}

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_TESTING_FUZZ_TARGETS_H_
