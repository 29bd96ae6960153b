// A file that is there as a whole or not at all, and the header of an
// executable byte by byte.

#include "compiler/Emit/OutputFile.h"
#include "compiler/Emit/FileLayout.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace sdc;

namespace {

class OutputFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/output-XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string read(const std::string &path) const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool isEmpty() const { return std::filesystem::is_empty(folder); }

  std::string folder;
};

std::string messageOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

const uint8_t kBytes[] = {'a', 'b', 'c'};

TEST_F(OutputFileTest, HasItsNameOnlyAfterCommit) {
  std::string path = folder + "/m.sdx";
  auto file = OutputFile::create(path, 6);
  ASSERT_TRUE(static_cast<bool>(file)) << messageOf(file.takeError());
  EXPECT_EQ(messageOf((*file)->write(2, kBytes)), "");
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(messageOf((*file)->commit()), "");
  EXPECT_EQ(read(path), std::string("\0\0abc\0", 6));
  file->reset();
  EXPECT_EQ(read(path).size(), 6u);
}

TEST_F(OutputFileTest, LeavesNothingWithoutCommit) {
  std::string path = folder + "/m.sdx";
  {
    ASSERT_TRUE(static_cast<bool>(OutputFile::create(path, 6)));
  }
  EXPECT_TRUE(isEmpty());
}

TEST_F(OutputFileTest, ReplacesAtOnce) {
  std::string path = folder + "/m.sdx";
  std::ofstream(path) << "old";
  auto file = OutputFile::create(path, 3);
  ASSERT_TRUE(static_cast<bool>(file));
  EXPECT_EQ(messageOf((*file)->write(0, kBytes)), "");
  EXPECT_EQ(read(path), "old");
  EXPECT_EQ(messageOf((*file)->commit()), "");
  EXPECT_EQ(read(path), "abc");
}

TEST_F(OutputFileTest, AKilledWriterLeavesNothingUnderTheName) {
  std::string path = folder + "/m.sdx";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto file = OutputFile::create(path, 1 << 20);
    if (!file || (*file)->write(0, kBytes))
      _exit(1);
    if (::write(ready[1], "r", 1) != 1)
      _exit(1);
    pause();
    _exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(std::filesystem::exists(path));
  close(ready[0]);
  close(ready[1]);
}

/// A file as a killed writer leaves it, on a file system that keeps no files
/// without a name.
static std::string leave(const std::string &path, const char *ending) {
  std::string name = path + ".part-" + ending;
  std::ofstream(name) << "half";
  return name;
}

TEST_F(OutputFileTest, RemovesWhatKilledWritersLeft) {
  std::string path = folder + "/m.sdx";
  leave(path, "1");
  // One with the numbers of this process, which may come again.
  leave(path, (std::to_string(getpid()) + "-0").c_str());
  std::string other = leave(folder + "/n.sdx", "1");
  auto file = OutputFile::create(path, 3);
  ASSERT_TRUE(static_cast<bool>(file)) << messageOf(file.takeError());
  EXPECT_EQ(messageOf((*file)->write(0, kBytes)), "");
  EXPECT_EQ(messageOf((*file)->commit()), "");
  EXPECT_EQ(read(path), "abc");
  std::filesystem::remove(path);
  EXPECT_TRUE(std::filesystem::remove(other));
  EXPECT_TRUE(isEmpty());
}

TEST_F(OutputFileTest, LeavesToOthersWhatTheyWrite) {
  std::string path = folder + "/m.sdx";
  std::string name = leave(path, "1");
  int fd = ::open(name.c_str(), O_RDWR);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  ASSERT_TRUE(static_cast<bool>(OutputFile::create(path, 3)));
  EXPECT_EQ(read(name), "half");
  ::close(fd);
  ASSERT_TRUE(static_cast<bool>(OutputFile::create(path, 3)));
  EXPECT_TRUE(isEmpty());
}

TEST_F(OutputFileTest, GrowsAndServesAStream) {
  std::string path = folder + "/m.sdx";
  EXPECT_EQ(messageOf(writeOutput(path, "some text")), "");
  EXPECT_EQ(read(path), "some text");
  EXPECT_EQ(messageOf(writeOutput(path, "")), "");
  EXPECT_EQ(read(path), "");
}

TEST_F(OutputFileTest, SaysWhatTheDiskLacks) {
  std::string message =
      messageOf(checkDiskSpace(folder + "/m.sdx", int64_t{1} << 60));
  EXPECT_NE(message.find("m.sdx: needs 1152921504606846976 bytes, "),
            std::string::npos)
      << message;
  EXPECT_NE(message.find(" are free on its file system"), std::string::npos)
      << message;
  auto file = OutputFile::create(folder + "/m.sdx", int64_t{1} << 60);
  EXPECT_FALSE(static_cast<bool>(file));
  llvm::consumeError(file.takeError());
  EXPECT_TRUE(isEmpty());
}

TEST_F(OutputFileTest, NamesAFolderThatIsNotThere) {
  auto file = OutputFile::create(folder + "/no/m.sdx", 1);
  ASSERT_FALSE(static_cast<bool>(file));
  EXPECT_NE(messageOf(file.takeError()).find("/no'"), std::string::npos);
}

TEST(FileLayout, SegmentsBeginAtPages) {
  // The root ends at 64 + 4033 = 4097, one byte into the second page.
  FileLayout layout = FileLayout::of(4033, {1, 4096, 0, 5000});
  EXPECT_EQ(layout.segments[0].offset, 8192);
  EXPECT_EQ(layout.segments[1].offset, 12288);
  EXPECT_EQ(layout.segments[2].offset, 16384);
  EXPECT_EQ(layout.segments[3].offset, 16384);
  EXPECT_EQ(layout.fileSize, 24576);
}

TEST(FileLayout, HeaderFollowsTheGrammar) {
  FileLayout layout = FileLayout::of(0x1234, {1});
  auto header = layout.header(0x1122334455667788);
  std::string expected("SDCEXEC\0"            // magic
                       "\x01\0\0\0"           // major, minor
                       "\0\0\0\0"             // reserved
                       "\x34\x12\0\0\0\0\0\0" // root_size
                       "\0\x30\0\0\0\0\0\0"   // file_size: three pages
                       "\x88\x77\x66\x55\x44\x33\x22\x11" // root_hash
                       "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
                       56);
  EXPECT_EQ(std::string(header.begin(), header.begin() + 56), expected);
  uint64_t digest = XXH3_64bits(expected.data(), 56), stored = 0;
  for (int i = 7; i >= 0; --i)
    stored = stored << 8 | header[56 + i];
  EXPECT_EQ(stored, digest);
}

} // namespace
