#include "retile/Support/File.h"
#include "retile/Support/Text.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace retile;

TEST(Text, Splits) {
  EXPECT_EQ(split("", ','), std::vector<std::string>{});
  EXPECT_EQ(split("a", ','), std::vector<std::string>{"a"});
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string>{"a", "", "b", ""}));
}

TEST(Text, ParsesWholeIntegers) {
  EXPECT_EQ(parseInteger("-12"), -12);
  EXPECT_EQ(parseInteger("+7"), 7);
  for (const char* text : {"", "-", "+", "+-1", "1x", " 1", "9223372036854775808"})
    EXPECT_FALSE(parseInteger(text)) << text;
}

TEST(Text, MatchesGlobs) {
  EXPECT_TRUE(matchesGlob("*", ""));
  EXPECT_TRUE(matchesGlob("gemm*", "gemm_nn"));
  EXPECT_TRUE(matchesGlob("*_n?", "gemm_nn"));
  EXPECT_FALSE(matchesGlob("gemm", "gemm_nn"));
  EXPECT_FALSE(matchesGlob("?", ""));
  EXPECT_FALSE(matchesGlob("*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

TEST(Text, KeepsMessagesOnOneLine) {
  EXPECT_EQ(oneLine(" a\nb\x1b[0m "), "a b [0m");
  EXPECT_EQ(oneLine("abcdef", 3), "abc...");
}

TEST(File, IsWrittenWholeOrNotAtAll) {
  std::string directory = testing::TempDir() + "/retile-file";
  std::filesystem::remove_all(directory);
  ASSERT_TRUE(makeDirectory(directory + "/a/b"));
  std::string path = directory + "/a/b/file";
  ASSERT_TRUE(writeFileAtomically(path, "one"));
  ASSERT_TRUE(writeFileAtomically(path, "two"));
  EXPECT_EQ(*readFile(path), "two");
  EXPECT_FALSE(writeFileAtomically(directory + "/a/b", "x"));
  Status missing = writeFileAtomically(directory + "/c/file", "x");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ExitCode::Environment);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    files += entry.is_regular_file();
  EXPECT_EQ(files, 1u);
}

TEST(File, HasALimitWhenRead) {
  std::string path = testing::TempDir() + "/retile-limit";
  ASSERT_TRUE(writeFileAtomically(path, std::string(100, 'x')));
  EXPECT_TRUE(readFile(path, 100));
  EXPECT_FALSE(readFile(path, 99));
  EXPECT_FALSE(readFile(testing::TempDir()));
  EXPECT_FALSE(readFile("/dev/zero"));
}
