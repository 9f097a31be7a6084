"""The training loop, and what of it goes into a checkpoint.

Law: a run that was killed and resumed ends with the same bits as one that was not.
So everything that decides a bit is either computed from (seed, batch) or saved.
"""

import ctypes
import datetime
import hashlib
import io
import json
import math
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import checkpoint
import durable
import prepare
from model import Transformer

TIMEOUT = datetime.timedelta(minutes=5)
SHAPE = ("layers", "width", "heads", "sequence")
IDENTITY = ("seed", "batch_size", "learning_rate", "steps", "dropout", "ranks", "corpus")


class Log:
    """Lines on stdout and, with the time, in a file. Only rank 0 says anything."""

    def __init__(self, options):
        self.file = None
        if dist.get_rank() == 0:
            os.makedirs(options.log_dir, exist_ok=True)
            self.file = open(os.path.join(options.log_dir, f"{options.model_name}.log"), "a", encoding="utf-8")

    def say(self, line):
        if self.file is None:
            return
        print(line, flush=True)
        stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        print(stamp, line, file=self.file, flush=True)


class Trainer:
    """Model, optimizer and schedule of one rank, and the number of the next batch."""

    def __init__(self, options, text):
        torch.manual_seed(options.seed)
        self.options = options
        self.text = text
        self.model = Transformer(options.layers, options.width, options.heads, options.sequence, options.dropout)
        # Without find_unused_parameters DDP orders its buckets anew after the first batch.
        # A resumed run would then add gradients in another order than the run it continues.
        self.ddp = DistributedDataParallel(self.model, find_unused_parameters=True)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=options.learning_rate)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self.rate)
        self.step = 0
        torch.manual_seed(options.seed + 1 + dist.get_rank())

    def rate(self, step):
        """Return the share of the learning rate: a linear warm-up, then a cosine down to a tenth."""
        warmup = max(1, self.options.steps // 15)
        if step < warmup:
            return (step + 1) / warmup
        progress = min(1.0, (step - warmup) / max(1, self.options.steps - warmup))
        return 0.1 + 0.45 * (1 + math.cos(math.pi * progress))

    def batch(self):
        """Return this rank's inputs and targets of the next batch, chosen by (seed, batch) alone."""
        options = self.options
        generator = torch.Generator().manual_seed(options.seed * 1_000_003 + self.step)
        total = options.batch_size * dist.get_world_size()
        starts = torch.randint(len(self.text) - options.sequence, (total,), generator=generator)
        mine = starts[dist.get_rank() * options.batch_size :][: options.batch_size]
        samples = self.text[mine[:, None] + torch.arange(options.sequence + 1)].long()
        return samples[:, :-1], samples[:, 1:]

    def advance(self):
        """Train on one batch and return this rank's loss and the learning rate used."""
        loss = self.ddp(*self.batch())
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        used = self.schedule.get_last_lr()[0]
        self.optimizer.step()
        self.schedule.step()
        self.step += 1
        return loss.detach(), used

    def files(self, config):
        """Return the state as files, name to bytes. Every rank must call it: each has its random state.

        Tensors are in the .pt files, numbers in state.json: so torch.load never has to run pickled code.
        """
        own = torch.get_rng_state()
        states = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(states, own)
        optimizer = self.optimizer.state_dict()
        numbers = {
            "next_batch": self.step,
            "config": config,
            "optimizer": optimizer["param_groups"],
            "scheduler": self.schedule.state_dict(),
        }
        return {
            "model.pt": pack(self.model.state_dict()),
            "optimizer.pt": pack(optimizer["state"]),
            "rng.pt": pack(states),
            "state.json": encode(numbers),
        }

    def restore(self, files):
        """Take over the state that files returned."""
        self.model.load_state_dict(unpack(files["model.pt"]))
        numbers = json.loads(files["state.json"])
        self.optimizer.load_state_dict({"state": unpack(files["optimizer.pt"]), "param_groups": numbers["optimizer"]})
        self.schedule.load_state_dict(numbers["scheduler"])
        self.step = numbers["next_batch"]
        states = unpack(files["rng.pt"])
        if dist.get_rank() < len(states):
            torch.set_rng_state(states[dist.get_rank()])


def run(options):
    """Train to the last batch, from the newest checkpoint if there is one."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    log = Log(options)
    text, digest = prepare.load(options.data_dir)
    log.say(f"Data {prepare.NAME} sha256: {digest} ({prepare.provenance(digest)})")
    trainer = Trainer(options, torch.frombuffer(bytearray(text), dtype=torch.uint8))
    config = settings(options, digest)
    resume(trainer, config, log)
    if train(trainer, config, log):
        finish(trainer, config, log)
    dist.barrier()
    dist.destroy_process_group()


def settings(options, digest):
    """Return what a checkpoint must agree on with the run that resumes from it."""
    known = {**vars(options), "ranks": dist.get_world_size(), "corpus": digest}
    return {name: known[name] for name in SHAPE + IDENTITY}


def resume(trainer, config, log):
    """Restore the newest usable checkpoint. Rank 0 reads and checks it for all."""
    parent = trainer.options.checkpoint_dir
    found = [None]
    if dist.get_rank() == 0:
        os.makedirs(parent, exist_ok=True)
        durable.sweep(parent)
        found = [checkpoint.load(parent, log.say)]
    dist.broadcast_object_list(found)
    if found[0] is None:
        log.say(f"No checkpoint in {parent}: starting at batch 0")
        return
    path, _, files = found[0]
    compare(json.loads(files["state.json"])["config"], config, path, log)
    trainer.restore(files)
    log.say(f"Resumed from {path} at batch {trainer.step}")


def compare(was, now, path, log):
    """Refuse a checkpoint of another model; say what makes the end differ from an uninterrupted run's."""
    for name in SHAPE:
        if was[name] != now[name]:
            raise SystemExit(f"{path} is of a model with {name} {was[name]}, not {now[name]}: take another --checkpoint-dir")
    for name in IDENTITY:
        if was[name] != now[name]:
            log.say(f"Checkpoint has {name} {was[name]}, this run {now[name]}: the weights will not be an uninterrupted run's")


def train(trainer, config, log):
    """Train to the last batch, or until somebody wants it to stop. Return whether it was the last."""
    options = trainer.options
    since, samples = time.monotonic(), 0
    while trainer.step < options.steps:
        number = trainer.step
        loss, rate = trainer.advance()
        samples += options.batch_size * dist.get_world_size()
        last = trainer.step == options.steps
        if number % options.log_freq == 0 or last:
            dist.all_reduce(loss)
            speed = samples / (time.monotonic() - since)
            mean = loss.item() / dist.get_world_size()
            log.say(f"Batch {number} Loss: {mean:.5f}, Speed: {speed:.2f} samples/sec, lr: {rate:.6f}")
            since, samples = time.monotonic(), 0
        saved = trainer.step % options.checkpoint_freq == 0 or last
        if saved:
            save(trainer, config, log)
        if not last and told_to_stop(options):
            if not saved:
                save(trainer, config, log)
            log.say(f"Stopped before batch {trainer.step}, as {options.stop_file} asks")
            return False
    return True


def told_to_stop(options):
    """Return whether the file is there, the same on every rank: one that stopped alone would hang the others."""
    if not options.stop_file:
        return False
    told = torch.tensor(int(dist.get_rank() == 0 and os.path.exists(options.stop_file)))
    dist.broadcast(told, 0)
    return bool(told.item())


def save(trainer, config, log):
    files = trainer.files(config)
    if dist.get_rank() == 0:
        path = checkpoint.save(trainer.options.checkpoint_dir, trainer.step, files, trainer.options.keep)
        log.say(f"Saved checkpoint {path}")


def finish(trainer, config, log):
    """Put the weights and their SHA-256 into the output directory."""
    if dist.get_rank() != 0:
        return
    weights = trainer.model.state_dict()
    digest = weights_sha256(weights)
    parent = trainer.options.output_dir
    os.makedirs(parent, exist_ok=True)
    durable.sweep(parent)
    durable.write_dir(
        os.path.join(parent, "final"),
        {"model.pt": pack(weights), "config.json": encode(config), "weights.sha256": f"{digest}\n".encode()},
    )
    log.say(f"Final weights sha256: {digest}")


def weights_sha256(weights):
    """Return the SHA-256 over name, shape and bytes of each parameter, in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        tensor = weights[name].contiguous()
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        digest.update(ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()))
    return digest.hexdigest()


def pack(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def unpack(data):
    return torch.load(io.BytesIO(data), weights_only=True)


def encode(value):
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()
