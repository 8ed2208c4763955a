// The device helpers that emitted templates use: tiles of an array in shared memory, asynchronous copies,
// vector accesses, and integer division that rounds towards minus infinity. Self-contained: compiles with
// nvcc, with NVRTC (no standard headers), and on a CPU under Retile's SIMT header (RETILE_CPU), as C++17 or
// newer.
//
//   retile::Tile<float, 2, 1, 128, 32, 4> tileA(retile::sharedMemory());       two slots of A[i0 .. +128)[k0 .. +32)
//   tileA.loadAsync<4, 256>(slot, A, 0, K, 0, i0, k0, {0, 1}, {0, M}, {0, K}, threadIdx.x);
//   retile::asyncCommit();
//   retile::asyncWait<0>();
//   __syncthreads();
//   ... tileA(slot, 0, i, k) is A[(i0 + i) * K + k0 + k], or 0 outside of A ...
#pragma once

#if defined(RETILE_CPU)
#define RETILE_UNROLL
#define RETILE_UNROLL_BY(count)
#define RETILE_ROLLED
#else
#define RETILE_UNROLL _Pragma("unroll")
#define RETILE_UNROLL_BY(count) RETILE_PRAGMA(unroll count) // a count of 0 is ignored: as if nothing stood there
#define RETILE_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define RETILE_ROLLED _Pragma("unroll 1")
#endif

namespace retile {

/// Half-open: lo <= i < hi.
struct Range {
  long long lo, hi;
};

/// a / b rounded towards minus infinity; b is not 0.
__host__ __device__ constexpr long long floordiv(long long a, long long b) {
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

/// a - b * floordiv(a, b): has the sign of b.
__host__ __device__ constexpr long long floormod(long long a, long long b) { return a - b * floordiv(a, b); }

/// a / b rounded towards plus infinity; b is not 0.
__host__ __device__ constexpr long long ceildiv(long long a, long long b) { return -floordiv(-a, b); }

/// The block's dynamic shared memory, aligned to 16 bytes. Its size is the launch's third argument.
__device__ __forceinline__ unsigned char* sharedMemory() {
#if defined(RETILE_CPU)
  return ::retile::simt::dynamicShared();
#else
  extern __shared__ __align__(16) unsigned char retileSharedBytes[];
  return retileSharedBytes;
#endif
}

namespace detail {

template <int BYTES> struct Word {};
#if !defined(RETILE_CPU)
template <> struct Word<1> { using type = unsigned char; };
template <> struct Word<2> { using type = unsigned short; };
template <> struct Word<4> { using type = unsigned int; };
template <> struct Word<8> { using type = uint2; };
template <> struct Word<16> { using type = uint4; };
#endif

/// One access moves 1, 2, 4, 8 or 16 bytes.
__host__ __device__ constexpr bool isAccess(int bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

/// dst[0 .. V) = src[0 .. V) in as few accesses as the size allows; both aligned to min(16, V * sizeof(T)).
template <int V, class T> __device__ __forceinline__ void copyVector(T* dst, const T* src) {
  constexpr int BYTES = V * static_cast<int>(sizeof(T));
  if constexpr (isAccess(BYTES)) {
#if defined(RETILE_CPU)
    ::retile::simt::checkAligned(dst, BYTES < 16 ? BYTES : 16);
    ::retile::simt::checkAligned(src, BYTES < 16 ? BYTES : 16);
    __builtin_memcpy(static_cast<void*>(dst), static_cast<const void*>(src), BYTES);
#else
    using W = typename Word<BYTES>::type;
    *reinterpret_cast<W*>(dst) = *reinterpret_cast<const W*>(src);
#endif
  } else if constexpr (V % 2 == 0) {
    copyVector<V / 2>(dst, src);
    copyVector<V / 2>(dst + V / 2, src + V / 2);
  } else {
    RETILE_UNROLL for (int v = 0; v < V; ++v) dst[v] = src[v];
  }
}

/// Starts a copy of 4, 8 or 16 bytes to shared memory; done after the asyncWait that covers it. Before sm_80:
/// at once.
template <int BYTES> __device__ __forceinline__ void copyAsync(void* dst, const void* src) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
#if defined(RETILE_CPU)
  ::retile::simt::copyAsync(dst, src, BYTES);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(dst));
  const unsigned long long source = static_cast<unsigned long long>(__cvta_generic_to_global(src));
  if constexpr (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(source) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(source), "n"(BYTES) : "memory");
#else
  using W = typename Word<BYTES>::type;
  *reinterpret_cast<W*>(dst) = *reinterpret_cast<const W*>(src);
#endif
}

/// The part lo .. hi of a window 0 .. SIZE at `origin` that lies in a range.
template <int SIZE> struct Part {
  int lo, hi;
  __device__ __forceinline__ Part(long long origin, Range range) {
    const long long first = range.lo - origin, last = range.hi - origin;
    lo = first <= 0 ? 0 : first >= SIZE ? SIZE : static_cast<int>(first);
    hi = last >= SIZE ? SIZE : last <= 0 ? 0 : static_cast<int>(last);
  }
  __device__ __forceinline__ bool whole() const { return lo == 0 && hi == SIZE; }
  __device__ __forceinline__ bool has(int i) const { return i >= lo && i < hi; }
};

/// How WORKERS workers share D0 x D1 x COLUMNS items: worker w takes items w, w + WORKERS, ... in row-major
/// order. The cases only exist to keep the index arithmetic down to constants added to what does not change
/// between steps.
template <int D0, int D1, int COLUMNS, int WORKERS> struct Walk {
  static constexpr int ITEMS = D0 * D1 * COLUMNS;
  static constexpr int STEPS = (ITEMS + WORKERS - 1) / WORKERS;
  static constexpr bool COLUMN_FIXED = WORKERS % COLUMNS == 0;
  static constexpr bool ROW_FIXED = !COLUMN_FIXED && COLUMNS % WORKERS == 0;
  static constexpr int ROWS_A_STEP = COLUMN_FIXED ? WORKERS / COLUMNS : 0;

  unsigned worker;
  __device__ __forceinline__ explicit Walk(int w) : worker(static_cast<unsigned>(w)) {}

  /// Whether step t exists for this worker; known at compile time for all but the last step.
  __device__ __forceinline__ bool active(int t) const {
    return (t + 1) * WORKERS <= ITEMS || static_cast<int>(worker) + t * WORKERS < ITEMS;
  }
  __device__ __forceinline__ int column(int t) const {
    if constexpr (COLUMN_FIXED) return static_cast<int>(worker % COLUMNS);
    else if constexpr (ROW_FIXED) return static_cast<int>(worker) + t % (COLUMNS / WORKERS) * WORKERS;
    else return static_cast<int>((worker + static_cast<unsigned>(t * WORKERS)) % COLUMNS);
  }
  __device__ __forceinline__ int row(int t) const {
    if constexpr (COLUMN_FIXED) return static_cast<int>(worker / COLUMNS) + t * ROWS_A_STEP;
    else if constexpr (ROW_FIXED) return t / (COLUMNS / WORKERS);
    else return static_cast<int>((worker + static_cast<unsigned>(t * WORKERS)) / COLUMNS);
  }
  __device__ __forceinline__ int outer(int t) const {
    if constexpr (D0 == 1) return 0;
    else if constexpr (D1 == 1) return row(t);
    else if constexpr (COLUMN_FIXED && D1 % ROWS_A_STEP == 0) return t * ROWS_A_STEP / D1;
    else if constexpr (COLUMN_FIXED && ROWS_A_STEP % D1 == 0)
      return static_cast<int>(worker / COLUMNS / D1) + t * (ROWS_A_STEP / D1);
    else return static_cast<int>(static_cast<unsigned>(row(t)) / D1);
  }
  __device__ __forceinline__ int inner(int t) const {
    if constexpr (D0 == 1) return row(t);
    else if constexpr (D1 == 1) return 0;
    else if constexpr (COLUMN_FIXED && D1 % ROWS_A_STEP == 0)
      return static_cast<int>(worker / COLUMNS) + t * ROWS_A_STEP % D1;
    else if constexpr (COLUMN_FIXED && ROWS_A_STEP % D1 == 0) return static_cast<int>(worker / COLUMNS % D1);
    else return static_cast<int>(static_cast<unsigned>(row(t)) % D1);
  }
};

/// All elements of the window D0 x D1 x D2, VECTOR at a time: `at(a, b, c, a * stride0 + b * stride1 + c)`
/// once for each group that begins at c. A warp takes a patch of ROWS x 32 / ROWS groups (ROWS = 1:
/// consecutive threads take consecutive groups). UNROLLED only where it pays: windows at an edge take the
/// rolled loop, which costs neither code nor registers. Where the column stays, the offset is advanced
/// instead of computed anew.
template <int D0, int D1, int D2, int VECTOR, int THREADS, int ROWS, bool UNROLLED, class F>
__device__ __forceinline__ void forEachGroup(int thread, long long stride0, long long stride1, F&& at) {
  constexpr int ACROSS = ROWS == 1 ? 1 : 32 / ROWS, LANES = ROWS * ACROSS;
  using Steps = Walk<D0, D1 / ROWS, D2 / VECTOR / ACROSS, THREADS / LANES>;
  const Steps walk(thread / LANES);
  const int row = thread % LANES / ACROSS, column = thread % ACROSS;
  const auto visit = [&](int t) {
    const int a = walk.outer(t), b = walk.inner(t) * ROWS + row, c = (walk.column(t) * ACROSS + column) * VECTOR;
    if (walk.active(t)) at(a, b, c, a * stride0 + b * stride1 + c);
  };
  if constexpr (!UNROLLED) {
    RETILE_ROLLED for (int t = 0; t < Steps::STEPS; ++t) visit(t);
  } else if constexpr (D0 == 1 && Steps::COLUMN_FIXED) {
    const int c = (walk.column(0) * ACROSS + column) * VECTOR;
    const long long step = Steps::ROWS_A_STEP * ROWS * stride1;
    long long offset = (walk.inner(0) * ROWS + row) * stride1 + c;
    RETILE_UNROLL for (int t = 0; t < Steps::STEPS; ++t) {
      if (walk.active(t)) at(0, walk.inner(t) * ROWS + row, c, offset);
      offset += step;
    }
  } else {
    RETILE_UNROLL for (int t = 0; t < Steps::STEPS; ++t) visit(t);
  }
}

/// Rows of the patch that a warp copies to a transposed window so that its stores meet few bank conflicts
/// while each row of the patch still reads whole 32-byte sectors; 1 where the window's shape has no such
/// patch.
__host__ __device__ constexpr int patchRows(int d1, int columns, int threads, int pitchBytes, int groupBytes) {
  const int banks = (groupBytes < 4 ? 1 : groupBytes / 4) * (pitchBytes / 4 % 32) % 32;
  int rows = 1;
  while (rows < 32 && rows < groupBytes && banks % (rows * 2) == 0) rows *= 2;
  while (rows < 32 && columns % (32 / rows) != 0) rows *= 2;
  return threads % 32 == 0 && d1 % rows == 0 && columns % (32 / rows) == 0 ? rows : 1;
}

/// What Tile and TileT share. Layout has `at(a, b, c)`, the position of a window element in a slot of SIZE
/// elements, CONTIGUOUS (consecutive c are adjacent) and ROWS<VECTOR, THREADS>.
template <class T, int SLOTS, int D0, int D1, int D2, class Layout> struct WindowTile {
  static constexpr int SIZE = Layout::SIZE;
  static constexpr int BYTES = SLOTS == 0 ? 0 : (SLOTS * SIZE * static_cast<int>(sizeof(T)) + 15) / 16 * 16;

  T* data;

  __device__ __forceinline__ explicit WindowTile(unsigned char* memory) : data(reinterpret_cast<T*>(memory)) {}

  /// Element (a, b, c) of the window in `slot`.
  __device__ __forceinline__ const T& operator()(int slot, int a, int b, int c) const {
    return data[slot * SIZE + Layout::at(a, b, c)];
  }
  __device__ __forceinline__ T& operator()(int slot, int a, int b, int c) {
    return data[slot * SIZE + Layout::at(a, b, c)];
  }

  /// All THREADS threads of the block copy the window at (o0, o1, o2) into `slot`: element (a, b, c) is
  /// src[(o0 + a) * stride0 + (o1 + b) * stride1 + o2 + c] where every index is in its range, else T{}
  /// without a read. VECTOR elements move per access: src is aligned to them, and o2, both strides and D2 are
  /// multiples of VECTOR (the ranges need not be). The caller puts a barrier between this and the first use.
  /// Without slots: nothing.
  template <int VECTOR, int THREADS>
  __device__ __forceinline__ void load(int slot, const T* __restrict__ src, long long stride0, long long stride1,
                                       long long o0, long long o1, long long o2, Range r0, Range r1, Range r2,
                                       int thread) {
    fill<false, false, VECTOR, THREADS>(slot, src, stride0, stride1, o0, o1, o2, r0, r1, r2, Range{0, 0}, thread);
  }
  /// The same; an element's offset from src must also be in `flat`.
  template <int VECTOR, int THREADS>
  __device__ __forceinline__ void load(int slot, const T* __restrict__ src, long long stride0, long long stride1,
                                       long long o0, long long o1, long long o2, Range r0, Range r1, Range r2,
                                       int thread, Range flat) {
    fill<false, true, VECTOR, THREADS>(slot, src, stride0, stride1, o0, o1, o2, r0, r1, r2, flat, thread);
  }

  /// As load, with copies that are done after the asyncWait that covers them; accesses that cp.async has no
  /// size for are made at once.
  template <int VECTOR, int THREADS>
  __device__ __forceinline__ void loadAsync(int slot, const T* __restrict__ src, long long stride0,
                                            long long stride1, long long o0, long long o1, long long o2, Range r0,
                                            Range r1, Range r2, int thread) {
    fill<true, false, VECTOR, THREADS>(slot, src, stride0, stride1, o0, o1, o2, r0, r1, r2, Range{0, 0}, thread);
  }
  template <int VECTOR, int THREADS>
  __device__ __forceinline__ void loadAsync(int slot, const T* __restrict__ src, long long stride0,
                                            long long stride1, long long o0, long long o1, long long o2, Range r0,
                                            Range r1, Range r2, int thread, Range flat) {
    fill<true, true, VECTOR, THREADS>(slot, src, stride0, stride1, o0, o1, o2, r0, r1, r2, flat, thread);
  }

private:
  /// Elements that one cp.async moves: a whole group, or one element where the layout scatters it; 0 when
  /// none can.
  template <int VECTOR> __host__ __device__ static constexpr int asyncWidth() {
    constexpr int WIDTH = Layout::CONTIGUOUS ? VECTOR : 1;
    return WIDTH * sizeof(T) == 4 || WIDTH * sizeof(T) == 8 || WIDTH * sizeof(T) == 16 ? WIDTH : 0;
  }

  /// Copies one group that is readable as a whole.
  template <bool ASYNC, int VECTOR>
  __device__ __forceinline__ void copyGroup(T* dst, int a, int b, int c, const T* __restrict__ src) {
    if constexpr (ASYNC && asyncWidth<VECTOR>() > 0) {
      constexpr int WIDTH = asyncWidth<VECTOR>();
      RETILE_UNROLL for (int v = 0; v < VECTOR; v += WIDTH)
        copyAsync<WIDTH * static_cast<int>(sizeof(T))>(dst + Layout::at(a, b, c + v), src + v);
    } else if constexpr (Layout::CONTIGUOUS) {
      copyVector<VECTOR>(dst + Layout::at(a, b, c), src);
    } else {
      T group[VECTOR];
      copyToRegisters<VECTOR>(group, src);
      RETILE_UNROLL for (int v = 0; v < VECTOR; ++v) dst[Layout::at(a, b, c + v)] = group[v];
    }
  }

  template <int VECTOR> __device__ __forceinline__ static void copyToRegisters(T (&group)[VECTOR], const T* src) {
    constexpr int BYTES = VECTOR * static_cast<int>(sizeof(T));
#if defined(RETILE_CPU)
    if constexpr (isAccess(BYTES)) ::retile::simt::checkAligned(src, BYTES);
    RETILE_UNROLL for (int v = 0; v < VECTOR; ++v) group[v] = src[v];
#else
    if constexpr (isAccess(BYTES)) {
      const typename Word<BYTES>::type word = *reinterpret_cast<const typename Word<BYTES>::type*>(src);
      memcpy(&group[0], &word, BYTES);
    } else {
      RETILE_UNROLL for (int v = 0; v < VECTOR; ++v) group[v] = src[v];
    }
#endif
  }

  template <bool ASYNC, bool FLAT, int VECTOR, int THREADS>
  __device__ __forceinline__ void fill(int slot, const T* __restrict__ src, long long stride0, long long stride1,
                                       long long o0, long long o1, long long o2, Range r0, Range r1, Range r2,
                                       Range flat, int thread) {
    if constexpr (SLOTS > 0) {
      static_assert(VECTOR > 0 && D2 % VECTOR == 0, "the window's last dimension is a multiple of VECTOR");
      static_assert(!Layout::CONTIGUOUS || Layout::PITCH % VECTOR == 0, "the padding is a multiple of VECTOR");
      constexpr int ROWS = Layout::template rows<VECTOR, THREADS>();
      T* const dst = data + slot * SIZE;
      const Part<D0> p0(o0, r0);
      const Part<D1> p1(o1, r1);
      const Part<D2> p2(o2, r2);
      const long long base = o0 * stride0 + o1 * stride1 + o2;
      const T* const origin = src + base;
      bool whole = p0.whole() && p1.whole() && p2.whole();
      if constexpr (FLAT) {
        const long long down = (stride0 < 0 ? (D0 - 1) * stride0 : 0) + (stride1 < 0 ? (D1 - 1) * stride1 : 0);
        const long long up = (stride0 > 0 ? (D0 - 1) * stride0 : 0) + (stride1 > 0 ? (D1 - 1) * stride1 : 0);
        whole = whole && base + down >= flat.lo && base + up + D2 <= flat.hi;
      }
      if (whole) {
        forEachGroup<D0, D1, D2, VECTOR, THREADS, ROWS, true>(
            thread, stride0, stride1, [&](int a, int b, int c, long long offset) {
              copyGroup<ASYNC, VECTOR>(dst, a, b, c, origin + offset);
            });
      } else {
        forEachGroup<D0, D1, D2, VECTOR, THREADS, ROWS, false>(
            thread, stride0, stride1, [&](int a, int b, int c, long long offset) {
              const Part<VECTOR> columns = clip<FLAT, VECTOR>(p0.has(a) && p1.has(b), c, p2, base + offset, flat);
              if (columns.whole()) {
                copyGroup<ASYNC, VECTOR>(dst, a, b, c, origin + offset);
              } else {
                RETILE_UNROLL for (int v = 0; v < VECTOR; ++v) {
                  if (columns.has(v)) dst[Layout::at(a, b, c + v)] = origin[offset + v];
                  else dst[Layout::at(a, b, c + v)] = T{};
                }
              }
            });
      }
    }
  }

  /// The part of the group at column c, flat offset `offset`, that may be read.
  template <bool FLAT, int VECTOR>
  __device__ __forceinline__ static Part<VECTOR> clip(bool row, int c, Part<D2> p2, long long offset, Range flat) {
    Range range{row ? p2.lo - c : 0, row ? p2.hi - c : 0};
    if constexpr (FLAT) {
      range.lo = range.lo > flat.lo - offset ? range.lo : flat.lo - offset;
      range.hi = range.hi < flat.hi - offset ? range.hi : flat.hi - offset;
    }
    return Part<VECTOR>(0, range);
  }
};

template <class T, int D0, int D1, int D2, int PAD> struct RowMajor {
  static constexpr int PITCH = D2 + PAD;
  static constexpr int SIZE = D0 * D1 * PITCH;
  static constexpr bool CONTIGUOUS = true;
  template <int VECTOR, int THREADS> __host__ __device__ static constexpr int rows() { return 1; }
  __device__ __forceinline__ static int at(int a, int b, int c) { return (a * D1 + b) * PITCH + c; }
};

template <class T, int D0, int D1, int D2, int PAD> struct Transposed {
  static constexpr int PITCH = D1 + PAD;
  static constexpr int SIZE = D0 * D2 * PITCH;
  static constexpr bool CONTIGUOUS = false;
  template <int VECTOR, int THREADS> __host__ __device__ static constexpr int rows() {
    return patchRows(D1, D2 / VECTOR, THREADS, PITCH * static_cast<int>(sizeof(T)),
                     VECTOR * static_cast<int>(sizeof(T)));
  }
  __device__ __forceinline__ static int at(int a, int b, int c) { return (a * D2 + c) * PITCH + b; }
};

} // namespace detail

/// SLOTS copies of a window D0 x D1 x D2 of a row-major array, in BYTES bytes of shared memory (a multiple of
/// 16) at an address that is a multiple of 16. Rows are D2 + PAD apart. SLOTS = 0: no memory, and load does
/// nothing.
template <class T, int SLOTS, int D0, int D1, int D2, int PAD = 0>
struct Tile : detail::WindowTile<T, SLOTS, D0, D1, D2, detail::RowMajor<T, D0, D1, D2, PAD>> {
  using detail::WindowTile<T, SLOTS, D0, D1, D2, detail::RowMajor<T, D0, D1, D2, PAD>>::WindowTile;
};

/// The same window stored with its last two dimensions exchanged, D0 x D2 x (D1 + PAD), and addressed like
/// Tile: consecutive b are adjacent, so that loadVector(.., &tile(slot, a, b, c)) reads a column. PAD = 4
/// with 4-byte elements and D1 a multiple of 32 stores without bank conflicts and keeps columns aligned to 16
/// bytes. Asynchronous copies move elements of 4 and 8 bytes one by one.
template <class T, int SLOTS, int D0, int D1, int D2, int PAD = 0>
struct TileT : detail::WindowTile<T, SLOTS, D0, D1, D2, detail::Transposed<T, D0, D1, D2, PAD>> {
  using detail::WindowTile<T, SLOTS, D0, D1, D2, detail::Transposed<T, D0, D1, D2, PAD>>::WindowTile;
};

/// Closes the group of this thread's asynchronous copies since the last call.
__device__ __forceinline__ void asyncCommit() {
#if defined(RETILE_CPU)
  ::retile::simt::asyncCommit();
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most N of this thread's latest groups are unfinished. Other threads see the copies after a
/// barrier.
template <int N> __device__ __forceinline__ void asyncWait() {
#if defined(RETILE_CPU)
  ::retile::simt::asyncWait(N);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

/// dst = src[0 .. V) in one access of V * sizeof(T) bytes, at most 16, to which src is aligned.
template <int V, class T> __device__ __forceinline__ void loadVector(T (&dst)[V], const T* src) {
  static_assert(V == 1 || detail::isAccess(V * static_cast<int>(sizeof(T))), "1, 2, 4, 8 or 16 bytes an access");
#if defined(RETILE_CPU)
  // Registers have no address: only memory must be aligned.
  if constexpr (V > 1) ::retile::simt::checkAligned(src, V * static_cast<int>(sizeof(T)));
  RETILE_UNROLL for (int v = 0; v < V; ++v) dst[v] = src[v];
#else
  if constexpr (V == 1) {
    dst[0] = src[0];
  } else {
    using W = typename detail::Word<V * static_cast<int>(sizeof(T))>::type;
    const W word = *reinterpret_cast<const W*>(src);
    memcpy(&dst[0], &word, sizeof(W));
  }
#endif
}

/// dst[0 .. V) = src in one access of V * sizeof(T) bytes, at most 16, to which dst is aligned.
template <int V, class T> __device__ __forceinline__ void storeVector(T* dst, const T (&src)[V]) {
  static_assert(V == 1 || detail::isAccess(V * static_cast<int>(sizeof(T))), "1, 2, 4, 8 or 16 bytes an access");
#if defined(RETILE_CPU)
  if constexpr (V > 1) ::retile::simt::checkAligned(dst, V * static_cast<int>(sizeof(T)));
  RETILE_UNROLL for (int v = 0; v < V; ++v) dst[v] = src[v];
#else
  if constexpr (V == 1) {
    dst[0] = src[0];
  } else {
    using W = typename detail::Word<V * static_cast<int>(sizeof(T))>::type;
    W word;
    memcpy(&word, &src[0], sizeof(W));
    *reinterpret_cast<W*>(dst) = word;
  }
#endif
}

/// Where item `item` of thread `thread` stands in its block's tile: runs of RUN neighbours, THREADS runs side by side.
/// RUN = 1 is the cyclic distribution (coalesced), RUN = items a thread the blocked one.
template <int THREADS, int RUN> __host__ __device__ constexpr int itemOffset(int thread, int item) {
  return item / RUN * (THREADS * RUN) + thread * RUN + item % RUN;
}

/// value, but not below lo and not above hi. INSIDE: it is known not to be.
template <class T, bool INSIDE = false> __device__ __forceinline__ T within(T value, T lo, T hi) {
  return INSIDE ? value : value < lo ? lo : value > hi ? hi : value;
}
template <class T, bool INSIDE = false> __device__ __forceinline__ T atMost(T value, T hi) {
  return INSIDE ? value : value > hi ? hi : value;
}

__host__ __device__ constexpr long long smaller(long long a, long long b) { return a < b ? a : b; }
__host__ __device__ constexpr long long larger(long long a, long long b) { return a > b ? a : b; }

/// `kept` where the template keeps a value in a register, else `memory`.
template <bool KEEP, class T> __device__ __forceinline__ T& choose(T& kept, T& memory) {
  if constexpr (KEEP) return kept;
  else return memory;
}

/// body(0) .. body(count - 1) in order, unrolled UNROLL times; 0 leaves it to the compiler.
template <int UNROLL, class I, class Body> __device__ __forceinline__ void forUnrolled(I count, Body&& body) {
#if !defined(RETILE_CPU)
  if constexpr (UNROLL > 0) {
#pragma unroll UNROLL
    for (I n = 0; n < count; ++n) body(n);
  } else
#endif
  {
    for (I n = 0; n < count; ++n) body(n);
  }
}

/// k = lo .. hi - 1 in order, TILE steps between two barriers: fill(slot, k0) copies what the tile at k0 reads to shared
/// memory, body(slot, k0, n) is step k0 + n. The last tile runs its exact trip count. STAGES > 1 fills ahead with
/// asynchronous copies; without STAGED there is no copy and no barrier. Called by all threads of the block.
template <int TILE, int STAGES, int UNROLL, bool STAGED, class I, class Fill, class Body>
__device__ __forceinline__ void forTiles(I lo, I hi, Fill&& fill, Body&& body) {
  if constexpr (!STAGED && TILE == 1) {
    if (hi > lo) forUnrolled<UNROLL>(hi - lo, [&](I n) { body(0, lo + n, 0); });
    return;
  } else {
    auto compute = [&](int slot, I k0) {
      if (k0 + TILE <= hi) forUnrolled<UNROLL>(TILE, [&](int n) { body(slot, k0, n); });
      else forUnrolled<1>(static_cast<int>(hi - k0), [&](int n) { body(slot, k0, n); });
    };
    if constexpr (!STAGED || STAGES == 1) {
      for (I k0 = lo; k0 < hi; k0 += TILE) {
        if constexpr (STAGED) {
          fill(0, k0);
          asyncCommit();
          asyncWait<0>();
          __syncthreads();
        }
        compute(0, k0);
        if constexpr (STAGED) __syncthreads();
      }
    } else {
      RETILE_UNROLL for (int s = 0; s < STAGES - 1; ++s) {
        if (lo + s * TILE < hi) fill(s, lo + s * TILE);
        asyncCommit();
      }
      int slot = 0, next = STAGES - 1;
      for (I k0 = lo; k0 < hi; k0 += TILE) {
        asyncWait<STAGES - 2>();
        // Also: everybody is done with the slot that is filled next.
        __syncthreads();
        if (k0 + (STAGES - 1) * TILE < hi) fill(next, k0 + (STAGES - 1) * TILE);
        asyncCommit();
        compute(slot, k0);
        slot = slot + 1 == STAGES ? 0 : slot + 1;
        next = next + 1 == STAGES ? 0 : next + 1;
      }
      __syncthreads();
    }
  }
}

} // namespace retile
