# What of a training's software this Python has, without importing it: importing PyTorch takes seconds.
import ctypes, glob, importlib.util, json, os, platform, re

said = {"python": platform.python_version(), "torch": "", "cuda": "", "nccl": "", "megatron": False, "odd": ""}


def place(name):
    try:
        spec = importlib.util.find_spec(name)
    except Exception:
        return None
    return list(spec.submodule_search_locations or [])[:1] if spec else None


torch = place("torch")
if torch:
    try:
        with open(os.path.join(torch[0], "version.py")) as f:
            text = f.read(1 << 16)
        for name, key in (("__version__", "torch"), ("cuda", "cuda")):
            found = re.search(r"^%s[^=\n]*=\s*['\"]([^'\"]+)['\"]" % name, text, re.M)
            said[key] = found.group(1) if found else ""
    except OSError as e:
        said["odd"] = str(e)
    said["torch"] = said["torch"] or "unknown"
    libraries = glob.glob(os.path.join(os.path.dirname(torch[0]), "nvidia/nccl/lib/libnccl.so*")) + ["libnccl.so.2"]
    try:
        code, version = ctypes.c_int(), 0
        ctypes.CDLL(libraries[0]).ncclGetVersion(ctypes.byref(code))
        version = code.value  # NCCL_VERSION_CODE of its header
        by = 10000 if version >= 10000 else 1000
        said["nccl"] = "%d.%d.%d" % (version // by, version % by // 100, version % 100)
    except Exception as e:
        said["odd"] = str(e)
said["megatron"] = place("megatron") is not None
print(json.dumps(said))
