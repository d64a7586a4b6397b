# SPDX-License-Identifier: Apache-2.0
"""Whatever is started is ended, at whichever instruction Ctrl-C comes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = str(Path(__file__).resolve().parent)

# `attempt` waits for what never comes, as each process is one that sleeps.  It is made again and
# again, and Ctrl-C comes at one of its instructions, each time at another, or half a second after
# it began.  The error is kept with all local variables, as an interactive Python does, so that
# nothing is ended by being forgotten.
EVERYWHERE = """
import dis, os, re, signal, subprocess, sys, time, traceback
sys.path.insert(0, {tests!r})
from quiltmd import Workers
from quiltmd.engine.places import parse_place
from quiltmd.inputs import frames
from quiltmd.workers import launch
from test_workers import is_alive

# Not those of `threading`, whose locks may stay taken where a signal comes (bpo-29988).
SEEN = "quiltmd/", "contextlib", "subprocess"
launch._LAST_BREATH = 0.01
HANDLES = re.compile("CALL|RESUME|JUMP_BACKWARD|JUMP_ABSOLUTE")  # signals, once they are done
made, kept, at_once = [], [], []

class Popen(subprocess.Popen):
    def __init__(self, command, **options):
        super().__init__(["sleep", "1000"], **options)
    def _execute_child(self, *arguments, **named):
        super()._execute_child(*arguments, **named)
        made.append(self.pid)
        if at_once:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)
subprocess.Popen = Popen

def connect():
    launch.connect(parse_place("ssh:host/cpu"), Workers())
def read():
    next(frames.read_frames(__import__("quiltmd").__file__, 3))

def interrupted(at):
    '''At how many instructions a signal could be handled.'''
    count, before = 0, {{}}
    def trace(frame, event, argument):
        nonlocal count
        if not any(part in frame.f_code.co_filename for part in SEEN):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            is_one = HANDLES.match(before.get(frame, "")) is not None
            before[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            count += is_one
            if is_one and count == at:
                signal.setitimer(signal.ITIMER_REAL, 0)
                raise KeyboardInterrupt
        return trace
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        sys.settrace(trace)
        {attempt}()
    except KeyboardInterrupt as error:
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_REAL, 0)
        kept.append(error)
    return count

def ring(*_):
    sys.settrace(None)
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, ring)
def check(at):
    left = [process for process in made if is_alive(process)]
    if left:
        print("left at", at, ":", left, file=sys.stderr)
        traceback.print_exception(kept[-1])
        sys.exit(1)

many = -1
while many != (many := interrupted(0)):  # on a busy machine it may not have come to its wait
    pass
for at in range(many):
    interrupted(at + 1)
    check(at)
at_once.append(True)
interrupted(0)
check("once")
print(len(made))
"""


@pytest.mark.parametrize("attempt", ["connect", "read"])
def test_ctrl_c_at_any_instruction_leaves_nothing_behind(attempt: str) -> None:
    script = EVERYWHERE.format(tests=TESTS, attempt=attempt)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 2  # processes that were ended
