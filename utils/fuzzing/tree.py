"""Kernels as trees that can be printed, shrunk, and compared by their text.

An expression is X(op, text, kids), a statement S(pieces, body, otherwise) whose pieces are strings and expressions. Pointer
types are written PTR(float), CPTR(float), shared arrays SHARED1(float, s, 64): the CUDA spelling follows from them, and so does
the instrumented one of trace.h.
"""
import re


class X:
    __slots__ = ("op", "text", "kids")

    def __init__(self, op, text="", *kids):
        self.op, self.text, self.kids = op, text, list(kids)

    def __str__(self):
        kids = self.kids
        if self.op == "leaf":
            return self.text
        if self.op == "bin":
            return f"({kids[0]} {self.text} {kids[1]})"
        if self.op == "un":
            return f"{self.text}({bare(kids[0])})"
        if self.op == "cast":
            return f"({self.text})({bare(kids[0])})"
        if self.op == "call":
            return f"{self.text}({', '.join(bare(k) for k in kids)})"
        if self.op == "sel":
            return f"({kids[0]} ? {kids[1]} : {kids[2]})"
        if self.op == "load":
            base = str(kids[0])
            return f"{base if base.isidentifier() else '(' + bare(kids[0]) + ')'}[{bare(kids[1])}]"
        if self.op == "addr":
            return f"&{kids[0]}[{bare(kids[1])}]"
        raise AssertionError(self.op)

    def copy(self):
        return X(self.op, self.text, *(k.copy() for k in self.kids))


def bare(x):
    text = str(x)
    return text[1:-1] if x.op in ("bin", "sel") else text


def leaf(text):
    return X("leaf", str(text))


def binary(op, a, b):
    return X("bin", op, a, b)


class S:
    __slots__ = ("pieces", "body", "otherwise")

    def __init__(self, pieces, body=None, otherwise=None):
        self.pieces, self.body, self.otherwise = list(pieces), body, otherwise

    def lines(self, indent=1):
        pad = "  " * indent
        head = "".join(p if isinstance(p, str) else bare(p) for p in self.pieces)
        if self.body is None:
            return [pad + head + ";"]
        out = [pad + (head + " {" if head else "{")]
        for s in self.body:
            out += s.lines(indent + 1)
        if self.otherwise is not None:
            out.append(pad + "} else {")
            for s in self.otherwise:
                out += s.lines(indent + 1)
        return out + [pad + "}"]

    def copy(self):
        copies = lambda block: None if block is None else [s.copy() for s in block]
        return S([p if isinstance(p, str) else p.copy() for p in self.pieces], copies(self.body), copies(self.otherwise))


def mentions(text, name):
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


class Kernel:
    """params: (name, type); host: the launch's lines, which may use the sizes; pieces: (name, text) in front, printed when used."""

    def __init__(self, name):
        self.name = name
        self.params = []           # of the kernel and, with the same names, of the host function
        self.body = []
        self.pieces = []           # helpers, constants, macros
        self.block, self.grid = ["64"], ["1"]
        self.hostText = None       # lines that define dimensions, "" for none
        self.qualifier = ""
        self.barriers = self.half = False
        self.template = False      # the element type as a template parameter
        self.features = set()

    def copy(self):
        other = Kernel(self.name)
        other.__dict__.update(self.__dict__)
        other.body = [s.copy() for s in self.body]
        other.params, other.pieces = list(self.params), list(self.pieces)
        return other

    def bodyText(self):
        return "\n".join(line for s in self.body for line in s.lines())

    def _launch(self):
        if self.hostText:
            return self.hostText[0], self.hostText[1], self.hostText[2]
        return [], ", ".join(self.grid), ", ".join(self.block)

    def text(self, trace=False):
        body = self.bodyText()
        setup, grid, block = self._launch()
        host = "\n".join(setup) + grid + " " + block
        used = [(n, t) for n, t in self.params if mentions(body, n)]
        hostParams = used + [(n, t) for n, t in self.params if (n, t) not in used and mentions(host, n)]
        pieces, needed = [], body + host + " ".join(t for _, t in used)
        for name, text in reversed(self.pieces):
            if mentions(needed, name):
                pieces.insert(0, text)
                needed += text
        show = lambda ps: ", ".join(f"{t} {n}" for n, t in ps)
        one = len(self._dims(grid)) == 1 and len(self._dims(block)) == 1
        g = grid if one or setup else f"dim3({grid})"
        b = block if one or setup else f"dim3({block})"
        out = list(pieces)
        out.append(f"__global__ void {self.qualifier}{self.name}({show(used)}) {{\n{body}\n}}")
        call = ", ".join(n for n, _ in used)
        if trace:
            launch = f"TRACE_LAUNCH({self.name}, ({g}), ({b}), {int(self.barriers)}, ({call}))"
        else:
            launch = f"{self.name}<<<{g}, {b}>>>({call})"
        lines = "".join(f"  {line}\n" for line in setup)
        out.append(f"void launch_{self.name}({show(hostParams)}) {{\n{lines}  {launch};\n}}")
        text = "\n".join(out) + "\n"
        return text if trace else cuda(text)

    def hostParams(self):
        body = self.bodyText()
        setup, grid, block = self._launch()
        host = "\n".join(setup) + grid + " " + block
        used = [(n, t) for n, t in self.params if mentions(body, n)]
        return used + [(n, t) for n, t in self.params if (n, t) not in used and mentions(host, n)]

    @staticmethod
    def _dims(text):
        depth, parts = 0, [""]
        for c in text:
            depth += (c in "([") - (c in ")]")
            if c == "," and depth == 0:
                parts.append("")
            else:
                parts[-1] += c
        return parts


def cuda(text):
    text = re.sub(r"\bCPTR\(([\w ]+)\)", r"const \1*", text)
    text = re.sub(r"\bPTR\(([\w ]+)\)", r"\1*", text)
    text = re.sub(r"\bSHARED1\(([\w ]+), (\w+), ([^)]+)\)", r"__shared__ \1 \2[\3]", text)
    return re.sub(r"\bSHARED2\(([\w ]+), (\w+), ([^,]+), ([^)]+)\)", r"__shared__ \1 \2[\3][\4]", text)
