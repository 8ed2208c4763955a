"""Judges a batch of kernels: kernel-templatize lifts them, trace.h watches the originals, kernel-tune compares.

A finding is (kernel, kind, detail):
  crash      a program died, ran out of time, or wrote no result
  mismatch   a configuration differs from the original
  failed     a configuration or the original did not compile, crashed, or ran out of time
  race       the original races, and was lifted as full
  note       the original races, and was lifted as partial; printed, not counted
  outside    the original leaves the extents that the manifest states
  launch     the manifest's launch is not the original's
"""
import json
import os
import re
import resource
import signal
import subprocess
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
# n, m, k, ld: small enough to trace; the last has many blocks. Assumptions on sizes decide which of them count.
TRACED = [{"n": 7, "m": 5, "k": 4, "ld": 9}, {"n": 5, "m": 9, "k": 3, "ld": 11}, {"n": 4, "m": 4, "k": 6, "ld": 7}, {"n": 1, "m": 3, "k": 2, "ld": 3},
          {"n": 150, "m": 6, "k": 3, "ld": 12}]
VERIFIED = [{"n": 37, "m": 13, "k": 7, "ld": 41}, {"n": 9, "m": 33, "k": 12, "ld": 35}, {"n": 16, "m": 16, "k": 16, "ld": 16},
            {"n": 1, "m": 7, "k": 1, "ld": 9}, {"n": 67, "m": 5, "k": 3, "ld": 70}, {"n": 5, "m": 21, "k": 4, "ld": 32}, {"n": 131, "m": 3, "k": 2, "ld": 131}]


class Stopped(Exception):
    pass


class Programs:
    """Runs programs in groups of their own, which a stop ends."""

    def __init__(self):
        self.stopped, self.running, self.lock = False, set(), threading.Lock()

    def stop(self):
        self.stopped = True
        with self.lock:
            for p in self.running:
                try:
                    os.killpg(p.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def run(self, command, seconds, environment=None, gibibytes=8):
        """(exit code or None on a timeout, stdout, stderr)"""
        if self.stopped:
            raise Stopped()
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (gibibytes << 30, gibibytes << 30))
        p = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                             start_new_session=True, env={**os.environ, **(environment or {})}, preexec_fn=limit if gibibytes else None)
        with self.lock:
            self.running.add(p)
        try:
            out, err = p.communicate(timeout=seconds)
            code = p.returncode
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
            code = None
        finally:
            with self.lock:
                self.running.discard(p)
        if self.stopped:
            raise Stopped()
        return code, out, err


class Unknown(Exception):
    pass


def evaluate(text, names):
    """A manifest expression; Unknown where it has more than Python says in the same words."""
    text = re.sub(r"!(?!=)", " not ", text.replace("&&", " and ").replace("||", " or ").replace("/", "//"))
    if "?" in text:
        raise Unknown()
    helpers = {"min": min, "max": max, "abs": abs, "ceildiv": lambda a, b: -(-a // b), "floordiv": lambda a, b: a // b, "floormod": lambda a, b: a % b}
    try:
        return int(eval(text, {"__builtins__": {}}, {**helpers, **names}))  # the manifest is this program's own output
    except (NameError, SyntaxError, ZeroDivisionError, TypeError):
        raise Unknown()


class Judge:
    def __init__(self, binaries, folder, programs, configs, seed, trace=True):
        self.bin, self.folder, self.programs, self.configs, self.seed, self.trace = binaries, folder, programs, configs, seed, trace
        self.sanitized = {"ASAN_OPTIONS": "detect_leaks=0"}
        self.cache = os.path.join(folder, "cache")
        os.makedirs(self.cache, exist_ok=True)

    def judge(self, kernels, choice=0):
        """Findings and what was seen, kernel by kernel: {name: facts}."""
        facts, findings = self.templatize(kernels)
        if facts is None:
            return self.each(kernels, choice)
        manifest = self.manifest()
        lifted = [k for k in kernels if k.name in manifest]
        if lifted:
            if len(lifted) > 1 and self.isRejected():
                return self.each(kernels, choice)   # one entry makes the whole manifest invalid
            if self.trace:
                findings += self.traced(lifted, manifest)
            # Of an original that races, results may differ from run to run: the note says what is wrong.
            races = {f[0] for f in findings if f[1] == "note"}
            findings += [f for f in self.verify(lifted, manifest, facts, choice) if f[0] not in races]
        for folder, _, files in os.walk(self.cache):
            for file in files:
                if file.endswith(".so"):
                    os.unlink(os.path.join(folder, file))
        return findings, facts

    def each(self, kernels, choice):
        findings, facts = [], {}
        for k in kernels:
            found, one = self.judge([k], choice)
            findings += found
            facts.update(one)
        return findings, facts

    def path(self, name):
        return os.path.join(self.folder, name)

    def manifest(self):
        try:
            with open(self.path("out/manifest.json")) as file:
                return {entry["kernel"].split("<")[0]: entry for entry in json.load(file)["kernels"]}
        except FileNotFoundError:
            return {}

    def isRejected(self):
        code, _, err = self.programs.run([self.bin / "kernel-tune", self.path("out"), "--device", "cpu", "--verify-only", 1, "--kernel", "-"], 60,
                                         {"RETILE_CACHE": self.cache, **self.sanitized}, 0)
        return code == 2 and "manifest.json: /" in err

    def templatize(self, kernels):
        subprocess.run(["rm", "-rf", self.path("out")])
        header = "#include <cuda_fp16.h>\n" if any(k.half for k in kernels) else ""
        with open(self.path("batch.cu"), "w") as file:
            file.write(header + "#include <cuda_runtime.h>\n#include <math.h>\n\n" + "\n".join(k.text() for k in kernels))
        code, out, err = self.programs.run([self.bin / "kernel-templatize", self.path("batch.cu"), "-o", self.path("out"), "--json"], 60 + 10 * len(kernels),
                                           self.sanitized, 0)
        facts, findings = {}, []
        for line in out.splitlines():
            if line.startswith("{"):
                one = json.loads(line)
                facts[one["kernel"].split("<")[0]] = one
        missing = [k for k in kernels if k.name not in facts]
        if code in (0, 1) and not missing:
            return facts, findings
        if len(kernels) > 1:
            return None, findings   # one of them spoils the rest
        last = err.strip().splitlines()[-1] if err.strip() else ""
        for k in missing:
            facts[k.name] = {"lift": "invalid", "remarks": [{"text": last}]}
        if code == 2 or code == 1:
            return facts, findings
        return facts, findings + [(k.name, "crash", f"kernel-templatize: exit code {code}: {err.strip()[-300:]}") for k in kernels]

    # The original alone
    def traced(self, kernels, manifest):
        findings = []
        lines = [f'#include "{HERE}/trace.h"', ""]
        lines += [k.text(trace=True) for k in kernels]
        lines += ["int main(int argc, char** argv) {", "  int only = argc > 1 ? atoi(argv[1]) : -1; int line = 0;"]
        for k in kernels:
            for n, sizes in enumerate(TRACED):
                arguments = []
                for name, type_ in k.hostParams():
                    if name in sizes:
                        arguments.append(str(sizes[name]))
                    elif "PTR(" in type_:
                        element = type_[type_.index("(") + 1:type_.index(")")]
                        arguments.append(f'trace::tensor<{element}>("{name}")')
                    else:
                        arguments.append("1.25")
                lines.append(f"  if (only < 0 || only == line++) {{ trace::begin(); launch_{k.name}({', '.join(arguments)}); trace::report(\"{k.name}\", {n}); }}")
        lines.append("}")
        with open(self.path("trace.cpp"), "w") as file:
            file.write("\n".join(lines) + "\n")
        code, _, err = self.programs.run(["g++", "-std=c++17", "-O0", "-w", self.path("trace.cpp"), "-o", self.path("trace")], 120, None, 0)
        if code != 0:
            if len(kernels) > 1:
                return [f for k in kernels for f in self.traced([k], manifest)]
            return []   # the tracer's own limits: kernel-tune still compares
        code, out, err = self.programs.run([self.path("trace")], 60, None, 0)
        for line in out.splitlines():
            try:
                seen = json.loads(line)
            except json.JSONDecodeError:
                continue
            entry = manifest[seen["kernel"]]
            try:
                finding = self.compare(seen, entry, TRACED[seen["sizes"]])
            except Unknown:
                continue
            if finding and finding[0] == "outside" and self.hasDead(next(k for k in kernels if k.name == seen["kernel"])):
                continue
            if finding and not any(f[0] == seen["kernel"] for f in findings):
                findings.append((seen["kernel"],) + finding)
        return findings

    def isDead(self, name, body):
        """Whether a local is assigned and never used: the compiler drops what only it needs."""
        uses = len(re.findall(rf"\b{name}\b(?!\s*(\[\w+\])?\s*[-+*/^|&]?=[^=])", body))
        return uses == 0

    def hasDead(self, kernel):
        body = kernel.bodyText()
        return any(self.isDead(name, body) for name in re.findall(r"\b([vstw]\d+)(?:\[\d\])?(?: =|;)", body))

    def compare(self, seen, entry, sizes):
        names = {s["name"]: sizes.get(s["name"], s.get("default")) for s in entry["sizes"]}
        if None in names.values():
            return None
        launch = {f"{part}_{axis}": seen[part.lower()][n] for part in ("GRID", "BLOCK") for n, axis in enumerate("XYZ")}
        for assumption in entry["assumptions"]:
            if assumption["kind"] in ("size", "covers") and not evaluate(assumption["expr"], {**names, **launch}):
                return None
        at = " ".join(f"{k}={v}" for k, v in names.items())
        stated = [evaluate(x, names) for part in ("grid", "block") for x in entry["original"][part]]
        if stated != seen["grid"] + seen["block"]:
            return "launch", f"the manifest says {stated}, the original launches {seen['grid'] + seen['block']} at {at}"
        if entry["lift"] != "full":
            # The block's own text stays: what it does wrong within a block, it does alone. Said, not counted.
            if seen["race"] and entry["lift"] == "partial":
                return "note", f"partial, with a race on {seen['race']} at {at}"
            return None
        if seen["race"]:
            return "race", f"{entry['lift']}, with a race on {seen['race']} at {at}"
        if seen["outside"]:
            return "outside", f"a shared array at {at}"
        for tensor in entry["tensors"]:
            low, high = seen["touched"].get(tensor["name"], (0, -1))
            if low < 0 or high >= max(0, evaluate(tensor["extent"], names)):
                return "outside", f"{tensor['name']}[{low} .. {high}] with extent {tensor['extent']} = {evaluate(tensor['extent'], names)} at {at}"
        return None

    # Candidates against the original
    def verify(self, kernels, manifest, facts, choice):
        findings, done, total = [], {k.name: 0 for k in kernels}, self.configs
        for n in range(2):
            count = total - total // 2 if n == 0 else total // 2
            if count:
                findings += self.tune(manifest, facts, done, count, VERIFIED[(choice + n) % len(VERIFIED)], self.seed + n, "*")
        # Sizes that no assumption forbids, for those that had none.
        for k in kernels:
            if done[k.name] == 0 and not any(f[0] == k.name for f in findings):
                findings += self.tune(manifest, facts, done, total, None, self.seed, manifest[k.name]["id"])
        for k in kernels:
            facts[k.name]["configurations"] = done[k.name]
        return findings

    def tune(self, manifest, facts, done, count, sizes, seed, pattern):
        command = [self.bin / "kernel-tune", self.path("out"), "--device", "cpu", "--verify-only", count, "--seed", seed, "--json", "--quiet", "--jobs", 1,
                   "--kernel", pattern]
        known = {s["name"] for entry in manifest.values() for s in entry["sizes"]}
        given = {k: v for k, v in (sizes or {}).items() if k in known}
        if given:
            command += ["--size", ",".join(f"{k}={v}" for k, v in given.items())]
        code, out, err = self.programs.run(command, 600, {"RETILE_CACHE": self.cache, **self.sanitized}, 0)
        findings = []
        for line in out.splitlines():
            if not line.startswith("{"):
                continue
            one = json.loads(line)
            name = one["kernel"].split("<")[0]
            done[name] += one["verified"] + one["mismatched"] + one["failed"]
            if "unsupported" in one:
                facts[name]["unsupported"] = one["unsupported"]
            at = " ".join(f"{k}={v}" for k, v in given.items())
            if one["mismatched"]:
                findings.append((name, "mismatch", f"{at}: {' | '.join(one['details'])}"))
            elif one["failed"] and not (facts[name].get("lift") != "full" and all("the original:" in d for d in one["details"])):
                findings.append((name, "failed", f"{at}: {' | '.join(one['details'])}"))
        if code == 2 and "manifest.json" in err:
            findings.append((next(iter(manifest)) if len(manifest) == 1 else "batch", "crash", f"a manifest that kernel-tune rejects: {err.strip()[-300:]}"))
        elif code not in (0, 1, 2):
            findings.append((next(iter(manifest)) if len(manifest) == 1 else "batch", "crash", f"kernel-tune: exit code {code}: {err.strip()[-300:]}"))
        return findings
