# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of benchmarks/pipeline_step.cpp by torch.distributed.pipelining over gloo, on two ranks.

usage: torch_pipelining.py SCHEDULE SEQUENCES LENGTH REPEATS     (SCHEDULE: gpipe, 1f1b)
"""
import json
import math
import os
import resource
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

WIDTH, VOCABULARY, MICRO_BATCHES, RANKS = 512, 256, 8, 2


class Stage(nn.Module):
    """Four causal layers; with the embedding before them, or a norm and the generator behind."""

    def __init__(self, rank, length):
        super().__init__()
        self.first = rank == 0
        if self.first:
            self.embedding = nn.Embedding(VOCABULARY, WIDTH)
            position = torch.arange(length).unsqueeze(1)
            divisor = torch.exp(torch.arange(0, WIDTH, 2) * (-math.log(10000.0) / WIDTH))
            sinusoids = torch.zeros(length, WIDTH)
            sinusoids[:, 0::2] = torch.sin(position * divisor)
            sinusoids[:, 1::2] = torch.cos(position * divisor)
            self.register_buffer("sinusoids", sinusoids)
            nn.init.normal_(self.embedding.weight, std=WIDTH**-0.5)
        else:
            self.norm = nn.LayerNorm(WIDTH)
            self.generator = nn.Linear(WIDTH, VOCABULARY, bias=False)
            nn.init.xavier_uniform_(self.generator.weight)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, 8, 2048, 0.1, batch_first=True, norm_first=True)
            for _ in range(4))
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, x):
        if self.first:
            x = self.embedding(x) * math.sqrt(WIDTH) + self.sinusoids
            x = F.dropout(x, 0.1, self.training)
        for layer in self.layers:
            x = layer(x, src_mask=self.mask, is_causal=True)
        return x if self.first else self.generator(self.norm(x))


def loss_of(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=0.1)


def rank_main(rank, schedule, sequences, length, repeats):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29513")
    torch.set_num_threads(1)
    torch.manual_seed(1 + rank)
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    module = Stage(rank, length)
    stage = PipelineStage(module, rank, RANKS, torch.device("cpu"))
    kind = Schedule1F1B if schedule == "1f1b" else ScheduleGPipe
    pipeline = kind(stage, MICRO_BATCHES, loss_fn=loss_of)
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-4)
    tokens = torch.randint(VOCABULARY, (sequences, length), generator=torch.Generator().manual_seed(1))
    times, first_loss = [], 0.0
    for repeat in range(repeats + 1):  # the first warms up
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        losses = []
        if rank == 0:
            pipeline.step(tokens)
        else:
            pipeline.step(target=tokens, losses=losses)
        optimizer.step()
        dist.barrier()
        if repeat > 0:
            times.append(time.perf_counter() - begin)
        elif losses:
            first_loss = torch.stack(losses).mean().item()
    figures = [None] * RANKS
    dist.all_gather_object(figures, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                                     first_loss))
    if rank == 0:
        print(json.dumps({"suite": "pipeline_step", "subject": "torch_pipelining_gloo",
                          "schedule": schedule, "ranks": RANKS, "sequences": sequences,
                          "length": length, "median_s": statistics.median(times),
                          "first_loss": figures[1][1],
                          "peak_bytes": [bytes for bytes, _ in figures]}))
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(rank_main, (sys.argv[1], *map(int, sys.argv[2:5])), nprocs=RANKS)
