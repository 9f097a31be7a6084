#!/usr/bin/python3
"""Train a small language model on several nodes; go on from the last checkpoint.

Start one process for each rank, with torchrun or with srun alone. README.md tells
what is promised. The imports that take a second come after the first line of output.
"""

import argparse
import os


def parse():
    parser = argparse.ArgumentParser(description="Train a small language model with PyTorch DDP over gloo.")
    parser.add_argument("--data-dir", required=True, help="where prepare.py put the text")
    parser.add_argument("--checkpoint-dir", required=True, help="resumes from what is here")
    parser.add_argument("--log-dir", required=True)
    parser.add_argument("--output-dir", required=True, help="gets final/ with the trained weights")
    parser.add_argument("--model-name", default="model1")
    parser.add_argument("--batch-size", type=int, default=4, help="samples of each rank in one batch")
    parser.add_argument("--learning-rate", type=float, default=3e-3, help="after warm-up")
    parser.add_argument("--steps", type=int, default=180, help="batches in all")
    parser.add_argument("--checkpoint-freq", type=int, default=15, help="batches between two checkpoints")
    parser.add_argument("--log-freq", type=int, default=1, help="batches between two lines of the log")
    parser.add_argument("--stop-file", help="save a checkpoint and stop once this file is there; rank 0 looks after each batch")
    parser.add_argument("--keep", type=int, default=3, help="checkpoints to keep")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--sequence", type=int, default=128, help="bytes in one sample")
    parser.add_argument("--dropout", type=float, default=0.1)
    options = parser.parse_args()
    for name in ("batch_size", "steps", "checkpoint_freq", "log_freq", "keep"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    return options


def take_rank_from_slurm():
    """Let srun alone start the ranks, too: torchrun's variables from Slurm's."""
    for theirs, ours in (("RANK", "SLURM_PROCID"), ("WORLD_SIZE", "SLURM_NTASKS")):
        if theirs not in os.environ and ours in os.environ:
            os.environ[theirs] = os.environ[ours]


def main():
    options = parse()
    take_rank_from_slurm()
    if os.environ.get("RANK", "0") == "0":
        print(f"Training {options.model_name} on {os.environ.get('WORLD_SIZE', '1')} ranks", flush=True)
    # DDP warns once that find_unused_parameters found none; README.md tells why it is set.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    os.environ.setdefault("GLOG_minloglevel", "2")
    import loop

    loop.run(options)


if __name__ == "__main__":
    main()
