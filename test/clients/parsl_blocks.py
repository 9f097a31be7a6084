"""Functions on two nodes of one job, which parsl's workers take from this program."""

import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SrunLauncher
from parsl.providers import SlurmProvider


@parsl.python_app
def host():
    import os
    import time

    time.sleep(0.5)
    return os.environ["SLURMD_NODENAME"]


provider = SlurmProvider(partition="gpu", nodes_per_block=2, init_blocks=1, max_blocks=1, exclusive=False, walltime="00:10:00",
                         launcher=SrunLauncher())
executor = HighThroughputExecutor(label="nodes", address="10.99.0.1", max_workers_per_node=2, provider=provider)
with parsl.load(Config(executors=[executor], run_dir="parsl-blocks", usage_tracking=0)):
    apps = [host() for _ in range(16)]
    print("nodes", len({app.result() for app in apps}))
