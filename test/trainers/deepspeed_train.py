"""A training with DeepSpeed's ZeRO on CPUs."""

import argparse
import os

import deepspeed
import torch

CONFIG = {
    "train_micro_batch_size_per_gpu": 16,
    "zero_optimization": {"stage": 1},
    "zero_allow_untested_optimizer": True,
    "steps_per_print": 4,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    deepspeed.init_distributed(dist_backend="gloo")
    torch.manual_seed(1)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    engine, _, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=CONFIG)
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.manual_seed(2 + rank)
    for step in range(1, options.steps + 1):
        x = torch.randn(16, 8)
        loss = torch.nn.functional.mse_loss(engine(x), x.sum(1, keepdim=True))
        engine.backward(loss)
        engine.step()
        if rank == 0:
            print(f"Batch {step} Loss: {loss.item():.5f}, Speed: 1.00 samples/sec, lr: 0.05", flush=True)
    engine.save_checkpoint(os.path.join(options.dir, "checkpoints"))
    print(f"\nZeRO {torch.distributed.get_backend()}: rank {rank} of {world}, {engine.global_steps} steps", flush=True)


if __name__ == "__main__":
    main()
