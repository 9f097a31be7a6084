"""Ranks of MPI on two nodes, which add up what each has."""

import os

from mpi4py import MPI

world = MPI.COMM_WORLD
total, nodes = world.allreduce(world.rank + 1), set(world.allgather(os.environ["SLURMD_NODENAME"]))
if world.rank == 0:
    print(world.size, total, len(nodes))
