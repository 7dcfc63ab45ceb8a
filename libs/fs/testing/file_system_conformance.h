// Conformance tests of FileSystem implementations. The test of each
// implementation instantiates this suite with a harness that creates a file
// system and names an empty directory in it.
#ifndef WEFT_LIBS_FS_TESTING_FILE_SYSTEM_CONFORMANCE_H_
#define WEFT_LIBS_FS_TESTING_FILE_SYSTEM_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/fs/file_system.h"
#include "libs/fs/path.h"

namespace weft {

struct FileSystemHarness {
  std::unique_ptr<FileSystem> file_system;
  std::string directory;  // empty, for this test only
};

using FileSystemHarnessFactory = std::function<FileSystemHarness()>;

class FileSystemConformanceTest
    : public ::testing::TestWithParam<FileSystemHarnessFactory> {
 protected:
  FileSystemConformanceTest()
      : harness_(GetParam()()), fs_(*harness_.file_system) {}

  std::string Path(absl::string_view name) const {
    return JoinPath(harness_.directory, name);
  }
  void Write(absl::string_view name, absl::string_view contents) {
    ASSERT_OK(fs_.WriteFileAtomically(Path(name), contents));
  }

  FileSystemHarness harness_;
  FileSystem& fs_;
};

TEST_P(FileSystemConformanceTest, WrittenBytesAreRead) {
  const std::string bytes("a\0b\n\xff", 5);
  for (const std::string& contents :
       {std::string(), bytes, std::string(300000, 'x')}) {
    Write("file", contents);
    ASSERT_OK_AND_ASSIGN(const std::string read, fs_.ReadFile(Path("file")));
    EXPECT_EQ(read, contents);
    ASSERT_OK_AND_ASSIGN(const uint64_t size, fs_.GetFileSize(Path("file")));
    EXPECT_EQ(size, contents.size());
  }
  ASSERT_OK_AND_ASSIGN(const auto names, fs_.ListDirectory(harness_.directory));
  EXPECT_EQ(names, std::vector<std::string>{"file"});  // no other file
}

TEST_P(FileSystemConformanceTest, AppendsArriveInOrder) {
  ASSERT_OK_AND_ASSIGN(auto file, fs_.NewWritableFile(Path("file")));
  std::string expected;
  for (size_t i = 0; i < 300; ++i) {
    const std::string part(i * 7, static_cast<char>('a' + i % 26));
    ASSERT_OK(file->Append(part));
    expected += part;
  }
  ASSERT_OK(file->Flush());
  EXPECT_EQ(fs_.ReadFile(Path("file")).value(), expected);
  ASSERT_OK(file->Append("end"));
  ASSERT_OK(file->Sync());
  ASSERT_OK(file->Close());
  EXPECT_OK(file->Close());
  EXPECT_THAT(file->Append("more"),
              StatusIs(absl::StatusCode::kFailedPrecondition, "file"));
  EXPECT_EQ(fs_.ReadFile(Path("file")).value(), expected + "end");
}

TEST_P(FileSystemConformanceTest, WritableTruncatesAndAppendableAppends) {
  Write("file", "old");
  {
    ASSERT_OK_AND_ASSIGN(auto file, fs_.NewAppendableFile(Path("file")));
    ASSERT_OK(file->Append("+new"));
  }  // closes the file
  EXPECT_EQ(fs_.ReadFile(Path("file")).value(), "old+new");
  ASSERT_OK(fs_.NewWritableFile(Path("file")).status());
  EXPECT_EQ(fs_.ReadFile(Path("file")).value(), "");
  ASSERT_OK(fs_.NewAppendableFile(Path("other")).status());
  EXPECT_OK(fs_.FileExists(Path("other")));
}

TEST_P(FileSystemConformanceTest, ReadsAtOffsets) {
  Write("file", "0123456789");
  ASSERT_OK_AND_ASSIGN(auto file, fs_.NewRandomAccessFile(Path("file")));
  struct Case {
    uint64_t offset;
    size_t size;
    std::string expected;
  };
  for (const Case& c : std::vector<Case>{{0, 4, "0123"},
                                         {8, 4, "89"},
                                         {10, 4, ""},
                                         {1000, 4, ""},
                                         {3, 0, ""}}) {
    std::string buffer(c.size, '?');
    ASSERT_OK_AND_ASSIGN(const size_t read,
                         file->Read(c.offset, c.size, buffer.data()));
    EXPECT_EQ(buffer.substr(0, read), c.expected);
  }
}

TEST_P(FileSystemConformanceTest, MissingFilesAreNamedAsNotFound) {
  const std::string path = Path("missing");
  const auto not_found = StatusIs(absl::StatusCode::kNotFound, path);
  EXPECT_THAT(fs_.ReadFile(path), not_found);
  EXPECT_THAT(fs_.NewRandomAccessFile(path), not_found);
  EXPECT_THAT(fs_.FileExists(path), not_found);
  EXPECT_THAT(fs_.IsDirectory(path), not_found);
  EXPECT_THAT(fs_.GetFileSize(path), not_found);
  EXPECT_THAT(fs_.ListDirectory(path), not_found);
  EXPECT_THAT(fs_.DeleteFile(path), not_found);
  EXPECT_THAT(fs_.DeleteDirectory(path), not_found);
  EXPECT_THAT(fs_.DeleteRecursively(path), not_found);
  EXPECT_THAT(fs_.RenameFile(path, Path("b")), not_found);
  EXPECT_THAT(fs_.SyncDirectory(path), not_found);
  const auto in_missing = StatusIs(absl::StatusCode::kNotFound, path + "/a");
  EXPECT_THAT(fs_.NewWritableFile(path + "/a"), in_missing);
  EXPECT_THAT(fs_.NewAppendableFile(path + "/a"), in_missing);
  EXPECT_THAT(fs_.CreateDirectory(path + "/a"), in_missing);
  EXPECT_THAT(fs_.ReadFile(""), StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(FileSystemConformanceTest, ErrorsContainTheSystemMessage) {
  EXPECT_THAT(
      fs_.ReadFile(Path("missing")),
      StatusIs(absl::StatusCode::kNotFound, "No such file or directory"));
}

TEST_P(FileSystemConformanceTest, FilesAndDirectoriesAreDistinguished) {
  ASSERT_OK(fs_.CreateDirectory(Path("directory")));
  Write("file", "");
  const auto wrong_kind = StatusIs(absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(fs_.IsDirectory(Path("directory")).value());
  EXPECT_FALSE(fs_.IsDirectory(Path("file")).value());
  EXPECT_THAT(fs_.ReadFile(Path("directory")), wrong_kind);
  EXPECT_THAT(fs_.NewWritableFile(Path("directory")), wrong_kind);
  EXPECT_THAT(fs_.GetFileSize(Path("directory")), wrong_kind);
  EXPECT_THAT(fs_.DeleteFile(Path("directory")), wrong_kind);
  EXPECT_THAT(fs_.ListDirectory(Path("file")), wrong_kind);
  EXPECT_THAT(fs_.DeleteDirectory(Path("file")), wrong_kind);
  EXPECT_THAT(fs_.SyncDirectory(Path("file")), wrong_kind);
  EXPECT_THAT(fs_.NewWritableFile(Path("file/below")), wrong_kind);
}

TEST_P(FileSystemConformanceTest, DirectoriesAreCreatedListedAndDeleted) {
  ASSERT_OK(fs_.CreateDirectories(Path("a/b/c")));
  ASSERT_OK(fs_.CreateDirectories(Path("a/b/c/")));
  EXPECT_THAT(fs_.CreateDirectory(Path("a")),
              StatusIs(absl::StatusCode::kAlreadyExists));
  Write("a/z", "");
  Write("a/k", "");
  EXPECT_EQ(fs_.ListDirectory(Path("a")).value(),
            (std::vector<std::string>{"b", "k", "z"}));
  EXPECT_THAT(fs_.DeleteDirectory(Path("a")),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK(fs_.DeleteDirectory(Path("a/b/c")));
  ASSERT_OK(fs_.DeleteRecursively(Path("a")));
  EXPECT_TRUE(fs_.ListDirectory(harness_.directory).value().empty());
  Write("file", "");
  EXPECT_FALSE(fs_.CreateDirectories(Path("file")).ok());
}

TEST_P(FileSystemConformanceTest, RenameReplacesTarget) {
  Write("a", "new");
  Write("b", "old");
  ASSERT_OK(fs_.RenameFile(Path("a"), Path("b")));
  EXPECT_EQ(fs_.ReadFile(Path("b")).value(), "new");
  EXPECT_THAT(fs_.FileExists(Path("a")), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(fs_.RenameFile(Path("b"), Path("missing/b")),
              StatusIs(absl::StatusCode::kNotFound, "missing/b"));
  EXPECT_OK(fs_.SyncDirectory(harness_.directory));
}

TEST_P(FileSystemConformanceTest, DeletedFileStaysReadableWhileOpen) {
  Write("file", "contents");
  ASSERT_OK_AND_ASSIGN(auto file, fs_.NewRandomAccessFile(Path("file")));
  ASSERT_OK(fs_.DeleteFile(Path("file")));
  char buffer[8];
  EXPECT_EQ(file->Read(0, 8, buffer).value(), 8u);
}

TEST_P(FileSystemConformanceTest, RepeatedAndTrailingSlashesAreIgnored) {
  Write("file", "x");
  EXPECT_EQ(fs_.ReadFile(harness_.directory + "//file").value(), "x");
  EXPECT_EQ(fs_.ListDirectory(harness_.directory + "/").value().size(), 1u);
}

TEST_P(FileSystemConformanceTest, MatchesPatterns) {
  ASSERT_OK(fs_.CreateDirectories(Path("d1")));
  ASSERT_OK(fs_.CreateDirectories(Path("d2")));
  for (const char* name : {"a1", "a2", "b1", "d1/x", "d2/x", "d2/y"}) {
    Write(name, "");
  }
  const auto matches = [this](absl::string_view pattern) {
    std::vector<std::string> names;
    const auto paths = fs_.GetMatchingPaths(Path(pattern)).value();
    for (const std::string& path : paths) {
      names.push_back(path.substr(harness_.directory.size() + 1));
    }
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(matches("a*"), (Names{"a1", "a2"}));
  EXPECT_EQ(matches("?1"), (Names{"a1", "b1", "d1"}));
  EXPECT_EQ(matches("[ab]1"), (Names{"a1", "b1"}));
  EXPECT_EQ(matches("[!a]1"), (Names{"b1", "d1"}));
  EXPECT_EQ(matches("d*/x"), (Names{"d1/x", "d2/x"}));
  EXPECT_EQ(matches("b1"), (Names{"b1"}));
  EXPECT_EQ(matches("missing"), Names{});
  EXPECT_EQ(matches("missing/*"), Names{});
}

}  // namespace weft

#endif  // WEFT_LIBS_FS_TESTING_FILE_SYSTEM_CONFORMANCE_H_
