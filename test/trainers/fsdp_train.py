"""A training with PyTorch's FSDP on CPUs, whose checkpoints are those of torch.distributed.checkpoint."""

import argparse
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_model_state_dict
from torch.distributed.fsdp import fully_shard


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = dist.init_device_mesh("cpu", (world,))
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Linear(64, 1))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    torch.manual_seed(2 + rank)
    for step in range(1, options.steps + 1):
        x = torch.randn(16, 8)
        loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        mean = loss.detach()
        dist.all_reduce(mean)
        if rank == 0:
            print(f"Batch {step} Loss: {mean.item() / world:.5f}, Speed: 1.00 samples/sec, lr: 0.02", flush=True)
    dcp.save({"model": get_model_state_dict(model)}, checkpoint_id=os.path.join(options.dir, "checkpoints", f"step-{step}"))
    kinds = {type(p).__name__ + str(tuple(p.to_local().shape)) for p in model.parameters()}
    print(f"\nFSDP {dist.get_backend()}: rank {rank} of {world}, {step} steps, holds {sorted(kinds)}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
