// Barriers, shuffles, votes and warp reductions. Each passes the line of its call, by which divergence is
// reported.
#pragma once

#define RETILE_SIMT_LINE int line = __builtin_LINE()

inline void __syncthreads(RETILE_SIMT_LINE) {
  using namespace retile::simt;
  services->barrier(self, Combine::None, 0, "__syncthreads", line);
}
inline int __syncthreads_count(int predicate, RETILE_SIMT_LINE) {
  using namespace retile::simt;
  return services->barrier(self, Combine::Count, predicate, "__syncthreads_count", line);
}
inline int __syncthreads_and(int predicate, RETILE_SIMT_LINE) {
  using namespace retile::simt;
  return services->barrier(self, Combine::And, predicate, "__syncthreads_and", line);
}
inline int __syncthreads_or(int predicate, RETILE_SIMT_LINE) {
  using namespace retile::simt;
  return services->barrier(self, Combine::Or, predicate, "__syncthreads_or", line);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, RETILE_SIMT_LINE) {
  using namespace retile::simt;
  services->exchange(self, mask, 0, -1, nullptr, "__syncwarp", line);
}

namespace retile::simt {

inline unsigned ballot(unsigned mask, int predicate, const char* what, int line) {
  return static_cast<unsigned>(services->exchange(self, mask, predicate != 0, -1, nullptr, what, line));
}

/// Value of lane `source` of the mask; any trivially copyable T of at most 8 bytes.
template <class T> inline T shuffle(unsigned mask, T value, int source, const char* what, int line) {
  static_assert(sizeof(T) <= 8, "shuffles move at most 8 bytes");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = services->exchange(self, mask, bits, source, nullptr, what, line);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class T, class F> inline T reduceLanes(unsigned mask, T value, F combine, const char* what, int line) {
  unsigned long long all[32];
  services->exchange(self, mask, static_cast<unsigned long long>(value), 0, all, what, line);
  bool first = true;
  T result = value;
  for (int lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1u) {
      const T other = static_cast<T>(all[lane]);
      result = first ? other : combine(result, other);
      first = false;
    }
  return result;
}

} // namespace retile::simt

template <class T> inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, RETILE_SIMT_LINE) {
  const int lane = ::retile::simt::self->linear & 31u;
  return ::retile::simt::shuffle(mask, value, (lane & ~(width - 1)) | (source & (width - 1)), "__shfl_sync", line);
}
template <class T> inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, RETILE_SIMT_LINE) {
  const int lane = ::retile::simt::self->linear & 31u, source = lane - static_cast<int>(delta);
  return ::retile::simt::shuffle(mask, value, source < (lane & ~(width - 1)) ? lane : source, "__shfl_up_sync", line);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, RETILE_SIMT_LINE) {
  const int lane = ::retile::simt::self->linear & 31u, source = lane + static_cast<int>(delta);
  return ::retile::simt::shuffle(mask, value, source > (lane | (width - 1)) ? lane : source, "__shfl_down_sync", line);
}
template <class T> inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, RETILE_SIMT_LINE) {
  const int lane = ::retile::simt::self->linear & 31u, source = lane ^ lanes;
  return ::retile::simt::shuffle(mask, value, source > (lane | (width - 1)) ? lane : source, "__shfl_xor_sync", line);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, RETILE_SIMT_LINE) {
  return ::retile::simt::ballot(mask, predicate, "__ballot_sync", line);
}
inline int __any_sync(unsigned mask, int predicate, RETILE_SIMT_LINE) {
  return ::retile::simt::ballot(mask, predicate, "__any_sync", line) != 0;
}
inline int __all_sync(unsigned mask, int predicate, RETILE_SIMT_LINE) {
  return ::retile::simt::ballot(mask, !predicate, "__all_sync", line) == 0;
}
template <class T> inline unsigned __match_any_sync(unsigned mask, T value, RETILE_SIMT_LINE) {
  using namespace retile::simt;
  unsigned long long bits = 0, all[32];
  __builtin_memcpy(&bits, &value, sizeof(T));
  services->exchange(self, mask, bits, 0, all, "__match_any_sync", line);
  unsigned same = 0;
  for (int lane = 0; lane < 32; ++lane)
    if ((mask >> lane & 1u) && all[lane] == bits) same |= 1u << lane;
  return same;
}
template <class T> inline unsigned __match_all_sync(unsigned mask, T value, int* predicate, RETILE_SIMT_LINE) {
  const unsigned same = __match_any_sync(mask, value, line);
  *predicate = same == mask;
  return same == mask ? mask : 0u;
}

#define RETILE_SIMT_REDUCE(name, T, expression)                                                                        \
  inline T name(unsigned mask, T value, RETILE_SIMT_LINE) {                                                            \
    return ::retile::simt::reduceLanes(mask, value, [](T a, T b) -> T { return expression; }, #name, line);            \
  }
RETILE_SIMT_REDUCE(__reduce_add_sync, unsigned, a + b)
RETILE_SIMT_REDUCE(__reduce_add_sync, int, a + b)
RETILE_SIMT_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
RETILE_SIMT_REDUCE(__reduce_min_sync, int, a < b ? a : b)
RETILE_SIMT_REDUCE(__reduce_max_sync, unsigned, a > b ? a : b)
RETILE_SIMT_REDUCE(__reduce_max_sync, int, a > b ? a : b)
RETILE_SIMT_REDUCE(__reduce_and_sync, unsigned, a & b)
RETILE_SIMT_REDUCE(__reduce_or_sync, unsigned, a | b)
RETILE_SIMT_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef RETILE_SIMT_REDUCE
#undef RETILE_SIMT_LINE
