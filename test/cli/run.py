#!/usr/bin/env python3
"""Bad input to both tools: one line with `error:`, the documented exit code, nothing half-written. usage: run.py BUILD/bin"""
import json, pathlib, subprocess, sys, tempfile

binaries = pathlib.Path(sys.argv[1]).resolve()
GOOD = """
__global__ void scale(float* v, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) v[i] = 2.0f * v[i]; }
void launch(float* v, int n) { scale<<<(n + 127) / 128, 128>>>(v, n); }
"""
failures = 0


def run(tool, *arguments):
    return subprocess.run([binaries / tool, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def expect(name, done, code, absent=None):
    global failures
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    problem = ""
    if done.returncode != code:
        problem = f"exit code {done.returncode}, expected {code}"
    elif len(errors) != 1:
        problem = f"{len(errors)} error lines"
    elif absent and absent.exists():
        problem = f"{absent.name} was left behind"
    failures += bool(problem)
    print(f"{'FAIL' if problem else 'ok  '} {name}: {problem or errors[0]}")


with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    out = folder / "out.retile"

    def source(name, text):
        path = folder / name
        path.write_text(text)
        return path

    for name, text in {"no kernel": "int f() { return 1; }\n", "empty file": "",
                       "syntax error": "__global__ void k(float* v) { v[threadIdx.x] = ; }\n",
                       "missing header": '#include "nowhere.h"\n__global__ void k(Type* v) { v[0] = 1; }\n'}.items():
        expect(name, run("kernel-templatize", source("bad.cu", text), "-o", out), 2, out)
    expect("no such file", run("kernel-templatize", folder / "none.cu", "-o", out), 2, out)
    expect("unknown option", run("kernel-templatize", "--nonsense", "x.cu"), 2)
    good = source("good.cu", GOOD)
    blocker = source("blocker", "a file")
    expect("unwritable directory", run("kernel-templatize", good, "-o", blocker / "x.retile"), 3)
    assert run("kernel-templatize", good, "-o", out).returncode == 0
    expect("unknown size", run("kernel-tune", out, "--device", "cpu", "--size", "nonsense=3"), 2)
    expect("unknown option of kernel-tune", run("kernel-tune", out, "--nonsense"), 2)
    if subprocess.run(["sh", "-c", "nvidia-smi -L"], capture_output=True).returncode:
        expect("no GPU", run("kernel-tune", out, "--device", "cuda:0"), 3)
    source("bad.db", "this is no database, but it is long enough to look at" * 40)
    expect("corrupt database", run("kernel-tune", out, "--device", "cpu", "--db", folder / "bad.db", "--budget", "3"), 2)
    manifest = out / "manifest.json"
    text = manifest.read_text()
    edited = out / "scale.cuh"
    edited.write_text(edited.read_text() + "// edited\n")
    expect("edited template", run("kernel-templatize", good, "-o", out), 2)
    manifest.write_text(text[: len(text) // 2])
    expect("truncated manifest", run("kernel-tune", out, "--device", "cpu"), 2)
sys.exit(bool(failures))
