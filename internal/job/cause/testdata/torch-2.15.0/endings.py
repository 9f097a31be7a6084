import os, sys, time, signal
kind = sys.argv[1]
rank = int(os.environ["RANK"]); 
import torch
import torch.distributed as dist
from datetime import timedelta
dist.init_process_group("gloo", timeout=timedelta(seconds=8))
for step in range(3):
    x = torch.ones(4); dist.all_reduce(x)
    if rank == 0: print(f"Batch {step} Loss: {7.0-step:.5f}, Speed: 1.20 samples/sec, lr: 0.000030", flush=True)
bad = rank == 1
if kind == "import" and bad: import apex
if kind == "assert" and bad: assert x.sum() == 5, "sum is wrong"
if kind == "value" and bad: torch.ones(2, 3) @ torch.ones(2, 3)
if kind == "type" and bad: len(5)
if kind == "file" and bad: open("/nowhere/data.bin")
if kind == "perm" and bad:
    os.setuid(65534); open("/root/x", "w")
if kind == "json" and bad:
    import json; json.loads("{'a'")
if kind == "unicode" and bad: b"\xff\xfe".decode()
if kind == "ckpt" and bad:
    open("/fsx/code/torn.pt", "wb").write(b"PK\x03\x04" + b"x" * 100); torch.load("/fsx/code/torn.pt")
if kind == "ckpt2" and bad:
    open("/fsx/code/torn.pt", "wb").write(b""); torch.load("/fsx/code/torn.pt")
if kind == "disk" and bad:
    f = open("/fsx/code/small/x", "wb"); f.write(b"x" * (4 << 20)); f.close()
if kind == "save" and bad: torch.save(torch.ones(1 << 20), "/fsx/code/small/y.pt")
if kind == "mem" and bad: torch.ones(1 << 44)
if kind == "memerr" and bad: bytearray(1 << 50)
if kind == "segv" and bad: import ctypes; ctypes.string_at(0)
if kind == "abort" and bad: os.abort()
if kind == "kill" and bad: os.kill(os.getpid(), signal.SIGKILL)
if kind == "term" and bad: os.kill(os.getpid(), signal.SIGTERM)
if kind == "exit93" and bad: sys.exit(93)
if kind == "exit1" and bad: sys.exit(1)
if kind == "gloo" and bad: time.sleep(30)
if kind == "ccpu" and bad: torch.ones(1).cuda()
if kind == "loader" and bad:
    class D(torch.utils.data.Dataset):
        def __len__(self): return 4
        def __getitem__(self, i): raise KeyError("label")
    list(torch.utils.data.DataLoader(D(), num_workers=1))
if kind == "loaderkill" and bad:
    class D(torch.utils.data.Dataset):
        def __len__(self): return 4
        def __getitem__(self, i): os.kill(os.getpid(), signal.SIGKILL)
    list(torch.utils.data.DataLoader(D(), num_workers=1))
if kind == "nan" and bad: raise FloatingPointError("loss is nan")
x = torch.ones(4); dist.all_reduce(x)
dist.destroy_process_group()
