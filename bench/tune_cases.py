#!/usr/bin/env python3
"""Tune prepared .retile directories on a GPU and print one table: original, identity and best side by side, one run.

usage: tune_cases.py --tune build/bin/kernel-tune --dir DIR [--budget 12s] [--gemm-budget 100s] [--out FILE]

DIR holds NAME.retile directories written by kernel-templatize (test/cases by their file name, public files as pb_NAME). Sizes
are the table below; a directory that is missing is skipped and said so. With PyTorch installed the matrix product is also
compared with cuBLAS in the same run.
"""
import argparse, json, math, pathlib, subprocess

SIZES = {
    "gemm_nn_naive": "NI=4096,NJ=4096,NK=4096",
    "bgemm_nt_strided": "batch=16,M=1024,N=1024,K=1024",
    "gemv_trans_gridstride": "rows=8192,cols=16384,ld=16384",
    "syrk_lower_colmajor": "n=2048,k=1024,lda=2048,ldc=2048",
    "conv2d_const_mask": "H=8192,W=8192,pitch=8192",
    "heat3d_zmarch": "nz=512,ny=512,nx=512",
    "jacobi2d_5pt": "ny=16384,nx=16384",
    "saxpy_gridstride": "n=134217728",
    "macro_kernels": "n=134217728",
    "undercover_grid": "n=134217728",
    "unsigned_wrap_guard": "h=16384,w=16384",
    "pb_gemm": "ni=512,nj=512,nk=512",
    "pb_2DConvolution": "ni=4096,nj=4096",
    "pb_fdtd2d": "nx=2048,ny=2048,t=5",
    "pb_jacobi2D": "n=1000",
    "pb_gemver": "n=4096",
    "pb_2mm": "ni=1024,nj=1024,nk=1024,nl=1024",
}


def cublas(n):
    try:
        import torch
    except ImportError:
        return None
    torch.backends.cuda.matmul.allow_tf32 = False
    a, b = (torch.randn(n, n, device="cuda") for _ in range(2))
    times = []
    for repeat in range(25):
        start, end = torch.cuda.Event(True), torch.cuda.Event(True)
        start.record()
        a @ b
        end.record()
        torch.cuda.synchronize()
        if repeat >= 5:
            times.append(start.elapsed_time(end))
    return sorted(times)[len(times) // 2]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def text(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def row_summary(line):
    return f"{line['kernel']}: {line.get('failure') or line.get('unsupported') or text(line.get('speedup'), 2)} in {line['evaluated']} evaluations"


def table_row(row):
    chosen = " ".join(f"{name}={value}" for name, value in (row.get("config") or {}).items()) or "the original"
    counts = f"{row['verified']}, {row['mismatched']}, {row['failed']}"
    share = row.get("copyShare")
    return (f"| {row['kernel']} | {row['given']} | {text(row.get('originalMs'), 4)} | {text(row.get('identityRatio'), 3)} | {text(row.get('bestMs'), 4)} | "
            f"{text(row.get('speedup'), 2)} | {text(row.get('gigabytesPerSecond'), 0)} | {text(share and 100 * share, 0)}% | {counts} | {chosen} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tune", default="build/bin/kernel-tune")
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--budget", default="12s")
    parser.add_argument("--gemm-budget", default="100s")
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    reference = cublas(4096)
    if reference:
        print(f"cuBLAS SGEMM 4096: {reference:.3f} ms")
    rows = []
    for name, sizes in SIZES.items():
        folder = options.dir / f"{name}.retile"
        if options.only not in name:
            continue
        if not folder.exists():
            print(f"{name}: no {folder}, skipped")
            continue
        budget = options.gemm_budget if name == "gemm_nn_naive" else options.budget
        done = subprocess.run([options.tune, folder, "--size", sizes, "--budget", budget, "--json", "--quiet", "--fresh"], capture_output=True, text=True)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if not lines:
            print(f"{name}: {done.stderr.strip().splitlines()[-1:]}")
        for line in lines:
            rows.append({"case": name, "given": sizes, **line})
            print(name, row_summary(line), flush=True)
    if options.out:
        options.out.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    print("| kernel | sizes | original ms | identity | tuned ms | speed-up | GB/s | copy limit | verified, rejected, failed | chosen |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        print(table_row(row))
    identities = [row["identityRatio"] for row in rows if row.get("identityRatio")]
    speedups = [row["speedup"] for row in rows if row.get("speedup")]
    if speedups:
        kept = sum(row.get("config") is None for row in rows)
        print(f"geometric mean over {len(speedups)} kernels: {geometric_mean(speedups):.3f}; {kept} kept the original; "
              f"identity {min(identities, default=0):.3f} to {max(identities, default=0):.3f}")
    products = [row for row in rows if row["case"] == "gemm_nn_naive" and row.get("bestMs")]
    for row in products if reference else []:
        print(f"matrix product: {reference / row['bestMs']:.1%} of cuBLAS")


if __name__ == "__main__":
    main()
