#include "device/harness/Elements.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

using namespace retile::harness;

TEST(Elements, FloatsAreDecodedExactly) {
  for (const float value : {0.0f, -0.0f, 1.0f, -2.5f, 1e-40f, 3.4e38f}) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    EXPECT_EQ(decodeFloat(Element::F32, bits), double(value));
  }
  EXPECT_EQ(decodeFloat(Element::F16, 0x3c00), 1.0);
  EXPECT_EQ(decodeFloat(Element::F16, 0x0001), 0x1p-24);
  EXPECT_EQ(decodeFloat(Element::F16, 0xfbff), -65504.0);
  EXPECT_EQ(decodeFloat(Element::BF16, 0x3fc0), 1.5);
  EXPECT_EQ(decodeFloat(Element::E4M3, 0x7e), 448.0);
  EXPECT_EQ(decodeFloat(Element::E4M3, 0x01), 0x1p-9);
  EXPECT_EQ(decodeFloat(Element::E5M2, 0x7b), 57344.0);
  EXPECT_TRUE(isNan(decodeFloat(Element::E4M3, 0x7f)));
  EXPECT_TRUE(isInfinite(decodeFloat(Element::F16, 0x7c00)));
}

TEST(Elements, PoisonIsNanOrTinyInEveryFloatFormat) {
  const auto values = [](std::uint64_t unit) {
    return std::array<double, 4>{decodeFloat(Element::F16, unit), decodeFloat(Element::BF16, unit),
                                 decodeFloat(Element::F32, unit * 0x10001),
                                 decodeFloat(Element::F64, unit * 0x0001000100010001ull)};
  };
  for (const double value : values(poison(0)))
    EXPECT_TRUE(isNan(value));
  for (const double value : values(poison(1))) {
    EXPECT_GT(value, 0.0);
    EXPECT_LT(value, 1e-3);
  }
  for (int run = 0; run < 2; ++run)
    for (const double value : values(sharedPoison(run)))
      EXPECT_TRUE(isNan(value));
}

TEST(Elements, OffsetsAreSortedAndReachTheLast) {
  for (const long long last : {0ll, 1ll, 7ll, 1000ll, 5003ll})
    for (const std::uint64_t count : {1ull, 2ull, 3ull, 64ull, 1010ull}) {
      std::uint64_t before = 0;
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t value = testData(Element::I32, 9, 2, i, count, -last - 1);
        EXPECT_GE(value, before);
        EXPECT_LE(value, std::uint64_t(last));
        if (i == 0)
          EXPECT_EQ(value, 0u);
        else if (i + 1 == count)
          EXPECT_EQ(value, std::uint64_t(last));
        before = value;
      }
    }
}

TEST(Elements, TestDataStaysInItsRange) {
  for (int e = 0; e <= int(Element::Bool); ++e) {
    const auto element = static_cast<Element>(e);
    double low = 1e9, high = -1e9;
    for (std::uint64_t i = 0; i < 4000; ++i) {
      const std::uint64_t bits = testBits(element, draw(3, 1, i), 0);
      double value = static_cast<double>(static_cast<std::int64_t>(bits << (64 - 8 * bytesOf(element))) >>
                                         (64 - 8 * bytesOf(element)));
      if (isFloat(element))
        value = decodeFloat(element, bits);
      low = std::min(low, value), high = std::max(high, value);
      EXPECT_LT(testBits(Element::I32, draw(3, 1, i), 17), 17u);
    }
    if (isFloat(element)) {
      EXPECT_GE(low, -1.0);
      EXPECT_LT(high, 1.0);
      EXPECT_LT(low, -0.7);
      EXPECT_GT(high, 0.7);
    } else {
      EXPECT_GE(low, -100.0);
      EXPECT_LE(high, 100.0);
    }
  }
}

TEST(Elements, CloseMeansTheRuleAndTheSameSpecialValues) {
  EXPECT_TRUE(isClose(Element::F32, 1.0 + 1e-6, 1.0, 1e-5, 0));
  EXPECT_FALSE(isClose(Element::F32, 1.0 + 1e-4, 1.0, 1e-5, 0));
  EXPECT_TRUE(isClose(Element::F32, 1e-6, 0.0, 1e-5, 1.0));
  EXPECT_FALSE(isClose(Element::F32, NAN, 1.0, 1, 1));
  EXPECT_TRUE(isClose(Element::F32, NAN, NAN, 0, 0));
  EXPECT_FALSE(isClose(Element::F32, INFINITY, 1.0, 1, 1));
  EXPECT_TRUE(isClose(Element::F16, 1.0 + 0x1p-10, 1.0, 0, 0));
  EXPECT_EQ(unitInLastPlace(Element::F32, 1.0), 0x1p-23);
  EXPECT_EQ(unitInLastPlace(Element::F16, 0.0), 0x1p-24);
}
