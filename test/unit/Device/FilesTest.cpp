#include "retile/Device/Files.h"

#include <gtest/gtest.h>

using namespace retile;

TEST(DeviceFiles, CarryTheHelpers) {
  EXPECT_NE(device::retileHeader().find("struct Tile"), std::string_view::npos);
  EXPECT_FALSE(device::text("simt/simt.h").empty());
  EXPECT_FALSE(device::text("simt/include/cuda_runtime.h").empty());
  EXPECT_TRUE(device::text("nothing.h").empty());
}
