"""Ends as only a program on a GPU does: `torchrun --nproc-per-node=N endings.py NAME`."""
import os
import sys
import time

import torch
import torch.distributed as dist

kind = sys.argv[1]
torch.cuda.set_device(0)
dist.init_process_group("nccl")
for step in range(3):
    x = torch.ones(4, device="cuda")
    dist.all_reduce(x)
    print(f"Batch {step} Loss: {7.0 - step:.5f}, Speed: 1.20 samples/sec, lr: 0.000030", flush=True)
torch.cuda.synchronize()
if kind == "memory":
    keep = [torch.empty(8 << 30, dtype=torch.uint8, device="cuda") for _ in range(100)]
if kind == "assert":
    table = torch.nn.Embedding(10, 4).cuda()
    table(torch.tensor([11], device="cuda")).sum().item()
if kind in ("access", "misaligned"):
    import numpy as np
    import cupy

    source = {"access": "p[1ull << 45] = 1;", "misaligned": "*(volatile int *)((volatile char *)p + 1) = 1;"}[kind]
    kernel = cupy.RawKernel('extern "C" __global__ void bad(volatile int *p) { ' + source + " }", "bad")
    kernel((1,), (1,), (cupy.zeros(4, dtype=np.int32),))
    torch.cuda.synchronize()
if kind == "stay":
    print("staying", flush=True)
    while True:
        time.sleep(1)
dist.destroy_process_group()
