#include "retile/Tuner/Records.h"
#include "retile/Support/File.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <sqlite3.h>

using namespace retile;
using namespace retile::tuner;

static std::string newPath(const std::string& name) {
  std::string path = testing::TempDir() + "/retile-" + name;
  for (const char* suffix : {"", "-wal", "-shm", ".old"})
    std::filesystem::remove_all(path + suffix);
  return path;
}

static const RecordKey key{"k", "t", "r", "N=1", "fake"};

TEST(Records, KeepsWhatItIsGiven) {
  std::string path = newPath("keeps.db");
  Record record{Outcome::Timeout, "it's \"slow\"\n", 1.5, 1.25, 1.75, 7, {32, 0, 1024}, 0.5, 0.25, "abc"};
  {
    auto records = Records::open(path, false);
    ASSERT_TRUE(records) << records.error().message;
    ASSERT_TRUE(records->insert(key, "a=1", {}));
    ASSERT_TRUE(records->insert(key, "a=1", record));
  }
  auto records = Records::open(path, false);
  auto found = records->find(key, "a=1");
  ASSERT_TRUE(found);
  ASSERT_TRUE(*found);
  EXPECT_EQ((*found)->outcome, Outcome::Timeout);
  EXPECT_EQ((*found)->detail, record.detail);
  EXPECT_EQ((*found)->medianMs, 1.5);
  EXPECT_EQ((*found)->resources.sharedBytes, 1024);
  EXPECT_EQ((*found)->binaryKey, "abc");
  EXPECT_FALSE(*records->find(key, "a=2"));
}

TEST(Records, NeverMixesKeys) {
  auto records = Records::open(newPath("keys.db"), false);
  ASSERT_TRUE(records->insert(key, "a=1", {}));
  for (std::string RecordKey::* field : {&RecordKey::kernel, &RecordKey::templateHash,
                                         &RecordKey::referenceHash, &RecordKey::sizes, &RecordKey::device}) {
    RecordKey other = key;
    other.*field += "x";
    EXPECT_FALSE(*records->find(other, "a=1"));
  }
}

TEST(Records, RefusesACorruptFile) {
  std::string path = newPath("corrupt.db");
  ASSERT_TRUE(writeFileAtomically(path, std::string(8192, 'x')));
  auto records = Records::open(path, false);
  ASSERT_FALSE(records);
  EXPECT_EQ(records.error().code, ExitCode::Input);
  EXPECT_EQ(records.error().message, "'" + path + "' is not a sound tuning database: file is not a database");
  EXPECT_NE(records.error().note.find("--fresh"), std::string::npos);
  EXPECT_TRUE(Records::open(path, true));
  EXPECT_EQ(*readFile(path + ".old"), std::string(8192, 'x'));
}

TEST(Records, RefusesDamagedPages) {
  std::string path = newPath("damaged.db");
  {
    auto records = Records::open(path, false);
    Record record;
    record.detail = std::string(100, 'd');
    for (int i = 0; i < 500; ++i)
      ASSERT_TRUE(records->insert(key, std::to_string(i), record));
  }
  std::string bytes = *readFile(path);
  for (std::size_t at = 4096; at < bytes.size(); at += 5)
    bytes[at] = static_cast<char>(at * 31);
  ASSERT_TRUE(writeFileAtomically(path, bytes));
  auto records = Records::open(path, false);
  ASSERT_FALSE(records);
  EXPECT_EQ(records.error().code, ExitCode::Input);
}

TEST(Records, RefusesOtherVersionsAndForeignDatabases) {
  std::string path = newPath("version.db");
  ASSERT_TRUE(Records::open(path, false));
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  sqlite3_exec(handle, "PRAGMA user_version = 9", nullptr, nullptr, nullptr);
  auto records = Records::open(path, false);
  ASSERT_FALSE(records);
  EXPECT_NE(records.error().message.find("it has version 9, this program writes version 1"),
            std::string::npos);
  sqlite3_close(handle);
}

TEST(Records, SaysWhenItCannotWrite) {
  auto records = Records::open(testing::TempDir() + "/nowhere/at/all.db", false);
  ASSERT_FALSE(records);
  EXPECT_EQ(records.error().code, ExitCode::Environment);
}

TEST(Records, KeyFollowsTheSources) {
  auto loaded = manifest::load(RETILE_FIXTURES "/axpy");
  ASSERT_TRUE(loaded);
  std::string directory = testing::TempDir() + "/retile-key";
  std::filesystem::remove_all(directory);
  std::filesystem::copy(RETILE_FIXTURES "/axpy", directory);
  manifest::Kernel kernel = loaded->kernels[0];
  auto make = [&] { return *makeKey(directory, loaded->compile, kernel, {{"n", 5}}, {}); };
  RecordKey first = make();
  EXPECT_EQ(make().templateHash, first.templateHash);
  kernel.parameters[0].values.push_back(96);
  EXPECT_EQ(make().templateHash, first.templateHash);
  kernel.launch.grid[0] = "n";
  EXPECT_NE(make().templateHash, first.templateHash);
  kernel = loaded->kernels[0];
  ASSERT_TRUE(writeFileAtomically(directory + "/axpy.cuh", "// edited"));
  EXPECT_NE(make().templateHash, first.templateHash);
  EXPECT_EQ(make().referenceHash, first.referenceHash);
}
