"""One round of ParallelCluster's clustermgtd, as it is, on what there is: the second of two, after everything is loaded.

Prints wall seconds, CPU seconds with those of its child processes, and the largest memory of the process in KiB.
"""

import os
import resource
import time

from slurm_plugin.clustermgtd import ClusterManager, ClustermgtdConfig


def cpu():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


manager = ClusterManager(config=ClustermgtdConfig(os.environ["CONFIG_FILE"]))
for _ in range(2):
    began, used = time.monotonic(), cpu()
    manager.manage_cluster()
    wall, used = time.monotonic() - began, cpu() - used
print(f"{wall:.3f} {used:.3f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}")
manager.shutdown()
