#!/usr/bin/env python3
"""Bad input to both programs: one line with `error:`, the documented exit code, nothing half-written.

usage: run.py BUILD/bin [FOLDER_OF_A_FAKE_DRIVER]

Every check runs in a folder of its own; what the folder holds may not change. The second argument is a CUDA_HOME whose
lib64/libcuda.so.1 is the fake driver of test/unit/Backend; without it (or without mount namespaces) the check of a missing
NVRTC is skipped. A kernel-tune that is there without kernel-templatize is checked on test/fixtures.
"""
import os, pathlib, shutil, subprocess, sys, tempfile

INPUT, ENVIRONMENT = 2, 3
GOOD = """
__global__ void scale(float* v, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) v[i] = 2.0f * v[i]; }
void launch(float* v, int n) { scale<<<(n + 127) / 128, 128>>>(v, n); }
"""
# Leaves the program no toolkit to find, and no Python to ask; runs in a mount namespace of its own.
WITHOUT_TOOLKIT = """
for folder in /usr/local /opt; do [ ! -d $folder ] || mount -t tmpfs none $folder || exit 125; done
for library in $(ldconfig -p | sed -n 's/.*libnvrtc.* => //p'); do [ ! -e $library ] || exit 125; done
export PATH=/nonexistent
exec "$@"
"""

binaries = pathlib.Path(sys.argv[1]).resolve()
fake_driver = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
fixture = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "axpy"
device_helpers = pathlib.Path(__file__).resolve().parent.parent.parent / "device" / "retile.cuh"
failures = 0


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def report(name, problem, detail):
    global failures
    failures += bool(problem)
    print(f"{'FAIL' if problem else 'ok  '} {name}: {problem or detail}")


def run(command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, **options)


def expect(name, code, folder, tool, *arguments, prefix=(), says="", **options):
    """Runs `tool` in `folder`: it must end with `code` after one error line that has `says` in it, and change nothing."""
    before = contents(folder)
    done = run([*prefix, binaries / tool, *arguments], cwd=folder, **options)
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    after = contents(folder)
    changed = sorted(str(path) for path in before.keys() | after.keys() if before.get(path, 0) != after.get(path, 0))
    problem = ""
    if done.returncode != code:
        problem = f"exit code {done.returncode}, expected {code}; {done.stderr.strip()[-300:]}"
    elif len(errors) != 1:
        problem = f"{len(errors)} error lines: {errors}"
    elif says not in errors[0]:
        problem = f"'{says}' is not in: {errors[0]}"
    elif "error:" in done.stdout:
        problem = "an error on standard output"
    elif changed:
        problem = f"left behind or changed: {', '.join(changed)}"
    report(name, problem, errors[0] if errors else "")


def skip(name, why):
    print(f"skip {name}: {why}")


def check_templatize(scratch):
    def folder(name, **files):
        made = scratch / name
        made.mkdir()
        for file, text in files.items():
            (made / file.replace("_", ".")).write_text(text)
        return made

    tool = "kernel-templatize"
    for name, text, says in [("no kernel", "int f() { return 1; }\n", "no __global__ function"), ("empty file", "", "'bad.cu' is empty"),
                             ("syntax error", "__global__ void k(float* v) { v[threadIdx.x] = ; }\n", "bad.cu:1: "),
                             ("missing header", '#include "nowhere.h"\n__global__ void k(Type* v) { v[0] = 1; }\n', "nowhere.h"),
                             ("binary file", "\x7fELF\x01\x00\x00\x01" * 40, "bad.cu")]:
        expect(name, INPUT, folder(name, bad_cu=text), tool, "bad.cu", "-o", "out.retile", says=says)
    expect("no such file", INPUT, folder("no such file"), tool, "none.cu", "-o", "out.retile", says="none.cu")
    expect("a directory as file", INPUT, folder("directory"), tool, ".", "-o", "out.retile")
    expect("no file named", INPUT, folder("nothing"), tool)
    expect("unknown option", INPUT, folder("unknown option", good_cu=GOOD), tool, "--nonsense", "good.cu", says="--nonsense")
    expect("unwritable output directory", ENVIRONMENT, folder("unwritable", good_cu=GOOD, blocker="a file"), tool, "good.cu",
           "-o", "blocker/out.retile", says="'blocker/out.retile'")
    expect("output is a file", ENVIRONMENT, folder("file", good_cu=GOOD, taken="a file"), tool, "good.cu", "-o", "taken", "--force",
           says="taken")
    edited = folder("edited", good_cu=GOOD)
    run([binaries / tool, "good.cu", "-o", "out.retile"], cwd=edited, check=True)
    template = edited / "out.retile" / "scale.cuh"
    template.write_text(template.read_text() + "// edited\n")
    expect("edited template", INPUT, edited, tool, "good.cu", "-o", "out.retile", says="scale.cuh")


def check_tune(scratch):
    tool = "kernel-tune"

    def folder(name):
        made = scratch / ("tune " + name)
        shutil.copytree(fixture, made / "axpy.retile")
        shutil.copy(device_helpers, made / "axpy.retile" / "retile.cuh")
        return made

    quick = ("axpy.retile", "--device", "cpu", "--size", "n=1000", "--budget", "3")
    expect("unknown size", INPUT, folder("size"), tool, "axpy.retile", "--device", "cpu", "--size", "nonsense=3", says="nonsense")
    expect("size without a number", INPUT, folder("number"), tool, "axpy.retile", "--device", "cpu", "--size", "n=many")
    expect("unknown option of kernel-tune", INPUT, folder("option"), tool, "axpy.retile", "--nonsense", says="--nonsense")
    expect("unknown strategy", INPUT, folder("strategy"), tool, *quick, "--strategy", "luck", says="luck")
    expect("unknown device", INPUT, folder("device"), tool, "axpy.retile", "--device", "abacus", says="abacus")
    expect("no kernel of that name", INPUT, folder("glob"), tool, *quick, "--kernel", "nothing*", says="nothing*")
    expect("no such directory", INPUT, folder("none"), tool, "none.retile", "--device", "cpu", says="none.retile")
    expect("a directory without a manifest", INPUT, folder("bare"), tool, ".", "--device", "cpu", says="manifest.json")

    def edit(name, change):
        made = folder(name)
        manifest = made / "axpy.retile" / "manifest.json"
        manifest.write_text(change(manifest.read_text()))
        return made

    expect("truncated manifest", INPUT, edit("truncated", lambda text: text[: len(text) // 2]), tool, *quick)
    expect("empty manifest", INPUT, edit("empty", lambda text: ""), tool, *quick)
    expect("manifest of another major version", INPUT, edit("version", lambda text: text.replace('"1.0"', '"7.0"')), tool, *quick,
           says="7.0")
    corrupt = folder("database")
    (corrupt / "bad.db").write_text("this is no database, but it is long enough to look at" * 40)
    expect("corrupt database", INPUT, corrupt, tool, *quick, "--db", "bad.db", says="bad.db")
    if run(["sh", "-c", "nvidia-smi -L"]).returncode:
        expect("no GPU", ENVIRONMENT, folder("gpu"), tool, "axpy.retile", "--device", "cuda:0", "--budget", "3")
    else:
        skip("no GPU", "there is one")
    name, namespace = "no NVRTC", ["unshare", "--mount", "--map-root-user", "/bin/sh", "-c", WITHOUT_TOOLKIT, "sh"]
    if not fake_driver or not (fake_driver / "lib64" / "libcuda.so.1").exists():
        skip(name, "no fake driver")
    elif not shutil.which("unshare") or run([*namespace, "/bin/true"]).returncode:
        skip(name, "no mount namespaces here, or NVRTC is in a folder of the system")
    elif run([*namespace, "/usr/bin/test", "-x", binaries / tool]).returncode:
        skip(name, "the programs lie under /usr/local or /opt")
    else:
        expect(name, ENVIRONMENT, folder("nvrtc"), tool, "axpy.retile", "--device", "cuda:0", "--size", "n=1000", "--budget", "3",
               prefix=namespace, says="nvrtc", env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "CUDA_HOME": str(fake_driver)})


with tempfile.TemporaryDirectory() as name:
    if (binaries / "kernel-templatize").exists():
        check_templatize(pathlib.Path(name))
    check_tune(pathlib.Path(name))
sys.exit(bool(failures))
