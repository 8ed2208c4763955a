#include "retile/Tuner/Records.h"

#include "retile/Support/File.h"
#include "retile/Support/Text.h"
#include "retile/Tuner/Space.h"

#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <sqlite3.h>

namespace retile::tuner {

static constexpr int schemaVersion = 1;

static constexpr const char* schema = R"sql(
BEGIN;
CREATE TABLE results (
  kernel TEXT NOT NULL, template TEXT NOT NULL, reference TEXT NOT NULL, sizes TEXT NOT NULL, device TEXT NOT NULL,
  config TEXT NOT NULL, outcome INTEGER NOT NULL, detail TEXT NOT NULL,
  median_ms REAL NOT NULL, low_ms REAL NOT NULL, high_ms REAL NOT NULL, repetitions INTEGER NOT NULL,
  registers INTEGER NOT NULL, spill_bytes INTEGER NOT NULL, shared_bytes INTEGER NOT NULL,
  compile_s REAL NOT NULL, verify_s REAL NOT NULL, binary_key TEXT NOT NULL, finished_at INTEGER NOT NULL,
  PRIMARY KEY (kernel, template, reference, sizes, device, config)) WITHOUT ROWID;
PRAGMA user_version = 1;
COMMIT;
)sql";

struct Records::Database {
  std::string path;
  sqlite3* handle = nullptr;
  ~Database() { sqlite3_close(handle); }

  Error error() const {
    int code = sqlite3_errcode(handle);
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
      return unusable(sqlite3_errmsg(handle));
    return {fmt::format("cannot use tuning database '{}': {}", path, sqlite3_errmsg(handle)),
            "`--db FILE` puts it elsewhere", ExitCode::Environment};
  }

  Error unusable(const std::string& why) const {
    return {fmt::format("'{}' is not a sound tuning database: {}", path, oneLine(why)),
            "`--fresh` starts a new one and keeps this as FILE.old, `--db FILE` uses another",
            ExitCode::Input};
  }
};

namespace {

/// A prepared statement with positional binding and reading.
class Statement {
public:
  Statement(sqlite3* handle, const char* sql) { sqlite3_prepare_v2(handle, sql, -1, &statement, nullptr); }
  ~Statement() { sqlite3_finalize(statement); }
  Statement(const Statement&) = delete;

  explicit operator bool() const { return statement != nullptr; }
  int step() { return sqlite3_step(statement); }

  void bind(const std::string& text) {
    sqlite3_bind_text(statement, ++bound, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void bind(double value) { sqlite3_bind_double(statement, ++bound, value); }
  void bind(std::int64_t value) { sqlite3_bind_int64(statement, ++bound, value); }
  void bind(int value) { bind(static_cast<std::int64_t>(value)); }
  void bind(const RecordKey& key, const std::string& config) {
    for (const std::string* text :
         {&key.kernel, &key.templateHash, &key.referenceHash, &key.sizes, &key.device, &config})
      bind(*text);
  }

  std::string text(int column) {
    auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
    return bytes ? bytes : "";
  }
  double real(int column) { return sqlite3_column_double(statement, column); }
  int integer(int column) { return sqlite3_column_int(statement, column); }

private:
  sqlite3_stmt* statement = nullptr;
  int bound = 0;
};

} // namespace

/// The first column of the first row; empty when the statement fails.
static std::optional<std::string> queryText(sqlite3* handle, const char* sql) {
  Statement statement(handle, sql);
  if (!statement || statement.step() != SQLITE_ROW)
    return std::nullopt;
  return statement.text(0);
}

static void moveAside(const std::string& path) {
  std::error_code ignored;
  std::filesystem::rename(path, path + ".old", ignored);
  for (const char* suffix : {"-wal", "-shm"})
    std::filesystem::remove(path + suffix, ignored);
}

Expected<Records> Records::open(const std::string& path, bool fresh) {
  if (fresh)
    moveAside(path);
  auto database = std::make_shared<Database>();
  database->path = path;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
  if (sqlite3_open_v2(path.c_str(), &database->handle, flags, nullptr) != SQLITE_OK)
    return database->error();
  sqlite3_busy_timeout(database->handle, 10'000);
  auto version = queryText(database->handle, "PRAGMA user_version");
  if (!version)
    return database->error();
  if (*version != "0" && *version != std::to_string(schemaVersion))
    return database->unusable(
        fmt::format("it has version {}, this program writes version {}", *version, schemaVersion));
  if (auto check = queryText(database->handle, "PRAGMA quick_check(1)"); !check || *check != "ok")
    return check ? database->unusable(*check) : database->error();
  const char* settings = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;";
  if (sqlite3_exec(database->handle, settings, nullptr, nullptr, nullptr) != SQLITE_OK)
    return database->error();
  auto tables = queryText(database->handle, "SELECT count(*) FROM sqlite_master WHERE name = 'results'");
  if (*version == "0" && tables && *tables != "0")
    return database->unusable("it has no version");
  if (*version == "0" && sqlite3_exec(database->handle, schema, nullptr, nullptr, nullptr) != SQLITE_OK)
    return database->error();
  Records records;
  records.database = std::move(database);
  return records;
}

Expected<std::optional<Record>> Records::find(const RecordKey& key, const std::string& config) const {
  Statement statement(
      database->handle,
      "SELECT outcome, detail, median_ms, low_ms, high_ms, repetitions, registers, spill_bytes, "
      "shared_bytes, compile_s, verify_s, binary_key FROM results WHERE kernel = ? AND template = ? AND "
      "reference = ? AND sizes = ? AND device = ? AND config = ?");
  if (!statement)
    return database->error();
  statement.bind(key, config);
  int result = statement.step();
  if (result == SQLITE_DONE)
    return std::optional<Record>();
  if (result != SQLITE_ROW)
    return database->error();
  Record record;
  int outcome = statement.integer(0);
  if (outcome < 0 || outcome > static_cast<int>(Outcome::Unsupported))
    return database->unusable("an outcome is out of range");
  record.outcome = static_cast<Outcome>(outcome);
  record.detail = statement.text(1);
  record.medianMs = statement.real(2);
  record.lowMs = statement.real(3);
  record.highMs = statement.real(4);
  record.repetitions = statement.integer(5);
  record.resources = {statement.integer(6), statement.integer(7), statement.integer(8)};
  record.compileSeconds = statement.real(9);
  record.verifySeconds = statement.real(10);
  record.binaryKey = statement.text(11);
  return std::optional<Record>(record);
}

Status Records::insert(const RecordKey& key, const std::string& config, const Record& record) {
  Statement statement(database->handle,
                      "INSERT OR REPLACE INTO results VALUES (?,?,?,?,?, ?, ?,?, ?,?,?,?, ?,?,?, ?,?,?, ?)");
  if (!statement)
    return database->error();
  statement.bind(key, config);
  statement.bind(static_cast<int>(record.outcome));
  statement.bind(record.detail);
  statement.bind(record.medianMs);
  statement.bind(record.lowMs);
  statement.bind(record.highMs);
  statement.bind(record.repetitions);
  statement.bind(record.resources.registers);
  statement.bind(record.resources.spillBytes);
  statement.bind(record.resources.sharedBytes);
  statement.bind(record.compileSeconds);
  statement.bind(record.verifySeconds);
  statement.bind(record.binaryKey);
  statement.bind(static_cast<std::int64_t>(std::time(nullptr)));
  if (statement.step() != SQLITE_DONE)
    return database->error();
  return {};
}

/// The entry without what does not change a configuration's result: domains, constraints, positions and
/// prose.
static std::string entryText(const manifest::CompileFlags& flags, manifest::Kernel kernel) {
  kernel.parameters.clear();
  kernel.constraints.clear();
  kernel.file.clear();
  kernel.line = 0;
  manifest::Manifest manifest;
  manifest.compile = flags;
  manifest.kernels.push_back(std::move(kernel));
  return manifest::print(manifest);
}

Expected<RecordKey> makeKey(const std::string& directory, const manifest::CompileFlags& flags,
                            const manifest::Kernel& kernel, const Bindings& sizes, const DeviceInfo& device) {
  Expected<std::string> templateText = readFile(directory + "/" + kernel.templateFile);
  if (!templateText)
    return templateText.error();
  Expected<std::string> referenceText = readFile(directory + "/" + kernel.referenceFile);
  if (!referenceText)
    return referenceText.error();
  // The helpers may be absent: only templates that include them need them.
  Expected<std::string> helpers = readFile(directory + "/retile.cuh");
  RecordKey key;
  key.kernel = kernel.id;
  key.templateHash = manifest::sha256(*templateText + (helpers ? *helpers : "") + entryText(flags, kernel));
  key.referenceHash = manifest::sha256(*referenceText);
  key.sizes = toString(sizes);
  key.device = fmt::format("{} {}", device.name, device.arch);
  return key;
}

} // namespace retile::tuner
