"""Kernels with shared memory and barriers: tiles, trees, transposes, and the same with one thing wrong."""
from tree import S, X, binary, leaf


def fill(g):
    r, k = g.r, g.k
    k.barriers = True
    g.element = r.choice(["float", "float", "double", "int"])
    form = r.choice([stencil, product, tree, transpose, pairs, stage])
    g.feature("shared " + form.__name__)
    # What goes wrong, if anything: a dropped barrier, a shifted index, a missing guard.
    wrong = r.choice(["", "", "", "barrier", "index", "guard"])
    if wrong:
        g.feature("shared wrong " + wrong)
    form(g, wrong)


def sync(wrong, which="barrier"):
    return [] if wrong == which else [S(["__syncthreads()"])]


def arrays(g, *outs):
    for name, isOut in outs:
        g.k.params.append((name, f"{'PTR' if isOut else 'CPTR'}({g.element}){' __restrict__' if g.chance(0.3) else ''}"))


def stencil(g, wrong):
    B = g.r.choice([32, 64, 128])
    arrays(g, ("a", False), ("c", True))
    radius = g.r.choice([1, 2])
    k = g.k
    k.block, k.grid = [str(B)], [g.covering("n", B)]
    at = leaf(f"threadIdx.x + {radius}")
    load = [S([f"s[threadIdx.x + {radius if wrong != 'index' else radius + 1}] = ", leaf("a[i]") if wrong == "guard" else leaf("i < n ? a[i] : 0")])]
    halo = S([f"if (threadIdx.x < {radius})"], [S([f"s[threadIdx.x] = i >= {radius} ? a[i - {radius}] : 0"]),
                                                  S([f"s[threadIdx.x + {B + radius}] = i + {B} < n ? a[i + {B}] : 0"])])
    k.body = [S([f"SHARED1({g.element}, s, {B + 2 * radius})"]), S([f"int i = blockIdx.x * {g.r.choice(['blockDim.x', str(B)])} + threadIdx.x"])]
    k.body += load + [halo] + sync(wrong) + [S(["if (i < n)"], [S([f"c[i] = s[threadIdx.x] + s[threadIdx.x + {radius}] + s[threadIdx.x + {2 * radius}]"])])]
    g.hostForm(1)


def product(g, wrong):
    T = g.r.choice([4, 8, 16])
    arrays(g, ("a", False), ("b", False), ("c", True))
    k = g.k
    tails = g.chance(0.6)
    k.block = [str(T), str(T)]
    k.grid = [g.covering("m", T), g.covering("n", T)]
    ga = "i < n && t + threadIdx.x < k ? a[i * k + t + threadIdx.x] : 0" if tails else "a[i * k + t + threadIdx.x]"
    gb = "t + threadIdx.y < k && j < m ? b[(t + threadIdx.y) * m + j] : 0" if tails else "b[(t + threadIdx.y) * m + j]"
    if wrong == "index":
        gb = gb.replace("* m + j]", "* m + j + 1]")
    inner = [S([f"x[threadIdx.y][threadIdx.x] = {ga}"]), S([f"y[threadIdx.y][threadIdx.x] = {gb}"])]
    first = wrong == "barrier" and g.chance(0.5)
    inner += sync("barrier" if first else "")
    inner.append(S([f"for (int q = 0; q < {T}; ++q)"], [S(["s += x[threadIdx.y][q] * y[q][threadIdx.x]"])]))
    inner += sync("barrier" if wrong == "barrier" and not first else "")
    store = S(["c[i * m + j] = s"])
    k.body = [S([f"SHARED2({g.element}, x, {T}, {T})"]), S([f"SHARED2({g.element}, y, {T}, {T + g.r.choice([0, 1])})"]),
              S([f"int i = blockIdx.y * {T} + threadIdx.y"]), S([f"int j = blockIdx.x * {T} + threadIdx.x"]), S([f"{g.element} s = 0"]),
              S([f"for (int t = 0; t < k; t += {T})"], inner)]
    k.body.append(store if not tails or wrong == "guard" else S(["if (i < n && j < m)"], [store]))
    g.hostForm(2)


def tree(g, wrong):
    B = g.r.choice([32, 64, 128])
    arrays(g, ("a", False), ("c", True))
    k = g.k
    k.block, k.grid = [str(B)], ["n"]
    start = S([f"for (int q = threadIdx.x; q < m; q += {B})"], [S(["v += a[blockIdx.x * m + q]"])])
    step = S([f"if (threadIdx.x < h{' + 1' if wrong == 'index' else ''})"], [S(["s[threadIdx.x] += s[threadIdx.x + h]"])])
    k.body = [S([f"SHARED1({g.element}, s, {B})"]), S([f"{g.element} v = 0"]), start, S(["s[threadIdx.x] = v"])] + sync("")
    k.body.append(S([f"for (int h = {B // 2}; h > 0; h >>= 1)"], [step] + sync(wrong)))
    out = S(["c[blockIdx.x] = s[0]"])
    k.body.append(out if wrong == "guard" else S(["if (threadIdx.x == 0)"], [out]))
    g.hostForm(1)


def transpose(g, wrong):
    T = g.r.choice([8, 16])
    arrays(g, ("a", False), ("c", True))
    k = g.k
    k.block = [str(T), str(T)]
    k.grid = [g.covering("m", T), g.covering("n", T)]
    other = "i" if wrong == "index" else "threadIdx.x"
    pad = g.r.choice([0, 1])
    put = S(["s[threadIdx.y][threadIdx.x] = a[i * m + j]"])
    get = S(["c[y * n + x] = s[threadIdx.x][threadIdx.y]" if wrong != "index" else "c[y * n + x] = s[threadIdx.y][threadIdx.x]"])
    k.body = [S([f"SHARED2({g.element}, s, {T}, {T + pad})"]), S([f"int i = blockIdx.y * {T} + threadIdx.y"]), S([f"int j = blockIdx.x * {T} + threadIdx.x"])]
    k.body.append(put if wrong == "guard" else S(["if (i < n && j < m)"], [put]))
    k.body += sync(wrong)
    k.body += [S([f"int y = blockIdx.x * {T} + threadIdx.y"]), S([f"int x = blockIdx.y * {T} + threadIdx.x"]), S(["if (y < m && x < n)"], [get])]
    g.hostForm(2)


def pairs(g, wrong):
    """Threads that exchange values with a neighbour."""
    B = g.r.choice([32, 64])
    arrays(g, ("a", False), ("c", True))
    k = g.k
    k.block, k.grid = [str(B)], [g.covering("n", B)]
    partner = g.r.choice(["threadIdx.x ^ 1", f"{B} - 1 - threadIdx.x", f"(threadIdx.x + 1) % {B}"])
    k.body = [S([f"SHARED1({g.element}, s, {B})"]), S(["int i = blockIdx.x * blockDim.x + threadIdx.x"]),
              S(["s[threadIdx.x] = " + ("a[i]" if wrong == "guard" else "i < n ? a[i] : 0")])] + sync(wrong)
    index = partner if wrong != "index" else "threadIdx.x"
    k.body.append(S(["if (i < n)"], [S([f"c[i] = s[{index}]"])]))
    if g.chance(0.3):
        # A return in front of a barrier that all threads must reach.
        k.body.insert(2, S(["if (i >= n) return"]))
        g.feature("shared early return")
    g.hostForm(1)


def stage(g, wrong):
    """A coefficient row that the whole block reads."""
    B = g.r.choice([32, 64])
    R = g.r.choice([4, 8])
    arrays(g, ("a", False), ("b", False), ("c", True))
    k = g.k
    k.block, k.grid = [str(B)], [g.covering("n", B)]
    k.body = [S([f"SHARED1({g.element}, s, {R})"]), S(["int i = blockIdx.x * blockDim.x + threadIdx.x"]),
              S([f"if (threadIdx.x < {R + (wrong == 'index')})"], [S(["s[threadIdx.x] = b[threadIdx.x]"])])] + sync(wrong)
    loop = S([f"for (int q = 0; q < {R}; ++q)"], [S([f"v += s[q] * a[i * {R} + q]"])])
    inner = [S([f"{g.element} v = 0"]), loop, S(["c[i] = v"])]
    k.body += inner if wrong == "guard" else [S(["if (i < n)"], inner)]
    g.hostForm(1)
