#!/usr/bin/python3
"""Write the training text and its SHA-256 into the data directory.

The text is eight licences of Debian's package base-files, joined in the order of
FILES. That package is on every Debian system, and these eight files are the same
bytes in Debian 12 and 13, so everybody trains on the same 128,142 bytes.

It may run twice: a text that is there and whole is left alone.
"""

import argparse
import hashlib
import os
import sys

import durable

PACKAGE = "base-files"
FOLDER = "/usr/share/common-licenses"
FILES = ("Apache-2.0", "BSD", "CC0-1.0", "GFDL-1.3", "GPL-3", "LGPL-3", "MPL-1.1", "MPL-2.0")
KNOWN_SHA256 = "aa481a56273440fb97c72f98b69c4cff45c0585408cbafcea20b1abec6354aba"
NAME = "licenses.txt"


def corpus():
    """Return the joined text as bytes."""
    parts = []
    for name in FILES:
        path = os.path.join(FOLDER, name)
        try:
            with open(path, "rb") as file:
                parts.append(file.read())
        except FileNotFoundError:
            raise SystemExit(f"{path} is missing: it is part of Debian's package {PACKAGE}")
    return b"".join(parts)


def load(data_dir):
    """Return the text in data_dir and its SHA-256, checked against the one beside it."""
    path = os.path.join(data_dir, NAME)
    with open(path, "rb") as file:
        text = file.read()
    with open(path + ".sha256", encoding="ascii") as file:
        want = file.read().split()[0]
    got = hashlib.sha256(text).hexdigest()
    if got != want:
        raise ValueError(f"{path} has sha256 {got}, {NAME}.sha256 says {want}")
    return text, got


def provenance(digest):
    """Say in words what the text with this SHA-256 is."""
    if digest == KNOWN_SHA256:
        return f"{len(FILES)} licences of Debian 12's and 13's {PACKAGE}"
    return "not the text of Debian 12 and 13: losses and weights will differ from the documented ones"


def prepare(data_dir):
    """Write text and checksum if they are not there and whole; return the SHA-256."""
    try:
        return load(data_dir)[1]
    except (OSError, ValueError, IndexError):
        pass
    text = corpus()
    digest = hashlib.sha256(text).hexdigest()
    os.makedirs(data_dir, exist_ok=True)
    path = os.path.join(data_dir, NAME)
    durable.write(path, text)
    durable.write(path + ".sha256", f"{digest}  {NAME}\n".encode())
    return digest


def main():
    parser = argparse.ArgumentParser(description="Write the training text and its SHA-256.")
    parser.add_argument("--data-dir", required=True)
    data_dir = parser.parse_args().data_dir
    digest = prepare(data_dir)
    print(f"Data {os.path.join(data_dir, NAME)} sha256: {digest} ({provenance(digest)})", flush=True)


if __name__ == "__main__":
    sys.exit(main())
