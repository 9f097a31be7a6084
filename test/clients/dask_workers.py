"""Two workers of Dask, each a job, which find the scheduler beside this program."""

from dask.distributed import Client
from dask_jobqueue import SLURMCluster

with SLURMCluster(queue="gpu", cores=1, processes=1, memory="1GB", walltime="00:10:00", interface="ens5",
                  local_directory="dask-workers", log_directory="dask-logs") as cluster:
    cluster.scale(jobs=2)
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        print(len(client.run(lambda: None)), sum(client.gather(client.map(lambda n: n * n, range(10)))))
