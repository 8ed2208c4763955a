#include "ClangHeaders.h"
#include "CompileFlags.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/StringSaver.h"

namespace retile::frontend {
namespace {

std::string normal(llvm::StringRef directory, llvm::StringRef path) {
  llvm::SmallString<256> full(path);
  if (!llvm::sys::path::is_absolute(full)) {
    full = directory;
    llvm::sys::path::append(full, path);
  }
  llvm::sys::path::remove_dots(full, true);
  return full.str().str();
}

std::vector<std::string> wordsOf(const llvm::json::Object& entry) {
  std::vector<std::string> words;
  if (const llvm::json::Array* list = entry.getArray("arguments")) {
    for (const llvm::json::Value& value : *list)
      if (auto text = value.getAsString())
        words.push_back(text->str());
  } else if (auto command = entry.getString("command")) {
    llvm::BumpPtrAllocator memory;
    llvm::StringSaver saver(memory);
    llvm::SmallVector<const char*> parts;
    llvm::cl::TokenizeGNUCommandLine(*command, saver, parts);
    words.assign(parts.begin(), parts.end());
  }
  if (!words.empty())
    words.erase(words.begin());
  return words;
}

std::optional<DatabaseEntry> lookUp(const std::string& database, const std::string& file) {
  auto buffer = llvm::MemoryBuffer::getFile(database);
  if (!buffer)
    return std::nullopt;
  auto parsed = llvm::json::parse((*buffer)->getBuffer());
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return std::nullopt;
  }
  const llvm::json::Array* entries = parsed->getAsArray();
  if (!entries)
    return std::nullopt;
  for (const llvm::json::Value& value : *entries) {
    const llvm::json::Object* entry = value.getAsObject();
    if (!entry)
      continue;
    const std::string directory = entry->getString("directory").value_or("").str();
    const std::string listed = normal(directory, entry->getString("file").value_or(""));
    if (listed == file || llvm::sys::fs::equivalent(listed, file))
      return DatabaseEntry{wordsOf(*entry), directory};
  }
  return std::nullopt;
}

} // namespace

std::optional<DatabaseEntry> flagsFromDatabase(const std::string& file) {
  llvm::SmallString<256> full(file);
  llvm::sys::fs::make_absolute(full);
  llvm::sys::path::remove_dots(full, true);
  for (llvm::StringRef folder = llvm::sys::path::parent_path(full); !folder.empty();
       folder = llvm::sys::path::parent_path(folder))
    for (const char* name : {"compile_commands.json", "build/compile_commands.json"})
      if (llvm::sys::fs::exists(normal(folder, name)))
        if (auto entry = lookUp(normal(folder, name), full.str().str()))
          return entry;
  return std::nullopt;
}

} // namespace retile::frontend
