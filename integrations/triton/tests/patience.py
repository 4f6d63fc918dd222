"""How long tests wait for processes before they may call them hung."""

import math
import subprocess
import sys
import time


def seconds(least):
    """At least so many, and more where Python is slow to start: a loaded machine, say."""
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", "import json, subprocess"], check=True)
    return max(least, math.ceil(12 * (time.monotonic() - start)))
