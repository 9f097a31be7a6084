"""A training as PyTorch Lightning's users write one: nothing in it is of Slurm. Lightning finds its ranks by itself.

It ends with a line of each rank: how Lightning found it.
"""

import argparse
import os

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import ModelCheckpoint


class Line(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch, _):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.layer(x), y)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--strategy", default="ddp")
    options = parser.parse_args()
    pl.seed_everything(1)
    x = torch.randn(64 * 40, 8)
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    trainer = pl.Trainer(
        accelerator="cpu",
        devices=1,
        num_nodes=options.nodes,
        strategy=options.strategy,
        max_steps=options.steps,
        default_root_dir=options.dir,
        logger=False,
        log_every_n_steps=1,
        callbacks=[ModelCheckpoint(dirpath=os.path.join(options.dir, "checkpoints"), every_n_train_steps=20)],
    )
    model = Line()
    trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=16))
    found = type(trainer.strategy.cluster_environment).__name__
    weights = f"{float(model.layer.weight.detach().sum()):.6f}"
    print(f"\n{found}: rank {trainer.global_rank} of {trainer.world_size}, {trainer.global_step} steps, weights {weights}", flush=True)


if __name__ == "__main__":
    main()
