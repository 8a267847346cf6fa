# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""A program that is measured: a process that answers a line of JSON for each line."""
import json
import os
import subprocess


class Subject:
    """**Errors.** SystemExit, with the subject's name, if the process ends without an answer."""

    def __init__(self, name, command, settings):
        self.name = name
        environment = dict(os.environ, OMP_NUM_THREADS=str(settings["threads"]))
        self.process = subprocess.Popen([str(part) for part in command] + [json.dumps(settings)],
                                        text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment)

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"tools/bench: {self.name} ended instead of answering '{line}'")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
