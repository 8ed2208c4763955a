"""Shrinks a kernel while the same kind of finding stays: statements go, blocks open, expressions become their parts."""
from tree import X, leaf


def blocks(kernel):
    """Every statement list of the kernel."""
    out = [kernel.body]
    for block in out:
        for s in block:
            out += [b for b in (s.body, s.otherwise) if b is not None]
    return out


def slots(kernel):
    """(container, index) of every expression, outermost first."""
    out = []
    def visit(container, n):
        out.append((container, n))
        for k in range(len(container[n].kids)):
            visit(container[n].kids, k)
    for block in blocks(kernel):
        for s in block:
            for n, piece in enumerate(s.pieces):
                if isinstance(piece, X):
                    visit(s.pieces, n)
    return out


def candidates(kernel):
    """Smaller kernels, the boldest first."""
    for b in range(len(blocks(kernel))):
        for n in reversed(range(len(blocks(kernel)[b]))):
            other = kernel.copy()
            del blocks(other)[b][n]
            yield other
            if blocks(kernel)[b][n].body is not None:
                other = kernel.copy()
                block = blocks(other)[b]
                block[n:n + 1] = block[n].body
                yield other
            if blocks(kernel)[b][n].otherwise is not None:
                other = kernel.copy()
                blocks(other)[b][n].otherwise = None
                yield other
    if kernel.hostText:
        other = kernel.copy()
        other.hostText = None
        yield other
    if kernel.qualifier:
        other = kernel.copy()
        other.qualifier = ""
        yield other
    for n, (name, type_) in enumerate(kernel.params):
        for old, new in (("double", "float"), ("long long", "int"), ("size_t", "int"), (" __restrict__", ""), ("signed char", "int"), ("unsigned char", "int")):
            if old in type_:
                other = kernel.copy()
                other.params[n] = (name, type_.replace(old, new))
                yield other
    for at in range(len(slots(kernel))):
        container, n = slots(kernel)[at]
        x = container[n]
        for k in range(len(x.kids)):
            other = kernel.copy()
            c, i = slots(other)[at]
            c[i] = c[i].kids[k]
            yield other
        if x.kids or x.text not in ("0", "1"):
            for text in ("1", "0"):
                other = kernel.copy()
                c, i = slots(other)[at]
                c[i] = leaf(text)
                yield other


def minimise(kernel, fails, tests=200):
    """`fails` says whether a kernel still shows the finding; at most `tests` questions."""
    seen, asked, again = set(), 0, True
    while again:
        again = False
        for other in candidates(kernel):
            text = other.text()
            if text in seen or len(text) > len(kernel.text()):
                continue
            seen.add(text)
            asked += 1
            if asked > tests:
                return kernel
            if fails(other):
                kernel, again = other, True
                break
    return kernel
