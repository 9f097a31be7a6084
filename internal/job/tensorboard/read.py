# What TensorBoard's own readers find in a directory of event files, as JSON: {reader: {tag: [[wall time, step, value]]}}.
import json
import sys

from tensorboard.backend.event_processing import event_accumulator, plugin_event_accumulator
from tensorboard.util import tensor_util

everything = {"scalars": 0, "tensors": 0}
old = event_accumulator.EventAccumulator(sys.argv[1], size_guidance=everything).Reload()
new = plugin_event_accumulator.EventAccumulator(sys.argv[1], size_guidance=everything, tensor_size_guidance={"scalars": 0}).Reload()
found = {
    "accumulator": {tag: [[e.wall_time, e.step, str(e.value)] for e in old.Scalars(tag)] for tag in old.Tags()["scalars"]},
    "plugin": {
        tag: [[e.wall_time, e.step, str(float(tensor_util.make_ndarray(e.tensor_proto)))] for e in new.Tensors(tag)]
        for tag in new.Tags()["tensors"]
    },
}
json.dump(found, sys.stdout)
