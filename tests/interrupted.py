"""Programs that are interrupted by Ctrl-C, each in a process of its own."""

import subprocess
import sys
import textwrap

# A thread presses Ctrl-C once training is well under way: no race with the beginning of `learn`.
BEGIN = """
import os, signal, threading, time, numpy, spaql

def press(agents):
    while min(len(agent.state.history) for agent in agents) < 10:
        time.sleep(0.005)
    os.kill(os.getpid(), signal.SIGINT)

def press_soon(*agents):
    threading.Thread(target=press, args=[agents], daemon=True).start()
"""


def run(tmp_path, *parts):
    program = "\n".join(textwrap.dedent(part) for part in parts)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False)
