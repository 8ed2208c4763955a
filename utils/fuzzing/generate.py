"""Random kernels within and just outside what is lifted. Everything is drawn from one random.Random: a seed is a kernel."""
import random

from tree import S, X, Kernel, binary, leaf

SIZES = ["n", "m", "k"]
TYPES = {"float": "f", "double": "f", "int": "i", "unsigned char": "i", "signed char": "i", "long long": "i", "unsigned": "i", "short": "i"}


def pick(r, weighted):
    total = sum(w for _, w in weighted)
    at = r.random() * total
    for value, weight in weighted:
        at -= weight
        if at < 0:
            return value
    return weighted[-1][0]


class Array:
    def __init__(self, name, type, layout, strides, isOut):
        self.name, self.type, self.layout, self.strides, self.isOut = name, type, layout, strides, isOut


class Generator:
    def __init__(self, seed, name):
        self.r = random.Random(seed)
        self.k = Kernel(name)
        self.names = self.made = 0
        self.arrays = []
        self.depth = 0
        self.wild = self.r.random() < 0.3     # how much "just outside" is wanted

    def chance(self, p):
        return self.r.random() < p

    def fresh(self, stem):
        self.names += 1
        return f"{stem}{self.names}"

    def feature(self, name):
        self.k.features.add(name)

    # Kernel
    def kernel(self):
        r, k = self.r, self.k
        self.half = k.half = self.chance(0.03)
        self.sizeType = pick(r, [("int", 10), ("unsigned", 2), ("size_t", 2), ("long long", 1)])
        self.element = "__half" if self.half else pick(r, [("float", 10), ("double", 4), ("int", 3), ("unsigned char", 1), ("signed char", 1),
                                                           ("long long", 1), ("short", 1), ("unsigned", 1)])
        style = pick(r, [("plain", 60), ("gridstride", 9), ("blockrow", 8), ("divmod", 6), ("blockid", 4), ("shared", 13)])
        self.feature(style)
        for size in SIZES:
            k.params.append((size, self.sizeType))
        k.params.append(("ld", self.sizeType))
        k.params.append(("alpha", "double" if self.element == "double" else "float"))
        if self.chance(0.04):
            k.qualifier = f"__launch_bounds__(1024) "
        if style == "shared":
            import shared
            shared.fill(self)
            return k
        self.coords = []        # (variable, size that bounds it), slowest first
        getattr(self, style)()
        self.ints = [(v, s) for v, s in self.coords]
        self.floats = []
        body = []
        if self.chance(0.25):
            body += self.intLocal()
        for _ in range(pick(r, [(1, 6), (2, 3), (3, 1)])):
            body += self.statement()
        if not any(a.isOut for a in self.arrays):
            body += self.pointwise()
        self.wrap(body)
        return k

    def globalId(self, axis, block):
        v = pick(self.r, [
            (f"blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis}", 10), (f"threadIdx.{axis} + blockIdx.{axis} * blockDim.{axis}", 2),
            (f"blockDim.{axis} * blockIdx.{axis} + threadIdx.{axis}", 2), (f"blockIdx.{axis} * {block} + threadIdx.{axis}", 1),
            (f"(size_t)blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis}", 1), (f"threadIdx.{axis} + blockIdx.{axis} * {block + (block > 1)}", 0.15 if self.wild else 0),
            (f"blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis} + 1", 0.7), (f"gridDim.{axis} - 1 - blockIdx.{axis}", 0.1 if self.wild else 0)])
        return v

    def indexType(self):
        return pick(self.r, [("int", 10), ("const int", 2), ("unsigned", 2), ("size_t", 2), ("long long", 1), ("unsigned short", 0.1), ("auto", 0.5)])

    def covering(self, size, block):
        n = size if isinstance(size, str) else str(size)
        B = str(block)
        return pick(self.r, [(f"({n} + {block - 1}) / {B}", 12), (f"({n} + {B} - 1) / {B}", 4), (f"({n} - 1) / {B} + 1", 2), (f"{n} / {B} + 1", 2),
                             (f"{n} % {B} ? {n} / {B} + 1 : {n} / {B}", 0.7), (f"divUp({n}, {B})", 1), (f"{n} / {B}", 0.8), ("2", 0.4),
                             (f"(int)ceil((double){n} / {B})", 0.5), (f"({n} + {block - 1}) >> {block.bit_length() - 1}", 0.5 if block & (block - 1) == 0 else 0)])

    def plain(self):
        r, k = self.r, self.k
        dims = pick(r, [(1, 4), (2, 5), (3, 2)])
        block = {1: pick(r, [(64, 3), (128, 3), (256, 2), (32, 1), (96, 0.5), (1, 0.2)]),
                 2: pick(r, [((16, 16), 3), ((32, 8), 3), ((8, 8), 1), ((32, 4), 1), ((1, 64), 0.3), ((16, 1), 0.3)]),
                 3: pick(r, [((8, 4, 4), 1), ((32, 2, 2), 1), ((16, 4, 1), 1), ((4, 4, 4), 1)])}[dims]
        block = (block,) if dims == 1 else block
        axes = "xyz"[:dims]
        order = list(range(dims))
        if self.chance(0.15):
            r.shuffle(order)
        sizes = SIZES[:]
        r.shuffle(sizes)
        vars = ["i", "j", "l"] if self.chance(0.8) else ["x", "y", "z"]
        self.head, self.guards = [], []
        grid = [None] * dims
        for d in range(dims):
            axis = order[d]
            v, s = vars[d], sizes[d]
            block_ = block[axis]
            text = self.globalId(axes[axis], block_)
            base = 1 if text.endswith("+ 1") else 0
            self.head.append(S([f"{self.indexType()} {v} = {text}"]))
            self.coords.append((v, s))
            grid[axis] = self.covering(s, block_)
            self.guards.append(self.guard(v, s, base))
        self.coordsReversed()
        if dims > 1 and self.chance(0.12):
            a, b = self.coords[0][0], self.coords[1][0]
            self.guards.append(binary(pick(r, [("<=", 2), ("<", 1), (">=", 1), ("!=", 0.3)]), leaf(a), leaf(b)))
            self.feature("triangular")
        if self.chance(0.06):
            self.guards.pop(r.randrange(len(self.guards)))
            self.feature("no guard")
        k.block = [str(b) for b in block]
        k.grid = grid
        self.hostForm(dims)

    def coordsReversed(self):
        """Mostly the x axis is the fastest: the last coordinate."""
        self.coords.reverse()
        if self.chance(0.1):
            self.r.shuffle(self.coords)

    def hostForm(self, dims):
        r, k = self.r, self.k
        if any("divUp" in g for g in k.grid):
            k.pieces.append(("divUp", f"static {self.sizeType} divUp({self.sizeType} a, {self.sizeType} b) {{ return (a + b - 1) / b; }}"))
        form = r.random()
        if form < 0.25:
            k.hostText = ([f"dim3 block({', '.join(k.block)})", f"dim3 grid({', '.join(k.grid)})"], "grid", "block")
        elif form < 0.35 and dims > 1:
            lines = [f"dim3 block({', '.join(k.block)})", "dim3 grid"]
            lines += [f"grid.{a} = {g}" for a, g in zip("xyz", k.grid)]
            k.hostText = (lines, "grid", "block")
        elif form < 0.45:
            lines = [f"const int threads{a} = {b}" for a, b in zip("XYZ", k.block)]
            lines += [f"int blocks{a} = {g}" for a, g in zip("XYZ", k.grid)]
            names = lambda stem: ", ".join(stem + a for a in "XYZ"[:dims])
            wrapped = lambda stem: f"dim3({names(stem)})" if dims > 1 else names(stem)
            k.hostText = (lines, wrapped("blocks"), wrapped("threads"))
        if k.hostText:
            k.hostText = ([line + ";" for line in k.hostText[0]], k.hostText[1], k.hostText[2])

    def guard(self, v, s, base):
        r = self.r
        V, N, one = leaf(v), leaf(s), leaf("1")
        interior = self.chance(0.25)
        if interior:
            self.feature("interior")
            low = pick(r, [(binary(">", V, leaf("0")), 3), (binary(">=", V, one), 2)])
            high = pick(r, [(binary("<", V, binary("-", N, one)), 4), (binary("<", binary("+", V, one), N), 2), (binary("<=", V, binary("-", N, leaf("2"))), 1)])
            wrap = binary("<", X("cast", "unsigned", binary("-", V, one)), X("cast", "unsigned", binary("-", N, leaf("2"))))
            return pick(r, [(binary("&&", low, high), 8), (wrap, 1.5)])
        return pick(r, [(binary("<", V, N), 12), (binary("<=", V, binary("-", N, one)), 1), (binary(">", N, V), 1), (X("un", "!", binary(">=", V, N)), 1),
                        (binary("<", V, binary("-", N, leaf("3"))), 0.7), (binary("<", X("cast", "unsigned", V), N), 1),
                        (binary("<", binary("*", leaf("2"), V), N), 0.6), (binary("<", V, leaf("16")), 0.3), (binary("!=", V, N), 0.2),
                        (binary("<", V, leaf(r.choice(SIZES))), 0.4), (binary("<", binary("-", V, one), N), 0.3),
                        (binary("<", X("cast", "long long", binary("-", V, leaf(r.choice(["1", "1u"])))), N), 0.3),
                        (binary("<", binary("-", N, V), leaf(r.choice(["5", "n"]))), 0.2), (binary("<", binary("+", V, leaf("2")), N), 0.5),
                        (binary("&&", binary("<", V, N), binary("!=", V, leaf("3"))), 0.3), (binary("||", binary("<", V, leaf("3")), binary("<", binary("+", V, one), N)), 0.2)])

    def wrap(self, body):
        """Guards around the body: nested, combined, or early returns."""
        form, guards = self.r.random(), [g for g in self.guards if g is not None]
        out = list(self.head)
        if not guards:
            self.k.body = out + body
        elif form < 0.4:
            test = guards[0]
            for g in guards[1:]:
                test = binary("&&", test, g)
            self.k.body = out + [S(["if (", test, ")"], body)]
        elif form < 0.7:
            self.feature("early return")
            for g in guards:
                out.append(S(["if (", X("un", "!", g), ") return"]))
            self.k.body = out + body
        elif form < 0.85:
            self.feature("early return")
            test = X("un", "!", guards[0])
            for g in guards[1:]:
                test = binary("||", test, X("un", "!", g))
            self.k.body = out + [S(["if (", test, ") return"])] + body
        else:
            for g in reversed(guards):
                body = [S(["if (", g, ")"], body)]
            self.k.body = out + body

    def gridstride(self):
        block = self.r.choice([64, 128, 256])
        v, s = "i", "n"
        t = pick(self.r, [("int", 5), ("unsigned", 1), ("size_t", 2), ("long long", 1)])
        start, step = "blockIdx.x * blockDim.x + threadIdx.x", "blockDim.x * gridDim.x"
        form = pick(self.r, [("up", 8), ("down", 1), ("variables", 2), ("wrong", 0.7 if self.wild else 0)])
        self.head, self.guards = [], []
        if form == "up":
            loop = f"for ({t} {v} = {start}; {v} < {s}; {v} += {step})"
        elif form == "down":
            loop = f"for (int {v} = (int){s} - 1 - (int)({start}); {v} >= 0; {v} -= {step})"
        elif form == "variables":
            self.head = [S([f"{t} first = {start}"]), S([f"{t} stride = {step}"])]
            loop = f"for ({t} {v} = first; {v} < {s}; {v} += stride)"
        else:
            loop = f"for ({t} {v} = {start}; {v} < {s}; {v} += {self.r.choice(['blockDim.x', 'gridDim.x', '64', '1'])})"
        self.coords = [(v, s)]
        self.k.block = [str(block)]
        self.k.grid = [pick(self.r, [(self.covering(s, block), 3), ("3", 2), ("1", 0.5), (f"min((int)(({s} + {block - 1}) / {block}), 4)", 1)])]
        self.wrapLoop(loop)
        self.hostForm(1)

    def wrapLoop(self, loop):
        def wrap(body):
            self.k.body = self.head + [S([loop], body)]
        self.wrap = wrap

    def blockrow(self):
        block = self.r.choice([32, 64, 128])
        t = self.indexType()
        self.head = [S([f"{t} i = blockIdx.x"])]
        self.guards = [None if self.chance(0.7) else binary("<", leaf("i"), leaf("n"))]
        loop = f"for (int j = threadIdx.x; j < {'m' if self.sizeType == 'int' else '(int)m'}; j += {pick(self.r, [('blockDim.x', 8), (str(block), 2), (str(block // 2), 0.5 if self.wild else 0)])})"
        self.coords = [("i", "n"), ("j", "m")]
        self.k.block, self.k.grid = [str(block)], [self.r.choice(["n", "n", "n", "n + 1"]) if self.guards[0] else "n"]
        guards = self.guards[0]
        def wrap(body):
            inner = [S([loop], body)]
            self.k.body = self.head + ([S(["if (", guards, ")"], inner)] if guards else inner)
        self.wrap = wrap
        self.hostForm(1)

    def blockid(self):
        t = self.indexType()
        dims = self.r.choice([1, 2])
        self.head = [S([f"{t} {v} = blockIdx.{a}"]) for v, a in zip("ij", "xy"[:dims])]
        self.guards = [None] * dims
        self.coords = list(zip("ij"[:dims], ["n", "m"]))
        self.k.block, self.k.grid = ["1"], ["n", "m"][:dims]
        self.hostForm(dims)

    def divmod(self):
        r = self.r
        block = r.choice([64, 128, 256])
        inner = pick(r, [("m", 4), ("8", 2), ("5", 2)])
        total = f"n * {inner}"
        t = pick(r, [("int", 4), ("unsigned", 2), ("size_t", 1)])
        self.head = [S([f"{t} idx = blockIdx.x * blockDim.x + threadIdx.x"])]
        early = self.chance(0.5)
        if early:
            self.head.append(S([f"if (idx >= {total}) return"]))
        self.head += [S([f"{t} j = idx % {inner}"]), S([f"{t} i = idx / {inner}"])]
        self.guards = [None] if early else [binary("<", leaf("idx"), leaf(total))]
        self.coords = [("i", "n"), ("j", inner)]
        self.k.block, self.k.grid = [str(block)], [f"({total} + {block - 1}) / {block}"]
        self.hostForm(1)

    # Arrays and accesses
    def dimStride(self, size):
        return pick(self.r, [(size, 20), ("ld", 4), (f"({size} + 2)", 0.7), ("16", 0.7), ("32", 0.5), (f"(2 * {size})", 0.3), (self.r.choice(SIZES), 0.3)])

    def newArray(self, vars, isOut):
        self.made += 1
        stem = "abcdefgh"[self.made - 1] if self.made <= 8 else f"a{self.made}"
        type_ = self.element
        if self.chance(0.15) and not self.half:
            type_ = self.r.choice(list(TYPES))
        layout = [s for _, s in vars]
        strides = []
        for s in layout[1:]:
            strides.append(s if s.isdigit() and self.chance(0.7) else self.dimStride(s))
        a = Array(stem, type_, layout, strides, isOut)
        self.arrays.append(a)
        restrict = " __restrict__" if self.chance(0.4) else ""
        self.k.params.append((stem, f"{'PTR' if isOut else 'CPTR'}({type_}){restrict}"))
        if not isOut and len(layout) == 1 and layout[0].isdigit() and self.chance(0.5) and not self.half:
            self.k.params.pop()
            a.name = f"c_{self.k.name}_{stem}"
            size = int(layout[0]) + 2
            self.k.pieces.append((a.name, f"__constant__ {type_} {a.name}[{size}];"))
            self.feature("constant memory")
        return a

    def flat(self, subscripts, strides):
        """Row-major offset, spelled in one of the usual ways."""
        form = self.r.random()
        if len(subscripts) == 1:
            return subscripts[0]
        if form < 0.45:
            out = subscripts[0]
            for s, stride in zip(subscripts[1:], strides):
                out = binary("+", binary("*", out, leaf(stride)), s)
            return out
        terms = []
        for n, s in enumerate(subscripts):
            t = s
            for stride in strides[n:]:
                t = binary("*", t, leaf(stride))
            if n == 0 and form > 0.85:
                t = binary("*", X("cast", self.r.choice(["size_t", "long long", "unsigned"]), s), leaf(strides[0]))
                for stride in strides[1:]:
                    t = binary("*", t, leaf(stride))
            terms.append(t)
        if self.chance(0.3):
            self.r.shuffle(terms)
        out = terms[0]
        for t in terms[1:]:
            out = binary("+", out, t)
        return out

    def shifted(self, v, size, risky):
        r, V = self.r, leaf(v)
        one = leaf("1")
        return pick(r, [
            (V, 26), (binary("+", V, one), 2), (binary("-", V, one), 2 if "interior" in self.k.features else 0.5), (binary("+", V, leaf("2")), 0.5),
            (binary("-", binary("-", leaf(size), one), V), 0.6), (binary("*", leaf("2"), V), 0.5), (binary("/", V, leaf("2")), 0.4 if risky else 0.1),
            (binary("%", V, leaf("4")), 0.3 if risky else 0.1), (binary(">>", V, one), 0.2), (binary("&", V, leaf("7")), 0.15),
            (X("call", "min", X("cast", "int", binary("+", V, one)), X("cast", "int", binary("-", leaf(size), one))), 0.5),
            (X("sel", "", binary(">", V, leaf("0")), binary("-", V, one), leaf("0")), 0.5), (leaf("0"), 0.3),
            (X("call", "max", X("cast", "int", binary("-", V, one)), leaf("0")), 0.3), (X("cast", "unsigned char", V), 0.08), (X("cast", "int", V), 0.4)])

    def read(self, kinds=None):
        """A load whose array fits the variables in scope."""
        r = self.r
        known = [a for a in self.arrays if not a.isOut and all(any(s == size for _, s in self.ints) for size in a.layout)]
        if known and self.chance(0.55):
            a = r.choice(known)
        elif len(self.arrays) < 5:
            count = pick(r, [(1, 3), (2, 4), (3, 1)])
            vars = r.sample(self.ints, min(count, len(self.ints)))
            if self.chance(0.75):
                vars.sort(key=lambda v: self.ints.index(v))
            a = self.newArray(vars, False)
        elif known:
            a = r.choice(known)
        else:
            return leaf("alpha")
        return self.load(a)

    def load(self, a):
        subscripts = []
        for size in a.layout:
            fits = [v for v, s in self.ints if s == size] or [self.ints[0][0]]
            v = self.r.choice(fits)
            if self.wild and self.chance(0.1):
                v = self.r.choice(self.ints)[0]
            subscripts.append(self.shifted(v, size, True))
        return X("load", "", leaf(a.name), self.flat(subscripts, a.strides))

    def target(self):
        """Where a result goes: mostly injective in the coordinates."""
        outs = [a for a in self.arrays if a.isOut]
        if outs and self.chance(0.5):
            a = self.r.choice(outs)
            a.uses += 1
        else:
            vars = list(self.coords)
            if self.chance(0.12):
                self.r.shuffle(vars)
            if self.chance(0.05) and len(vars) > 1:
                vars.pop(self.r.randrange(len(vars)))
                self.feature("dropped coordinate")
            loops = [v for v in self.ints if v not in self.coords and v[0] in self.loopVars()]
            if loops and self.chance(0.4):
                vars.insert(self.r.randrange(len(vars) + 1), self.r.choice(loops))
            a = self.newArray(vars, True)
            a.vars = vars
            a.uses = 1
        subscripts = []
        for v, size in a.vars:
            if not any(name == v for name, _ in self.ints):
                v = self.coords[0][0]
            subscripts.append(leaf(v) if self.chance(0.88) else self.shifted(v, size, self.wild))
        return a, X("load", "", leaf(a.name), self.flat(subscripts, a.strides))

    def loopVars(self):
        return [v for v, _ in self.ints if v.startswith("q")]

    # Values
    def isFloat(self, a):
        return TYPES.get(a.type, "f") == "f"

    def asFloat(self, x, a):
        if a.type == "__half":
            return X("call", "__half2float", x)
        return x if self.isFloat(a) else X("cast", "float", x)

    def value(self, depth=0):
        """A floating-point value."""
        r = self.r
        if depth > 2 or self.chance(0.3):
            return pick(r, [(self.readFloat(), 8), (leaf(r.choice(["0.5f", "2.0f", "1.5f", "-0.25f", "3.0f"])), 2), (leaf("alpha"), 1),
                            (X("cast", "float", leaf(r.choice(self.ints)[0])), 0.7), (X("cast", "float", self.builtin()), 0.15), (leaf(r.choice(self.floats)) if self.floats else leaf("1.0f"), 2)])
        form = r.random()
        if form < 0.62:
            return binary(r.choice("++-**"), self.value(depth + 1), self.value(depth + 1))
        if form < 0.7:
            return X("call", "fmaf", self.value(depth + 1), self.value(depth + 1), self.value(depth + 1))
        if form < 0.78:
            return X("call", r.choice(["fmaxf", "fminf"]), self.value(depth + 1), self.value(depth + 1))
        if form < 0.83:
            return X("call", "sqrtf", X("call", "fabsf", self.value(depth + 1)))
        if form < 0.9:
            self.feature("select")
            return X("sel", "", self.condition(), X("cast", "float", self.value(depth + 1)), X("cast", "float", self.value(depth + 1)))
        if form < 0.94:
            return X("un", "-", self.value(depth + 1))
        self.feature("device function")
        if not any(n == "blend_" + self.k.name for n, _ in self.k.pieces):
            self.k.pieces.append(("blend_" + self.k.name, pick(r, [
                (f"__device__ float blend_{self.k.name}(float a, float b) {{ return a > b ? a * 0.5f : a + b; }}", 2),
                (f"template <class T> __device__ __forceinline__ T blend_{self.k.name}(T a, T b) {{ T t = a * b; t += a; return t; }}", 1),
                (f"__device__ float blend_{self.k.name}(float a, float b) {{ float s = 0; for (int u = 0; u < 3; ++u) s = s * a + b; return s; }}", 1)])))
        f = lambda: X("cast", "float", self.value(depth + 1))
        return X("call", "blend_" + self.k.name, f(), f())

    def builtin(self):
        """The global id spelled out where it is used, shifted and widened."""
        x = leaf("blockIdx.x * blockDim.x + threadIdx.x")
        if self.chance(0.5):
            x = binary("-", x, leaf(self.r.choice(["5", "1", "n"])))
        return X("cast", self.r.choice(["int", "size_t", "long long", "unsigned"]), x)

    def readFloat(self):
        x = self.read()
        if x.op != "load":
            return x
        a = next(a for a in self.arrays if a.name == x.kids[0].text)
        return self.asFloat(x, a)

    def integer(self, depth=0):
        r = self.r
        if depth > 2 or self.chance(0.35):
            x = self.read()
            if x.op == "load":
                a = next(a for a in self.arrays if a.name == x.kids[0].text)
                if not self.isFloat(a):
                    return x
            return leaf(r.choice(["1", "3", "7", r.choice(self.ints)[0], "100"]))
        form = r.random()
        if form < 0.6:
            return binary(r.choice(["+", "-", "*", "&", "|", "^"]), self.integer(depth + 1), self.integer(depth + 1))
        if form < 0.75:
            op, b = pick(r, [(("<<", "2"), 1), ((">>", "1"), 1), (("/", "3"), 1), (("%", "5"), 1)])
            return binary(op, X("cast", "int", self.integer(depth + 1)), leaf(b))
        if form < 0.85:
            return X("cast", r.choice(["int", "unsigned char", "unsigned", "long long"]), self.integer(depth + 1))
        if form < 0.93:
            return X("sel", "", self.condition(), X("cast", "int", self.integer(depth + 1)), X("cast", "int", self.integer(depth + 1)))
        return X("call", r.choice(["min", "max"]), X("cast", "int", self.integer(depth + 1)), X("cast", "int", self.integer(depth + 1)))

    def condition(self):
        r = self.r
        form = r.random()
        v, s = r.choice(self.ints)
        if form < 0.35:
            return binary(r.choice([">", "<", ">="]), self.readFloat(), leaf("0.25f"))
        if form < 0.75:
            return pick(r, [(binary(r.choice(["<", ">", "==", "!=", ">="]), leaf(v), leaf(r.choice(["0", "1", "2", "5"]))), 3),
                            (binary(r.choice(["<", "<=", "=="]), leaf(v), binary("-", leaf(s), leaf("1"))), 2),
                            (binary(r.choice(["<", ">", "=="]), leaf(v), leaf(r.choice(self.ints)[0])), 2),
                            (binary("==", binary("%", leaf(v), leaf("2")), leaf("0")), 1), (binary("<", binary("+", leaf(v), leaf("1")), leaf(s)), 1)])
        if form < 0.9:
            return binary(r.choice(["&&", "||"]), self.condition(), self.condition())
        return X("un", "!", self.condition())

    # Statements
    def statement(self):
        self.depth += 1
        choices = [(self.pointwise, 5), (self.accumulate, 4), (self.branch, 1.3), (self.localArray, 0.5), (self.pointer, 1.0), (self.scan, 0.7),
                   (self.inPlace, 0.8), (self.intLocal, 0.5), (self.midReturn, 0.3), (self.floatLocal, 0.8), (self.odd, 0.4 if self.wild else 0.05)]
        if self.depth > 3:
            choices = [(self.pointwise, 1)]
        out = pick(self.r, choices)()
        self.depth -= 1
        return out

    def assigned(self, a, x, op=None):
        r = self.r
        op = op or pick(r, [("=", 6), ("+=", 2), ("*=", 0.5), ("-=", 0.5)])
        if a.type == "__half":
            return S([x, " = ", X("call", "__float2half", self.value())])
        if not self.isFloat(a):
            value = self.integer()
            return S([x, f" {op} ", value if self.chance(0.6) else X("cast", a.type, value)])
        return S([x, f" {op} ", self.value()])

    def pointwise(self):
        a, x = self.target()
        return [self.assigned(a, x)]

    def inPlace(self):
        outs = [a for a in self.arrays if a.isOut]
        if not outs:
            return self.pointwise()
        a, x = self.target()
        y = x.copy() if self.chance(0.8) else self.load(a)
        if a.type == "__half":
            return [S([x, " = ", X("call", "__float2half", binary("*", X("call", "__half2float", y), leaf("0.5f")))])]
        return [S([x, " = ", binary(self.r.choice("+-*"), y, self.value() if self.isFloat(a) else self.integer())])]

    def floatLocal(self):
        v = self.fresh("v")
        t = self.r.choice(["float", "float", "double", "const float"])
        out = [S([f"{t} {v} = ", self.value()])]
        self.floats.append(v)
        more = self.pointwise()
        self.floats.pop()
        return out + more

    def intLocal(self):
        r = self.r
        v, s = r.choice(self.ints)
        name = self.fresh("w")
        t = pick(r, [("int", 5), ("unsigned", 1), ("size_t", 1), ("short", 0.3), ("unsigned char", 0.2), ("long long", 0.5)])
        if self.chance(0.3):
            op = r.choice(["+=", "-=", "*="])
            out = [S([f"{t} {name} = ", leaf(v)])]
            if self.chance(0.5):
                out.append(S([f"if (", self.condition(), ")"], [S([f"{name} {op} 1"])]))
            else:
                out.append(S([f"{name} {op} 1"]))
        else:
            out = [S([f"{t} {name} = ", self.shifted(v, s, True)])]
        self.ints = self.ints + [(name, s)]
        return out

    def loop(self, body):
        """body(variable) under a loop over a size, a constant, or a range that depends on outer variables."""
        r = self.r
        v = self.fresh("q")
        t = pick(r, [("int", 8), ("unsigned", 1), ("size_t", 1), ("long long", 0.5)])
        size = pick(r, [("k", 6), (r.choice(SIZES), 2), ("4", 1.5), ("3", 1.5), ("5", 0.7), ("64", 0.2)])
        cast = lambda x: x if size.isdigit() or t == self.sizeType else f"({t})({x})"
        outer = r.choice(self.ints)[0]
        S_ = leaf(cast(size))
        form = pick(r, [("up", 10), ("le", 1), ("from1", 1), ("down", 1), ("tri", 1.3), ("triUp", 1), ("step2", 1), ("ne", 0.3), ("inner", 0.6), ("while", 0.4),
                        ("stepk", 0.2 if self.wild else 0), ("down2", 0.2), ("zero", 0.2), ("less", 0.5), ("more", 0.3)])
        self.feature("loop " + form)
        heads = {
            "up": [f"for ({t} {v} = 0; {v} < ", S_, f"; {r.choice([f'++{v}', f'{v}++', f'{v} += 1'])})"],
            "le": [f"for ({t} {v} = 0; {v} <= ", binary("-", S_, leaf("1")), f"; ++{v})"],
            "from1": [f"for ({t} {v} = 1; {v} < ", S_, f"; ++{v})"],
            "down": [f"for (int {v} = ", binary("-", leaf(f"(int){size}"), leaf("1")), f"; {v} >= 0; --{v})"],
            "tri": [f"for ({t} {v} = 0; {v} < ", X("cast", t, leaf(outer)), f"; ++{v})"],
            "triUp": [f"for ({t} {v} = ", X("cast", t, leaf(outer)), f"; {v} < ", S_, f"; ++{v})"],
            "step2": [f"for ({t} {v} = 0; {v} < ", S_, f"; {v} += 2)"],
            "ne": [f"for ({t} {v} = 0; {v} != ", S_, f"; ++{v})"],
            "inner": [f"for (int {v} = ", leaf(f"(int){outer}"), f"; {v} < ", X("call", "min", leaf(f"(int){size}"), binary("+", leaf(f"(int){outer}"), leaf("3"))), f"; ++{v})"],
            "stepk": [f"for ({t} {v} = 0; {v} < ", S_, f"; {v} += ", leaf(cast(r.choice(SIZES))), ")"],
            "down2": [f"for (int {v} = (int){size} - 1; {v} > 0; {v} -= 2)"],
            "less": [f"for (int {v} = 0; {v} < (int)", leaf(outer), f" - {r.choice(['1', '3'])}; ++{v})"],
            "more": [f"for (int {v} = (int)", leaf(outer), f" - 2; {v} < ", leaf(f"(int){size}"), f"; ++{v})"],
            "zero": [f"for ({t} {v} = 0; {v} < 1; ++{v})"],
        }
        before = self.ints
        self.ints = self.ints + [(v, size)]
        inner = body(v)
        self.ints = before
        if form == "while":
            return [S([f"{t} {v} = 0"]), S([f"while ({v} < ", S_, ")"], inner + [S([f"++{v}"])])]
        return [S(heads[form], inner)]

    def nest(self, body, depth):
        if depth == 1:
            return self.loop(body)
        return self.loop(lambda _: self.nest(body, depth - 1))

    def accumulate(self):
        r = self.r
        self.feature("accumulation")
        s = self.fresh("s")
        a, x = self.target()
        depth = pick(r, [(1, 7), (2, 3), (3, 0.7)])
        isFloat = self.isFloat(a)
        if self.chance(0.2) and a.type != "__half":
            # Straight into memory.
            return self.nest(lambda _: [S([x, f" {r.choice(['+=', '+=', '-='])} ", self.value() if isFloat else self.integer()])], depth)
        t = r.choice(["float", "double" if a.type == "double" else "float"]) if isFloat else r.choice(["int", "long long", "unsigned"])
        init = pick(r, [("0", 5), ("1", 1)]) if self.chance(0.8) else None
        start = leaf(init) if init else (self.value() if isFloat else self.integer())
        def step(v):
            value = self.value() if isFloat else self.integer()
            out = pick(r, [(S([f"{s} += ", value]), 8), (S([f"{s} = {s} + ", value]), 2),
                           (S([f"{s} = ", X("call", "fmaf", self.value(), self.value(), leaf(s))]) if isFloat else S([f"{s} ^= ", value]), 1),
                           (S([f"{s} = ", X("call", "fmaxf", leaf(s), value)]) if isFloat else S([f"{s} -= ", value]), 1),
                           (S([f"{s} = {s} * ", leaf("0.5f" if isFloat else "3"), " + ", value]), 0.7)])
            if self.chance(0.15):
                out = S(["if (", self.condition(), ")"], [out])
            return [out]
        out = [S([f"{t} {s} = ", start])] + self.nest(step, depth)
        if self.chance(0.2):
            out += self.loop(step)
        end = leaf(s) if self.chance(0.7) else binary("+", binary("*", leaf("alpha"), leaf(s)), x.copy()) if isFloat and a.type != "__half" else leaf(s)
        if a.type == "__half":
            end = X("call", "__float2half", leaf(s))
        return out + [S([x, f" {pick(r, [('=', 6), ('+=', 1)]) if a.type != '__half' else '='} ", end])]

    def scan(self):
        """A recurrence along a loop: y[q][i] from y[q-1][i]."""
        if self.half:
            return self.pointwise()
        self.feature("recurrence")
        v = self.fresh("q")
        vars = list(self.coords)
        at = self.r.randrange(len(vars) + 1)
        vars.insert(at, (v, "k"))
        a = self.newArray(vars, True)
        a.vars, a.uses = vars, 1
        def index(shift):
            subs = [leaf(x) if n != at or not shift else binary(shift[0], leaf(x), leaf(shift[1:])) for n, (x, _) in enumerate(vars)]
            return X("load", "", leaf(a.name), self.flat(subs, a.strides))
        before = self.ints
        self.ints = self.ints + [(v, "k")]
        value = self.value() if self.isFloat(a) else self.integer()
        self.ints = before
        s = [S([index(None), " = ", binary("+", binary("*", index("-1"), leaf("0.5f" if self.isFloat(a) else "3")), value)])]
        self.arrays.remove(a)
        return [S([f"for (int {v} = 1; {v} < (int)k; ++{v})"], s)]

    def branch(self):
        r = self.r
        self.feature("branch")
        test = self.condition()
        before = self.ints
        body = self.statement()
        self.ints = before
        other = self.statement() if self.chance(0.4) else None
        self.ints = before
        return [S(["if (", test, ")"], body, other)]

    def midReturn(self):
        self.feature("early return on data")
        return [S(["if (", self.condition(), ") return"])] + self.pointwise()

    def localArray(self):
        if self.half:
            return self.pointwise()
        self.feature("local array")
        t, u = self.fresh("t"), self.fresh("u")
        size = self.r.choice([2, 3, 4])
        before = self.ints
        self.ints = self.ints + [(u, str(size))]
        fill = S([f"for (int {u} = 0; {u} < {size}; ++{u})"], [S([f"{t}[{u}] = ", self.value()])])
        self.ints = before
        a, x = self.target()
        use = X("load", "", leaf(t), leaf("1"))
        if not self.isFloat(a):
            return self.pointwise()
        return [S([f"float {t}[{size}]"]), fill, S([x, " = ", binary("+", use, binary("*", X("load", "", leaf(t), leaf("0")), leaf("0.5f")))])]

    def pointer(self):
        """Row pointers, &a[i], and pointers that advance."""
        r = self.r
        if self.half or not self.coords:
            return self.pointwise()
        self.feature("pointer arithmetic")
        p = self.fresh("p")
        vars = [r.choice(self.coords)]
        v = self.fresh("q")
        a = self.newArray(vars + [(v, "k")], False)
        if a.name.startswith("c_"):
            return self.pointwise()
        self.arrays.remove(a)
        base = binary("*", leaf(vars[0][0]), leaf(a.strides[0]))
        start = pick(r, [(binary("+", leaf(a.name), base), 3), (X("addr", "", leaf(a.name), base), 2)])
        s = self.fresh("s")
        b, x = self.target()
        isFloat = self.isFloat(b)
        t = "float" if isFloat else "int"
        head = [S([f"CPTR({a.type}) {p} = ", start]), S([f"{t} {s} = 0"])]
        conv = (lambda x: x) if self.isFloat(a) == isFloat else (lambda x: X("cast", t, x) if isFloat else leaf("1"))
        form = r.random()
        if form < 0.4:
            loop = S([f"for (int {v} = 0; {v} < (int)k; ++{v})"], [S([f"{s} += ", conv(X("load", "", leaf(p), leaf(v)))])])
        elif form < 0.7:
            step = r.choice(["1", "1", str(a.strides[0]), "2"])
            loop = S([f"for (int {v} = 0; {v} < (int)k; ++{v})"], [S([f"{s} += ", conv(leaf(f"*{p}"))]), S([f"{p} += {step}"])])
        elif form < 0.85:
            loop = S([f"for (int {v} = 0; {v} < (int)k; ++{v})"], [S([f"{s} += ", conv(leaf(f"{p}[{v}]"))]), S([f"if (", self.condition(), ")"], [S([f"{p} += 1"])])])
        else:
            loop = S([f"for (int {v} = 0; {v} < (int)k; ++{v}, {p} += {a.strides[0]})"], [S([f"{s} += ", conv(leaf(f"{p}[0]"))])])
        return head + [loop, S([x, " = ", leaf(s)])]

    def odd(self):
        """Forms that are mostly refused; none may be lifted wrongly."""
        r = self.r
        a, x = self.target()
        if a.type == "__half" or not self.isFloat(a):
            return self.pointwise()
        v, s = r.choice(self.ints)
        form = r.random()
        self.feature("odd form")
        if form < 0.2:
            return self.loop(lambda q: [S(["if (", self.condition(), ") break"]), S([x, " += ", self.value()])])
        if form < 0.35:
            return self.loop(lambda q: [S(["if (", self.condition(), ") continue"]), S([x, " += ", self.value()])])
        if form < 0.5:
            i = self.newArray([self.coords[0]], False)
            if i.name.startswith("c_") or self.isFloat(i):
                return self.pointwise()
            inner = X("load", "", leaf(i.name), leaf(self.coords[0][0]))
            return [S([x, " = ", X("load", "", leaf(a.name), binary("&", inner, leaf("15")))])]
        if form < 0.65:
            return [S([f"switch (", X("cast", "int", leaf(v)), ")"], [S(["case 0: ", x, " = 1.0f; break"]), S(["default: ", x.copy(), " = ", self.value()])])]
        if form < 0.8:
            w = self.fresh("w")
            return [S([f"int {w} = 8"]), S([f"while ({w} > 0)"], [S([x, " += ", self.value()]), S([f"{w} >>= 1"])])]
        if form < 0.9:
            return [S([f"do"], [S([x, " += ", self.value()])]), S(["while (0)"])]
        w = self.fresh("w")
        return self.loop(lambda q: [S([f"int {w} = {q} * {q}"]), S([x, " += ", X("load", "", leaf(a.name), leaf(w))])])


def generate(seed, index, name=None):
    return Generator(f"{seed}:{index}", name or f"k{index}").kernel()


if __name__ == "__main__":
    import sys
    for n in range(int(sys.argv[2])):
        print(generate(int(sys.argv[1]), n).text())
