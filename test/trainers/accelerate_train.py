"""A training loop of its own with Hugging Face's accelerate, which finds its ranks by itself."""

import argparse
import os

import torch
from accelerate import Accelerator
from accelerate.utils import InitProcessGroupKwargs, set_seed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    # On CPUs accelerate takes MPI where PyTorch has it, as Debian 13's has; srun without --mpi then starts ranks of one each.
    accelerator = Accelerator(kwargs_handlers=[InitProcessGroupKwargs(backend="gloo")])
    set_seed(1)
    x = torch.randn(16 * options.steps, 8)
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = torch.utils.data.DataLoader(data, batch_size=8)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, (inputs, targets) in enumerate(loader, 1):
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        mean = accelerator.reduce(loss.detach(), "mean").item()
        if accelerator.is_main_process:
            print(f"Batch {step} Loss: {mean:.5f}, Speed: 1.00 samples/sec, lr: 0.05", flush=True)
    os.makedirs(options.dir, exist_ok=True)
    accelerator.save_state(os.path.join(options.dir, "checkpoints", f"step_{step}"))
    state = accelerator.state
    print(f"\n{state.distributed_type} {state.backend}: rank {state.process_index} of {state.num_processes}, {step} steps", flush=True)
    accelerator.wait_for_everyone()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
