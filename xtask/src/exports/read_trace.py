"""What a trace of Perfetto says by Perfetto's own definition of it: samples by innermost function, and slices.

Its trace_processor is not in a package registry, so that a trace is read here by its protocol, unknown fields being
an error, and not by its importer.
"""

import json
import sys
from collections import Counter

from google.protobuf import unknown_fields
from perfetto.protos.perfetto.trace import perfetto_trace_pb2


def known(message):
    """Fails where a message, or one within it, has a field that the definition has not."""
    assert len(unknown_fields.UnknownFieldSet(message)) == 0, message
    for field, value in message.ListFields():
        if field.message_type:
            for part in value if field.is_repeated else [value]:
                known(part)


trace = perfetto_trace_pb2.Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())
known(trace)
names, frames, stacks = {}, {}, {}
samples, slices, open_slices = Counter(), Counter(), {}
for packet in trace.packet:
    for text in packet.interned_data.function_names:
        names[text.iid] = text.str.decode()
    for frame in packet.interned_data.frames:
        frames[frame.iid] = names[frame.function_name_id]
    for stack in packet.interned_data.callstacks:
        stacks[stack.iid] = [frames[frame] for frame in stack.frame_ids]
    if packet.HasField("perf_sample"):
        samples[stacks[packet.perf_sample.callstack_iid][-1]] += 1
    if packet.HasField("track_event"):
        event = packet.track_event
        if event.type == event.TYPE_SLICE_BEGIN:
            assert event.callstack_iid in stacks
            open_slices[event.track_uuid] = (event.name, packet.timestamp)
        else:
            name, begin = open_slices.pop(event.track_uuid)
            slices[name] += packet.timestamp - begin
assert not open_slices
json.dump({"samples": samples, "slices": slices}, sys.stdout)
