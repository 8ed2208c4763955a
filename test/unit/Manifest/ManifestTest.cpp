#include "retile/Manifest/Manifest.h"
#include "retile/Support/File.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>

using namespace retile;
using nlohmann::json;

static std::string sample() { return *readFile(RETILE_FIXTURES "/axpy/manifest.json"); }

/// The error after `change` was merged into the sample by JSON patch.
static std::string failure(const std::string& patch) {
  json document = json::parse(sample()).patch(json::parse(patch));
  auto result = manifest::parse(document.dump(), "m.json");
  return result ? "" : result.error().message;
}

static std::string replaced(const std::string& pointer, const std::string& value) {
  return failure(R"([{"op":"replace","path":")" + pointer + R"(","value":)" + value + "}]");
}

static std::string removed(const std::string& pointer) {
  return failure(R"([{"op":"remove","path":")" + pointer + R"("}])");
}

TEST(Manifest, LoadsTheSample) {
  auto loaded = manifest::load(RETILE_FIXTURES "/axpy");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const manifest::Kernel& kernel = loaded->kernels.at(0);
  EXPECT_EQ(kernel.id, "axpy");
  EXPECT_EQ(kernel.parameters.at(1).values, (std::vector<std::int64_t>{1, 2, 4, 8}));
  EXPECT_FALSE(kernel.arguments.at(1).value);
  EXPECT_EQ(kernel.assumptions.at(2).expr, "4");
  EXPECT_EQ(kernel.launch.block[0], "BLOCK");
}

TEST(Manifest, PrintsWhatItReads) {
  auto first = manifest::parse(sample(), "m");
  ASSERT_TRUE(first);
  std::string text = manifest::print(*first);
  auto second = manifest::parse(text, "m");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(manifest::print(*second), text);
  EXPECT_EQ(text.back(), '\n');
}

TEST(Manifest, KeepsWhyAKernelCannotBeTested) {
  auto first = manifest::parse(sample(), "m");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->kernels.at(0).untestable, "");
  EXPECT_EQ(manifest::print(*first).find("untestable"), std::string::npos);
  first->kernels.at(0).untestable = "a loaded subscript";
  auto second = manifest::parse(manifest::print(*first), "m");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->kernels.at(0).untestable, "a loaded subscript");
}

TEST(Manifest, ErrorsNameFileAndPointer) {
  EXPECT_EQ(removed("/kernels/0/parameters/1/original"), "m.json: /kernels/0/parameters/1/original: missing");
  EXPECT_EQ(replaced("/kernels/0/line", "\"x\""), "m.json: /kernels/0/line: must be a 64-bit integer");
  EXPECT_EQ(replaced("/kernels/0/sizes/0/max", "18446744073709551615"),
            "m.json: /kernels/0/sizes/0/max: must be a 64-bit integer");
  EXPECT_EQ(replaced("/kernels", "{}"), "m.json: /kernels: must be an array");
  EXPECT_EQ(replaced("/kernels/0/launch/grid", "[\"1\"]"),
            "m.json: /kernels/0/launch/grid: must have three elements");
}

TEST(Manifest, ChecksVersions) {
  EXPECT_EQ(replaced("/version", "\"2.0\""),
            "m.json: /version: version 2.0 is not supported; this program reads 1.x");
  EXPECT_EQ(replaced("/version", "\"1\""), "m.json: /version: must be \"major.minor\"");
  EXPECT_EQ(replaced("/schema", "\"other\""), "m.json: /schema: must be \"retile-manifest\"");
  EXPECT_EQ(
      failure(
          R"([{"op":"replace","path":"/version","value":"1.7"},{"op":"add","path":"/kernels/0/new","value":[1]}])"),
      "");
}

TEST(Manifest, ChecksNamesInExpressions) {
  EXPECT_EQ(replaced("/kernels/0/launch/grid/0", "\"ceildiv(m, BLOCK)\""),
            "m.json: /kernels/0/launch/grid/0: unknown name 'm'");
  EXPECT_EQ(replaced("/kernels/0/tensors/0/extent", "\"n * BLOCK\""),
            "m.json: /kernels/0/tensors/0/extent: unknown name 'BLOCK'");
  EXPECT_EQ(replaced("/kernels/0/constraints/0/expr", "\"BLOCK <\""),
            "m.json: /kernels/0/constraints/0/expr: unexpected end at column 8 of 'BLOCK <'");
  EXPECT_EQ(replaced("/kernels/0/assumptions/0/tensors/1", "\"z\""),
            "m.json: /kernels/0/assumptions/0: unknown tensor 'z'");
  EXPECT_EQ(replaced("/kernels/0/template/parameters/0", "\"TILE\""),
            "m.json: /kernels/0/template/parameters/0: unknown parameter 'TILE'");
}

TEST(Manifest, RefusesDuplicates) {
  EXPECT_EQ(failure(R"([{"op":"copy","from":"/kernels/0","path":"/kernels/1"}])"),
            "m.json: /kernels/1/id: 'axpy' is used twice");
  EXPECT_EQ(replaced("/kernels/0/parameters/1/name", "\"BLOCK\""),
            "m.json: /kernels/0/parameters/1/name: 'BLOCK' is declared twice");
  EXPECT_EQ(replaced("/kernels/0/parameters/1/name", "\"n\""),
            "m.json: /kernels/0/parameters/1/name: 'n' is declared twice");
  EXPECT_EQ(replaced("/kernels/0/parameters/1/values", "[1, 1]"),
            "m.json: /kernels/0/parameters/1/values: has a value twice");
}

TEST(Manifest, KeepsFilesInItsDirectory) {
  EXPECT_EQ(replaced("/kernels/0/id", "\"../x\""), "m.json: /kernels/0/id: '../x' is not a file-safe name");
  EXPECT_EQ(replaced("/kernels/0/template/file", "\"../x.cuh\""),
            "m.json: /kernels/0/template/file: '../x.cuh' is not a plain file name");
  EXPECT_EQ(replaced("/kernels/0/reference/file", "\"\""),
            "m.json: /kernels/0/reference/file: '' is not a plain file name");
}

TEST(Manifest, NamesFilesThatAreMissing) {
  std::string directory = testing::TempDir() + "/retile-manifest";
  std::filesystem::create_directories(directory);
  ASSERT_TRUE(writeFileAtomically(directory + "/manifest.json", sample()));
  auto result = manifest::load(directory);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            directory + "/manifest.json: /kernels/0/template/file: 'axpy.cuh' is not in the directory");
  EXPECT_EQ(result.error().code, ExitCode::Input);
  EXPECT_FALSE(manifest::load(directory + "/nowhere"));
}

TEST(Manifest, SurvivesTruncation) {
  std::string text = sample();
  for (std::size_t length = 0; length + 3 < text.size(); length += 7) {
    auto result = manifest::parse(text.substr(0, length), "m.json");
    ASSERT_FALSE(result) << length;
    EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
    EXPECT_TRUE(result.error().message.starts_with("m.json: "));
  }
}

TEST(Manifest, SurvivesDamage) {
  std::mt19937 random(3);
  const std::string text = sample();
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = text;
    for (int j = 0; j < 3; ++j)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    (void)bool(manifest::parse(damaged, "m.json"));
  }
}

TEST(Manifest, SurvivesEveryTypeEverywhere) {
  json document = json::parse(sample());
  json flat = document.flatten();
  for (const auto& [pointer, value] : flat.items())
    for (const char* other : {"null", "1", "-1", "\"x\"", "[]", "{}", "true", "1.5"}) {
      json changed = document;
      changed[json::json_pointer(pointer)] = json::parse(other);
      (void)bool(manifest::parse(changed.dump(), "m.json"));
    }
}

TEST(Manifest, BoundsNesting) {
  auto result = manifest::parse(std::string(1'000'000, '['), "m.json");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "m.json: nested deeper than 64 levels");
}
