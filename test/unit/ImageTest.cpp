// The image linker: what it resolves, and what it refuses by name.

#include "compiler/Emit/Image.h"
#include "compiler/Emit/KernelImage.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>

using namespace sdc;

namespace {

/// The object of a module in LLVM IR.
std::string object(llvm::StringRef text) {
  auto bytes = emitCodeFromText(text, CpuLevel::Avx2, CodeForm::Object);
  EXPECT_TRUE(static_cast<bool>(bytes));
  return bytes ? std::string(bytes->data(), bytes->size()) : "";
}

std::string problemOf(std::vector<std::string> texts,
                      std::vector<std::string> kernels = {"k"}) {
  std::vector<std::string> objects;
  for (const std::string &text : texts)
    objects.push_back(object(text));
  std::vector<llvm::StringRef> parts(objects.begin(), objects.end());
  auto image = linkImage(parts, kernels);
  EXPECT_FALSE(static_cast<bool>(image));
  return image ? "" : llvm::toString(image.takeError());
}

TEST(Image, ResolvesBetweenObjectsAndToConstants) {
  std::string first = object(R"(
    @table = internal constant [4 x i32] [i32 3, i32 5, i32 7, i32 11]
    declare i32 @add(i32, i32)
    define i32 @k(i32 %i) {
      %p = getelementptr i32, ptr @table, i32 %i
      %v = load i32, ptr %p
      %r = call i32 @add(i32 %v, i32 %i)
      ret i32 %r
    })");
  std::string second = object(R"(
    define i32 @add(i32 %a, i32 %b) noinline {
      %r = add i32 %a, %b
      ret i32 %r
    })");
  auto image = linkImage({first, second}, {"k", "add"});
  ASSERT_TRUE(static_cast<bool>(image)) << llvm::toString(image.takeError());
  ASSERT_EQ(image->offsets.size(), 2u);
  // Wherever it is mapped.
  for (int i = 0; i < 2; ++i) {
    void *memory = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto *at = static_cast<uint8_t *>(memory) + 4096 * i;
    std::memcpy(at, image->bytes.data(), image->bytes.size());
    mprotect(memory, 1 << 16, PROT_READ | PROT_EXEC);
    auto *k = reinterpret_cast<int (*)(int)>(at + image->offsets[0]);
    EXPECT_EQ(k(0), 3);
    EXPECT_EQ(k(3), 14);
    munmap(memory, 1 << 16);
  }
}

TEST(Image, RefusesWhatNeedsALoader) {
  EXPECT_EQ(problemOf({"declare void @sinf()\n"
                       "define void @k() { call void @sinf() ret void }"}),
            "the code does not make an image: symbol 'sinf' is not defined");
  EXPECT_EQ(problemOf({"@state = global i32 4\n"
                       "define ptr @k() { ret ptr @state }"})
                .substr(0, 84),
            "the code does not make an image: section '.data' holds writable "
            "data, 'state'; symbo");
  EXPECT_NE(problemOf({"@zero = global i32 0\n"
                       "define ptr @k() { ret ptr @zero }"})
                .find("section '.bss' holds writable data, 'zero'"),
            std::string::npos);
  EXPECT_NE(problemOf({"@own = thread_local global i32 1\n"
                       "define ptr @k() { ret ptr @own }"})
                .find("holds thread-local data, 'own'"),
            std::string::npos);
  EXPECT_NE(
      problemOf({"@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }]"
                 " [{ i32, ptr, ptr } { i32 1, ptr @k, ptr null }]\n"
                 "define void @k() { call void asm sideeffect \"nop\", \"\"() "
                 "ret void }"})
          .find("holds an initialiser"),
      std::string::npos);
  // A table of addresses depends on where it is mapped.
  EXPECT_NE(problemOf({"@table = constant [1 x ptr] [ptr @k]\n"
                       "define void @k() { ret void }"})
                .find("holds writable data, 'table'"),
            std::string::npos);
}

TEST(Image, RefusesNamesThatDoNotFit) {
  std::string k = "define void @k() { ret void }";
  EXPECT_EQ(problemOf({k, k}),
            "the code does not make an image: symbol 'k' is defined twice");
  EXPECT_EQ(problemOf({k}, {"k", "other"}),
            "the code does not make an image: kernel 'other' is in none of the "
            "objects");
  std::string bad = "no object at all";
  auto image = linkImage({bad}, {"k"});
  ASSERT_FALSE(static_cast<bool>(image));
  llvm::consumeError(image.takeError());
}

TEST(Image, BytesDoNotDependOnThreads) {
  std::vector<KernelSpec> specs;
  for (const char *name :
       {"embed.t1.v100.h64.bf16", "norm.t1.k64.rms_f32_1em05",
        "linear.t1.k64.w24_16of32_bf16_rows8",
        "attention.t1.q2_64.k1_bf16.v64_bf16.scale0p125"}) {
    std::string problem;
    specs.push_back(*KernelSpec::parse(name, problem));
  }
  for (CpuLevel level : kCpuLevels) {
    auto one = buildKernelImage(specs, level, 1);
    auto two = buildKernelImage(specs, level, 2);
    ASSERT_TRUE(one && two);
    EXPECT_EQ(one->bytes, two->bytes);
    EXPECT_EQ(one->offsets, two->offsets);
    for (uint64_t offset : one->offsets)
      EXPECT_EQ(offset % 64, 0u);
  }
}

TEST(Image, ReportsEveryBadSpec) {
  KernelSpec first{LinearSpec()}, second{CombineSpec()};
  auto image = buildKernelImage({first, second}, CpuLevel::Avx2, 1);
  ASSERT_FALSE(static_cast<bool>(image));
  std::string text = llvm::toString(image.takeError());
  EXPECT_NE(text.find("linear"), std::string::npos) << text;
  EXPECT_NE(text.find("combine"), std::string::npos) << text;
}

} // namespace
