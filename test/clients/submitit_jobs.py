"""Functions as jobs: one, an array of two, and one that fails."""

import os
import sys

import submitit
from submitit.core.utils import FailedJobError


def add(a, b):
    return a + b


def fail():
    raise ValueError("on purpose")


executor = submitit.AutoExecutor(folder="submitit-jobs")
executor.update_parameters(timeout_min=10, slurm_partition="gpu")
one, several, failing = executor.submit(add, 1, 2), executor.map_array(add, [10, 20], [1, 2]), executor.submit(fail)
print(executor.cluster, one.result(), [job.result() for job in several])
try:
    failing.result()
except FailedJobError as error:
    print("failed", "on purpose" in str(error))
