"""A training as users of Hugging Face's Trainer write one: nothing in it is of Slurm. Trainer finds its ranks by itself.

It ends with a line of each rank: how Trainer found it.
"""

import argparse
import os
import time

import torch
from transformers import Trainer, TrainingArguments, set_seed


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def forward(self, x, labels):
        y = self.layer(x)
        time.sleep(0.2)  # so that a step takes longer than bars are drawn
        return {"loss": torch.nn.functional.mse_loss(y, labels), "logits": y}


class Points(torch.utils.data.Dataset):
    def __init__(self, count):
        self.x = torch.randn(count, 8)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"x": self.x[i], "labels": self.x[i].sum().reshape(1)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    set_seed(1)
    args = TrainingArguments(
        output_dir=os.path.join(options.dir, "checkpoints"),
        max_steps=options.steps,
        per_device_train_batch_size=8,
        learning_rate=0.05,
        logging_steps=4,
        save_steps=20,
        use_cpu=True,
        ddp_backend="gloo",
        report_to=[],
    )
    trainer = Trainer(model=Line(), args=args, train_dataset=Points(16 * options.steps))
    trainer.train()
    print(f"\n{args.parallel_mode}: rank {args.process_index} of {args.world_size}, {trainer.state.global_step} steps", flush=True)


if __name__ == "__main__":
    main()
