# Run by ctest; by hand: lit -DBIN=build/bin -DFILECHECK=FileCheck-22 test/lit
import os
import lit.formats

config.name = "retile"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".cu", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.abspath(lit_config.params.get("WORK", "build/test/lit"))
bin = os.path.abspath(lit_config.params["BIN"])
config.environment["PATH"] = os.environ["PATH"]
for name in ("CUDA_HOME", "CUDA_PATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.substitutions.append(("%templatize", os.path.join(bin, "kernel-templatize")))
config.substitutions.append(("%tune", os.path.join(bin, "kernel-tune")))
config.substitutions.append(("%check", lit_config.params.get("FILECHECK", "FileCheck")))
