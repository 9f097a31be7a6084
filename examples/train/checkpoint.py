"""Checkpoints: directories of files, a manifest in each, and a pointer to the newest.

    checkpoint-00000050/   model.pt ... and manifest.json with size and SHA-256 of each
    latest                 a text file with the name of the directory to resume from

The pointer moves only after the directory is complete and on disk, so a kill at any
moment leaves the pointer at a complete checkpoint.
"""

import hashlib
import json
import os
import re

import durable

MANIFEST = "manifest.json"
POINTER = "latest"
NAME = re.compile(r"checkpoint-(\d{8})")


class Damaged(Exception):
    """A checkpoint that cannot be used; the text says what is wrong."""


def save(parent, step, files, keep):
    """Write the files (name to bytes) as the checkpoint of this step and return its path.

    Afterwards the pointer names it, and it and the keep-1 before it are all there is.
    """
    name = f"checkpoint-{step:08d}"
    path = os.path.join(parent, name)
    durable.write_dir(path, {**files, MANIFEST: manifest(step, files)})
    durable.write(os.path.join(parent, POINTER), f"{name}\n".encode())
    prune(parent, step, keep)
    return path


def load(parent, report):
    """Return (path, step, files) of the newest usable checkpoint, or None.

    The checkpoint that the pointer names comes first, then the ones before it. Each
    file is checked while it is read. A damaged checkpoint is passed to report as text.
    """
    for step in candidates(parent):
        path = os.path.join(parent, f"checkpoint-{step:08d}")
        try:
            return path, step, read(path, step)
        except (Damaged, OSError) as problem:
            report(f"Checkpoint {path} is damaged: {problem}")
    return None


def read(path, step):
    """Return the files of one checkpoint, or raise Damaged or OSError."""
    with open(os.path.join(path, MANIFEST), "rb") as file:
        entries = parse(file.read(), step)
    files = {}
    for name, entry in entries.items():
        with open(os.path.join(path, name), "rb") as file:
            files[name] = file.read()
        got = describe(files[name])
        if got != entry:
            raise Damaged(f"{name} has {got}, {MANIFEST} says {entry}")
    return files


def parse(data, step):
    try:
        found = json.loads(data)
        if found["step"] != step:
            raise Damaged(f"{MANIFEST} is of step {found['step']}")
        return dict(found["files"])
    except (ValueError, KeyError, TypeError) as problem:
        raise Damaged(f"{MANIFEST} is not readable") from problem


def manifest(step, files):
    entries = {name: describe(data) for name, data in files.items()}
    return json.dumps({"step": step, "files": entries}, indent=1).encode()


def describe(data):
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def candidates(parent):
    """Return the steps to try, best first: none is newer than the pointer."""
    found = steps(parent)
    pointed = pointer(parent)
    if pointed is None:
        return found
    return [pointed] + [step for step in found if step < pointed]


def pointer(parent):
    """Return the step that the pointer names, or None if there is no readable pointer."""
    try:
        with open(os.path.join(parent, POINTER), encoding="ascii") as file:
            match = NAME.fullmatch(file.read().strip())
    except (OSError, ValueError):
        return None
    return int(match.group(1)) if match else None


def steps(parent):
    """Return the steps of all checkpoint directories, newest first."""
    matches = [NAME.fullmatch(name) for name in os.listdir(parent)]
    return sorted((int(match.group(1)) for match in matches if match), reverse=True)


def prune(parent, step, keep):
    """Keep this checkpoint and the keep-1 before it.

    What is newer belongs to a history that was given up because of damage.
    """
    kept = [old for old in steps(parent) if old <= step][:keep]
    for old in steps(parent):
        if old not in kept:
            durable.discard(os.path.join(parent, f"checkpoint-{old:08d}"))
