# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of benchmarks/distributed_step.cpp by PyTorch's DistributedDataParallel over gloo.

usage: torch_distributed.py RANKS SENTENCES LENGTH REPEATS
"""
import json
import os
import resource
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from torch_translation import SHAPES, Model, words


def rank_main(rank, ranks, sentences, length, repeats):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    s = SHAPES["base"]
    model = Model(s, 0.1)
    if ranks > 1:
        model = DistributedDataParallel(model, gradient_as_bucket_view=True)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-4,
                                 betas=(0.9, 0.98), eps=1e-9)
    mine = slice(rank * sentences, (rank + 1) * sentences)
    source = words(ranks * sentences, length, 0, s["V"])[mine]
    target = words(ranks * sentences, length, 1, s["V"])[mine]
    labels = words(ranks * sentences, length, 1, s["V"], 1)[mine]
    times = []
    for repeat in range(repeats + 2):  # the first two warm up
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        logits = model(source, target)
        F.cross_entropy(logits.reshape(-1, s["V"]), labels.reshape(-1),
                        label_smoothing=0.1).backward()
        optimizer.step()
        if repeat >= 2:
            times.append(time.perf_counter() - begin)
    if rank == 0:
        seconds = statistics.median(times)
        print(json.dumps({"suite": "distributed_step", "subject": "torch_ddp_gloo", "ranks": ranks,
                          "sentences_per_rank": sentences, "length": length, "repeats": repeats,
                          "median_s": seconds,
                          "tokens_per_second": ranks * sentences * length / seconds,
                          "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
    dist.destroy_process_group()


if __name__ == "__main__":
    RANKS, SENTENCES, LENGTH, REPEATS = map(int, sys.argv[1:])
    mp.spawn(rank_main, (RANKS, SENTENCES, LENGTH, REPEATS), nprocs=RANKS)
