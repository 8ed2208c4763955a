// A value or the reason why there is none. Every fallible call of the project returns one.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace retile {

/// Exit codes of both tools; they are part of the interface and never renumbered.
enum class ExitCode {
  Success = 0,     ///< something was emitted, or everything verified
  Refused = 1,     ///< every kernel was refused, or a candidate mismatched
  Input = 2,       ///< usage, or an input file that cannot be used
  Environment = 3, ///< a missing device, library, compiler or permission
  Internal = 4,    ///< our own bug
};

/// One error: a message in lower case without a full stop that names what the user wrote, and what would help.
struct Error {
  std::string message;
  std::string note;
  ExitCode code = ExitCode::Input;
};

/// Either a T or an Error. Test it before use: `if (!value) return value.error();`
template <class T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state(std::in_place_index<1>, std::move(error)) {}
  explicit operator bool() const { return state.index() == 0; }
  T& operator*() & { return std::get<0>(state); }
  const T& operator*() const& { return std::get<0>(state); }
  T&& operator*() && { return std::get<0>(std::move(state)); }
  T* operator->() { return &std::get<0>(state); }
  const T* operator->() const { return &std::get<0>(state); }
  const Error& error() const { return std::get<1>(state); }

private:
  std::variant<T, Error> state;
};

/// Success, or an Error. `Status s = f(); if (!s) return s.error();`
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failure(std::move(error)) {}
  explicit operator bool() const { return !failure; }
  const Error& error() const { return *failure; }

private:
  std::optional<Error> failure;
};

} // namespace retile
