#include "CompileFlags.h"
#include "Snippet.h"

using namespace retile::frontend;
using Words = std::vector<std::string>;

TEST(CompileFlags, SortsWhatNvccTakes) {
  const CompileFlags flags = translateFlags({"-gencode",
                                             "arch=compute_80,code=sm_80",
                                             "-Iinc",
                                             "-I",
                                             "/abs",
                                             "-DN=4",
                                             "-D",
                                             "FLAG",
                                             "--use_fast_math",
                                             "-Xcompiler",
                                             "-fopenmp,-DHOST=1",
                                             "-rdc=true",
                                             "-lineinfo",
                                             "-std=c++20",
                                             "-O3",
                                             "-c",
                                             "x.cu",
                                             "-o",
                                             "x.o",
                                             "-maxrregcount=64",
                                             "-isystem",
                                             "sys",
                                             "--pre-include=first.h"},
                                            "/dir");
  EXPECT_EQ(flags.clang, (Words{"-I", "/dir/inc", "-I", "/abs", "-DN=4", "-DFLAG", "-DHOST=1", "-isystem",
                                "/dir/sys", "-include", "first.h"}));
  EXPECT_EQ(flags.defines, (Words{"N=4", "FLAG=1", "HOST=1"}));
  EXPECT_EQ(flags.includes, (Words{"/dir/inc", "/abs", "/dir/sys"}));
  EXPECT_EQ(flags.other, (Words{"-gencode", "arch=compute_80,code=sm_80", "--use_fast_math", "-rdc=true",
                                "-O3", "-maxrregcount=64"}));
  EXPECT_EQ(flags.standard, "c++20");
}

TEST(CompileFlags, NeverGoesBelowTheStandardThatTheHeadersNeed) {
  EXPECT_EQ(translateFlags({"-std=c++11"}, "/").standard, "c++17");
  EXPECT_EQ(translateFlags({"--std", "c++14"}, "/").standard, "c++17");
}

TEST(CompileFlags, ReadsResponseFiles) {
  const retile::test::Folder folder;
  folder.write("flags.rsp", "-DA=1 \"-I/with blank\"");
  const CompileFlags flags = translateFlags({"--options-file", "flags.rsp"}, folder.path.string());
  EXPECT_EQ(flags.defines, Words{"A=1"});
  EXPECT_EQ(flags.includes, Words{"/with blank"});
}

TEST(CompileFlags, FindsTheDatabaseUpwards) {
  const retile::test::Folder folder;
  const std::string file = folder.write("src/deep/k.cu", "");
  const std::string root = folder.path.string();
  folder.write("build/compile_commands.json",
               R"([{"directory": ")" + root + R"(/build", "file": "../src/deep/k.cu",
      "command": "nvcc -DFROM=\"data base\" -I../inc -c ../src/deep/k.cu"}])");
  const auto entry = flagsFromDatabase(file);
  ASSERT_TRUE(entry);
  const CompileFlags flags = translateFlags(entry->flags, entry->directory);
  EXPECT_EQ(flags.defines, Words{"FROM=data base"});
  EXPECT_EQ(flags.includes, Words{root + "/inc"});
  EXPECT_FALSE(flagsFromDatabase(folder.write("src/other.cu", "")));
}
