# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Reads what a run wrote for TensorBoard as TensorBoard does, and compares it with its lines
(tensorboard 2.21):

    build/examples/translation_single train run ... --tensorboard events --log log.jsonl
    event_file.py events log.jsonl
"""
import json
import pathlib
import struct
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

folder, log = sys.argv[1:]
lines = [json.loads(line) for line in pathlib.Path(log).read_text(encoding="utf-8").splitlines()]
accumulator = EventAccumulator(folder)
accumulator.Reload()
names = accumulator.Tags()["scalars"]
assert sorted(names) == sorted(set().union(*lines) - {"updates"}), names
for name in names:
    read = [(event.step, event.value) for event in accumulator.Scalars(name)]
    written = [(line["updates"], struct.unpack("f", struct.pack("f", line[name]))[0])
               for line in lines if name in line]
    assert read == written, (name, read, written)
print(f"{len(names)} figures of {len(lines)} epochs are read as they were written")
