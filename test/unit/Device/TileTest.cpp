// Tile and TileT over shapes, padding, vector widths, thread counts and windows: every element, nothing else,
// and no read outside the array (which ends at an unmapped page on both sides).
#include "SimtHost.h"

#include <array>
#include <set>
#include <sys/mman.h>

using namespace retile;

namespace {

/// Memory between two unmapped pages; `end` puts the contents against the upper or the lower one.
class GuardedBytes {
public:
  GuardedBytes(std::size_t bytes, bool end) : pages((bytes + 4095) / 4096 * 4096) {
    base = static_cast<unsigned char*>(
        mmap(nullptr, pages + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base, 4096, PROT_NONE);
    mprotect(base + 4096 + pages, 4096, PROT_NONE);
    data = base + 4096 + (end ? pages - bytes : 0);
  }
  ~GuardedBytes() { munmap(base, pages + 8192); }
  unsigned char* data;

private:
  std::size_t pages;
  unsigned char* base;
};

template <class T> T valueAt(long long i) { return static_cast<T>(i % 251 + 1); }

/// A row-major array e0 x e1 x e2, read where it is inside the ranges and, when `clip`, at offsets in `flat`.
struct Array {
  long long e0, e1, e2;
  Range r0, r1, r2;
  bool clip;
  Range flat;
  long long offset(long long i, long long j, long long k) const { return (i * e1 + j) * e2 + k; }
  bool has(long long i, long long j, long long k) const {
    const auto in = [](Range r, long long x) { return x >= r.lo && x < r.hi; };
    return in(r0, i) && in(r1, j) && in(r2, k) && (!clip || in(flat, offset(i, j, k)));
  }
};

template <class TileType, class T, int SLOTS, int D0, int D1, int D2, int VECTOR, int THREADS>
void checkWindow(const Array& array, const T* src, bool async, std::array<long long, 3> o) {
  alignas(16) static unsigned char memory[1 << 20];
  static_assert(TileType::BYTES % 16 == 0 && TileType::BYTES <= int(sizeof memory));
  std::memset(memory, 0xee, TileType::BYTES + 64);
  TileType tile(memory);
  const int slot = SLOTS - 1;
  for (int thread = 0; thread < THREADS; ++thread) {
    const auto load = [&](auto... flat) {
      if (async)
        tile.template loadAsync<VECTOR, THREADS>(slot, src, array.e1 * array.e2, array.e2, o[0], o[1], o[2],
                                                 array.r0, array.r1, array.r2, thread, flat...);
      else
        tile.template load<VECTOR, THREADS>(slot, src, array.e1 * array.e2, array.e2, o[0], o[1], o[2],
                                            array.r0, array.r1, array.r2, thread, flat...);
    };
    if (array.clip)
      load(array.flat);
    else
      load();
  }
  asyncWait<0>();
  std::set<const unsigned char*> own;
  for (int a = 0; a < D0; ++a)
    for (int b = 0; b < D1; ++b)
      for (int c = 0; c < D2; ++c) {
        const T expected = array.has(o[0] + a, o[1] + b, o[2] + c)
                               ? valueAt<T>(array.offset(o[0] + a, o[1] + b, o[2] + c))
                               : T{};
        const T& actual = static_cast<const TileType&>(tile)(slot, a, b, c);
        ASSERT_EQ(actual, expected) << a << "," << b << "," << c << " of a window at " << o[0] << "," << o[1]
                                    << "," << o[2] << " VECTOR " << VECTOR << " THREADS " << THREADS
                                    << " async " << async;
        for (unsigned byte = 0; byte < sizeof(T); ++byte)
          own.insert(reinterpret_cast<const unsigned char*>(&actual) + byte);
      }
  ASSERT_EQ(own.size(), std::size_t(D0 * D1 * D2) * sizeof(T)) << "elements overlap";
  for (int i = 0; i < TileType::BYTES + 64; ++i)
    if (!own.count(memory + i))
      ASSERT_EQ(memory[i], 0xee) << "writes outside the window, byte " << i;
}

template <class TileType, class T, int SLOTS, int D0, int D1, int D2, int VECTOR, int THREADS>
void checkWindows() {
  constexpr long long e0 = 2 * D0 + 1, e1 = 2 * D1 + 3, e2 = 2 * D2 + 2 * VECTOR;
  for (const bool end : {false, true}) {
    const std::size_t bytes = std::size_t(e0 * e1 * e2) * sizeof(T);
    GuardedBytes guarded((bytes + 15) / 16 * 16, end);
    T* const src = reinterpret_cast<T*>(guarded.data);
    for (long long i = 0; i < e0 * e1 * e2; ++i)
      src[i] = valueAt<T>(i);
    const Array whole{e0, e1, e2, {0, e0}, {0, e1}, {0, e2}, false, {0, 0}};
    Array narrow{e0, e1, e2, {1, e0 - 1}, {1, e1 - 1}, {1, e2 - 1}, false, {0, 0}};
    Array flat = whole;
    flat.clip = true, flat.flat = {e2 + 1, e0 * e1 * e2 - e2 - 1};
    for (const Array& array : {whole, narrow, flat})
      for (const bool async : {false, true})
        for (const std::array<long long, 3> o :
             std::initializer_list<std::array<long long, 3>>{{0, 0, 0},
                                                             {1, 2, VECTOR},
                                                             {D0 + 1, D1 + 3, D2 + 2 * VECTOR},
                                                             {-1, 0, 0},
                                                             {0, -2, -VECTOR},
                                                             {e0 - 1, 1, 0},
                                                             {0, e1 - 1, 0},
                                                             {0, 0, e2 - VECTOR},
                                                             {e0, 0, 0},
                                                             {0, 0, e2},
                                                             {0, -D1, 0}}) {
          checkWindow<TileType, T, SLOTS, D0, D1, D2, VECTOR, THREADS>(array, src, async, o);
          if (::testing::Test::HasFatalFailure())
            return;
        }
  }
}

template <class T, int D0, int D1, int D2, int PAD, int VECTOR> void checkThreads() {
  using Row = Tile<T, 2, D0, D1, D2, PAD>;
  using Column = TileT<T, 2, D0, D1, D2, PAD>;
  checkWindows<Row, T, 2, D0, D1, D2, VECTOR, 48>();
  checkWindows<Row, T, 2, D0, D1, D2, VECTOR, 256>();
  checkWindows<Column, T, 2, D0, D1, D2, VECTOR, 128>();
}

template <class T, int PAD, int VECTOR> void checkShapes() {
  checkThreads<T, 1, 8, 16, PAD, VECTOR>();
  checkThreads<T, 2, 4, 12, PAD, VECTOR>();
  checkThreads<T, 3, 5, 8, PAD, VECTOR>();
  checkThreads<T, 4, 1, 32, PAD, VECTOR>();
  checkThreads<T, 4, 32, 4, PAD, VECTOR>();
}

/// Banks that the first access of a warp meets when it fills a transposed window, per store.
template <int D1, int D2, int PAD, int VECTOR> int worstConflict() {
  constexpr int THREADS = 256, PITCH = D1 + PAD;
  constexpr int ROWS = detail::patchRows(D1, D2 / VECTOR, THREADS, PITCH * 4, VECTOR * 4);
  std::array<int, 32> banks{};
  for (int thread = 0; thread < 32; ++thread) {
    bool first = true;
    detail::forEachGroup<1, D1, D2, VECTOR, THREADS, ROWS, true>(
        thread, 0, 0, [&](int, int b, int c, long long) {
          if (first)
            ++banks[static_cast<std::size_t>((c * PITCH + b) % 32)];
          first = false;
        });
  }
  return *std::max_element(banks.begin(), banks.end());
}

} // namespace

class TileTest : public ::testing::Test {
protected:
  void SetUp() override { test::attachHost(); }
};

TEST_F(TileTest, Bytes) { checkShapes<signed char, 4, 4>(); }
TEST_F(TileTest, Shorts) { checkShapes<short, 2, 2>(); }
TEST_F(TileTest, FloatScalars) { checkShapes<float, 1, 1>(); }
TEST_F(TileTest, FloatVectors) { checkShapes<float, 4, 4>(); }
TEST_F(TileTest, Doubles) { checkShapes<double, 2, 2>(); }
TEST_F(TileTest, OneRowOrOneThread) {
  checkWindows<Tile<float, 1, 1, 1, 64>, float, 1, 1, 1, 64, 2, 1>();
  checkWindows<Tile<float, 1, 1, 1, 64>, float, 1, 1, 1, 64, 4, 8>();
  checkWindows<TileT<double, 1, 1, 1, 64>, double, 1, 1, 1, 64, 1, 64>();
}
TEST_F(TileTest, LargeWindows) {
  checkThreads<float, 1, 64, 32, 4, 4>();
  checkThreads<float, 2, 20, 36, 0, 1>();
}

TEST_F(TileTest, NoSlotsTakeNoMemoryAndLoadNothing) {
  using Empty = Tile<float, 0, 1, 8, 8>;
  static_assert(Empty::BYTES == 0);
  Empty tile(nullptr);
  tile.load<4, 32>(0, nullptr, 8, 8, 0, 0, 0, {0, 1}, {0, 8}, {0, 8}, 0);
}

TEST_F(TileTest, TransposedStoresMeetFewBankConflicts) {
  EXPECT_EQ((worstConflict<128, 32, 4, 1>()), 1);
  EXPECT_EQ((worstConflict<128, 16, 4, 1>()), 1);
  EXPECT_EQ((worstConflict<128, 8, 4, 1>()), 1);
  EXPECT_EQ((worstConflict<128, 32, 1, 1>()), 1);
  EXPECT_EQ((worstConflict<64, 32, 4, 4>()), 1);
}

TEST_F(TileTest, AsynchronousCopiesLandAtTheWait) {
  alignas(16) unsigned char memory[64];
  alignas(16) const float src[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  std::memset(memory, 0, sizeof memory);
  Tile<float, 1, 1, 1, 16> tile(memory);
  tile.loadAsync<4, 1>(0, src, 16, 16, 0, 0, 0, {0, 1}, {0, 1}, {0, 16}, 0);
  asyncCommit();
  EXPECT_EQ(tile(0, 0, 0, 7), 0.0f);
  asyncWait<0>();
  EXPECT_EQ(tile(0, 0, 0, 7), 8.0f);
}

TEST_F(TileTest, VectorsMoveAllElementsOrReportMisalignment) {
  alignas(16) float memory[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  float four[4], one[1];
  loadVector<4>(four, memory + 4);
  EXPECT_EQ(four[3], 7.0f);
  loadVector<1>(one, memory + 3);
  EXPECT_EQ(one[0], 3.0f);
  storeVector<4>(memory, four);
  EXPECT_EQ(memory[1], 5.0f);
  EXPECT_THROW(loadVector<4>(four, memory + 1), std::runtime_error);
}

TEST(Division, RoundsTowardsMinusInfinity) {
  for (long long a = -20; a <= 20; ++a)
    for (long long b = -7; b <= 7; ++b) {
      if (b == 0)
        continue;
      const auto exact = static_cast<double>(a) / static_cast<double>(b);
      EXPECT_EQ(floordiv(a, b), static_cast<long long>(std::floor(exact))) << a << " / " << b;
      EXPECT_EQ(ceildiv(a, b), static_cast<long long>(std::ceil(exact))) << a << " / " << b;
      EXPECT_EQ(floormod(a, b), a - b * static_cast<long long>(std::floor(exact))) << a << " % " << b;
    }
  static_assert(floordiv(-7, 2) == -4 && floormod(-7, 2) == 1 && ceildiv(-7, 2) == -3);
}
