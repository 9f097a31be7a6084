# Makes the files of this directory, and cuts.tsv: how many of their first bytes ("+8": and zeros behind them) the library that
# wrote them reads. Made with torch 1.13.0a0 (Debian 12), numpy 1.24.2 and safetensors 0.8.0, and then, with the argument torch2.pt,
# with torch 2.15.0+cu132.
import random, sys, zipfile

import numpy, torch

random.seed(1)
torch.manual_seed(1)


def read_npz(path):
    with numpy.load(path) as z:
        for name in z.files:
            z[name]


def commented(path):
    with zipfile.ZipFile("torch.pt") as old, zipfile.ZipFile(path, "w") as new:
        for member in old.infolist():
            new.writestr(member, old.read(member))
        new.comment = b"a comment " * 300


state = {"w": torch.randn(300), "b": torch.zeros(40), "step": 3}
arrays = {"w": numpy.random.RandomState(1).rand(50, 4).astype("f4"), "ids": numpy.arange(9)}
if sys.argv[1:] == ["torch2.pt"]:
    torch.save(state, "torch2.pt")
    readers, mode = {"torch2.pt": torch.load}, "a"
else:
    import safetensors.numpy

    torch.save(state, "torch.pt")
    torch.save(state, "legacy.pt", _use_new_zipfile_serialization=False)
    commented("commented.pt")
    safetensors.numpy.save_file(arrays, "model.safetensors", {"format": "np"})
    safetensors.numpy.save_file({}, "none.safetensors")
    numpy.savez("arrays.npz", **arrays)
    numpy.save("array.npy", arrays["w"])
    numpy.save("bools.npy", numpy.zeros((3, 7), bool))
    numpy.save("objects.npy", numpy.array([{"a": 1}, None], dtype=object))
    readers = {
        "torch.pt": torch.load, "legacy.pt": torch.load, "commented.pt": torch.load,
        "model.safetensors": safetensors.numpy.load_file, "none.safetensors": safetensors.numpy.load_file,
        "arrays.npz": read_npz, "array.npy": numpy.load, "bools.npy": numpy.load, "objects.npy": lambda p: numpy.load(p, allow_pickle=True),
    }
    mode = "w"
with open("cuts.tsv", mode) as table:
    if mode == "w":
        print("# file\tbytes\tzeros behind them\tit can be read", file=table)
    for name, reader in readers.items():
        text = open(name, "rb").read()
        n = len(text)
        cuts = {0, 1, 4, 7, 8, 9, 100, 511, 512, 513, n // 2, n - 1024, n - 513, n - 512, n - 99, n - 98, n - 97, n - 43, n - 42, n - 23, n - 22, n - 21, n - 8, n - 2, n - 1, n}
        cuts |= {random.randrange(n) for _ in range(30)}
        rows = [(cut, 0) for cut in sorted(cuts) if 0 <= cut <= n] + [(n, 1), (n, 8), (n, 1024), (n // 2, n - n // 2)]
        for cut, zeros in rows:
            open("/tmp/cut-" + name, "wb").write(text[:cut] + bytes(zeros))
            try:
                reader("/tmp/cut-" + name)
                read = "yes"
            except Exception:
                read = "no"
            print(name, cut, zeros, read, sep="\t", file=table)
