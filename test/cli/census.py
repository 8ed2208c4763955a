#!/usr/bin/env python3
"""utils/census on a small tree with a stand-in for kernel-templatize: kernels of every level, a kernel that two files
share, a file that cannot be read, one that crashes, one that hangs, one that needs too much memory."""
import os, pathlib, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = '''#!/usr/bin/env python3
import json, os, sys, time
name = os.path.basename(sys.argv[1])
def kernel(name, lift, *remarks):
    print(json.dumps({"kernel": name, "file": "k.cuh", "line": len(name), "lift": lift, "remarks": [{"text": r} for r in remarks]}))
if name == "levels.cu":
    kernel("f", "full")
    kernel("pp", "partial", "x")
    kernel("kkk", "knobs", "a barrier")
    kernel("rrrr", "refuse", "a race on 'out' between threads: one writes [3]")
elif name == "again.cu":
    kernel("f", "full")
    kernel("sssss", "refuse", "a race on 'in' between threads: one writes [i]")
    sys.exit(1)
elif name == "broken.cu":
    print("kernel-templatize: error: no such header 'x.h'", file=sys.stderr)
    sys.exit(2)
elif name == "crash.cu":
    os.abort()
elif name == "hang.cu":
    time.sleep(60)
elif name == "large.cu":
    try:
        bytearray(1 << 40)
    except MemoryError:
        print("std::bad_alloc", file=sys.stderr)
        sys.stderr.flush()
        os.abort()
'''


def census(tool, tree):
    done = subprocess.run([sys.executable, ROOT / "utils/census", "--bin", tool, "--seconds", "5", tree], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main():
    with tempfile.TemporaryDirectory() as scratch:
        tool, tree = pathlib.Path(scratch, "bin"), pathlib.Path(scratch, "tree")
        tool.mkdir(), (tree / "sub").mkdir(parents=True)
        program = tool / "kernel-templatize"
        program.write_text(TOOL)
        program.chmod(0o755)
        for name in ("levels.cu", "sub/again.cu", "broken.cu", "crash.cu", "hang.cu", "large.cu", "sub/not-cuda.cpp"):
            (tree / name).write_text("")
        code, text = census(tool, tree)
        expected = ["crashed: crash.cu", "timed out: hang.cu", "out of memory: large.cu", "2 parsed", "1 failed",
                    "kernels  5: 1 (20%) full, 1 (20%) partial, 1 (20%) knobs, 2 (40%) refused",
                    "     2  refuse: a race on '...' between threads", "     1  knobs: a barrier",
                    "     1  file failed: no such header '...'"]
        missing = [line for line in expected if line not in text]
        for name in ("crash.cu", "hang.cu", "large.cu"):
            (tree / name).unlink()
        calm, _ = census(tool, tree)
        usage, said = census(tool, tree / "nowhere")
        if missing or code != 1 or calm != 0 or usage != 2:
            print(text, said, f"missing: {missing}, exit codes {code} {calm} {usage}", sep="\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
