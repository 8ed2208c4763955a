#include "lib/Tuner/Backend/Problem.h"
#include "lib/Tuner/Backend/ArtifactCache.h"
#include "lib/Tuner/Backend/Compare.h"
#include "lib/Tuner/Backend/Requests.h"
#include "lib/Tuner/Backend/Statistics.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

using namespace retile;
using namespace retile::backend;

TEST(ElementTypes, AreReadFromTheirNames) {
  const auto is = [](const char* name, Element scalar, int lanes) {
    const auto type = elementType(name);
    return type && type->scalar == scalar && type->lanes == lanes;
  };
  EXPECT_TRUE(is("const float", Element::F32, 1));
  EXPECT_TRUE(is("unsigned", Element::U32, 1));
  EXPECT_TRUE(is("long unsigned int", Element::U64, 1));
  EXPECT_TRUE(is("unsigned long long", Element::U64, 1));
  EXPECT_TRUE(is("std::uint8_t", Element::U8, 1));
  EXPECT_TRUE(is("float4", Element::F32, 4));
  EXPECT_TRUE(is("__half2", Element::F16, 2));
  EXPECT_TRUE(is("__nv_bfloat16", Element::BF16, 1));
  EXPECT_TRUE(is("bool", Element::Bool, 1));
  EXPECT_FALSE(elementType("struct particle"));
  EXPECT_FALSE(elementType("float5"));
  EXPECT_FALSE(elementType("float", 8));
}

TEST(ElementTypes, EncodeScalars) {
  const auto bytes = encodeInteger({Element::F32, 1}, 3);
  float value;
  std::memcpy(&value, bytes.data(), 4);
  EXPECT_EQ(value, 3.0f);
  EXPECT_EQ(encodeInteger({Element::I64, 1}, -1), std::vector<unsigned char>(8, 0xff));
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto random = encodeRandom({Element::F16, 1}, i);
    const double half = harness::decodeFloat(Element::F16, random[0] | random[1] << 8);
    EXPECT_GE(half, 0.5);
    EXPECT_LE(half, 2.0);
  }
}

TEST(Compare, UsesTheErrorRuleOnlyForWhatTheOriginalWrote) {
  manifest::Kernel kernel;
  kernel.verify.klass = "error";
  kernel.verify.terms = "100";
  Problem problem;
  problem.kernel = &kernel;
  problem.terms = 100;
  TensorPlan tensor;
  tensor.name = "C";
  tensor.elements = 4;
  tensor.bytes = 16;
  tensor.role = Role::Out;
  float original[2][4] = {{1, 2, 3, 0}, {1, 2, 3, 0}}, candidate[4] = {1, 2.00001f, 3, 0};
  for (int run = 0; run < 2; ++run)
    fillPoison(&original[run][3], 4, run);
  fillPoison(&candidate[3], 4, 0);
  const auto tolerance = toleranceOf(problem, tensor, reinterpret_cast<unsigned char*>(original[0]),
                                     reinterpret_cast<unsigned char*>(original[1]));
  ASSERT_TRUE(tolerance);
  EXPECT_NEAR(tolerance->relative, 4 * 10 * 1.1920929e-7, 1e-12);
  EXPECT_NEAR(tolerance->rms, std::sqrt(14.0 / 3), 1e-9);
  EXPECT_FALSE(compareTensor(tensor, candidate, original[0], *tolerance, 0).any);
  candidate[3] = 0;
  const Difference wrote = compareTensor(tensor, candidate, original[0], *tolerance, 0);
  EXPECT_TRUE(wrote.any);
  EXPECT_EQ(describeDifference(problem, tensor, wrote, 0), "C[3]: 0 against nothing written (seed 0)");
  fillPoison(&candidate[3], 4, 0);
  candidate[1] = 2.01f;
  EXPECT_EQ(compareTensor(tensor, candidate, original[0], *tolerance, 0).index, 1u);
}

TEST(Compare, OriginalsThatDoNotRepeatNeedFloats) {
  manifest::Kernel kernel;
  Problem problem;
  problem.kernel = &kernel;
  TensorPlan tensor;
  tensor.elements = 1;
  tensor.bytes = 4;
  tensor.role = Role::InOut;
  const float a = 1, b = 1.0000001f;
  const auto bytes = [](const float& x) { return reinterpret_cast<const unsigned char*>(&x); };
  const auto floats = toleranceOf(problem, tensor, bytes(a), bytes(b));
  ASSERT_TRUE(floats);
  EXPECT_GT(floats->relative, 0);
  tensor.type.scalar = Element::I32;
  EXPECT_FALSE(toleranceOf(problem, tensor, bytes(a), bytes(b)));
}

TEST(Requests, SurviveTheTrip) {
  VerifyRequest request;
  request.run.key = "k";
  request.run.image = std::string("a\0b", 3);
  request.run.symbols = {"", "s"};
  request.run.launch.grid = {3, 2, 1};
  request.run.arguments = {{2, 8, {}}, {-1, 0, {1, 2, 3, 4}}};
  request.relative = {0.5};
  VerifyRequest read;
  ASSERT_TRUE(decode(encode(request), read));
  EXPECT_EQ(read.run.image, request.run.image);
  EXPECT_EQ(read.run.symbols, request.run.symbols);
  EXPECT_EQ(read.run.launch.grid, request.run.launch.grid);
  EXPECT_EQ(read.run.arguments[1].bytes, request.run.arguments[1].bytes);
  EXPECT_FALSE(decode(encode(request).substr(0, 20), read));
}

TEST(Statistics, MedianAndInterval) {
  const auto odd = summarize({3, 1, 2});
  EXPECT_EQ(odd.medianMs, 2);
  EXPECT_EQ(odd.lowMs, 1);
  EXPECT_EQ(odd.highMs, 3);
  std::vector<double> many;
  for (int i = 1; i <= 100; ++i)
    many.push_back(i);
  const auto wide = summarize(many);
  EXPECT_EQ(wide.medianMs, 50.5);
  EXPECT_EQ(wide.lowMs, 41);
  EXPECT_EQ(wide.highMs, 61);
  EXPECT_NE(summarize({}).outcome, tuner::Outcome::Ok);
  EXPECT_EQ(firstError("note: x\na.cu(3): error: y\n"), "a.cu(3): error: y");
}

TEST(ArtifactCache, ForgetsWhatWasUnusedForLongest) {
  const auto root =
      std::filesystem::temp_directory_path() / ("retile-cache-test-" + std::to_string(getpid()));
  const char* before = std::getenv("RETILE_CACHE");
  const std::string saved = before ? before : "";
  setenv("RETILE_CACHE", root.c_str(), 1);
  const auto cache = ArtifactCache::open("kind", 1000);
  ASSERT_TRUE(cache);
  ASSERT_TRUE(cache->write("old", ".bin", std::string(600, 'a')));
  std::filesystem::last_write_time(cache->path("old", ".bin"),
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  ASSERT_TRUE(cache->write("new", ".bin", std::string(600, 'b')));
  cache->trim();
  EXPECT_FALSE(cache->has("old", ".bin"));
  EXPECT_EQ(cache->read("new", ".bin"), std::string(600, 'b'));
  if (before)
    setenv("RETILE_CACHE", saved.c_str(), 1);
  else
    unsetenv("RETILE_CACHE");
  std::filesystem::remove_all(root);
}
