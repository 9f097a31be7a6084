"""Mends the PyTorch of Debian 12, 1.13 on a Python of 3.11, which is newer than it: what Lightning imports of it has a dataclass whose
default that Python refuses for not being hashable. Elsewhere it does nothing."""

import dataclasses
import sys

if sys.version_info[:2] == (3, 11):
    dataclasses._hash_action[False, True, False, False] = None
