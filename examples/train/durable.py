"""Files and directories that appear whole or not at all, also after a power cut.

Everything is written under a name that starts with .tmp-, synced, and renamed.
Names that start with .tmp- are therefore rubbish as soon as their writer is gone.
"""

import os
import shutil

PREFIX = ".tmp-"


def write(path, data):
    """Put data at path. A reader sees the old bytes or the new ones."""
    part = hidden(path)
    write_synced(part, data)
    os.rename(part, path)
    sync_dir(os.path.dirname(path))


def write_dir(path, files):
    """Put a directory with these files (name to bytes) at path, in place of what is there."""
    part = hidden(path)
    remove(part)
    os.makedirs(part)
    for name, data in files.items():
        write_synced(os.path.join(part, name), data)
    sync_dir(part)
    if os.path.isdir(path):
        discard(path)
    os.rename(part, path)
    sync_dir(os.path.dirname(path))


def discard(path):
    """Remove a directory so that no half of it is ever seen under its name."""
    old = hidden(path + ".old")
    remove(old)
    os.rename(path, old)
    remove(old)


def sweep(parent):
    """Remove what a killed writer left in parent."""
    for name in os.listdir(parent):
        if name.startswith(PREFIX):
            remove(os.path.join(parent, name))


def hidden(path):
    return os.path.join(os.path.dirname(path), PREFIX + os.path.basename(path))


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)


def write_synced(path, data):
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_dir(path):
    fd = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
