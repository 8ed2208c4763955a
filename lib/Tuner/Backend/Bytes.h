// Plain values and strings to bytes and back: messages to the worker, and cached binaries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace retile::backend {

class Writer {
public:
  template <class T> Writer& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>, "plain values only");
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  Writer& put(const std::string& text) {
    put(std::uint64_t(text.size()));
    bytes += text;
    return *this;
  }
  template <class T> Writer& put(const std::vector<T>& list) {
    put(std::uint64_t(list.size()));
    for (const T& element : list)
      put(element);
    return *this;
  }
  std::string bytes;
};

/// Reading past the end gives zeros and clears ok().
class Reader {
public:
  explicit Reader(const std::string& bytes) : bytes(bytes) {}

  template <class T> T get() {
    T value{};
    if constexpr (std::is_same_v<T, std::string>) {
      const auto size = get<std::uint64_t>();
      if (!take(size))
        return value;
      value = bytes.substr(at, size);
      at += size;
    } else {
      static_assert(std::is_trivially_copyable_v<T>, "plain values only");
      if (!take(sizeof(T)))
        return value;
      std::memcpy(&value, bytes.data() + at, sizeof(T));
      at += sizeof(T);
    }
    return value;
  }
  template <class T> std::vector<T> list() {
    const auto size = get<std::uint64_t>();
    std::vector<T> values;
    for (std::uint64_t i = 0; i < size && good; ++i)
      values.push_back(get<T>());
    return values;
  }
  bool ok() const { return good; }

private:
  bool take(std::uint64_t count) { return good = good && count <= bytes.size() - at; }

  const std::string& bytes;
  std::size_t at = 0;
  bool good = true;
};

} // namespace retile::backend
